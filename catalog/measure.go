package catalog

import (
	"unicode/utf8"

	"github.com/toolsearch/toolsearch/tool"
)

// measured is a text whose size in JSON is known for every cut of it, so that one
// that fits is found without writing each.
type measured struct {
	chars  int   // of the text
	whole  int   // of its JSON
	prefix []int // of the JSON of its first i characters, up to MaxSearchChars
}

func measure(s string) measured {
	raw, err := tool.Encode(s)
	if err != nil || len(raw) < 2 { // a string always marshals
		return measured{}
	}
	body := string(raw[1 : len(raw)-1])
	m := measured{chars: tool.Chars(s), whole: tool.Chars(body)}
	m.prefix = make([]int, 1, min(m.chars, MaxSearchChars)+2)
	for i, n := 0, 0; i < len(body) && len(m.prefix) <= MaxSearchChars; {
		r, size := utf8.DecodeRuneInString(body[i:])
		width := 1
		switch {
		case r == '\\' && body[i+1] == 'u':
			size, width = len(`\u0000`), len(`\u0000`)
		case r == '\\':
			size, width = len(`\n`), len(`\n`)
		case r > 0xFFFF: // two characters, between which nothing is cut
			m.prefix = append(m.prefix, n)
			width = 2
		}
		i, n = i+size, n+width
		m.prefix = append(m.prefix, n)
	}
	return m
}

// saved is how much shorter the JSON gets when the text is cut to most characters,
// at most MaxSearchChars, as tool.CutChars cuts it.
func (m *measured) saved(most int) int {
	switch {
	case m.chars <= most:
		return 0
	case most < 1:
		return m.whole
	}
	return m.whole - m.prefix[most-1] - 1 // one character is the ellipsis
}
