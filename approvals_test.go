package toolsearch_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/toolsearch/toolsearch"
	"github.com/toolsearch/toolsearch/approval"
	"github.com/toolsearch/toolsearch/call"
	"github.com/toolsearch/toolsearch/policy"
	"github.com/toolsearch/toolsearch/tool"
)

// A program that uses the library is asked by a callback. What it allows for good
// counts for the runs under the same policy, and no others: each scope binds its
// own.
func TestApprovalByCallback(t *testing.T) {
	var asked []string
	rules, _, err := approval.Compile(approval.RuleSet{Otherwise: approval.RuleAsk})
	if err != nil {
		t.Fatal(err)
	}
	gate, err := approval.New(approval.Options{Rules: rules, Routes: []approval.Route{
		approval.RouteFunc(func(_ context.Context, r approval.Request) (approval.Decision, error) {
			asked = append(asked, string(r.Call))
			return approval.Decision{Answer: approval.Allow, Scope: approval.Pattern, By: "the test"}, nil
		}),
	}})
	if err != nil {
		t.Fatal(err)
	}
	greet, err := toolsearch.Func("desk", "greet", "Greet somebody", func(_ context.Context, in struct {
		Name string `json:"name"`
	}) (string, error) {
		return "Hello " + in.Name, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	set := newSet(t, toolsearch.Options{Approval: gate, Tools: []*tool.Tool{greet}})
	scope := func(deny string) *toolsearch.Scope {
		t.Helper()
		s, err := set.Scope(t.Context(), toolsearch.ScopeOptions{Policy: compile(t, policy.Rules{Deny: []policy.Entry{{Pattern: deny}}})})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Close)
		return s
	}
	lax, strict := scope("nothing"), scope("mcp:*")
	for i, step := range []struct {
		scope *toolsearch.Scope
		args  string
		asked int // in all
	}{{lax, `{"name":"Ada"}`, 1}, {lax, `{"name":"Bob"}`, 1}, {strict, `{"name":"Ada"}`, 2}, {strict, `{"name":"Ada"}`, 2}, {lax, `{"name":"Eve"}`, 2}} {
		target, err := step.scope.Resolve(t.Context(), "greet")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := step.scope.Call(t.Context(), call.Request{Target: target, Args: json.RawMessage(step.args)}); err != nil {
			t.Fatal(err)
		}
		if len(asked) != step.asked {
			t.Errorf("step %d: asked about %q, want %d questions", i, asked, step.asked)
		}
	}
	if len(asked) > 0 && asked[0] != `{"name":"Ada"}` {
		t.Errorf("the callback was shown %s", asked[0])
	}
}
