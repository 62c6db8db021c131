package toolsearch_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/toolsearch/toolsearch"
	"github.com/toolsearch/toolsearch/approval"
	"github.com/toolsearch/toolsearch/call"
	"github.com/toolsearch/toolsearch/hook"
	"github.com/toolsearch/toolsearch/policy"
	"github.com/toolsearch/toolsearch/tool"
)

// letter is a tool that keeps what it was called with, and checks nothing itself.
func letter() (send *tool.Tool, sent *[]string) {
	sent = &[]string{}
	return &tool.Tool{
		ID: "openclaw:desk:send", Source: tool.OpenClaw, Owner: "desk", Name: "send", Description: "Send a letter",
		Input: tool.RawSchema(`{"type":"object","properties":{"to":{"type":"string"}},"required":["to"]}`),
		Invoker: tool.InvokerFunc(func(_ context.Context, c tool.Call) (*tool.Result, error) {
			*sent = append(*sent, string(c.Args))
			return tool.TextResult("sent"), nil
		}),
	}, sent
}

// Whoever comes by a tool that its rules do not allow cannot call it: the pipeline
// asks the policy once more, and answers as of a tool that is not there.
func TestThePipelineAsksThePolicy(t *testing.T) {
	send, sent := letter()
	set := newSet(t, toolsearch.Options{Tools: []*tool.Tool{send}})
	strict, err := set.Scope(t.Context(), toolsearch.ScopeOptions{Policy: compile(t, policy.Rules{Deny: []policy.Entry{{Pattern: "send"}}})})
	if err != nil {
		t.Fatal(err)
	}
	defer strict.Close()
	target, err := set.Resolve(t.Context(), "send")
	if err != nil {
		t.Fatal(err)
	}
	_, unknown := strict.Resolve(t.Context(), "openclaw:desk:send")
	_, err = strict.Call(t.Context(), call.Request{Target: target, Args: json.RawMessage(`{"to":"ann"}`)})
	if tool.CodeOf(err) != tool.CodeUnknownTool || tool.CodeOf(unknown) != tool.CodeUnknownTool || len(*sent) != 0 {
		t.Errorf("the call answered %v, the look-up %v, and it sent %q", err, unknown, *sent)
	}
}

// Arguments that a hook has replaced are asked about and validated like those that
// were given, and the hooks see one another's in their order.
func TestReplacedArgumentsPassEverythingAgain(t *testing.T) {
	for name, c := range map[string]struct {
		replaced string
		second   hook.Verdict // of the hook after it
		code     tool.Code
		asked    []string
		sent     []string
	}{
		"others":            {`{"to":"bob"}`, hook.Continue, "", []string{`{"to":"ann"}`, `{"to":"bob"}`}, []string{`{"to":"bob"}`}},
		"others, and asks":  {`{"to":"bob"}`, hook.Ask, "", []string{`{"to":"ann"}`, `{"to":"bob"}`}, []string{`{"to":"bob"}`}},
		"same":              {`{"to":"ann"}`, hook.Continue, "", []string{`{"to":"ann"}`}, []string{`{"to":"ann"}`}},
		"invalid":           {`{"to":1}`, hook.Continue, tool.CodeBlocked, []string{`{"to":"ann"}`}, nil}, // nobody is asked about them
		"invalid, and asks": {`{"to":1}`, hook.Ask, tool.CodeBlocked, []string{`{"to":"ann"}`}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			rules, _, err := approval.Compile(approval.RuleSet{Otherwise: approval.RuleAsk})
			if err != nil {
				t.Fatal(err)
			}
			var asked, seen []string
			gate, err := approval.New(approval.Options{Rules: rules, Routes: []approval.Route{
				approval.RouteFunc(func(_ context.Context, r approval.Request) (approval.Decision, error) {
					asked = append(asked, string(r.Call))
					return approval.Decision{Answer: approval.Allow}, nil
				}),
			}})
			if err != nil {
				t.Fatal(err)
			}
			hooks, _, err := hook.New([]hook.Hook{
				{Name: "replace", Event: hook.Before, Runner: hook.Func(func(_ context.Context, _ *hook.Input) (hook.Decision, error) {
					return hook.Decision{Verdict: hook.Replace, Args: json.RawMessage(c.replaced)}, nil
				})},
				{Name: "look", Event: hook.Before, Runner: hook.Func(func(_ context.Context, in *hook.Input) (hook.Decision, error) {
					seen = append(seen, string(in.Args))
					return hook.Decision{Verdict: c.second}, nil
				})},
			}, hook.AskerFunc(gate.AskFor))
			if err != nil {
				t.Fatal(err)
			}
			send, sent := letter()
			set := newSet(t, toolsearch.Options{Tools: []*tool.Tool{send}, Approval: gate, Hooks: hooks})
			_, err = set.Call(t.Context(), "send", json.RawMessage(`{"to":"ann"}`))
			if err != nil && tool.CodeOf(err) != c.code || (err == nil) != (c.code == "") {
				t.Errorf("the call answered %v, want code %q", err, c.code)
			}
			var te *tool.Error
			if errors.As(err, &te) && (te.By != "replace" || len(te.Details) > 0) {
				t.Errorf("%v is said to be of %q, with %s for the model to mend", err, te.By, te.Details)
			}
			if !slices.Equal(asked, c.asked) || !slices.Equal(*sent, c.sent) {
				t.Errorf("asked about %q, sent to %q; want %q, %q", asked, *sent, c.asked, c.sent)
			}
			if want := []string{c.replaced}; !slices.Equal(seen, want) {
				t.Errorf("the second hook saw %q, want %q", seen, want)
			}
		})
	}
}
