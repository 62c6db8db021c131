package json5

import "strings"

// maxNear bounds the keys that Nearest compares, in bytes.
const maxNear = 64

// Nearest returns the name that key is most likely a misspelling of: equal but
// for case, '-' and '_', or a few typing errors away (insertion, deletion,
// substitution, or two neighbours swapped). It returns "" when none is near.
// Of several equally near ones the first counts.
func Nearest(key string, names []string) string {
	if len(key) > maxNear {
		return ""
	}
	best, found := 3, "" // at most two errors
	folded := fold(key)
	for _, name := range names {
		if len(name) > maxNear {
			continue
		}
		other := fold(name)
		// A short word is near to everything: at most one error in three
		// characters.
		if n := typos(folded, other); n < best && n*3 <= min(len(folded), len(other)) {
			best, found = n, name
		}
	}
	return found
}

func fold(s string) string {
	return strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(s))
}

// typos is the optimal string alignment distance of two words, in bytes.
func typos(a, b string) int {
	before := make([]int, len(b)+1)
	row := make([]int, len(b)+1)
	next := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		next[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			next[j] = min(row[j]+1, next[j-1]+1, row[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				next[j] = min(next[j], before[j-2]+1)
			}
		}
		before, row, next = row, next, before
	}
	return row[len(b)]
}
