package schema

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/toolsearch/toolsearch/internal/editdistance"
)

// Bounds of the search for the name that was meant.
const (
	maxCandidates = 256
	maxCompared   = 64 // characters of a name
)

// nearest returns the candidate that name was probably meant to be, or "".
// Case, '-', '_', '.' and spaces count for nothing; beyond that a third of the
// characters may differ by insertion, deletion, replacement or transposition
// of neighbours (Damerau-Levenshtein, each pair once), or one of the two may be
// the other's beginning, three characters or more. The closest wins, then the
// first in order of bytes.
func nearest(name string, candidates []string) string {
	folded := fold(name)
	if len(folded) == 0 || len(folded) > maxCompared {
		return ""
	}
	best, bestDistance := "", 0
	for _, c := range candidates[:min(len(candidates), maxCandidates)] {
		f := fold(c)
		if len(f) == 0 || len(f) > maxCompared || c == name {
			continue
		}
		allowed := max(len(folded), len(f)) / 3
		d := editdistance.Of(folded, f)
		if d > allowed && abbreviates(folded, f) {
			d = allowed
		}
		if d > allowed {
			continue
		}
		if best == "" || d < bestDistance || d == bestDistance && c < best {
			best, bestDistance = c, d
		}
	}
	if len(best) > maxPropertyName {
		return ""
	}
	return plain(best)
}

func fold(s string) []rune {
	if utf8.RuneCountInString(s) > 2*maxCompared {
		return nil
	}
	s = strings.ToLower(s)
	out := make([]rune, 0, len(s))
	for _, r := range s {
		switch r {
		case '-', '_', '.', ' ':
		default:
			out = append(out, r)
		}
	}
	return out
}

// abbreviates reports whether one name begins with the whole other.
func abbreviates(a, b []rune) bool {
	n := min(len(a), len(b))
	return n >= 3 && slices.Equal(a[:n], b[:n])
}
