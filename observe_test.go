package toolsearch_test

import (
	"context"
	"testing"

	"github.com/toolsearch/toolsearch"
	"github.com/toolsearch/toolsearch/call"
	"github.com/toolsearch/toolsearch/policy"
	"github.com/toolsearch/toolsearch/tool"
)

// What observes sees calls that a later stage refuses, and how they end.
func TestObserve(t *testing.T) {
	var seen []tool.Code
	set := newSet(t, toolsearch.Options{
		Tools:  []*tool.Tool{failing(t, "open_tool", nil)},
		Policy: compile(t, policy.Rules{}),
		Observe: func(next call.Handler) call.Handler {
			return func(ctx context.Context, r call.Request) (*tool.Result, error) {
				res, err := next(ctx, r)
				code := tool.Code("")
				if err != nil {
					code = tool.CodeOf(err)
				}
				seen = append(seen, code)
				return res, err
			}
		},
	})
	if _, err := set.Call(t.Context(), "open_tool", nil); err != nil {
		t.Fatal(err)
	}
	if _, err := set.Call(t.Context(), "open_tool", []byte(`{"no": "such argument"}`)); tool.CodeOf(err) != tool.CodeInvalidArgs {
		t.Fatalf("got %v, want invalid arguments", err)
	}
	if len(seen) != 2 || seen[0] != "" || seen[1] != tool.CodeInvalidArgs {
		t.Errorf("the stage saw %q", seen)
	}
}
