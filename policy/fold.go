package policy

import (
	"slices"
	"unicode"
	"unicode/utf8"
)

// appendFold appends s to dst in folded case, so that two texts that differ in
// case alone fold to the same bytes. Broad folding is Unicode's simple folding;
// narrow folding keeps a letter from outside ASCII apart from the ASCII letter it
// folds to (U+212A Kelvin sign, U+017F long s). Invalid UTF-8 is kept as it is.
func appendFold(dst []byte, s string, broad bool) []byte {
	dst = slices.Grow(dst, len(s))
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if 'A' <= c && c <= 'Z' {
				c += 'a' - 'A'
			}
			dst = append(dst, c)
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			dst = append(dst, c)
		} else {
			dst = utf8.AppendRune(dst, foldRune(r, broad))
		}
		i += n
	}
	return dst
}

// foldRune returns the smallest letter that r folds to, in lower case if that
// is an ASCII letter.
func foldRune(r rune, broad bool) rune {
	least := r
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		least = min(least, f)
	}
	if least >= utf8.RuneSelf {
		return least
	}
	if !broad {
		return r
	}
	return unicode.ToLower(least)
}

// fold returns s in folded case.
func fold(s string, broad bool) string {
	return string(appendFold(make([]byte, 0, len(s)), s, broad))
}

// ascii reports whether both foldings of s are the same for lack of other letters.
func ascii(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
