package client

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/toolsearch/toolsearch/code"
	"github.com/toolsearch/toolsearch/tool"
)

// Call is one call of a caller's tool.
type Call struct {
	Name string          // as the caller spells it
	Args json.RawMessage // a JSON object
}

// Asker hands calls to the caller of a run. Ask waits for the caller's answer
// or the end of ctx. It is called concurrently.
type Asker interface {
	Ask(ctx context.Context, c Call) (*tool.Result, error)
}

// AskerFunc is an Asker made of a function.
type AskerFunc func(ctx context.Context, c Call) (*tool.Result, error)

// Ask calls f.
func (f AskerFunc) Ask(ctx context.Context, c Call) (*tool.Result, error) { return f(ctx, c) }

type askerKey struct{}

// WithAsker returns a context whose calls of client tools go to a.
func WithAsker(ctx context.Context, a Asker) context.Context {
	return context.WithValue(ctx, askerKey{}, a)
}

type invoker struct {
	name string
	ask  Asker
}

// Invoke waits for the caller. Meanwhile the clock of a code run stands: its
// body is not to blame for how long the caller takes.
func (i invoker) Invoke(ctx context.Context, c tool.Call) (*tool.Result, error) {
	ask := i.ask
	if ask == nil {
		ask, _ = ctx.Value(askerKey{}).(Asker)
	}
	if ask == nil {
		return nil, &tool.Error{
			Code:   tool.CodeUnavailable,
			Reason: fmt.Sprintf("%s cannot be called: it belongs to the caller of a run, and here is none", tool.NewID(tool.Client, tool.ClientOwner, i.name)),
			Next:   "Use another tool.",
		}
	}
	resume := code.Pause(ctx)
	defer resume()
	return ask.Ask(ctx, Call{Name: i.name, Args: c.Args})
}
