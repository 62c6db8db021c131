package core

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// entry searches one entry of an open folder. Symbolic links are not followed:
// what they lead to inside the workspace is found at its own place.
func (g *grepper) entry(dir *os.Root, name string, typ fs.FileMode, at place) {
	switch {
	case g.stop():
	case typ.IsRegular() && g.glob.match(at.below):
		text, err := g.load(openSeen(dir, name))
		if err != nil {
			g.unread++
			return
		}
		if textual(text[:min(len(text), sniffBytes)], name) == nil {
			g.search(text, at.shown)
		}
	case typ.IsDir() && !skipped(name):
		g.folder(dir, name, at)
	}
}

func (g *grepper) folder(dir *os.Root, name string, at place) {
	if at.depth >= maxDepth {
		g.deep = true
		return
	}
	sub, err := dir.OpenRoot(name)
	if err != nil {
		g.unread++
		return
	}
	defer sub.Close()
	entries, err := g.scan.folder(sub)
	if err != nil {
		g.unread++
		return
	}
	for _, e := range entries {
		if g.stop() {
			return
		}
		g.entry(sub, e.Name(), e.Type(), place{
			shown: path.Join(at.shown, slashed(e.Name())),
			below: path.Join(at.below, e.Name()),
			depth: at.depth + 1,
		})
	}
}

// load reads a file that was opened, or as much of it as is searched, into the
// shared buffer.
func (g *grepper) load(f *os.File, info fs.FileInfo, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	defer f.Close()
	most := min(int64(g.fileBytes), max(info.Size(), 4*kib)) // files under /proc say 0
	if int64(cap(g.buf)) < most+1 && most <= mib {
		g.buf = make([]byte, 0, most+1)
	}
	text, err := readInto(g.ctx, f, g.buf, g.fileBytes)
	if err != nil {
		return nil, err
	}
	g.buf = text
	if len(text) == g.fileBytes && info.Size() > int64(g.fileBytes) && len(g.cut) < 5 {
		g.cut = append(g.cut, slashed(info.Name()))
	}
	return text, nil
}

// search adds the matching lines of one file.
func (g *grepper) search(text []byte, shown string) {
	g.out.Files++
	line, counted := 1, 0
	g.matcher.each(g.ctx, text, func(l span) bool {
		if len(g.out.Matches) >= g.limit || g.bytes >= maxGrepText {
			g.full = true
			return false
		}
		line += bytes.Count(text[counted:l.start], []byte{'\n'})
		counted = l.start
		f := finding{
			Path:   shown,
			Line:   line,
			Text:   around(text, l),
			Before: linesBefore(text, l.start, g.context),
			After:  linesAfter(text, l.end, g.context),
		}
		g.bytes += f.size()
		g.out.Matches = append(g.out.Matches, f)
		return true
	})
}

func (f finding) size() int {
	n := len(f.Path) + len(f.Text)
	for _, c := range f.Before {
		n += len(c)
	}
	for _, c := range f.After {
		n += len(c)
	}
	return n
}

// around shows a line, and of a long one the part around the match.
func around(text []byte, l span) string {
	if l.end-l.start <= maxLineShown {
		return valid(text[l.start:l.end])
	}
	from := max(l.start, l.from-maxLineShown/4)
	from = max(l.start, min(from, l.end-maxLineShown))
	to := min(l.end, from+maxLineShown)
	for from > l.start && from < to && text[from]&0xC0 == 0x80 {
		from++
	}
	s := shorten(valid(text[from:to]), maxLineShown)
	if from > l.start {
		s = "…" + s
	}
	if to < l.end {
		s = strings.TrimRight(s, "\uFFFD") + "…"
	}
	return s
}

func valid(b []byte) string { return strings.ToValidUTF8(string(b), "\uFFFD") }

// linesBefore returns up to n lines that end before offset start.
func linesBefore(text []byte, start, n int) []string {
	var lines []string
	for ; n > 0 && start > 0; n-- {
		end := start - 1
		start = bytes.LastIndexByte(text[:end], '\n') + 1
		lines = append(lines, contextLine(text[start:end]))
	}
	slices.Reverse(lines)
	return lines
}

// linesAfter returns up to n lines behind the line that ends at offset end.
func linesAfter(text []byte, end, n int) []string {
	var lines []string
	_, rest, _ := bytes.Cut(text[end:], []byte{'\n'})
	for ; n > 0 && len(rest) > 0; n-- {
		var line []byte
		line, rest, _ = bytes.Cut(rest, []byte{'\n'})
		lines = append(lines, contextLine(line))
	}
	return lines
}

func contextLine(b []byte) string {
	b = bytes.TrimSuffix(b, []byte{'\r'})
	return shorten(valid(b[:min(len(b), maxLineShown+utf8.UTFMax)]), maxLineShown)
}

func (g *grepper) notes() []string {
	notes := []string{}
	if g.full {
		notes = append(notes, "there are more matches; narrow the pattern, the path or the glob")
	}
	if g.scan.full {
		notes = append(notes, fmt.Sprintf("stopped after %d entries of folders; search a folder below", maxScan))
	}
	if g.deep {
		notes = append(notes, fmt.Sprintf("folders more than %d deep were left out", maxDepth))
	}
	if g.unread > 0 {
		notes = append(notes, fmt.Sprintf("%d files or folders could not be read", g.unread))
	}
	if len(g.cut) > 0 {
		notes = append(notes, fmt.Sprintf("searched only in the first %d bytes: %s", g.fileBytes, strings.Join(g.cut, ", ")))
	}
	return notes
}
