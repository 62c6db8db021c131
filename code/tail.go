package code

import "sync"

// tail keeps the beginning and the end of a stream: the reason of a crash is in
// its first lines, a library's last words in its last.
type tail struct {
	mu    sync.Mutex
	first []byte
	last  []byte
}

const tailHalf = 2 << 10

// Write implements io.Writer and never fails.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(p)
	if room := tailHalf - len(t.first); room > 0 {
		take := min(room, len(p))
		t.first = append(t.first, p[:take]...)
		p = p[take:]
	}
	if len(p) > tailHalf {
		p = p[len(p)-tailHalf:]
	}
	if over := len(t.last) + len(p) - tailHalf; over > 0 {
		t.last = append(t.last[:0], t.last[over:]...)
	}
	t.last = append(t.last, p...)
	return n, nil
}

// String returns what was kept.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.first) + string(t.last)
}
