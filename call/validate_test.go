package call_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/toolsearch/toolsearch/call"
	"github.com/toolsearch/toolsearch/schema"
	"github.com/toolsearch/toolsearch/tool"
)

// Arguments that a stage changed after they were found right are validated
// again, however it changed them; those that are the same run.
func TestValidateInputTwice(t *testing.T) {
	schemas := schema.NewCache(8)
	for _, c := range []struct {
		name    string
		between func(*call.Request)
		ran     bool
	}{
		{"unchanged", func(*call.Request) {}, true},
		{"equal bytes in another place", func(r *call.Request) { r.Args = json.RawMessage(`{"n":1}`) }, true},
		{"replaced by good ones", func(r *call.Request) { r.Args = json.RawMessage(`{"n":2}`) }, true},
		{"replaced by bad ones", func(r *call.Request) { r.Args = json.RawMessage(`{"n":"1"}`) }, false},
		{"written over in place", func(r *call.Request) { copy(r.Args, `{"m":1}`) }, false},
		{"another target", func(r *call.Request) {
			other := *r.Target
			other.Input = tool.RawSchema(`{"type":"object","maxProperties":0}`)
			r.Target = &other
		}, false},
	} {
		ran := false
		target := &tool.Tool{
			ID: "openclaw:core:count", Source: tool.OpenClaw, Owner: tool.CoreOwner, Name: "count",
			Input: tool.RawSchema(`{"type":"object","properties":{"n":{"type":"integer"}},"additionalProperties":false}`),
			Invoker: tool.InvokerFunc(func(context.Context, tool.Call) (*tool.Result, error) {
				ran = true
				return tool.TextResult("counted"), nil
			}),
		}
		p := call.New(call.ValidateInput(schemas), func(next call.Handler) call.Handler {
			return func(ctx context.Context, r call.Request) (*tool.Result, error) {
				c.between(&r)
				return next(ctx, r)
			}
		}, call.ValidateInput(schemas))
		_, err := p.Call(t.Context(), call.Request{Target: target, Args: []byte(`{"n":1}`)})
		if ran != c.ran || (err == nil) != c.ran || err != nil && tool.CodeOf(err) != tool.CodeInvalidArgs {
			t.Errorf("%s: ran %v, %v", c.name, ran, err)
		}
	}
}
