package core

import (
	"bytes"
	"regexp/syntax"
)

// folded is a text that every match of a pattern holds in some spelling of
// upper and lower case. It has ASCII bytes only, and neither k nor s, which
// Unicode also folds with the Kelvin sign and the long s.
type folded struct {
	lower []byte
	at    int     // of the byte to look for: the rarest in lower
	cases [2]byte // its spellings; equal unless it is a letter
}

// rare orders the letters of English text from frequent to rare. Any other
// byte is taken to be rarer still.
const rare = "etaoinrhldcumfpgwybvxjqz"

// newFolded chooses the longest usable run of a text, nil if there is none.
func newFolded(text string) *folded {
	lower, best := bytes.ToLower([]byte(text)), []byte(nil)
	for from, i := 0, 0; i <= len(lower); i++ {
		if i < len(lower) && lower[i] < 0x80 && lower[i] != 'k' && lower[i] != 's' {
			continue
		}
		if i-from > len(best) {
			best = lower[from:i]
		}
		from = i + 1
	}
	if len(best) == 0 {
		return nil
	}
	f := &folded{lower: best}
	rank := -1
	for i, c := range best {
		r := bytes.IndexByte([]byte(rare), c)
		if r < 0 {
			r = len(rare)
		}
		if r > rank {
			f.at, rank = i, r
		}
	}
	c := best[f.at]
	f.cases = [2]byte{c, c}
	if c >= 'a' && c <= 'z' {
		f.cases[1] = c - 'a' + 'A'
	}
	return f
}

// finder looks for a folded text from the front to the back of one text.
type finder struct {
	*folded
	text []byte
	next [2]int // where each spelling of the rare byte stands next
}

func (f *folded) in(text []byte) *finder { return &finder{folded: f, text: text, next: [2]int{-1, -1}} }

// from returns where the text stands at or behind pos, -1 if nowhere. pos must
// not shrink from call to call.
func (f *finder) from(pos int) int {
	for at := pos + f.at; ; at++ {
		for k, c := range f.cases {
			if f.next[k] >= at {
				continue
			}
			i := -1
			if at < len(f.text) {
				i = bytes.IndexByte(f.text[at:], c)
			}
			f.next[k] = len(f.text)
			if i >= 0 {
				f.next[k] = at + i
			}
		}
		at = min(f.next[0], f.next[1])
		start := at - f.at
		if at >= len(f.text) || start+len(f.lower) > len(f.text) {
			return -1
		}
		if equalFold(f.text[start:start+len(f.lower)], f.lower) {
			return start
		}
	}
}

// equalFold compares ASCII text with lower-case text.
func equalFold(b, lower []byte) bool {
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}

// requiredFolded is required for texts that may have either case.
func requiredFolded(re *syntax.Regexp) string {
	return longest(re, func(lit *syntax.Regexp) string {
		if f := newFolded(string(lit.Rune)); f != nil {
			return string(f.lower)
		}
		return ""
	})
}
