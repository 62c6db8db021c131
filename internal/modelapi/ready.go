package modelapi

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/toolsearch/toolsearch/tool"
)

const (
	readyFor  = time.Second     // an answer holds: whoever asks has shown no key
	readyTime = 5 * time.Second // one look may take
)

// readiness remembers whether requests can be answered.
type readiness struct {
	look func(context.Context) error

	mu    sync.Mutex
	until time.Time
	err   error
}

// ask returns what was found within the last second. Of those who ask at one
// time, one looks and the others wait for it.
func (c *readiness) ask(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Now().Before(c.until) {
		return c.err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readyTime)
	defer cancel()
	c.err = c.look(ctx)
	c.until = time.Now().Add(readyFor)
	return c.err
}

func (s *Server) ready(w http.ResponseWriter, r *http.Request) {
	if s.gate.closed() {
		s.refuseTool(w, http.StatusServiceUnavailable, &tool.Error{Code: tool.CodeUnavailable, Reason: "the server is shutting down"})
		return
	}
	if err := s.readiness.ask(r.Context()); err != nil {
		// Whoever asks has shown no key: what is missing is for the log.
		s.logger.Debug("not ready", "error", err)
		s.refuseTool(w, http.StatusServiceUnavailable, &tool.Error{Code: tool.CodeUnavailable, Reason: "the server is not ready yet"})
		return
	}
	writeJSON(w, http.StatusOK, []byte(`{"ready":true}`))
}
