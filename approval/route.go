package approval

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"
)

// ErrNoRoute is what a Route returns that cannot reach anybody for this
// request; the next one is tried.
var ErrNoRoute = errors.New("nobody can be asked this way")

// Route carries a request to somebody who can answer. Ask honours ctx, which
// ends when the request expires, when the call is cancelled, and when another
// answer comes first. An error other than ErrNoRoute refuses the call. Ask is
// safe for concurrent use.
type Route interface {
	Ask(ctx context.Context, r Request) (Decision, error)
}

// RouteFunc is a Route made of a function: the callback of a program that uses
// the library.
type RouteFunc func(ctx context.Context, r Request) (Decision, error)

// Ask calls f.
func (f RouteFunc) Ask(ctx context.Context, r Request) (Decision, error) { return f(ctx, r) }

// Elsewhere is the Route of last resort where the store can be answered by
// another process: it tells the caller where, and to repeat the call.
type Elsewhere struct {
	// How says what to do to approve the request of an id. Nil names the
	// command line.
	How func(id string) string
	// Wait is how long the call waits for the answer before it is told so. Zero
	// does not wait.
	Wait time.Duration
	// Waiting is told of the request before the wait begins; may be nil.
	Waiting func(r Request)
}

// Ask waits a while and answers Later.
func (e Elsewhere) Ask(ctx context.Context, r Request) (Decision, error) {
	if e.Wait > 0 {
		if e.Waiting != nil {
			e.Waiting(r)
		}
		timer := time.NewTimer(e.Wait)
		defer timer.Stop()
		select {
		case <-ctx.Done():
			return Decision{}, ctx.Err()
		case <-timer.C:
		}
	}
	how := e.How
	if how == nil {
		how = func(id string) string {
			return fmt.Sprintf("Ask the user to run 'toolsearch approvals approve %s'", id)
		}
	}
	return Decision{Answer: Later, Reason: how(r.ID)}, nil
}

func isElsewhere(r Route) bool {
	switch r.(type) {
	case Elsewhere, *Elsewhere:
		return true
	}
	return false
}

// askRoutes tries the routes in their order. A route that panics has failed:
// that refuses the call, and does not end the program.
func askRoutes(ctx context.Context, routes []Route, r Request) (d Decision, err error) {
	defer func() {
		if p := recover(); p != nil {
			d, err = Decision{}, fmt.Errorf("a route panicked: %v\n%s", p, debug.Stack())
		}
	}()
	for _, route := range routes {
		d, err := route.Ask(ctx, r)
		if err == nil || !errors.Is(err, ErrNoRoute) {
			return d, err
		}
	}
	return Decision{}, ErrNoRoute
}
