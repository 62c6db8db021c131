// Package call holds the one way to a tool. Direct calls, tool_call, code
// bodies and library callers all meet in a Pipeline; nothing else in the
// program calls an Invoker.
//
// A pipeline is a list of stages around the dispatch, outermost first. A stage
// sees the target's name and arguments, never those of the control that asked.
// A stage that cannot decide refuses.
package call

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/toolsearch/toolsearch/tool"
)

// Request is one call of one resolved tool.
type Request struct {
	Target   *tool.Tool
	Args     json.RawMessage     // a JSON object; empty means {}
	Progress func(tool.Progress) // may be nil
	Origin   Origin
	// ReplacedBy names the hook that wrote Args, "" where they are the caller's.
	ReplacedBy string
}

// Origin says who asked. Identity decides what is allowed and approved; the
// rest tells calls apart in the transcript.
type Origin struct {
	Session string // the conversation, "" outside of one
	Run     string // the request to the agent, or the gateway's connection
	Agent   string // the agent's id, "" for the default one
	Caller  string // the authenticated identity, "" for the local user
	CallID  string // unique inside the run; the pipeline makes one when empty
	// Control is the control that asked ("tool_call", "tool_search_code"), and
	// "" for a direct call.
	Control string
	Parent  string // the CallID of the control's own call, "" for a direct call
}

// Handler runs a request to its result. The error, if any, is a *tool.Error.
type Handler func(ctx context.Context, r Request) (*tool.Result, error)

// Stage wraps a Handler with one concern.
type Stage func(next Handler) Handler

// Pipeline is safe for concurrent use.
type Pipeline struct{ run Handler }

// New makes a pipeline of the stages, outermost first, around the dispatch.
func New(stages ...Stage) *Pipeline {
	h := Handler(dispatch)
	for i := len(stages) - 1; i >= 0; i-- {
		h = stages[i](h)
	}
	return &Pipeline{run: h}
}

// Call runs the request through every stage. The error is always a *tool.Error,
// whose text a model may read.
func (p *Pipeline) Call(ctx context.Context, r Request) (*tool.Result, error) {
	if r.Target == nil {
		return nil, &tool.Error{Code: tool.CodeUnknownTool, Reason: "the call names no tool", Next: "Find one by tool_search, and name it by its id."}
	}
	if len(r.Args) == 0 || string(r.Args) == "null" {
		r.Args = json.RawMessage("{}")
	}
	res, err := p.run(ctx, r)
	if err == nil && res == nil {
		err = errors.New("the tool returned neither a result nor an error")
	}
	if err != nil {
		return nil, asToolError(ctx, r.Target, err)
	}
	return res, nil
}

// dispatch is the innermost handler: the only caller of an Invoker.
func dispatch(ctx context.Context, r Request) (*tool.Result, error) {
	if r.Target.Invoker == nil {
		return nil, &tool.Error{
			Code:   tool.CodeUnavailable,
			Reason: fmt.Sprintf("%s cannot be called: its catalog was read from a file and there is no server behind it", r.Target.ID),
			Next:   "Configure the server under mcp.servers to call its tools.",
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return invoke(ctx, r)
}

// invoke keeps a tool that panics from ending the program.
func invoke(ctx context.Context, r Request) (res *tool.Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			res, err = nil, &tool.Error{
				Code:   tool.CodeFailed,
				Reason: fmt.Sprintf("%s failed: it panicked", r.Target.ID),
				Next:   "Side effects may have happened: check before you repeat it.",
				Err:    fmt.Errorf("panic: %v\n%s", p, debug.Stack()),
			}
		}
	}()
	return r.Target.Invoker.Invoke(ctx, tool.Call{Args: r.Args, Progress: r.Progress})
}

// asToolError gives every failure a code, and keeps the cause for logs.
func asToolError(ctx context.Context, t *tool.Tool, err error) error {
	var te *tool.Error
	switch {
	case errors.As(err, &te):
		return te
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		return &tool.Error{Code: tool.CodeCancelled, Reason: fmt.Sprintf("call %s: cancelled", t.ID), Err: err}
	case errors.Is(err, context.DeadlineExceeded):
		return &tool.Error{
			Code:   tool.CodeTimeout,
			Reason: fmt.Sprintf("call %s: no answer in time", t.ID),
			Next:   "It may have taken effect: check before you repeat it.",
			Err:    err,
		}
	}
	return &tool.Error{Code: tool.CodeFailed, Reason: fmt.Sprintf("call %s: %v", t.ID, err), Err: err}
}
