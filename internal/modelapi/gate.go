package modelapi

import (
	"context"
	"sync"
)

// gate counts the requests that are going on, and lets no more in than most,
// and none once it is shut.
type gate struct {
	mu   sync.Mutex
	most int
	now  int
	shut bool
	idle chan struct{} // closed when it is shut and nothing goes on
}

type entry int

const (
	entered entry = iota
	full
	shut
)

func newGate(most int) *gate { return &gate{most: most, idle: make(chan struct{})} }

func (g *gate) enter() entry {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.shut:
		return shut
	case g.now >= g.most:
		return full
	}
	g.now++
	return entered
}

func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.now--
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
