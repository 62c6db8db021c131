package json5

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

const maxDuplicates = 20

// Parse reads one JSON5 value. The error is an *Error.
func Parse(src []byte) (*Document, error) {
	if len(src) > MaxSize {
		return nil, &Error{Pos: Pos{1, 1}, Problem: fmt.Sprintf("the text has %d bytes; at most %d are read", len(src), MaxSize)}
	}
	p := &parser{src: string(src)}
	d := &Document{src: p.src, lines: lineStarts(p.src)}
	root, err := p.document()
	if err != nil {
		err.Pos = d.Pos(err.Offset)
		return nil, err
	}
	d.Root, d.Duplicates = root, p.duplicates
	return d, nil
}

// parser is a recursive descent over src; depth keeps it from the stack's end.
type parser struct {
	src        string
	pos        int
	nodes      int
	path       Path
	duplicates []Duplicate
}

func (p *parser) fail(offset int, format string, args ...any) *Error {
	return &Error{Offset: offset, Problem: fmt.Sprintf(format, args...)}
}

// unexpected names the character at the current position.
func (p *parser) unexpected(want string) *Error {
	if p.pos >= len(p.src) {
		return p.fail(p.pos, "the text ends; expected %s", want)
	}
	r, _ := utf8.DecodeRuneInString(p.src[p.pos:])
	return p.fail(p.pos, "unexpected %s; expected %s", showRune(r), want)
}

func showRune(r rune) string {
	if r == '\'' {
		return `"'"`
	}
	return fmt.Sprintf("%+q", r)
}

func (p *parser) document() (*Node, *Error) {
	if i := invalidUTF8(p.src); i >= 0 {
		return nil, p.fail(i, "byte 0x%02x is not UTF-8", p.src[i])
	}
	if err := p.space(); err != nil {
		return nil, err
	}
	root, err := p.value(0)
	if err != nil {
		return nil, err
	}
	if err := p.space(); err != nil {
		return nil, err
	}
	if p.pos < len(p.src) {
		return nil, p.unexpected("the end of the text")
	}
	return root, nil
}

func invalidUTF8(s string) int {
	if utf8.ValidString(s) {
		return -1
	}
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return -1
}

// space skips white space and comments.
func (p *parser) space() *Error {
	for p.pos < len(p.src) {
		end, err := p.comment(p.pos)
		if err != nil {
			return err
		}
		if end > p.pos {
			p.pos = end
			continue
		}
		r, n := utf8.DecodeRuneInString(p.src[p.pos:])
		if !isSpace(r) {
			return nil
		}
		p.pos += n
	}
	return nil
}

// comment returns the end of the comment that begins at i, or i. The end of a
// line comment is before its line terminator.
func (p *parser) comment(i int) (int, *Error) {
	switch rest := p.src[i:]; {
	case strings.HasPrefix(rest, "//"):
		if n := strings.IndexFunc(rest, isLineEnd); n >= 0 {
			return i + n, nil
		}
		return len(p.src), nil
	case strings.HasPrefix(rest, "/*"):
		n := strings.Index(rest[2:], "*/")
		if n < 0 {
			return i, p.fail(i, "this comment never ends; expected */")
		}
		return i + n + 4, nil
	}
	return i, nil
}

func isLineEnd(r rune) bool { return r == '\n' || r == '\r' || r == '\u2028' || r == '\u2029' }

func isSpace(r rune) bool {
	switch r {
	case '\t', '\v', '\f', ' ', '\u00A0', '\uFEFF':
		return true
	}
	return isLineEnd(r) || r > 0x7F && unicode.Is(unicode.Zs, r)
}

const aValue = "a value"

