package headtail_test

import (
	"strings"
	"testing"

	"github.com/toolsearch/toolsearch/internal/headtail"
)

func TestBuffer(t *testing.T) {
	for _, c := range []struct {
		name, in string
		max      int
		want     string
		omitted  int64
	}{
		{"nothing", "", 8, "", 0},
		{"as much as fits", "abcdefgh", 8, "abcdefgh", 0},
		{"one more", "abcdefghi", 8, "abcd\n[… 1 bytes omitted …]\nfghi", 1},
		{"much more", strings.Repeat("-", 100) + "wxyz", 8, "----\n[… 96 bytes omitted …]\nwxyz", 96},
		{"the odd byte goes to the end", "abcdefgh", 7, "abc\n[… 1 bytes omitted …]\nefgh", 1},
		{"halves of characters go", "aaaé-------éaaa", 8, "aaa\n[… 9 bytes omitted …]\naaa", 9},
		{"what is not UTF-8 is replaced", "a\xffb", 8, "a\uFFFDb", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			for size := 1; size <= len(c.in)+1; size++ { // of the pieces in which it is written
				b := headtail.New(c.max)
				for rest := c.in; rest != ""; {
					piece := rest[:min(size, len(rest))]
					rest = rest[len(piece):]
					if n, err := b.Write([]byte(piece)); n != len(piece) || err != nil {
						t.Fatalf("wrote %d of %d bytes: %v", n, len(piece), err)
					}
				}
				if got := b.String(); got != c.want || b.Omitted() != c.omitted {
					t.Errorf("in pieces of %d: %q, %d omitted; want %q, %d", size, got, b.Omitted(), c.want, c.omitted)
				}
			}
		})
	}
}
