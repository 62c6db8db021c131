package json5

import "strings"

// style is how a document is written, so that what is added looks like what is
// there.
type style struct {
	newline  string
	unit     string // one level of indentation
	keyQuote byte   // 0: keys that are plain names stand without quotes
	strQuote byte
	trailing bool   // a comma after the last member of a block
	colon    string // between key and value
	sep      string // between members on one line
	pad      string // inside the braces of an object on one line
	oneLine  bool   // the whole document stands on one line
}

// styleOf reads the style off the document, the first example of each trait
// deciding. A document that shows a trait nowhere gets the usual JSON5 one.
func styleOf(d *Document) style {
	s := style{newline: "\n", unit: "  ", strQuote: '"', trailing: true, colon: ": ", sep: ", ", pad: " "}
	if i := strings.IndexAny(d.src, "\r\n"); i < 0 {
		s.oneLine = d.Root.count() > 0
	} else if d.src[i] == '\r' {
		s.newline = "\r"
		if strings.HasPrefix(d.src[i:], "\r\n") {
			s.newline = "\r\n"
		}
	}
	w := &styleReader{d: d, s: &s}
	w.node(d.Root)
	return s
}

// styleReader notes which traits were seen already.
type styleReader struct {
	d                                           *Document
	s                                           *style
	unit, key, str, trailing, colon, sep, inner bool
}

func (w *styleReader) node(n *Node) {
	switch {
	case n.Kind == String && !w.str:
		w.s.strQuote, w.str = w.d.src[n.Start], true
	case n.count() > 0:
		w.container(n)
	}
}

func (w *styleReader) container(n *Node) {
	first, last := n.childStart(0), n.child(n.count()-1)
	block := w.d.ownLine(first)
	if block && !w.unit {
		outer, inner := w.d.indentAt(n.Start), w.d.indentAt(first)
		if unit, ok := strings.CutPrefix(inner, outer); ok && unit != "" {
			w.s.unit, w.unit = unit, true
		}
	}
	if block && !w.trailing {
		w.s.trailing, w.trailing = last.comma > 0, true
	}
	if !block && !w.inner && n.Kind == Object {
		w.s.pad, w.inner = blanks(w.d.src[n.Start+1:first]), true
	}
	if !w.sep && n.count() > 1 && !w.d.ownLine(n.childStart(1)) {
		w.s.sep, w.sep = ","+blanks(w.d.src[n.child(0).comma+1:n.childStart(1)]), true
	}
	for i := range n.count() {
		if n.Kind == Object {
			w.member(n.Members[i])
		}
		w.node(n.child(i))
	}
}

func (w *styleReader) member(m Member) {
	if !w.key {
		w.s.keyQuote, w.key = keyQuote(w.d.src[m.KeyStart]), true
	}
	between := w.d.src[m.KeyEnd:m.Value.Start]
	if !w.colon && strings.Trim(between, " \t:") == "" {
		w.s.colon, w.colon = between, true
		if between == ":" && !w.sep {
			w.s.sep, w.s.pad = ",", ""
		}
	}
}

func keyQuote(c byte) byte {
	if c == '"' || c == '\'' {
		return c
	}
	return 0
}

// blanks returns the spaces and tabs that s begins with.
func blanks(s string) string { return s[:len(s)-len(strings.TrimLeft(s, " \t"))] }

// lineStart is where the line that holds the offset begins.
func (d *Document) lineStart(offset int) int {
	return strings.LastIndexAny(d.src[:offset], "\r\n") + 1
}

// indentAt returns the indentation of the line that holds the offset.
func (d *Document) indentAt(offset int) string {
	return blanks(strings.TrimPrefix(d.src[d.lineStart(offset):offset], byteOrderMark))
}

// ownLine reports whether only blanks stand before the offset on its line, and
// a line before it.
func (d *Document) ownLine(offset int) bool {
	start := d.lineStart(offset)
	return start > 0 && len(blanks(d.src[start:offset])) == offset-start
}
