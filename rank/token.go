package rank

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// A token is one searchable piece of a text, lowered. Its bytes are
// tokens.text[start:end].
type token struct {
	start, end uint32
	kind       kind
	clause     uint8 // number of clause marks seen before it, saturating
	capital    bool  // it began with a capital letter
}

// kind says how a token came about.
type kind uint8

const (
	word   kind = iota // a word, or a part of a camelCase word
	joined             // both parts of a two-part camelCase word together: GitHub → github
	stemOf             // the letters of a word that ends in digits: oauth2 → oauth
	gram               // a bigram of a script that writes no spaces
)

// maxToken bounds a token's bytes. Longer runs are data (hashes, base64), not
// words, and are cut.
const maxToken = 48

// tokens is a reusable list of tokens. The zero value is ready.
type tokens struct {
	text   []byte
	list   []token
	clause uint8
}

func (t *tokens) reset() { t.text, t.list, t.clause = t.text[:0], t.list[:0], 0 }

func (t *tokens) bytes(k token) []byte { return t.text[k.start:k.end] }

// scan appends the tokens of s, at most max in all.
func (t *tokens) scan(s string, max int) {
	s = fold(s)
	for i := 0; i < len(s) && len(t.list) < max; {
		r, size := rune(s[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(s[i:])
		}
		switch {
		case unspaced(r):
			end := runEnd(s, i, func(r rune) bool { return unspaced(r) || unicode.IsMark(r) })
			t.grams(s[i:end])
			i = end
		case wordRune(r):
			end := wordEnd(s, i)
			t.word(s[i:end])
			i = end
		default:
			if clauseMark(s, i, r) && t.clause < 255 {
				t.clause++
			}
			i += size
		}
	}
	if len(t.list) > max {
		t.list = t.list[:max]
	}
}

// clauseMark reports punctuation that ends a clause. A mark inside a word
// (3.14, example.com, 10:30) does not.
func clauseMark(s string, i int, r rune) bool {
	switch r {
	case '.', ',', ':', '!', '?':
		return i+1 >= len(s) || s[i+1] <= ' '
	case ';', '\n', '+', '(', ')', '。', '、', '，', '；', '：', '！', '？', '—', '•':
		return true
	}
	return false
}

// wordRune reports runes of scripts that put spaces between words.
func wordRune(r rune) bool {
	if r < utf8.RuneSelf {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
	}
	return !unspaced(r) && (unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r))
}

// unspaced reports runes of scripts whose words are not set apart by spaces,
// or (Hangul) whose spaced units carry endings.
func unspaced(r rune) bool {
	if r < 0x0E00 {
		return false
	}
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul,
		unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar) || r == 'ー'
}

func runEnd(s string, i int, in func(rune) bool) int {
	for i < len(s) {
		r, size := utf8.DecodeRuneInString(s[i:])
		if !in(r) {
			break
		}
		i += size
	}
	return i
}

