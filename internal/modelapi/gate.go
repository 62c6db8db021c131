package modelapi

import (
	"context"
	"sync"
)

// gate counts the requests that are going on, and lets no more in than most, of
// one caller no more than its share, and none once it is shut.
type gate struct {
	mu    sync.Mutex
	most  int
	share int
	now   int
	of    map[string]int // of callers that have any
	shut  bool
	idle  chan struct{} // closed when it is shut and nothing goes on
}

type entry int

const (
	entered entry = iota
	full
	greedy // the caller has its share
	shut
)

// shareOf is what one of several callers may take of what all of them have: a
// quarter is left to the others. Where there is but one caller it is all.
func shareOf[T int | int64](all T, callers int) T {
	if callers < 2 {
		return all
	}
	return all - all/4
}

func newGate(most, callers int) *gate {
	return &gate{most: most, share: shareOf(most, callers), of: map[string]int{}, idle: make(chan struct{})}
}

func (g *gate) enter(caller string) entry {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.shut:
		return shut
	case g.now >= g.most:
		return full
	case g.of[caller] >= g.share:
		return greedy
	}
	g.now++
	g.of[caller]++
	return entered
}

func (g *gate) leave(caller string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.now--
	if g.of[caller]--; g.of[caller] == 0 {
		delete(g.of, caller)
	}
	if g.shut && g.now == 0 {
		close(g.idle)
	}
}

// close lets nothing more in.
func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut {
		return
	}
	g.shut = true
	if g.now == 0 {
		close(g.idle)
	}
}

func (g *gate) closed() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.shut
}

// wait returns when nothing goes on any more, or false at the end of ctx.
func (g *gate) wait(ctx context.Context) bool {
	select {
	case <-g.idle:
		return true
	case <-ctx.Done():
		return false
	}
}
