package json5

import (
	"strings"
	"unicode/utf8"
)

// inlineWidth is the longest text of an array or object that is added on one
// line, in characters.
const inlineWidth = 72

// renderer writes new values in a document's style.
type renderer struct {
	style
	inline bool // everything on one line
}

// value writes n; indent is that of the line it begins on.
func (r renderer) value(n *Node, indent string) string {
	switch {
	case n.raw != "":
		return r.reindent(n.raw, indent)
	case n.Kind == String:
		return Quote(n.text, r.strQuote)
	case n.Kind != Array && n.Kind != Object:
		return n.text
	case n.count() == 0 && n.Kind == Array:
		return "[]"
	case n.count() == 0:
		return "{}"
	}
	if r.inline {
		return r.oneLine(n)
	}
	if !n.open {
		if line := (renderer{r.style, true}).oneLine(n); utf8.RuneCountInString(line) <= inlineWidth && !strings.ContainsAny(line, "\r\n") {
			return line
		}
	}
	return r.block(n, indent)
}

func (r renderer) oneLine(n *Node) string {
	var b strings.Builder
	for i := range n.count() {
		if i > 0 {
			b.WriteString(r.sep)
		}
		b.WriteString(r.child(n, i, ""))
	}
	if n.Kind == Array {
		return "[" + b.String() + "]"
	}
	return "{" + r.pad + b.String() + r.pad + "}"
}

func (r renderer) block(n *Node, indent string) string {
	inner := indent + r.unit
	opening, closing := "{", "}"
	if n.Kind == Array {
		opening, closing = "[", "]"
	}
	var b strings.Builder
	b.WriteString(opening)
	for i := range n.count() {
		b.WriteString(r.newline + inner + r.child(n, i, inner))
		if i < n.count()-1 || r.trailing {
			b.WriteByte(',')
		}
	}
	b.WriteString(r.newline + indent + closing)
	return b.String()
}

func (r renderer) child(n *Node, i int, indent string) string {
	if n.Kind == Array {
		return r.value(n.Elems[i], indent)
	}
	return r.key(n.Members[i].Key) + r.colon + r.value(n.Members[i].Value, indent)
}

func (r renderer) key(key string) string {
	if r.keyQuote != 0 {
		return Quote(key, r.keyQuote)
	}
	for i, c := range key {
		if c >= utf8.RuneSelf || i == 0 && !isNameStart(c) || !isNamePart(c) {
			return Quote(key, r.strQuote)
		}
	}
	if key == "" {
		return Quote(key, r.strQuote)
	}
	return key
}

// reindent moves a text of several lines so that its last line, where the
// closing bracket stands, has the given indentation. Lines inside a string or
// comment that continue over a line end are left alone by keeping the text
// whole when the shift is not clear.
func (r renderer) reindent(raw, indent string) string {
	lines := strings.Split(raw, "\n")
	if len(lines) == 1 {
		return raw
	}
	old := blanks(lines[len(lines)-1])
	for _, l := range lines[1:] {
		if strings.HasSuffix(strings.TrimSuffix(l, "\r"), `\`) || !strings.HasPrefix(l, old) && strings.TrimSpace(l) != "" {
			return raw
		}
	}
	if strings.HasSuffix(strings.TrimSuffix(lines[0], "\r"), `\`) {
		return raw
	}
	for i := range lines {
		line := strings.TrimSuffix(lines[i], "\r")
		if i > 0 && line != "" {
			line = indent + strings.TrimPrefix(line, old)
		}
		lines[i] = line
	}
	return strings.Join(lines, r.newline)
}
