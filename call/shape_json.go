package call

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf8"
)

const (
	maxCutDepth = 64 // levels of nesting that are cut into; deeper values are left out whole
	leastPart   = 24 // characters that a member's value gets at least
	leastInside = 64 // characters from which on a container is opened rather than named
	leftOut     = `"…"`
)

// cutJSON shortens a valid JSON text to at most max characters of valid JSON,
// max at least leastPart. Arrays keep their first elements, objects as many members
// as possible with their longest values shortened, strings their beginning; each
// says what is missing.
func cutJSON(raw []byte, max int) []byte { return cutValue(bytes.TrimSpace(raw), max, 0) }

func cutValue(v []byte, max, depth int) []byte {
	if chars(v) <= max {
		return v
	}
	switch {
	case v[0] == '"':
		return cutString(v, max)
	case v[0] != '[' && v[0] != '{':
		return label(fmt.Sprintf("… a number of %d digits", len(v)), max)
	case max < leastInside || depth >= maxCutDepth:
		return name(v, max)
	case v[0] == '[':
		return cutArray(v, max, depth)
	}
	return cutObject(v, max, depth)
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
		return label(fmt.Sprintf("… an array of %d elements", len(elements(v))), max)
	}
	return label(fmt.Sprintf("… an object of %d members", len(members(v))), max)
}

// cutString keeps the beginning of a string, and no half of an escape or of a
// surrogate pair.
func cutString(v []byte, max int) []byte {
	total := chars(v) - 2
	mark := fmt.Sprintf("… (%d more characters)", total)
	room := max - 2 - chars([]byte(mark))
	if room < 1 {
		return []byte(leftOut)
	}
	end, n := 1, 0
	for end < len(v)-1 {
		size, width := stringUnit(v[end:])
		if n+width > room {
			break
		}
		end, n = end+size, n+width
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
func cutArray(v []byte, max, depth int) []byte {
	all := elements(v)
	mark := func(left int) string { return fmt.Sprintf(`"… %d more of %d elements"`, left, len(all)) }
	room := max - 2 - 1 - chars([]byte(mark(len(all))))
	out, shown := []byte{'['}, 0
	for _, e := range all {
		width := chars(e) + 1
		if width > room {
			if part := room - 1; part >= leastInside && (shown == 0 || part >= max/4) {
				out = append(append(out, cutValue(e, part, depth+1)...), ',')
				shown++
			}
			break
		}
		out = append(append(out, e...), ',')
		room -= width
		shown++
	}
	if left := len(all) - shown; left > 0 {
		return append(append(out, mark(left)...), ']')
	}
	return append(bytes.TrimSuffix(out, []byte(",")), ']')
}

// field is one member of an object, in bytes.
type field struct{ key, value []byte }

// cutObject keeps the members in order while each can have a little room, and
// shares the room out so that only the longest values are cut.
func cutObject(v []byte, max, depth int) []byte {
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
	level := share(widths, room)
	out := []byte{'{'}
	for i, f := range kept {
		out = append(append(out, f.key...), ':')
		out = append(append(out, cutValue(f.value, min(widths[i], level), depth+1)...), ',')
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

// elements splits a valid JSON array at its first level.
func elements(v []byte) [][]byte {
	var out [][]byte
	for i := next(v, 1); v[i] != ']'; i = next(v, i) {
		if v[i] == ',' {
			i = next(v, i+1)
		}
		end := valueEnd(v, i)
		out = append(out, v[i:end])
		i = end
	}
	return out
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
