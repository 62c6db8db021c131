package json5

import (
	"fmt"
	"sort"
	"strings"
	"unicode/utf8"
)

// splice replaces src[start:end] by text.
type splice struct {
	start, end int
	text       string
}

// apply makes all edits in one pass. They must not overlap; edits at one place
// are made in the order given.
func (d *Document) apply(edits ...splice) []byte {
	sort.SliceStable(edits, func(i, j int) bool { return edits[i].start < edits[j].start })
	var out []byte
	at := 0
	for _, e := range edits {
		out = append(append(out, d.src[at:e.start]...), e.text...)
		at = e.end
	}
	return append(out, d.src[at:]...)
}

// Set returns the text with the value at path replaced, or added when it is not
// there; missing parents are added too, as objects, or as an array for the step
// [0]. An array grows by the index just behind its end. The value is JSON5
// text. It is written in the style of its neighbours, and as it stands when it
// holds comments. Everything outside the value, and the comma it may need,
// stays byte for byte.
//
// The error is an *Error: of the value when it does not parse, and of the
// document when a step leads through a value that is no container.
func (d *Document) Set(path Path, value string) ([]byte, error) {
	val, err := parseValue(value)
	if err != nil {
		return nil, err
	}
	st := styleOf(d)
	n := d.Root
	for depth, step := range path {
		i, err := n.find(step)
		if err != nil {
			return nil, d.ErrorAt(n, path[:depth], err.Error(), fmt.Sprintf("to set %s, set %s to a new value first", path, path[:depth]))
		}
		if i < 0 || i == n.count() {
			added, err := wrap(path[depth+1:], val)
			if err != nil {
				return nil, d.ErrorAt(n, path[:depth], err.Error(), "")
			}
			return check(d.insert(n, step.Key, added, st), path, val)
		}
		n = n.child(i)
	}
	if n.Kind == String {
		st.strQuote = d.src[n.Start]
	}
	text := renderer{st, st.oneLine}.value(val, d.indentAt(n.Start))
	return check(d.apply(splice{n.Start, n.End, text}), path, val)
}

// parseValue reads the text of a new value, and keeps it verbatim if it holds
// comments.
func parseValue(value string) (*Node, error) {
	d, err := Parse([]byte(value))
	if err != nil {
		return nil, err
	}
	if len(d.Duplicates) > 0 {
		dup := d.Duplicates[0]
		return nil, &Error{Pos: d.Pos(dup.Second), Offset: dup.Second, Path: dup.Path, Problem: "the key stands here twice"}
	}
	if text := d.Text(d.Root); d.hasComment(d.Root) {
		d.Root.raw = text
	} else {
		d.Root.open = strings.ContainsAny(text, "\r\n")
	}
	return d.Root, nil
}

// hasComment reports whether a comment stands inside the node: between its
// tokens, so a "//" inside a string is none.
func (d *Document) hasComment(n *Node) bool {
	if n.count() == 0 {
		return n.Kind >= Array && strings.Contains(d.Text(n), "/")
	}
	at := n.Start
	for i := range n.count() {
		c := n.child(i)
		gap := d.src[at:n.childStart(i)]
		if n.Kind == Object {
			gap += d.src[n.Members[i].KeyEnd:c.Start]
		}
		if strings.Contains(gap, "/") || d.hasComment(c) {
			return true
		}
		at = c.End
	}
	return strings.Contains(d.src[at:n.End], "/")
}

// wrap puts a value inside the parents that the rest of a path asks for.
func wrap(rest Path, val *Node) (*Node, error) {
	for i := len(rest) - 1; i >= 0; i-- {
		step := rest[i]
		parent := &Node{Kind: Object, Members: []Member{{Key: step.Key, Value: val}}, open: true}
		if step.Index {
			if step.Key != "0" {
				return nil, fmt.Errorf("the array for the index [%s] is not there yet; begin with [0]", step.Key)
			}
			parent = &Node{Kind: Array, Elems: []*Node{val}, open: val.Kind >= Array}
		}
		val = parent
	}
	return val, nil
}

