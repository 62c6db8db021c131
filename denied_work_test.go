//go:build !race

// The race detector has pools forget what they hold now and then, so that
// allocations cannot be counted under it.

package toolsearch_test

import (
	"testing"

	"github.com/toolsearch/toolsearch/surface"
)

// The same time class: a question about a tool that is denied takes the same
// memory as one about a tool that is not there, to the allocation. Time itself is
// for BenchmarkDenied.
func TestDeniedTakesTheSameWork(t *testing.T) {
	with, without := deniedSets(t, surface.Tools)
	for name, ask := range deniedAsks(t) {
		for _, ref := range deniedRefs() {
			denied, absent := leastAllocs(func() { ask(with, ref) }, func() { ask(without, ref) })
			if denied != absent {
				t.Errorf("%s %q: %v allocations where it is denied, %v where it is not there", name, ref, denied, absent)
			}
		}
	}
}

// leastAllocs are the allocations of each, without those that something else in
// the process makes meanwhile: these come and go.
func leastAllocs(one, other func()) (a, b float64) {
	const runs, tries = 10, 20
	a, b = testing.AllocsPerRun(runs, one), testing.AllocsPerRun(runs, other)
	for range tries {
		if a == b {
			break
		}
		a, b = min(a, testing.AllocsPerRun(runs, one)), min(b, testing.AllocsPerRun(runs, other))
	}
	return a, b
}
