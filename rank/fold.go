package rank

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// fold removes the differences in writing that a searcher does not mean:
// compatibility forms (NFKC: full width, ligatures, circled digits) and the
// diacritics of alphabetic scripts. Case is kept, since the tokenizer still
// needs it. ASCII text, nearly all of a catalog, comes back untouched.
func fold(s string) string {
	if isASCII(s) {
		return s
	}
	s = norm.NFKC.String(strings.ToValidUTF8(s, " "))
	if isASCII(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for _, r := range s {
		foldRune(&b, r)
	}
	return b.String()
}

// foldRune writes r without the marks that alphabetic scripts put on letters.
// Marks of other scripts are letters of their own (a Thai vowel, a Japanese
// voicing mark) and stay.
func foldRune(b *strings.Builder, r rune) {
	if r < utf8.RuneSelf {
		b.WriteByte(byte(r))
		return
	}
	if special := undecomposed(r); special != "" {
		b.WriteString(special)
		return
	}
	if isDiacritic(r) {
		return
	}
	if !unicode.In(r, unicode.Latin, unicode.Greek, unicode.Cyrillic) {
		b.WriteRune(r)
		return
	}
	var buf [utf8.UTFMax]byte
	n := utf8.EncodeRune(buf[:], r)
	decomposed := norm.NFD.Properties(buf[:n]).Decomposition()
	if len(decomposed) == 0 {
		b.WriteRune(r)
		return
	}
	for i := 0; i < len(decomposed); {
		d, size := utf8.DecodeRune(decomposed[i:])
		if !isDiacritic(d) {
			b.WriteRune(d)
		}
		i += size
	}
}

// isDiacritic reports a combining diacritical mark (U+0300 to U+036F).
func isDiacritic(r rune) bool { return r >= 0x0300 && r <= 0x036F }

// undecomposed spells the Latin letters that Unicode does not decompose but
// that people type without their stroke or as two letters.
func undecomposed(r rune) string {
	switch r {
	case 'ß', 'ẞ':
		return "ss"
	case 'ø':
		return "o"
	case 'Ø':
		return "O"
	case 'æ':
		return "ae"
	case 'Æ':
		return "Ae"
	case 'œ':
		return "oe"
	case 'Œ':
		return "Oe"
	case 'đ':
		return "d"
	case 'Đ':
		return "D"
	case 'ł':
		return "l"
	case 'Ł':
		return "L"
	case 'ı':
		return "i"
	}
	return ""
}

func isASCII(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