// check proves that an edited text holds what was asked for. A failure would be
// a defect of this package; better an error than a broken file.
func check(text []byte, path Path, want *Node) ([]byte, error) {
	d, err := Parse(text)
	if err != nil {
		return nil, fmt.Errorf("set %s: the edited text would not be JSON5: %w", path, err)
	}
	if got := d.Get(path); got == nil || !Equal(got, want) {
		return nil, fmt.Errorf("set %s: the edited text would not hold the value", path)
	}
	return text, nil
}

// Equal reports whether two values are the same: kinds, strings, members in
// their order, and numbers by their literal.
func Equal(a, b *Node) bool {
	if a.Kind != b.Kind || a.text != b.text || a.count() != b.count() {
		return false
	}
	for i := range a.count() {
		if a.Kind == Object && a.Members[i].Key != b.Members[i].Key || !Equal(a.child(i), b.child(i)) {
			return false
		}
	}
	return true
}

// insert adds a child behind the last one of a container.
func (d *Document) insert(n *Node, key string, val *Node, st style) []byte {
	if n.count() == 0 {
		return d.insertFirst(n, key, val, st)
	}
	last := n.child(n.count() - 1)
	lastStart := n.childStart(n.count() - 1)
	st.keyQuote = d.siblingQuote(n, st.keyQuote)
	block := d.ownLine(lastStart)
	tail, comma := last.End, ","
	if last.comma > 0 {
		tail, comma = last.comma+1, ""
	}
	edits := []splice{{last.End, last.End, comma}}
	indent := d.indentAt(lastStart)
	child := renderer{st, !block}.entry(n, key, val, indent)
	if comma == "" {
		child += ","
	}
	at := d.sameLine(tail, block)
	if block {
		child = st.newline + indent + child
	} else {
		child = st.sep[1:] + child
	}
	return d.apply(append(edits, splice{at, at, child})...)
}

// siblingQuote is how an object's keys are quoted: not at all if one of them
// is not, since the others may only need it.
func (d *Document) siblingQuote(n *Node, otherwise byte) byte {
	for i := range n.Members {
		if otherwise = keyQuote(d.src[n.Members[i].KeyStart]); otherwise == 0 {
			break
		}
	}
	return otherwise
}

// insertFirst fills an empty container, keeping the comments in it.
func (d *Document) insertFirst(n *Node, key string, val *Node, st style) []byte {
	inside := d.src[n.Start+1 : n.End-1]
	base := d.indentAt(n.Start)
	broken := strings.ContainsAny(inside, "\r\n")
	block := broken || !st.oneLine && (n.Kind == Object || val.open)
	child := renderer{st, !block}.entry(n, key, val, base+st.unit)
	if block && st.trailing {
		child += ","
	}
	kept := strings.TrimRightFunc(inside, isSpace)
	at := n.Start + 1 + len(kept)
	switch {
	case kept != "" && broken: // comments, then the closing bracket on a line of its own or not
		return d.apply(splice{at, at, st.newline + base + st.unit + child})
	case kept != "" && block:
		return d.apply(splice{at, n.End - 1, st.newline + base + st.unit + child + st.newline + base})
	case kept != "":
		return d.apply(splice{at, at, " " + child})
	case block:
		return d.apply(splice{n.Start + 1, n.End - 1, st.newline + base + st.unit + child + st.newline + base})
	case n.Kind == Object:
		child = st.pad + child + st.pad
	}
	return d.apply(splice{n.Start + 1, n.End - 1, child})
}

func (r renderer) entry(n *Node, key string, val *Node, indent string) string {
	if n.Kind == Array {
		return r.value(val, indent)
	}
	return r.key(key) + r.colon + r.value(val, indent)
}

