package modelapi

import "sync"

// maxListening bounds the streams of MCP that one caller listens to at one time:
// they may stand open for hours, and the gate does not count them.
const maxListening = 32

// shares counts what each caller has at one time, and lets none have more than
// most. It holds those alone that have something.
type shares struct {
	most int

	mu  sync.Mutex
	now map[string]int
}

func newShares(most int) *shares { return &shares{most: most, now: map[string]int{}} }

func (s *shares) take(caller string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now[caller] >= s.most {
		return false
	}
	s.now[caller]++
	return true
}

func (s *shares) give(caller string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now[caller]--; s.now[caller] == 0 {
		delete(s.now, caller)
	}
}
