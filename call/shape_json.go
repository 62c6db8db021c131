package call

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"unicode/utf8"

	"github.com/toolsearch/toolsearch/tool"
)

const (
	maxCutDepth = 64      // levels of nesting that are cut into; deeper values are left out whole
	leastPart   = 24      // characters that a member's value gets at least
	leastInside = 64      // characters from which on a container is opened rather than named
	maxDocument = 4 << 20 // bytes of a string that is looked into for a document
	leftOut     = `"…"`
)

// cutJSON shortens a valid JSON text to at most max characters of valid JSON,
// max at least leastPart. Arrays keep their first elements, objects as many members
// as possible with their longest values shortened, strings their beginning, up to
// the end of a line where there is one; each says what is missing. A string that
// holds a JSON document, as tools answer, is cut as that document.
func cutJSON(raw []byte, max int) []byte { return cutValue(bytes.TrimSpace(raw), max, level{}) }

// level is where a value stands.
type level struct {
	depth  int
	inText bool // in a document that a string holds: those in it are not opened again
}

func (l level) below() level { return level{l.depth + 1, l.inText} }

func cutValue(v []byte, max int, at level) []byte {
	if chars(v) <= max {
		return v
	}
	switch {
	case v[0] == '"':
		if out := cutDocument(v, max, at); out != nil {
			return out
		}
		return cutString(v, max)
	case v[0] != '[' && v[0] != '{':
		return label(fmt.Sprintf("… a number of %d digits", len(v)), max)
	case max < leastInside || at.depth >= maxCutDepth:
		return name(v, max)
	case v[0] == '[':
		return cutArray(v, max, at)
	}
	return cutObject(v, max, at)
}

// cutDocument cuts a string that holds a JSON array or object; nil when it does
// not, or there is no room for it.
func cutDocument(v []byte, max int, at level) []byte {
	if at.inText || max < 2*leastInside || len(v) > maxDocument {
		return nil
	}
	var text string
	if json.Unmarshal(v, &text) != nil {
		return nil
	}
	inner := bytes.TrimSpace([]byte(text))
	if !isDocument(inner) {
		return nil
	}
	// Quotes of the document need more room in the string: how much, only the
	// result tells.
	width := chars(v)
	room := max * chars(inner) / width
	for try := 0; try < 4 && room >= leastInside; try++ {
		out, err := tool.Encode(string(cutValue(inner, room, level{at.depth + 1, true})))
		if err != nil {
			return nil
		}
		if width = chars(out); width <= max {
			return out
		}
		room = room*max/width - leastPart
	}
	return nil
}

// isDocument reports a JSON array or object.
func isDocument(b []byte) bool {
	return len(b) > 0 && (b[0] == '{' || b[0] == '[') && json.Valid(b)
}

// label is a text in place of a value.
func label(text string, max int) []byte {
	raw, err := json.Marshal(text)
	if err != nil || chars(raw) > max {
		return []byte(leftOut)
	}
	return raw
}

// name says what kind of container was left out.
func name(v []byte, max int) []byte {
	if v[0] == '[' {
		return label(fmt.Sprintf("… an array of %d elements", count(v)), max)
	}
	return label(fmt.Sprintf("… an object of %d members", len(members(v))), max)
}

// cutString keeps the beginning of a string, up to the end of a line or else of a
// word if that costs less than half, and no half of an escape or of a surrogate
// pair.
func cutString(v []byte, max int) []byte {
	total := chars(v) - 2
	mark := fmt.Sprintf("… (%d more characters)", total)
	room := max - 2 - chars([]byte(mark))
	if room < 1 {
		return []byte(leftOut)
	}
	end, n := 1, 0
	var line, word struct{ end, n int }
	for end < len(v)-1 {
		size, width := stringUnit(v[end:])
		if n+width > room {
			break
		}
		isLine, isWord := v[end] == '\\' && v[end+1] == 'n', v[end] == ' '
		end, n = end+size, n+width
		switch {
		case isLine:
			line.end, line.n = end, n
		case isWord:
			word.end, word.n = end, n
		}
	}
	switch {
	case line.n > n/2:
		end, n = line.end, line.n
	case word.n > n/2:
		end, n = word.end, word.n
	}
	out := append([]byte{}, v[:end]...)
	return append(append(out, fmt.Sprintf("… (%d more characters)", total-n)...), '"')
}

// stringUnit returns the bytes and characters of the first thing in a string that
// must not be divided.
func stringUnit(b []byte) (size, width int) {
	if b[0] != '\\' {
		r, size := utf8.DecodeRune(b)
		return size, runeWidth(r)
	}
	if b[1] != 'u' {
		return 2, 2
	}
	high := (b[2] == 'd' || b[2] == 'D') && bytes.IndexByte([]byte("89abAB"), b[3]) >= 0
	if high && len(b) >= 12 && b[6] == '\\' && b[7] == 'u' {
		return 12, 12
	}
	return 6, 6
}

