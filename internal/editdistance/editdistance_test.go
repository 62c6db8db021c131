package editdistance_test

import (
	"testing"

	"github.com/toolsearch/toolsearch/internal/editdistance"
)

func TestOf(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"abc", "abc", 0},
		{"kitten", "sitting", 3}, // the textbook case
		{"teh", "the", 1},        // a swap is one
		{"ca", "abc", 3},         // where the unrestricted distance is 2
		{"größe", "grosse", 3},   // ö to o, ß to s, and one s more
	} {
		for _, pair := range [][2]string{{tt.a, tt.b}, {tt.b, tt.a}} {
			if got := editdistance.Of([]rune(pair[0]), []rune(pair[1])); got != tt.want {
				t.Errorf("%q and %q are %d apart, want %d", pair[0], pair[1], got, tt.want)
			}
		}
	}
}
