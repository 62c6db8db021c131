//go:build !race

// The race detector has pools forget what they hold now and then, so that
// allocations cannot be counted under it.

package rank_test

import (
	"testing"

	"github.com/toolsearch/toolsearch/rank"
)

// TestAllocations: a search allocates little more than its answer.
func TestAllocations(t *testing.T) {
	docs, queries := bigSet(t)
	x := rank.Build(docs)
	for _, q := range queries {
		x.Search(rank.Query{Text: q, Limit: 8})
	}
	total := testing.AllocsPerRun(5, func() {
		for _, q := range queries {
			x.Search(rank.Query{Text: q, Limit: 8})
		}
	})
	if per := total / float64(len(queries)); per > 20 {
		t.Errorf("%.1f allocations a query, want at most 20", per)
	}
}
