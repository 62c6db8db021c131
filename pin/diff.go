package pin

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/toolsearch/toolsearch/tool"
)

// Bounds of a diff.
const (
	maxDiffLines = 4000    // lines shown
	maxDiffTable = 1 << 20 // cells of the table that aligns two texts; larger texts are shown whole
	diffContext  = 3       // unchanged lines shown around a change
)

// Diff shows what changed between two definitions, as Definition.Text and
// the pins hold them: for each member that differs its name, and its lines,
// those that went with "- " and those that came with "+ " before them. Nothing
// stays hidden: see Visible. It is "" for equal definitions. A definition that is
// empty was too large to be kept, and the diff says so.
func Diff(old, new json.RawMessage) string {
	if len(old) == 0 || len(new) == 0 {
		return "the definitions differ, and at least one of them is too large to be kept for a diff\n"
	}
	if bytes.Equal(old, new) {
		return ""
	}
	var w diffWriter
	for _, m := range pairMembers(old, new) {
		if !bytes.Equal(m.old, m.new) {
			w.member(m)
		}
	}
	if w.left > 0 {
		w.out.WriteString("… and more lines that are not shown: the change is too large to be read here; refuse it, or read the whole definitions\n")
	}
	return w.out.String()
}

// pair is one member in both definitions; nil where it is missing.
type pair struct {
	name     string
	old, new json.RawMessage
}

// pairMembers matches members by name and, where a name stands twice, by place.
func pairMembers(old, new json.RawMessage) []pair {
	var out []pair
	for side, raw := range [...]json.RawMessage{old, new} {
		members, err := tool.ReadObject(raw)
		if err != nil { // no definition: shown whole
			members = tool.Object{{Name: "definition", Value: raw}}
		}
		from := 0
		for _, m := range members {
			if side == 0 {
				out = append(out, pair{name: m.Name, old: m.Value})
				continue
			}
			i := slices.IndexFunc(out, func(p pair) bool { return p.name == m.Name && p.new == nil })
			if i < 0 {
				out = slices.Insert(out, from, pair{name: m.Name})
				i = from
			}
			out[i].new = m.Value
			from = i + 1
		}
	}
	return out
}

// changedMembers names the covered members in which what a server offers differs
// from what was accepted. Names that a server made up are left out.
func changedMembers(p *Pin) []string {
	if len(p.Definition) == 0 || len(p.OfferedDefinition) == 0 {
		return nil
	}
	var names []string
	for _, m := range pairMembers(p.Definition, p.OfferedDefinition) {
		if !bytes.Equal(m.old, m.new) && slices.Contains(covered[:], m.name) {
			names = append(names, m.name)
		}
	}
	return names
}

// lines splits a member's value for reading: a string as the text it is, all else
// as indented JSON.
func lines(raw json.RawMessage) []string {
	if raw == nil {
		return nil
	}
	var text string
	if raw[0] != '"' || json.Unmarshal(raw, &text) != nil {
		var buf bytes.Buffer
		if json.Indent(&buf, raw, "", "  ") != nil {
			return []string{string(raw)}
		}
		text = buf.String()
	}
	return strings.Split(text, "\n")
}

// diffWriter gathers the lines of a diff.
type diffWriter struct {
	out   strings.Builder
	shown int
	left  int
}

func (w *diffWriter) line(mark, text string) {
	if w.shown >= maxDiffLines {
		w.left++
		return
	}
	w.shown++
	w.out.WriteString(mark)
	w.out.WriteString(Visible(text))
	w.out.WriteByte('\n')
}

func (w *diffWriter) member(m pair) {
	switch {
	case m.old == nil:
		w.line("", m.name+" (new)")
	case m.new == nil:
		w.line("", m.name+" (gone)")
	default:
		w.line("", m.name)
	}
	steps := align(lines(m.old), lines(m.new))
	if m.old != nil && m.new != nil && !slices.ContainsFunc(steps, func(s step) bool { return s.mark != ' ' }) {
		// The texts read alike, so what differs is how a string is written.
		steps = []step{{'-', string(m.old)}, {'+', string(m.new)}}
	}
	near := nearChanges(steps)
	for i, s := range steps {
		switch {
		case near[i]:
			w.line("  "+string(s.mark)+" ", s.text)
		case i == 0 || near[i-1]:
			w.line("    ", "...")
		}
	}
}

// nearChanges marks the steps that are a change or stand close to one.
func nearChanges(steps []step) []bool {
	near := make([]bool, len(steps))
	for i, s := range steps {
		if s.mark == ' ' {
			continue
		}
		for k := max(0, i-diffContext); k < min(len(steps), i+diffContext+1); k++ {
			near[k] = true
		}
	}
	return near
}

// step is one line of an alignment: ' ' in both texts, '-' in the old, '+' in the
// new one.
type step struct {
	mark byte
	text string
}

// align finds a longest common subsequence of lines by the usual table, after
// taking off what is equal at both ends.
func align(a, b []string) []step {
	var head, tail []step
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		head = append(head, step{' ', a[0]})
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		tail = append(tail, step{' ', a[len(a)-1]})
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	slices.Reverse(tail)
	return append(append(head, alignMiddle(a, b)...), tail...)
}

func alignMiddle(a, b []string) []step {
	var out []step
	width := len(b) + 1
	common := []int32(nil)
	if (len(a)+1)*width <= maxDiffTable {
		common = make([]int32, (len(a)+1)*width) // of what is left of both
		for i := len(a) - 1; i >= 0; i-- {
			for j := len(b) - 1; j >= 0; j-- {
				if a[i] == b[j] {
					common[i*width+j] = common[(i+1)*width+j+1] + 1
				} else {
					common[i*width+j] = max(common[(i+1)*width+j], common[i*width+j+1])
				}
			}
		}
	}
	i, j := 0, 0
	for common != nil && i < len(a) && j < len(b) {
		switch {
		case a[i] == b[j]:
			out = append(out, step{' ', a[i]})
			i, j = i+1, j+1
		case common[(i+1)*width+j] >= common[i*width+j+1]:
			out = append(out, step{'-', a[i]})
			i++
		default:
			out = append(out, step{'+', b[j]})
			j++
		}
	}
	for ; i < len(a); i++ {
		out = append(out, step{'-', a[i]})
	}
	for ; j < len(b); j++ {
		out = append(out, step{'+', b[j]})
	}
	return out
}
