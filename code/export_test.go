package code

// Idle returns how many confined children wait, for tests and benchmarks.
func (r *Runner) Idle() int {
	r.pool.mu.Lock()
	defer r.pool.mu.Unlock()
	return len(r.pool.idle)
}

// Unfence and Explain are what Run does with text it does not evaluate.
var (
	Unfence = unfence
	Explain = explain
)
