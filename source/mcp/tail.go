package mcp

import (
	"io"
	"strings"
	"sync"
)

// tail keeps the last bytes written to it. It is safe for concurrent use.
type tail struct {
	mu  sync.Mutex
	buf []byte
	max int
	cut bool // something was dropped at the front
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(p)
	if n >= t.max {
		t.cut = t.cut || n > t.max || len(t.buf) > 0
		t.buf = append(t.buf[:0], p[n-t.max:]...)
		return n, nil
	}
	if over := len(t.buf) + n - t.max; over > 0 {
		t.cut = true
		t.buf = t.buf[:copy(t.buf, t.buf[over:])]
	}
	t.buf = append(t.buf, p...)
	return n, nil
}

// String returns what is kept, in whole lines where something was dropped: half a
// line may begin in the middle of a secret, which nobody would recognise.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	kept := string(t.buf)
	if !t.cut {
		return kept
	}
	_, whole, _ := strings.Cut(kept, "\n")
	return whole
}

// drain reads r to its end, so that the writer never blocks.
func (t *tail) drain(r io.Reader) {
	buf := make([]byte, 4096)
	for {
		n, err := r.Read(buf)
		if n > 0 {
			_, _ = t.Write(buf[:n]) // never fails
		}
		if err != nil {
			return
		}
	}
}
