package json5

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Step is one step into a document: a key of an object, or an index of an
// array. A Step made of plain digits, as in "list.0", is either.
type Step struct {
	Key   string
	Index bool // written in brackets: only an array has it
}

// Path leads from the root of a document to a value; the empty Path is the root.
type Path []Step

func indexStep(i int) Step { return Step{Key: strconv.Itoa(i), Index: true} }

// Child returns the path extended by a key. The receiver is not changed.
func (p Path) Child(key string) Path { return append(p[:len(p):len(p)], Step{Key: key}) }

// Elem returns the path extended by an index. The receiver is not changed.
func (p Path) Elem(i int) Path { return append(p[:len(p):len(p)], indexStep(i)) }

// String writes the path so that ParsePath reads it back: keys joined with
// dots, indexes in brackets, and unusual keys in brackets and double quotes.
func (p Path) String() string {
	var b strings.Builder
	for i, s := range p {
		switch {
		case s.Index:
			b.WriteString("[" + s.Key + "]")
		case plainKey(s.Key):
			if i > 0 {
				b.WriteByte('.')
			}
			b.WriteString(s.Key)
		default:
			b.WriteString("[" + Quote(s.Key, '"') + "]")
		}
	}
	return b.String()
}

func plainKey(key string) bool {
	for i := 0; i < len(key); i++ {
		c := key[i]
		if !isDigit(c) && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && strings.IndexByte("_$-/@:", c) < 0 {
			return false
		}
	}
	return key != ""
}

// ParsePath reads a path such as
//
//	mcp.servers.github.env.TOKEN
//	agents.list[0].tools.deny[2]
//	mcp.servers["a.b"].url
func ParsePath(s string) (Path, error) {
	if i := invalidUTF8(s); i >= 0 {
		return nil, fmt.Errorf("read the path %s: byte 0x%02x is not UTF-8", Quote(s, '"'), s[i])
	}
	var path Path
	for rest := s; rest != ""; {
		step, after, err := nextStep(rest)
		if err != nil {
			return nil, fmt.Errorf("read the path %s at character %d: %w", Quote(s, '"'), len(s)-len(rest)+1, err)
		}
		if path = append(path, step); len(path) > MaxDepth {
			return nil, fmt.Errorf("read the path %.40q…: more than %d steps", s, MaxDepth)
		}
		rest = after
		if dotted, ok := strings.CutPrefix(rest, "."); ok && dotted != "" && dotted[0] != '[' {
			rest = dotted
		} else if rest != "" && rest[0] != '[' {
			return nil, fmt.Errorf("read the path %s at character %d: expected a key, as in tools.profile or list[0]", Quote(s, '"'), len(s)-len(rest)+1)
		}
	}
	return path, nil
}

func nextStep(s string) (step Step, rest string, err error) {
	if s[0] != '[' {
		end := strings.IndexAny(s, `.[]"' `)
		if end < 0 {
			end = len(s)
		}
		if end == 0 {
			return step, s, fmt.Errorf("expected a key; a key with %q in it is written in brackets and quotes", s[0])
		}
		return Step{Key: s[:end]}, s[end:], nil
	}
	p := &parser{src: s, pos: 1}
	switch {
	case len(s) > 1 && (s[1] == '"' || s[1] == '\''):
		key, fault := p.quoted()
		if fault != nil {
			return step, s, errors.New(fault.Problem)
		}
		step = Step{Key: key}
	case p.skip(isDigit) > 0:
		step = Step{Key: s[1:p.pos], Index: true}
	default:
		return step, s, errors.New(`expected an index or a quoted key in the brackets, as in [0] or ["a.b"]`)
	}
	if !p.take(']') {
		return step, s, errors.New("expected ] after the index or key")
	}
	return step, s[p.pos:], nil
}

// Get returns the value at a path, nil when there is none.
func (d *Document) Get(path Path) *Node {
	n := d.Root
	for _, step := range path {
		i, err := n.find(step)
		if err != nil || i < 0 || i >= n.count() {
			return nil
		}
		n = n.child(i)
	}
	return n
}

// find returns the index of a step's child; -1 for a key that an object lacks;
// the length for the index just behind an array's end.
func (n *Node) find(step Step) (int, error) {
	switch n.Kind {
	case Object:
		if step.Index {
			return -1, errors.New("this is an object, and [" + step.Key + "] is an index; name a key")
		}
		return n.memberIndex(step.Key), nil
	case Array:
		i, err := strconv.Atoi(step.Key)
		if err != nil || i < 0 || step.Key[0] == '+' || step.Key[0] == '-' {
			return -1, errors.New("this is an array, and " + Quote(step.Key, '"') + " is no index")
		}
		if i > len(n.Elems) {
			return -1, fmt.Errorf("the index %d is beyond the end; the array has %d elements, and [%d] would add one", i, len(n.Elems), len(n.Elems))
		}
		return i, nil
	}
	return -1, fmt.Errorf("this is a %s and holds nothing", n.Kind)
}

func (n *Node) count() int { return len(n.Members) + len(n.Elems) }

func (n *Node) child(i int) *Node {
	if n.Kind == Object {
		return n.Members[i].Value
	}
	return n.Elems[i]
}

// childStart is where the i-th child's text begins, its key included.
func (n *Node) childStart(i int) int {
	if n.Kind == Object {
		return n.Members[i].KeyStart
	}
	return n.Elems[i].Start
}
