// Package json5 reads and edits JSON5 text (https://spec.json5.org) that people
// write by hand.
//
// Parse turns a text into a tree whose every node knows its byte span, so that
// a caller can say line and column of whatever is wrong. Document.Decode fills
// Go values. Document.Set and Document.Unset edit by splicing the text: they
// change one value and leave every other byte, comments included, as it was.
//
// Guarantees:
//
//  1. No input makes this package panic, recurse beyond MaxDepth, or hold more
//     than MaxNodes nodes.
//  2. Numbers keep their literal: nothing is rounded unless a caller asks for a
//     float.
//  3. Keys are only keys. "__proto__" has no meaning, and a repeated key is
//     reported (Document.Duplicates); the last one counts.
//  4. What Set and Unset return parses, and holds the value asked for.
//
// A Document is immutable and safe for concurrent use.
package json5

import (
	"fmt"
	"sort"
	"strings"
	"unicode/utf8"
)

// Bounds of what Parse accepts.
const (
	MaxSize   = 4 << 20 // bytes of text
	MaxDepth  = 128     // nested arrays and objects
	MaxNodes  = 1 << 18 // values in one document
	maxNumber = 1000    // bytes of one number
)

// Kind is the kind of a value.
type Kind uint8

// The kinds.
const (
	Null Kind = iota
	Bool
	Number
	String
	Array
	Object
)

// String names the kind with its article's noun: "null", "boolean", "number", …
func (k Kind) String() string {
	switch k {
	case Bool:
		return "boolean"
	case Number:
		return "number"
	case String:
		return "string"
	case Array:
		return "array"
	case Object:
		return "object"
	}
	return "null"
}

// Node is one value. Start and End are byte offsets into the text, End
// exclusive. Nodes must not be changed.
type Node struct {
	Kind       Kind
	Start, End int
	Members    []Member // of an object, in the text's order
	Elems      []*Node  // of an array

	text  string // decoded string, or the literal of a number or boolean
	comma int    // offset of the comma after this value, 0 when there is none
	raw   string // for Set: verbatim text, because it holds comments
	open  bool   // for Set: render with one member a line
}

// Member is one key and value of an object.
type Member struct {
	Key      string // decoded
	KeyStart int
	KeyEnd   int
	Value    *Node
}

// Member returns the value of a key, nil when the node has none. Of a repeated
// key the last one counts.
func (n *Node) Member(key string) *Node {
	if i := n.memberIndex(key); i >= 0 {
		return n.Members[i].Value
	}
	return nil
}

func (n *Node) memberIndex(key string) int {
	for i := len(n.Members) - 1; i >= 0; i-- {
		if n.Members[i].Key == key {
			return i
		}
	}
	return -1
}

// Pos is a place in a text: line and column count from 1, columns in
// characters. Lines end with LF, CRLF or CR.
type Pos struct {
	Line, Column int
}

// String returns "line:column".
func (p Pos) String() string { return fmt.Sprintf("%d:%d", p.Line, p.Column) }

// Error is a fault at a place in a text.
type Error struct {
	Pos     Pos
	Offset  int // in bytes
	Path    Path
	Problem string
	Hint    string // what to do, may be empty
}

// Error returns place, problem and hint. It never quotes more of the text than
// one character or one key.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Pos.String())
	b.WriteString(": ")
	if len(e.Path) > 0 {
		b.WriteString(e.Path.String())
		b.WriteString(": ")
	}
	b.WriteString(e.Problem)
	if e.Hint != "" {
		b.WriteString("; ")
		b.WriteString(e.Hint)
	}
	return b.String()
}

// Duplicate is a key that one object has twice.
type Duplicate struct {
	Path          Path
	First, Second int // byte offsets of the two keys
}

// Document is a parsed text.
type Document struct {
	Root       *Node
	Duplicates []Duplicate // in the text's order, at most maxDuplicates

	src   string
	lines []int // offsets where lines begin
}

// Bytes returns a copy of the text.
func (d *Document) Bytes() []byte { return []byte(d.src) }

// Text returns the text of a node as it was written.
func (d *Document) Text(n *Node) string { return d.src[n.Start:n.End] }

// Pos returns the place of a byte offset; offsets outside the text are moved
// to its nearer end. A byte order mark takes no column.
func (d *Document) Pos(offset int) Pos {
	return place(d.src, d.lines, offset)
}

// ErrorAt returns an Error at the beginning of a node.
func (d *Document) ErrorAt(n *Node, path Path, problem, hint string) *Error {
	return &Error{Pos: d.Pos(n.Start), Offset: n.Start, Path: path, Problem: problem, Hint: hint}
}

const byteOrderMark = "\uFEFF"

func place(src string, lines []int, offset int) Pos {
	offset = max(0, min(offset, len(src)))
	line := sort.SearchInts(lines, offset+1) // the number of lines that begin at or before offset
	before := src[lines[line-1]:offset]
	if line == 1 {
		before = strings.TrimPrefix(before, byteOrderMark)
	}
	return Pos{Line: line, Column: utf8.RuneCountInString(before) + 1}
}

func lineStarts(src string) []int {
	starts := []int{0}
	for i := 0; i < len(src); i++ {
		switch src[i] {
		case '\r':
			if i+1 < len(src) && src[i+1] == '\n' {
				i++
			}
			starts = append(starts, i+1)
		case '\n':
			starts = append(starts, i+1)
		}
	}
	return starts
}
