// Package modelapi serves models that have tools: the three model APIs, a list
// of models, and one tool by itself, over HTTP.
//
// Every request passes the same doors, in this order: the address it came to
// and the page it came from (guard.go), the key of its caller (keys.go), how
// much is going on (gate.go), and how large it is (body.go). A door that cannot
// decide stays shut.
package modelapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/tool"
	"github.com/toolsearch/toolsearch/turn"
)

// Backend does what is asked for over HTTP.
type Backend interface {
	// Start begins a run. What is wrong with the request is a *provider.Error
	// with the status to answer.
	Start(ctx context.Context, r RunRequest) (Run, error)
	// Models lists the models by the names under which requests know them.
	Models() []Model
	// CallTool runs one tool, found by id or unique name. The error is a *tool.Error,
	// and of a tool that is not allowed it is that of one which does not exist.
	CallTool(ctx context.Context, i Invocation) (*tool.Tool, *tool.Result, error)
	// Ready returns nil when requests can be answered, and else what is missing.
	Ready(ctx context.Context) error
}

// Run is a run that has begun. *turn.Run is one.
type Run interface {
	Next(ctx context.Context, in turn.Input, emit func(provider.Event) error) (*turn.Step, error)
	Close()
}

// RunRequest is one request to a model that has tools.
type RunRequest struct {
	provider.Request
	Caller  Caller
	Session string // as the caller names the conversation, "" when it does not
}

// Invocation is one call of one tool.
type Invocation struct {
	Caller  Caller
	Session string
	Ref     string // id or unique name
	Args    json.RawMessage
}

// Model is a model as clients see it.
type Model struct {
	ID       string // "provider/model", or an alias
	Name     string // for people, may be ""
	Provider string
}

// Options make a Server. Zero numbers are the defaults.
type Options struct {
	Backend Backend
	Formats []provider.Format // the model APIs that are served
	// Keys are those of the callers. Without any, only programs of this machine
	// may ask, and only under the machine's own names.
	Keys    []Key
	Metrics http.Handler // of GET /metrics; nil answers 404
	MCP     http.Handler // of /mcp; nil answers 404
	// Past keeps what previous_response_id goes on from; nil keeps it in memory alone.
	Past Past
	// MaxBody bounds a request, in bytes; default 16 MiB.
	MaxBody int64
	// MaxBodies bounds the requests at one time in bytes; default 512 MiB, and at
	// least MaxBody.
	MaxBodies int64
	// MaxRequests bounds the requests at one time; default 512. Of this and of MaxBodies,
	// one of several callers may have three quarters.
	MaxRequests int
	// HeldRuns and HeldTime bound the runs that wait for their caller; defaults 256
	// and 10 minutes.
	HeldRuns int
	HeldTime time.Duration
	// Drain bounds how long a shutdown waits for requests; default 30 seconds.
	Drain time.Duration
	// KeepAlive is the silence after which a stream says that it lives; default 15
	// seconds.
	KeepAlive time.Duration
	Logger    *slog.Logger
}

func (o *Options) defaults() error {
	if o.Backend == nil {
		return errors.New("make a model server: a backend is required")
	}
	if o.MaxBody < 0 || o.MaxBodies < 0 || o.MaxRequests < 0 || o.HeldRuns < 0 || o.HeldTime < 0 || o.Drain < 0 || o.KeepAlive < 0 {
		return fmt.Errorf("make a model server: a bound is negative")
	}
	if o.MaxBody == 0 {
		o.MaxBody = 16 << 20
	}
	if o.MaxBodies == 0 {
		o.MaxBodies = 512 << 20
	}
	o.MaxBodies = max(o.MaxBodies, o.MaxBody)
	if o.MaxRequests == 0 {
		o.MaxRequests = 512
	}
	if o.HeldRuns == 0 {
		o.HeldRuns = 256
	}
	if o.HeldTime == 0 {
		o.HeldTime = 10 * time.Minute
	}
	if o.Drain == 0 {
		o.Drain = 30 * time.Second
	}
	if o.KeepAlive == 0 {
		o.KeepAlive = 15 * time.Second
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return nil
}