func (p *parser) value(depth int) (*Node, *Error) {
	if p.nodes++; p.nodes > MaxNodes {
		return nil, p.fail(p.pos, "more than %d values", MaxNodes)
	}
	if p.pos >= len(p.src) {
		return nil, p.unexpected(aValue)
	}
	switch c := p.src[p.pos]; {
	case c == '{' || c == '[':
		if depth >= MaxDepth {
			return nil, p.fail(p.pos, "nested more than %d deep", MaxDepth)
		}
		if c == '{' {
			return p.object(depth)
		}
		return p.array(depth)
	case c == '"' || c == '\'':
		start := p.pos
		s, err := p.quoted()
		return &Node{Kind: String, Start: start, End: p.pos, text: s}, err
	case c == '+' || c == '-' || c == '.' || isDigit(c) || c == 'I' || c == 'N':
		return p.number()
	}
	for _, w := range [...]struct {
		text string
		kind Kind
	}{{"null", Null}, {"true", Bool}, {"false", Bool}} {
		if strings.HasPrefix(p.src[p.pos:], w.text) {
			n := &Node{Kind: w.kind, Start: p.pos, End: p.pos + len(w.text), text: w.text}
			p.pos = n.End
			return n, p.wordEnd()
		}
	}
	return nil, p.unexpected(aValue)
}

// wordEnd refuses a word or number that runs on, as in "nullx" or "12ab".
func (p *parser) wordEnd() *Error {
	r, n := utf8.DecodeRuneInString(p.src[p.pos:])
	if n > 0 && (isNamePart(r) || r == '\\') {
		return p.unexpected("the end of the word")
	}
	return nil
}

func (p *parser) object(depth int) (*Node, *Error) {
	n := &Node{Kind: Object, Start: p.pos}
	seen := map[string]int{}
	for p.pos++; ; {
		if err := p.space(); err != nil {
			return nil, err
		}
		if p.take('}') {
			n.End = p.pos
			return n, nil
		}
		m, err := p.member(depth)
		if err != nil {
			return nil, err
		}
		if first, again := seen[m.Key]; again && len(p.duplicates) < maxDuplicates {
			path := append(append(Path(nil), p.path...), Step{Key: m.Key})
			p.duplicates = append(p.duplicates, Duplicate{Path: path, First: first, Second: m.KeyStart})
		} else if !again {
			seen[m.Key] = m.KeyStart
		}
		n.Members = append(n.Members, m)
		if err := p.separator(m.Value, '}'); err != nil {
			return nil, err
		}
	}
}

func (p *parser) member(depth int) (m Member, err *Error) {
	m.KeyStart = p.pos
	if m.Key, err = p.key(); err != nil {
		return m, err
	}
	m.KeyEnd = p.pos
	if err = p.space(); err != nil {
		return m, err
	}
	if !p.take(':') {
		return m, p.unexpected("':' after the key")
	}
	if err = p.space(); err != nil {
		return m, err
	}
	p.path = append(p.path, Step{Key: m.Key})
	m.Value, err = p.value(depth + 1)
	p.path = p.path[:len(p.path)-1]
	return m, err
}

func (p *parser) array(depth int) (*Node, *Error) {
	n := &Node{Kind: Array, Start: p.pos}
	for p.pos++; ; {
		if err := p.space(); err != nil {
			return nil, err
		}
		if p.take(']') {
			n.End = p.pos
			return n, nil
		}
		p.path = append(p.path, indexStep(len(n.Elems)))
		e, err := p.value(depth + 1)
		p.path = p.path[:len(p.path)-1]
		if err != nil {
			return nil, err
		}
		n.Elems = append(n.Elems, e)
		if err := p.separator(e, ']'); err != nil {
			return nil, err
		}
	}
}

// separator reads the comma after a value, or stops before the closing bracket.
func (p *parser) separator(after *Node, closing byte) *Error {
	if err := p.space(); err != nil {
		return err
	}
	if p.pos < len(p.src) && p.src[p.pos] == closing {
		return nil
	}
	comma := p.pos
	if !p.take(',') {
		return p.unexpected(fmt.Sprintf("',' or '%c'", closing))
	}
	after.comma = comma
	return nil
}

func (p *parser) take(c byte) bool {
	if p.pos < len(p.src) && p.src[p.pos] == c {
		p.pos++
		return true
	}
	return false
}
