package agent

import (
	"context"
	"encoding/json"

	"github.com/toolsearch/toolsearch/call"
	"github.com/toolsearch/toolsearch/internal/config"
	"github.com/toolsearch/toolsearch/tool"
)

// ToolCall is one call of one tool, without a model.
type ToolCall struct {
	Caller string
	config.Who
	Session string // may be ""
	Ref     string // id or unique name
	Args    json.RawMessage
}

// CallTool runs one tool under the rules of the caller's agent. The error is a
// *tool.Error, unless the rules themselves cannot be made. A tool that is not
// allowed is answered in the words of one that does not exist.
func (r *Runtime) CallTool(ctx context.Context, c ToolCall) (_ *tool.Tool, _ *tool.Result, err error) {
	r.await(ctx)
	scope, err := r.Scope(ctx, c.Who)
	if err != nil {
		return nil, nil, err
	}
	t, err := scope.Resolve(ctx, c.Ref)
	if err != nil {
		return nil, nil, err
	}
	origin := call.Origin{Session: c.Session, Run: newID(), Agent: c.Agent, Caller: c.Caller}
	if r.opt.Began != nil {
		began, ended := r.opt.Began(ctx, origin, nil)
		ctx = began
		defer func() { ended(err) }()
	}
	res, err := scope.Call(ctx, call.Request{Target: t, Args: c.Args, Origin: origin})
	return t, res, err
}

// await waits a moment for servers of which nothing is known yet. There is one
// such moment for all: who leaves early does not end it for others.
func (r *Runtime) await(ctx context.Context) {
	r.asking.Do(func() {
		shared, stop := context.WithTimeout(context.WithoutCancel(ctx), patience)
		go func() {
			defer stop()
			defer close(r.known)
			r.opt.Tools.WaitKnown(shared)
		}()
	})
	select {
	case <-r.known:
	case <-ctx.Done():
	}
}
