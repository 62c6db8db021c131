package code

import "context"

// Waiting returns how many runs wait for a place.
func (s *slots) Waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.waiting
}

// Idle returns how many confined children wait, for tests and benchmarks.
func (r *Runner) Idle() int {
	r.pool.mu.Lock()
	defer r.pool.mu.Unlock()
	return len(r.pool.idle)
}

// Clamped returns what a run is held to.
func (l Limits) Clamped() Limits { return l.clamped() }

// Slots are a runner's places.
type Slots = slots

// NewSlots returns n of them.
func NewSlots(n int) *Slots { return &slots{free: n} }

// Acquire and Release are what a run does before and after.
func (s *slots) Acquire(ctx context.Context, owner string) error { return s.acquire(ctx, owner) }
func (s *slots) Release()                                        { s.release() }

// Unfence and Explain are what Run does with text it does not evaluate.
var (
	Unfence = unfence
	Explain = explain
)
