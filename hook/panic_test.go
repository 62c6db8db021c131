package hook_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/toolsearch/toolsearch/call"
	"github.com/toolsearch/toolsearch/hook"
	"github.com/toolsearch/toolsearch/tool"
)

// panicking is a Runner of a program's own.
type panicking struct{ closed bool }

func (*panicking) Run(context.Context, *hook.Input) (hook.Decision, error) { panic("a bug") }
func (p *panicking) Close() error {
	p.closed = true
	return nil
}

// A Runner that panics is a hook that crashed: it blocks, and the program lives
// on.
func TestRunnerThatPanicsBlocks(t *testing.T) {
	for event, want := range map[hook.Event]tool.Code{hook.Before: tool.CodeBlocked, hook.After: tool.CodeFailed} {
		runner := &panicking{}
		set, _, err := hook.New([]hook.Hook{{Name: "p", Event: event, Runner: runner}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		ran := false
		target := &tool.Tool{ID: "mcp:a:b", Source: tool.MCP, Owner: "a", Name: "b", Invoker: tool.InvokerFunc(func(context.Context, tool.Call) (*tool.Result, error) {
			ran = true
			return tool.TextResult("ran"), nil
		})}
		_, err = call.New(set.Stage()).Call(t.Context(), call.Request{Target: target})
		var te *tool.Error
		if !errors.As(err, &te) || te.Code != want || te.By != "p" || !strings.Contains(te.Reason, "it panicked") || strings.Contains(te.Reason, "a bug") {
			t.Errorf("%s: %v, want %s by the hook, without the panic's own words", event, err, want)
		}
		if ran != (event == hook.After) {
			t.Errorf("%s: the tool ran: %v", event, ran)
		}
		if err := set.Close(); err != nil || !runner.closed {
			t.Errorf("%s: the runner was closed: %v, %v", event, runner.closed, err)
		}
	}
}
