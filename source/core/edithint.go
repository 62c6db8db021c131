package core

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/toolsearch/toolsearch/tool"
)

const (
	maxHintLines = 20000 // lines of a file that are compared for a hint
	hintBytes    = 160   // of a line that a hint shows
)

// notFound says that the text to replace is not there, and where it nearly is.
func notFound(text, before []byte, a editArgs) *tool.Error {
	e := refuse("Read the file again and copy the text exactly, with its white space", "oldText was not found in %q", shown(a.Path))
	if strings.Contains(a.OldText, "\uFFFD") {
		e.Next = "oldText holds \uFFFD, which read shows for bytes that are not UTF-8; choose text without it"
		return e
	}
	if hint := nearMiss(splitLines(text, maxHintLines), splitLines(before, 200)); hint != "" {
		e.Reason += ". " + hint
	}
	return e
}

// nearMiss describes the place in the file that is most like the wanted lines.
func nearMiss(file, want []string) string {
	for len(want) > 0 && strings.TrimSpace(want[0]) == "" {
		want = want[1:]
	}
	if len(want) == 0 {
		return ""
	}
	if at, n := longestRun(file, want); n > 0 {
		return divergence(file, want, at, n)
	}
	best, score := -1, 0.5 // below it a line is no help
	first := strings.TrimSpace(want[0])
	for i, line := range file {
		if sim := similarity(strings.TrimSpace(line), first); sim > score {
			best, score = i, sim
		}
	}
	if best < 0 {
		return ""
	}
	if score == 1 {
		return sprintLine("Line %d has the same text but other white space: %q", best, file[best])
	}
	return sprintLine("The nearest line is %d: %q", best, file[best])
}

// longestRun finds where the most wanted lines, from the first on, stand in the
// file one after the other.
func longestRun(file, want []string) (at, n int) {
	for i := range file {
		k := 0
		for k < len(want) && i+k < len(file) && sameLine(file[i+k], want[k], k, len(want)) {
			k++
		}
		if k > n {
			at, n = i, k
		}
	}
	return at, n
}

// sameLine compares as a replacement does: the first wanted line may be the end
// of a file's line, and the last one the beginning.
func sameLine(file, want string, k, of int) bool {
	switch {
	case file == want:
		return true
	case want == "" || len(want) < 3:
		return false
	case k == 0 && of > 1:
		return strings.HasSuffix(file, want)
	case k == of-1:
		return strings.HasPrefix(file, want)
	}
	return false
}

// divergence names the first line that is not as wanted.
func divergence(file, want []string, at, n int) string {
	switch {
	case n >= len(want): // every line is there, so the difference is in their endings
		return sprintLine("The lines are there from line %d on, but not with these line endings or in one piece: %q", at, file[at])
	case at+n >= len(file):
		return sprintLine("The text matches from line %d on, but the file ends before it does: %q", at, file[len(file)-1])
	}
	return sprintLine("The text matches from line %d on", at, "") +
		sprintLine(", but line %d is %q", at+n, file[at+n]) +
		" where oldText has " + quoteLine(want[n])
}

func splitLines(text []byte, most int) []string {
	var lines []string
	for len(text) > 0 && len(lines) < most {
		line, rest, _ := bytes.Cut(text, []byte("\n"))
		lines = append(lines, string(bytes.TrimSuffix(line, []byte("\r"))))
		text = rest
	}
	return lines
}

// sprintLine formats a sentence about the line with index i of the file.
func sprintLine(format string, i int, line string) string {
	if !strings.Contains(format, "%q") {
		return fmt.Sprintf(format, i+1)
	}
	return fmt.Sprintf(strings.Replace(format, "%q", "%s", 1), i+1, quoteLine(line))
}

func quoteLine(line string) string { return strconv.Quote(shorten(line, hintBytes)) }
