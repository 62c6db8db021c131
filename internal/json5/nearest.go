package json5

import (
	"strings"

	"github.com/toolsearch/toolsearch/internal/editdistance"
)

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
		if n := editdistance.Of([]byte(folded), []byte(other)); n < best && n*3 <= min(len(folded), len(other)) {
			best, found = n, name
		}
	}
	return found
}

func fold(s string) string {
	return strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(s))
}