// sameLine returns the end of the comments that follow without a line between,
// so that a remark stays with what it is about. In front of text that begins a
// new line (block) that may be any comment, else only one within its line.
func (d *Document) sameLine(at int, block bool) int {
	p := &parser{src: d.src}
	end := at
	for at < len(d.src) {
		at += len(blanks(d.src[at:]))
		after, err := p.comment(at)
		if err != nil || after == at {
			break
		}
		if strings.HasPrefix(d.src[at:], "//") {
			if block {
				end = after
			}
			break
		}
		if !block && strings.IndexFunc(d.src[at:after], isLineEnd) >= 0 {
			break
		}
		at, end = after, after
	}
	return end
}

// Unset returns the text without the value at path, and whether it was there.
// A repeated key is removed every time. Comments beside the value stay; an
// object or array that becomes empty stays too.
func (d *Document) Unset(path Path) ([]byte, bool, error) {
	if len(path) == 0 {
		return nil, false, &Error{Pos: Pos{1, 1}, Problem: "the whole document cannot be unset"}
	}
	last := path[len(path)-1]
	for removed := false; ; removed = true {
		parent := d.Get(path[:len(path)-1])
		if parent == nil {
			return d.Bytes(), removed, nil
		}
		i, err := parent.find(last)
		if err != nil || i < 0 || i >= parent.count() {
			return d.Bytes(), removed, nil
		}
		again := parent.Kind == Object
		if d, err = Parse(d.remove(parent, i)); err != nil {
			return nil, false, fmt.Errorf("unset %s: the edited text would not be JSON5: %w", path, err)
		}
		if !again {
			return d.Bytes(), true, nil
		}
	}
}

// remove cuts the i-th child out of a container.
func (d *Document) remove(n *Node, i int) []byte {
	start, c := n.childStart(i), n.child(i)
	tail := c.End
	var edits []splice
	if c.comma > 0 {
		if strings.Trim(d.src[c.End:c.comma], " \t") == "" {
			tail = c.comma + 1
		} else {
			edits = append(edits, splice{c.comma, c.comma + 1, ""})
		}
	} else if i > 0 {
		before := n.child(i - 1).comma
		edits = append(edits, splice{before, before + 1, ""})
	}
	if n.count() == 1 && onlySpace(d.src[n.Start+1:start]) && onlySpace(d.src[tail:n.End-1]) {
		return d.apply(splice{n.Start + 1, n.End - 1, ""})
	}
	from, to := d.cut(n, i, start, tail)
	return d.apply(append(edits, splice{from, to, ""})...)
}

func onlySpace(s string) bool { return strings.TrimFunc(s, isSpace) == "" }

// cut widens the span of a child to the white space that goes with it.
func (d *Document) cut(n *Node, i, start, tail int) (from, to int) {
	behind := tail + len(blanks(d.src[tail:]))
	if d.ownLine(start) {
		line := d.lineStart(start)
		rest := d.src[behind:]
		switch r, _ := utf8.DecodeRuneInString(rest); {
		case r == '\r' || r == '\n':
			size := 1
			if strings.HasPrefix(rest, "\r\n") {
				size = 2
			}
			return line, behind + size
		case r == '/':
			return start, behind
		}
		if !d.endsInLineComment(n, i, start) {
			if strings.HasSuffix(d.src[:line], "\r\n") {
				return line - 2, tail
			}
			return line - 1, tail
		}
		return start, tail
	}
	if i == 0 {
		if n.count() > 1 {
			return start, behind
		}
		return start, tail
	}
	return len(strings.TrimRight(d.src[:start], " \t")), tail
}

// endsInLineComment reports whether the line before a child ends in a line
// comment, so that nothing may be joined to it.
func (d *Document) endsInLineComment(n *Node, i, start int) bool {
	at := n.Start + 1
	if i > 0 {
		at = n.child(i - 1).End
	}
	p := &parser{src: d.src}
	line := false
	for at < start {
		after, err := p.comment(at)
		if err != nil {
			return true
		}
		if after > at {
			line = strings.HasPrefix(d.src[at:], "//")
			at = after
			continue
		}
		r, size := utf8.DecodeRuneInString(d.src[at:])
		if !isSpace(r) {
			line = false
		}
		at += size
	}
	return line
}
