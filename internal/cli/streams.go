package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"golang.org/x/term"

	"github.com/toolsearch/toolsearch/tool"
)

// streams are the three standard streams, and what they can show.
type streams struct {
	in       io.Reader
	out, err io.Writer
	outTTY   bool
	errTTY   bool
	colour   bool
	width    int // columns of stdout, 80 when it is no terminal
}

func newStreams(in io.Reader, out, err io.Writer) *streams {
	s := &streams{in: in, out: out, err: err, width: 80}
	if f, ok := out.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		s.outTTY = true
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w >= 20 {
			s.width = w
		}
	}
	if f, ok := err.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		s.errTTY = true
	}
	s.colour = s.outTTY && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	return s
}

// bold and dim style text for a terminal.
func (s *streams) bold(text string) string { return s.style("1", text) }
func (s *streams) dim(text string) string  { return s.style("2", text) }

func (s *streams) style(code, text string) string {
	if !s.colour || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// printJSON writes v, indented on a terminal and on one line into a pipe.
func (s *streams) printJSON(v any) error {
	raw, err := tool.Encode(v)
	if err != nil {
		return err
	}
	if s.outTTY {
		var indented []byte
		if indented, err = json.MarshalIndent(json.RawMessage(raw), "", "  "); err == nil {
			raw = indented
		}
	}
	_, err = fmt.Fprintf(s.out, "%s\n", raw)
	return err
}

// oneLine folds text to a single line of at most max characters.
func oneLine(text string, max int) string {
	out := make([]rune, 0, len(text))
	space := false
	for _, r := range tool.Clean(text, 64<<10) {
		if r == '\n' || r == '\t' || r == ' ' {
			space = len(out) > 0
			continue
		}
		if space {
			out = append(out, ' ')
			space = false
		}
		out = append(out, r)
	}
	cut, _ := tool.CutChars(string(out), max)
	return cut
}