// cutArray keeps the first elements, the last of them perhaps cut.
func cutArray(v []byte, max int, at level) []byte {
	all := count(v)
	mark := func(left int) string { return fmt.Sprintf(`"… %d more of %d elements"`, left, all) }
	room := max - 2 - 1 - chars([]byte(mark(all)))
	out, shown := []byte{'['}, 0
	for e := range elements(v) {
		width := chars(e) + 1
		if width > room {
			if part := room - 1; part >= leastInside && (shown == 0 || part >= max/4) {
				out = append(append(out, cutValue(e, part, at.below())...), ',')
				shown++
			}
			break
		}
		out = append(append(out, e...), ',')
		room -= width
		shown++
	}
	if left := all - shown; left > 0 {
		return append(append(out, mark(left)...), ']')
	}
	return append(bytes.TrimSuffix(out, []byte(",")), ']')
}

// field is one member of an object, in bytes.
type field struct{ key, value []byte }

// cutObject keeps the members in order while each can have a little room, and
// shares the room out so that only the longest values are cut.
func cutObject(v []byte, max int, at level) []byte {
	all := members(v)
	rest := freeKey(all)
	mark := func(left int) string { return fmt.Sprintf(`%s:"%d more of %d members"`, rest, left, len(all)) }
	room := max - 2 - 1 - chars([]byte(mark(len(all))))
	var widths []int
	least := 0
	for _, f := range all {
		width := chars(f.value)
		need := chars(f.key) + 2 + min(width, leastPart) // with colon and comma
		if least+need > room {
			break
		}
		least += need
		widths = append(widths, width)
	}
	kept := all[:len(widths)]
	for _, f := range kept {
		room -= chars(f.key) + 2
	}
	most := share(widths, room)
	out := []byte{'{'}
	for i, f := range kept {
		out = append(append(out, f.key...), ':')
		out = append(append(out, cutValue(f.value, min(widths[i], most), at.below())...), ',')
	}
	if left := len(all) - len(kept); left > 0 {
		return append(append(out, mark(left)...), '}')
	}
	return append(bytes.TrimSuffix(out, []byte(",")), '}')
}

// freeKey is a key for the mark that no member bears.
func freeKey(all []field) string {
	key := "…"
	for slices.ContainsFunc(all, func(f field) bool { return string(f.key) == `"`+key+`"` }) {
		key += "…"
	}
	return `"` + key + `"`
}

// share returns the greatest width that all may have so that their sum, each at
// most that wide, is within room.
func share(widths []int, room int) int {
	sorted := slices.Sorted(slices.Values(widths))
	for i, w := range sorted {
		if left := len(sorted) - i; w > room/left {
			return room / left
		}
		room -= w
	}
	return max(room, 0) + lastOf(sorted)
}

func lastOf(s []int) int {
	if len(s) == 0 {
		return 0
	}
	return s[len(s)-1]
}

// elements are those of a valid JSON array, at its first level.
func elements(v []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for i := next(v, 1); v[i] != ']'; i = next(v, i) {
			if v[i] == ',' {
				i = next(v, i+1)
			}
			end := valueEnd(v, i)
			if !yield(v[i:end]) {
				return
			}
			i = end
		}
	}
}

// count counts the elements of a valid JSON array.
func count(v []byte) (n int) {
	for range elements(v) {
		n++
	}
	return n
}

// members splits a valid JSON object at its first level.
func members(v []byte) []field {
	var out []field
	for i := next(v, 1); v[i] != '}'; i = next(v, i) {
		if v[i] == ',' {
			i = next(v, i+1)
		}
		end := valueEnd(v, i)
		key := v[i:end]
		i = next(v, next(v, end)+1)
		end = valueEnd(v, i)
		out = append(out, field{key, v[i:end]})
		i = end
	}
	return out
}

// next skips white space.
func next(v []byte, i int) int {
	for v[i] == ' ' || v[i] == '\n' || v[i] == '\t' || v[i] == '\r' {
		i++
	}
	return i
}

// valueEnd returns the position behind the value at i.
func valueEnd(v []byte, i int) int {
	switch v[i] {
	case '"':
		return stringEnd(v, i)
	case '[', '{':
	default:
		for i < len(v) && bytes.IndexByte([]byte(",]} \n\t\r"), v[i]) < 0 {
			i++
		}
		return i
	}
	for depth := 0; ; i++ {
		switch v[i] {
		case '"':
			i = stringEnd(v, i) - 1
		case '[', '{':
			depth++
		case ']', '}':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
}

func stringEnd(v []byte, i int) int {
	for i++; v[i] != '"'; i++ {
		if v[i] == '\\' {
			i++
		}
	}
	return i + 1
}

// chars is tool.Chars for bytes.
func chars(b []byte) int {
	n := 0
	for len(b) > 0 {
		if b[0] < utf8.RuneSelf {
			n++
			b = b[1:]
			continue
		}
		r, size := utf8.DecodeRune(b)
		n += runeWidth(r)
		b = b[size:]
	}
	return n
}

func runeWidth(r rune) int {
	if r > 0xFFFF {
		return 2
	}
	return 1
}
