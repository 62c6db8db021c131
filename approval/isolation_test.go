package approval_test

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/toolsearch/toolsearch/approval"
	"github.com/toolsearch/toolsearch/call"
	"github.com/toolsearch/toolsearch/tool"
)

// A route that panics is a route that failed: the call is refused, that is
// recorded, and the program lives on.
func TestRoutePanics(t *testing.T) {
	store := &approval.Memory{}
	g := newGate(t, approval.Options{Store: store, Routes: []approval.Route{
		approval.RouteFunc(func(context.Context, approval.Request) (approval.Decision, error) { panic("no dialog") }),
	}})
	target, ran := execTool()
	te := blocked(t, do(g, target, `{}`, call.Origin{}), "asking for the approval failed")
	if strings.Contains(te.Error(), "no dialog") || ran.Load() != 0 {
		t.Errorf("the refusal says %q, and the tool ran %d times", te, ran.Load())
	}
	if r := only(t, store, approval.Denied); r.DecidedBy != "failure" {
		t.Errorf("the record says that %q decided", r.DecidedBy)
	}
}

// A tool that calls another one under its own context lends it nothing of what
// was approved for itself, be the arguments the same.
func TestApprovalOfACallWithinACall(t *testing.T) {
	route := &answers{Decision: approval.Decision{Answer: approval.Allow}}
	g := newGate(t, approval.Options{Routes: []approval.Route{route}})
	inner, _ := counted(tool.MCP, "mail", "send", tool.Annotations{}) // the rules allow it
	p := call.New(g.Stage(), g.Recheck(), func(next call.Handler) call.Handler {
		return func(ctx context.Context, r call.Request) (*tool.Result, error) {
			if r.Target == inner { // as a hook would
				if err := g.AskFor(ctx, r, "mail leaves the house"); err != nil {
					return nil, err
				}
			}
			return next(ctx, r)
		}
	})
	outer, _ := execTool()
	var within error
	outer.Invoker = tool.InvokerFunc(func(ctx context.Context, c tool.Call) (*tool.Result, error) {
		route.Decision = approval.Decision{Answer: approval.Deny}
		_, within = p.Call(ctx, call.Request{Target: inner, Args: c.Args})
		return tool.TextResult("ran"), nil
	})
	if _, err := p.Call(t.Context(), call.Request{Target: outer, Args: json.RawMessage(`{"a":1}`)}); err != nil {
		t.Fatal(err)
	}
	blocked(t, within, "mail:send")
	if n := route.asked.Load(); n != 2 {
		t.Errorf("it was asked %d times, want once for each of the two calls", n)
	}
}

// An approval counts under the policy that it was given under, also where the
// runs of one gate have policies of their own.
func TestApprovalUnderAnotherPolicy(t *testing.T) {
	for _, scope := range []approval.Scope{approval.Session, approval.Pattern} {
		route := &answers{Decision: approval.Decision{Answer: approval.Allow, Scope: scope}}
		g := newGate(t, approval.Options{Routes: []approval.Route{route}})
		target, ran := execTool()
		run := func(version string) {
			t.Helper()
			_, err := call.New(g.StageUnder(version), g.Recheck()).Call(t.Context(), call.Request{Target: target, Origin: call.Origin{Session: "s"}})
			if err != nil {
				t.Fatal(err)
			}
		}
		run("strict")
		run("strict")
		if n := route.asked.Load(); n != 1 {
			t.Errorf("%s: under one policy it was asked %d times, want once", scope, n)
		}
		run("lax")
		if n := route.asked.Load(); n != 2 || ran.Load() != 3 {
			t.Errorf("%s: under another policy it was asked %d times in all, want twice", scope, n)
		}
	}
}

// A hook that quotes the arguments in its reason puts no secret into the record.
func TestReasonIsRedacted(t *testing.T) {
	store := &approval.Memory{}
	g := newGate(t, approval.Options{Store: store, Routes: []approval.Route{approval.Elsewhere{}},
		Redact: func(raw []byte) []byte { return bytes.ReplaceAll(raw, []byte("hunter22"), []byte("[redacted]")) }})
	target, _ := counted(tool.MCP, "mail", "send", tool.Annotations{})
	err := g.AskFor(t.Context(), call.Request{Target: target, Args: json.RawMessage(`{"password":"hunter22"}`)}, `it sends "hunter22" away`)
	blocked(t, err, "pending")
	if r := only(t, store, approval.Pending); r.Reason != `it sends "[redacted]" away` || strings.Contains(string(r.Args), "hunter22") {
		t.Errorf("the record holds the reason %q and the arguments %s", r.Reason, r.Args)
	}
	broken := newGate(t, approval.Options{Store: store, Routes: []approval.Route{approval.Elsewhere{}}, Redact: func([]byte) []byte { return []byte("{") }})
	blocked(t, broken.AskFor(t.Context(), call.Request{Target: target, Args: json.RawMessage(`{"a":1}`), Origin: call.Origin{Caller: "c"}}, "hunter22"), "pending")
	found, err := store.Find(t.Context(), approval.Query{Caller: "c"})
	if err != nil || len(found) != 1 || strings.Contains(found[0].Reason, "hunter22") {
		t.Errorf("a redaction that fails keeps %+v, %v", found, err)
	}
}
