package approval

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/toolsearch/toolsearch/internal/legible"
	"github.com/toolsearch/toolsearch/tool"
)

// Bounds of Text, in bytes.
const (
	MaxText     = 4000
	minArgument = 80 // of one argument, however many there are
	maxArgument = 20 // arguments that are shown
	maxLabel    = 200
	maxFolder   = 400
)

// Text shows the request to the person who is asked, in plain lines of at most
// MaxText bytes. Nothing in it can hide: what is invisible, reorders text or
// drives a terminal is written as an escape, each argument stands on one line,
// and what is left out is said.
func (r Request) Text() string {
	return Show(Question{Tool: r.Tool, Folder: r.Folder, Reason: r.Reason, Args: r.Call})
}

// Question is what Show tells of a request.
type Question struct {
	Tool   tool.ID
	Folder string // "" is not told
	Reason string // why it is asked; "" is not told
	Args   json.RawMessage
}

// Show is Text for arguments from elsewhere, such as a Record's.
func Show(q Question) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Tool: %s\n", bounded(Visible(string(q.Tool)), maxLabel))
	if q.Folder != "" {
		fmt.Fprintf(&b, "Folder: %s\n", bounded(Visible(q.Folder), maxFolder))
	}
	if q.Reason != "" {
		fmt.Fprintf(&b, "Asked because: %s\n", bounded(Visible(q.Reason), maxLabel))
	}
	o, err := tool.ReadObject(q.Args)
	switch {
	case err != nil:
		fmt.Fprintf(&b, "Arguments: %s\n", bounded(Visible(string(q.Args)), MaxText/2))
		return b.String()
	case len(o) == 0:
		b.WriteString("Arguments: none\n")
		return b.String()
	}
	b.WriteString("Arguments:\n")
	shown := o[:min(len(o), maxArgument)]
	room := max((MaxText-2*maxLabel-maxFolder-200)/len(shown)-maxLabel/4, minArgument)
	for _, m := range shown {
		fmt.Fprintf(&b, "  %s: %s\n", bounded(Visible(m.Name), maxLabel/4), bounded(Visible(familiar(m.Value)), room))
	}
	if n := len(o) - len(shown); n > 0 {
		fmt.Fprintf(&b, "  … and %d more arguments that are NOT shown\n", n)
	}
	return b.String()
}

// familiar writes the escapes of line ends and tabs as people know them. The
// canonical form has them as \u000a and the like.
func familiar(raw json.RawMessage) string {
	var b strings.Builder
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' || i+1 == len(raw) {
			b.WriteByte(raw[i])
			continue
		}
		short := ""
		if i+6 <= len(raw) {
			switch string(raw[i : i+6]) {
			case `\u000a`:
				short = `\n`
			case `\u000d`:
				short = `\r`
			case `\u0009`:
				short = `\t`
			}
		}
		if short != "" {
			b.WriteString(short)
			i += 5
			continue
		}
		b.Write(raw[i : i+2])
		i++
	}
	return b.String()
}

// bounded keeps both ends of a text that is too long, and says what is missing.
func bounded(s string, max int) string {
	const note = 40 // bytes of the note between
	if len(s) <= max {
		return s
	}
	head, tail := (max-note)*2/3, (max-note)/3
	for head > 0 && !utf8.RuneStart(s[head]) {
		head--
	}
	start := len(s) - tail
	for start < len(s) && !utf8.RuneStart(s[start]) {
		start++
	}
	return fmt.Sprintf("%s …[%d bytes NOT shown]… %s", s[:head], start-head, s[start:])
}

// Visible writes text on one line, with everything that a reader could not see
// or would see elsewhere as a JSON escape: control and format characters, other
// spaces, fillers, private and unassigned characters, tags, bytes that are not
// UTF-8, and combining marks beyond two in a row.
func Visible(s string) string {
	if !strings.ContainsFunc(s, needsCare) && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	marks := 0
	for i, r := range s {
		if unicode.Is(unicode.M, r) {
			marks++
		} else {
			marks = 0
		}
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD"):
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case marks > 2, !legible.Rune(r):
			escape(&b, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func needsCare(r rune) bool { return r > unicode.MaxLatin1 || !legible.Rune(r) }

func escape(b *strings.Builder, r rune) {
	switch r {
	case '\n':
		b.WriteString(`\n`)
	case '\r':
		b.WriteString(`\r`)
	case '\t':
		b.WriteString(`\t`)
	default:
		if high, low := utf16.EncodeRune(r); high != unicode.ReplacementChar {
			fmt.Fprintf(b, `\u%04x\u%04x`, high, low)
			return
		}
		fmt.Fprintf(b, `\u%04x`, r)
	}
}