// wordEnd finds the end of the word that starts at i. An apostrophe between
// letters belongs to the word, and so does the hyphen after a single letter
// (e-mail, x-ray).
func wordEnd(s string, i int) int {
	start := i
	for i < len(s) {
		if c := s[i]; c < utf8.RuneSelf {
			if wordRune(rune(c)) {
				i++
				continue
			}
			if (c == '\'' || c == '-' && i == start+1) && i+1 < len(s) && wordRune(rune(s[i+1])) {
				i++
				continue
			}
			return i
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == '’' && i+size < len(s) && wordRune(rune(s[i+size])) {
			i += size
			continue
		}
		if !wordRune(r) {
			return i
		}
		i += size
	}
	return i
}

// grams appends the overlapping pairs of the run's characters, a character
// being a base with its marks; a run of one character is appended whole.
// Characters that only glue a sentence together end a run, so that no pair
// reaches across them.
func (t *tokens) grams(run string) {
	prev, cur := -1, -1 // starts of the last two characters
	flush := func(end int) {
		switch {
		case prev >= 0:
			t.add(run[prev:end], gram)
		case cur >= 0 && (end == len(run) || cur == 0 || glue(before(run, cur))):
			t.add(run[cur:end], gram)
		}
	}
	for i, r := range run {
		switch {
		case unicode.IsMark(r) && cur >= 0: // belongs to the character before it
		case glue(r):
			flush(i)
			prev, cur = -1, -1
		default:
			if prev >= 0 {
				t.add(run[prev:i], gram)
			}
			prev, cur = cur, i
		}
	}
	flush(len(run))
}

func before(s string, i int) rune {
	r, _ := utf8.DecodeLastRuneInString(s[:i])
	return r
}

// glue reports the commonest Chinese and Japanese function characters.
func glue(r rune) bool {
	switch r {
	case '的', '了', '吗', '呢', '吧', '我', '你', '您', '请', '们', '它', '把', '被', '是', '在', '和', '与', '这', '那',
		'を', 'は', 'が', 'に', 'の', 'へ':
		return true
	}
	return false
}

// word appends the parts of a word: split where the case says so, then
// lowered. Acronyms stay whole, also with a plural s (URLs) and where one
// capital leads a word (OAuth).
func (t *tokens) word(w string) {
	first, parts := len(t.list), 0
	start := 0
	for start < len(w) {
		end := partEnd(w, start)
		t.part(w[start:end])
		parts++
		start = end
	}
	if parts == 2 && len(t.list) >= first+2 {
		t.add(w, joined)
	}
}

// part appends one part of a word, without its possessive, and the letters
// before trailing digits as an extra.
func (t *tokens) part(w string) {
	n := len(t.list)
	t.add(w, word)
	if len(t.list) == n {
		return
	}
	b := t.bytes(t.list[n])
	letters := len(bytes.TrimRight(b, "0123456789"))
	if letters >= 3 && letters < len(b) {
		k := t.list[n]
		k.end, k.kind = k.start+uint32(letters), stemOf
		t.list = append(t.list, k)
	}
}

// add appends s, lowered and without apostrophes and hyphens, as one token.
func (t *tokens) add(s string, k kind) {
	start := len(t.text)
	for i := 0; i < len(s) && len(t.text)-start < maxToken; {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r == '’' {
				if contraction(s[i+size:]) {
					break
				}
			} else {
				t.text = utf8.AppendRune(t.text, unicode.ToLower(r))
			}
			i += size
			continue
		}
		switch {
		case c == '\'' && contraction(s[i+1:]):
			i = len(s)
			continue
		case 'A' <= c && c <= 'Z':
			t.text = append(t.text, c+'a'-'A')
		case c != '\'' && c != '-':
			t.text = append(t.text, c)
		}
		i++
	}
	if len(t.text) > start {
		class, _ := classAt(s, 0)
		t.list = append(t.list, token{uint32(start), uint32(len(t.text)), k, t.clause, class == upper})
	}
}

// contraction reports what follows an apostrophe and is not part of the word:
// user's, I'd, don't, we'll.
func contraction(rest string) bool {
	switch rest {
	case "s", "S", "t", "d", "m", "ll", "re", "ve":
		return true
	}
	return false
}

// class of a rune for case splitting.
const (
	lower = iota
	upper
	digit
)

func classAt(s string, i int) (class, size int) {
	c := s[i]
	switch {
	case c < utf8.RuneSelf && 'A' <= c && c <= 'Z':
		return upper, 1
	case c < utf8.RuneSelf && '0' <= c && c <= '9':
		return digit, 1
	case c < utf8.RuneSelf:
		return lower, 1
	}
	r, size := utf8.DecodeRuneInString(s[i:])
	switch {
	case unicode.IsUpper(r):
		return upper, size
	case unicode.IsDigit(r):
		return digit, size
	}
	return lower, size
}

// partEnd returns the end of the part of w that starts at start.
func partEnd(w string, start int) int {
	first, size := classAt(w, start)
	prev, i := first, start+size
	lastUpper, uppers := start, 0 // start of the last capital in the leading run, and its length
	if first == upper {
		uppers = 1
	}
	leading := first == upper
	for i < len(w) {
		c, size := classAt(w, i)
		switch {
		case c == upper && prev == lower:
			return i
		case c == upper && prev == digit && first != digit:
			return i
		case c == upper && leading:
			lastUpper, uppers = i, uppers+1
		case c == lower && leading && uppers >= 2:
			if w[i] == 's' && pluralEnds(w, i+1) {
				break
			}
			if uppers == 2 && w[start] != 'A' && w[start] != 'I' { // OAuth, but A|List
				break
			}
			return lastUpper
		}
		if c != upper {
			leading = false
		}
		prev, i = c, i+size
	}
	return len(w)
}

// pluralEnds reports whether the acronym's plural s, which ends at i, is
// followed by the end or by a new part.
func pluralEnds(w string, i int) bool {
	if i >= len(w) {
		return true
	}
	c, _ := classAt(w, i)
	return c != lower
}
