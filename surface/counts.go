package surface

import (
	"sync"
	"sync/atomic"
)

// maxTallies bounds the callers whose totals are kept apart. Beyond it the totals
// begin anew.
const maxTallies = 1024

type counters struct{ searches, describes, calls atomic.Int64 }

// tallies are the totals of each caller. Several may share a surface, as they do
// behind one server, and none is to read what the others do. The zero value is
// ready; it is safe for concurrent use.
type tallies struct {
	mu  sync.Mutex
	own map[string]*counters
}

// of returns the totals of a caller, to be read and added to.
func (t *tallies) of(caller string) *counters {
	t.mu.Lock()
	defer t.mu.Unlock()
	c, ok := t.own[caller]
	if !ok {
		if t.own == nil || len(t.own) >= maxTallies {
			t.own = map[string]*counters{}
		}
		c = &counters{}
		t.own[caller] = c
	}
	return c
}

// all adds up the totals of all callers.
func (t *tallies) all() *counters {
	t.mu.Lock()
	defer t.mu.Unlock()
	sum := &counters{}
	for _, c := range t.own {
		sum.searches.Add(c.searches.Load())
		sum.describes.Add(c.describes.Load())
		sum.calls.Add(c.calls.Load())
	}
	return sum
}
