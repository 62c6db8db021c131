package approval

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
)

// maxLine bounds what is read of one answer, in bytes; the rest of a longer line
// is dropped.
const maxLine = 256

// Terminal asks at a terminal, one request after the other. It is for programs
// whose standard input is a terminal and belongs to nothing else.
type Terminal struct {
	in    *bufio.Reader
	out   io.Writer
	flush func()

	turn  chan struct{} // held by whoever prompts
	start sync.Once
	want  chan struct{} // asks the reader for a line
	lines chan string   // from the reader; closed at the end of input
	owed  bool          // a line was asked for by a prompt that was given up; guarded by turn
}

// NewTerminal makes a Terminal. flush, when not nil, is called before each
// prompt and throws away what was typed before it, so that nothing typed ahead
// is taken for an answer.
func NewTerminal(in io.Reader, out io.Writer, flush func()) *Terminal {
	if flush == nil {
		flush = func() {}
	}
	return &Terminal{
		in: bufio.NewReaderSize(in, maxLine), out: out, flush: flush,
		turn: make(chan struct{}, 1), want: make(chan struct{}, 1), lines: make(chan string),
	}
}

// Ask shows the request and reads a line. Anything but a clear yes is a no. At
// the end of input there is no route.
func (t *Terminal) Ask(ctx context.Context, r Request) (Decision, error) {
	select {
	case t.turn <- struct{}{}:
		defer func() { <-t.turn }()
	case <-ctx.Done():
		return Decision{}, ctx.Err()
	}
	t.start.Do(func() { go t.read() })
	t.flush()
	// After a prompt that was given up, the next line may have been meant for
	// that one: it must name the request then.
	code := ""
	hint := "[y]es once, yes for this [s]ession, [N]o"
	if t.owed {
		code = r.ID
		hint += fmt.Sprintf("; and add %s, as in \"n %s\"", code, code)
	}
	if _, err := fmt.Fprintf(t.out, "\nApproval %s is needed.\n%sAllow? %s: ", r.ID, r.Text(), hint); err != nil {
		return Decision{}, fmt.Errorf("ask at the terminal: %w", err)
	}
	for {
		if !t.owed {
			t.want <- struct{}{} // never blocks: the reader has taken the last one
		}
		t.owed = true
		select {
		case line, ok := <-t.lines:
			if !ok {
				return Decision{}, ErrNoRoute
			}
			t.owed = false
			if d, ok := readAnswer(line, code); ok {
				_, err := fmt.Fprintln(t.out, map[Answer]string{Allow: "allowed", Deny: "denied"}[d.Answer])
				return d, err
			}
			if _, err := fmt.Fprintf(t.out, "answer y, s or n, and add %s: ", code); err != nil {
				return Decision{}, fmt.Errorf("ask at the terminal: %w", err)
			}
		case <-ctx.Done():
			_, err := fmt.Fprintln(t.out, "\n(no longer needed)")
			return Decision{}, errors.Join(ctx.Err(), err)
		}
	}
}

// readAnswer reads a line; ok is false when it must name the request and does
// not.
func readAnswer(line, code string) (d Decision, ok bool) {
	d = Decision{By: "the user at the terminal"}
	words := strings.Fields(strings.ToLower(line))
	if code != "" {
		if len(words) == 0 || words[len(words)-1] != code {
			return d, false
		}
		words = words[:len(words)-1]
	}
	d.AskAgain = true // unless it is a clear no
	if len(words) != 1 {
		return d, true
	}
	switch words[0] {
	case "n", "no":
		d.AskAgain = false
	case "y", "yes":
		d = Decision{By: d.By, Answer: Allow, Scope: Once}
	case "s", "session":
		d = Decision{By: d.By, Answer: Allow, Scope: Session}
	}
	return d, true
}

// read is the one reader of the terminal. A read cannot be given up, so it may
// outlive the prompt that wanted it.
func (t *Terminal) read() {
	defer close(t.lines)
	for range t.want {
		line, cut, err := t.in.ReadLine()
		text := string(line)
		for cut && err == nil {
			text = "" // too long for an answer
			_, cut, err = t.in.ReadLine()
		}
		if err != nil {
			return
		}
		t.lines <- text
	}
}
