package server

import (
	"context"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolsearch/toolsearch/call"
	"github.com/toolsearch/toolsearch/surface"
)

// Began is told of each run that begins: of its origin, and what its model sees.
// What the context it returns holds goes with the call that began the run; the
// function is called when the run ends.
type Began func(context.Context, call.Origin, *surface.View) (context.Context, func(error))

// runs are the connections of which a call has come: the stay of a client, from
// its first call on, is one run. Over HTTP a request without a session is a
// connection, and so a run, of its own. There are no more of them than
// connections. It is safe for concurrent use.
type runs struct {
	began Began // may be nil

	mu     sync.Mutex
	open   map[*mcp.ServerSession]func(error)
	closed bool
}

// enter begins the run of a connection if none is open.
func (r *runs) enter(ctx context.Context, s *mcp.ServerSession, o call.Origin, v *surface.View) context.Context {
	if r.began == nil {
		return ctx
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, there := r.open[s]; there || r.closed {
		return ctx
	}
	if r.open == nil {
		r.open = map[*mcp.ServerSession]func(error){}
	}
	ctx, r.open[s] = r.began(ctx, o, v)
	go func() {
		_ = s.Wait() // how a client leaves is no failure of its run
		r.leave(s)
	}()
	return ctx
}

// leave ends the run of a connection that has ended.
func (r *runs) leave(s *mcp.ServerSession) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if end, there := r.open[s]; there {
		delete(r.open, s)
		end(nil)
	}
}

// close ends the runs that are open, and begins no more.
func (r *runs) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	for s, end := range r.open {
		delete(r.open, s)
		end(nil)
	}
}
