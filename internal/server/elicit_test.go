package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolsearch/toolsearch/approval"
	"github.com/toolsearch/toolsearch/call"
	"github.com/toolsearch/toolsearch/catalog"
	"github.com/toolsearch/toolsearch/internal/server"
	"github.com/toolsearch/toolsearch/policy"
	"github.com/toolsearch/toolsearch/schema"
	"github.com/toolsearch/toolsearch/surface"
	"github.com/toolsearch/toolsearch/tool"
	"github.com/toolsearch/toolsearch/turn"
)

// bench is a gateway with one tool that needs approval, behind tool_call.
type bench struct {
	t      *testing.T
	store  *approval.Memory
	ran    atomic.Int64
	server *server.MCP
	elicit *server.Elicitation
}

func newBench(t *testing.T, key []byte, store *approval.Memory, more ...approval.Route) *bench {
	return newBenchOf(t, benchOptions{key: key, store: store, routes: more})
}

type benchOptions struct {
	key    []byte
	store  *approval.Memory
	routes []approval.Route // behind the elicitation
	outer  call.Stage       // before the gate, may be nil
	inner  func(*approval.Gate) call.Stage
}

func newBenchOf(t *testing.T, opt benchOptions) *bench {
	t.Helper()
	key, store, more := opt.key, opt.store, opt.routes
	b := &bench{t: t, store: store}
	destructive := true
	target := &tool.Tool{
		ID: "openclaw:core:exec", Source: tool.OpenClaw, Owner: tool.CoreOwner, Name: "exec",
		Description: "run a command", Annotations: tool.Annotations{Destructive: &destructive},
		Input: tool.RawSchema(`{"type":"object","properties":{"command":{"type":"string"}}}`),
		Invoker: tool.InvokerFunc(func(context.Context, tool.Call) (*tool.Result, error) {
			return tool.TextResult(fmt.Sprintf("ran %d", b.ran.Add(1))), nil
		}),
	}
	elicit, err := server.NewElicitation(key)
	if err != nil {
		t.Fatal(err)
	}
	gate, err := approval.New(approval.Options{Store: store, Routes: append([]approval.Route{elicit}, more...)})
	if err != nil {
		t.Fatal(err)
	}
	pol, _, err := policy.Compile(nil)
	if err != nil {
		t.Fatal(err)
	}
	planner := turn.NewPlanner(turn.Config{Mode: surface.Tools, Policy: pol, Sources: []turn.Source{turn.Fixed([]*tool.Tool{target})}})
	if _, err := planner.Refresh(); err != nil {
		t.Fatal(err)
	}
	none := func(next call.Handler) call.Handler { return next }
	outer, inner := call.Stage(none), call.Stage(none)
	if opt.outer != nil {
		outer = opt.outer
	}
	if opt.inner != nil {
		inner = opt.inner(gate)
	}
	s, err := surface.New(surface.Config{
		Limits: catalog.Limits{Default: 8, Max: 20}, View: planner.View,
		Pipeline: call.New(outer, gate.Stage(), inner, gate.Recheck()), Schemas: schema.NewCache(8),
	})
	if err != nil {
		t.Fatal(err)
	}
	b.elicit = elicit
	t.Cleanup(elicit.Close)
	b.server = server.NewMCP(server.Options{Surface: s, Version: "1", Elicitation: elicit})
	return b
}

// connect makes a real client of the era. A nil handler cannot show forms.
func (b *bench) connect(modern bool, manual bool, handler func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error)) *mcp.ClientSession {
	b.t.Helper()
	c := mcp.NewClient(&mcp.Implementation{Name: "t", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: handler,
		MultiRoundTrip:     &mcp.MultiRoundTripOptions{Disabled: manual},
	})
	return b.join(c, modern)
}

// join connects a client.
func (b *bench) join(c *mcp.Client, modern bool) *mcp.ClientSession {
	b.t.Helper()
	near, far := mcp.NewInMemoryTransports()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = b.server.Run(ctx, far)
	}()
	version := "2025-11-25"
	if modern {
		version = "2026-07-28"
	}
	cs, err := c.Connect(b.t.Context(), near, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		b.t.Fatal(err)
	}
	if got := cs.InitializeResult().ProtocolVersion; got != version {
		b.t.Fatalf("the client speaks %s, want %s", got, version)
	}
	b.t.Cleanup(func() {
		_ = cs.Close()
		cancel()
		<-done
	})
	return cs
}

func callExec(command string) *mcp.CallToolParams {
	return &mcp.CallToolParams{Name: "tool_call", Arguments: map[string]any{"id": "openclaw:core:exec", "args": map[string]any{"command": command}}}
}

func text(res *mcp.CallToolResult) string {
	var b strings.Builder
	for _, c := range res.Content {
		if t, ok := c.(*mcp.TextContent); ok {
			b.WriteString(t.Text)
		}
	}
	return b.String()
}

func eras(t *testing.T, f func(t *testing.T, modern bool)) {
	for name, modern := range map[string]bool{"2025-11-25": false, "2026-07-28": true} {
		t.Run(name, func(t *testing.T) { f(t, modern) })
	}
}

func TestElicitation(t *testing.T) {
	for name, c := range map[string]struct {
		answer mcp.ElicitResult
		runs   bool
		twice  bool // a second call is asked about too
	}{
		"allow once":        {mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "allow once"}}, true, true},
		"allow for session": {mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "allow for session"}}, true, false},
		"deny":              {mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "deny"}}, false, true},
		"accept of nothing": {mcp.ElicitResult{Action: "accept"}, false, true},
		"decline":           {mcp.ElicitResult{Action: "decline", Content: map[string]any{"decision": "allow once"}}, false, true},
		"cancel":            {mcp.ElicitResult{Action: "cancel"}, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			eras(t, func(t *testing.T, modern bool) {
				b := newBench(t, nil, &approval.Memory{})
				var asked atomic.Int64
				var message atomic.Value
				cs := b.connect(modern, false, func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					asked.Add(1)
					message.Store(r.Params.Message)
					answer := c.answer
					return &answer, nil
				})
				for i, command := range []string{"make", "make test"} {
					res, err := cs.CallTool(t.Context(), callExec(command))
					if err != nil {
						t.Fatal(err)
					}
					if res.IsError == c.runs {
						t.Errorf("call %d: %s", i, text(res))
					}
					if !c.runs && !strings.Contains(text(res), `"blockedBy":"approval"`) {
						t.Errorf("the refusal does not say who: %s", text(res))
					}
				}
				wantRan, wantAsked := int64(0), int64(1)
				if c.runs {
					wantRan = 2
				}
				if c.twice {
					wantAsked = 2
				}
				if b.ran.Load() != wantRan || asked.Load() != wantAsked {
					t.Errorf("ran %d, asked %d; want %d, %d", b.ran.Load(), asked.Load(), wantRan, wantAsked)
				}
				if m, _ := message.Load().(string); !strings.Contains(m, "openclaw:core:exec") || !strings.Contains(m, `command: "make`) {
					t.Errorf("the form does not show the call: %q", m)
				}
			})
		})
	}
}

// A client that cannot show forms gets an ordinary result that says where the
// approval can be given, and repeating the call goes on.
func TestWithoutElicitation(t *testing.T) {
	eras(t, func(t *testing.T, modern bool) {
		store := &approval.Memory{}
		b := newBench(t, nil, store, approval.Elsewhere{})
		cs := b.connect(modern, false, nil)
		res, err := cs.CallTool(t.Context(), callExec("make"))
		if err != nil {
			t.Fatal(err)
		}
		pending, err := store.Find(t.Context(), approval.Query{State: approval.Pending})
		if err != nil || len(pending) != 1 {
			t.Fatal(pending, err)
		}
		id := pending[0].ID
		for _, want := range []string{"pending", "toolsearch approvals approve " + id, "repeat the same call"} {
			if !strings.Contains(text(res), want) {
				t.Errorf("the result does not say %q: %s", want, text(res))
			}
		}
		if !res.IsError || b.ran.Load() != 0 {
			t.Fatalf("isError %v, ran %d", res.IsError, b.ran.Load())
		}
		if ok, err := store.Change(t.Context(), id, approval.Change{From: approval.Pending, To: approval.Approved, At: pending[0].Created}); !ok || err != nil {
			t.Fatal(ok, err)
		}
		if res, err = cs.CallTool(t.Context(), callExec("make")); err != nil || res.IsError || b.ran.Load() != 1 {
			t.Errorf("after the approval: %v, %s, ran %d", err, text(res), b.ran.Load())
		}
	})
}

func TestWithoutElicitationNorElsewhere(t *testing.T) {
	eras(t, func(t *testing.T, modern bool) {
		b := newBench(t, nil, &approval.Memory{})
		res, err := b.connect(modern, false, nil).CallTool(t.Context(), callExec("make"))
		if err != nil || !res.IsError || !strings.Contains(text(res), "no way to ask") || b.ran.Load() != 0 {
			t.Errorf("%v, %s, ran %d", err, text(res), b.ran.Load())
		}
	})
}

func allowed() mcp.InputResponseMap {
	return mcp.InputResponseMap{"approval": &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "allow once"}}}
}

// What a stateless client sends back is hostile.
func TestRequestState(t *testing.T) {
	key := make([]byte, approval.KeySize)
	for name, c := range map[string]struct {
		mutate func(first *mcp.CallToolResult, p *mcp.CallToolParams)
		runs   bool
	}{
		"as it came":      {func(*mcp.CallToolResult, *mcp.CallToolParams) {}, true},
		"other arguments": {func(_ *mcp.CallToolResult, p *mcp.CallToolParams) { p.Arguments = callExec("rm -rf /").Arguments }, false},
		"no state":        {func(_ *mcp.CallToolResult, p *mcp.CallToolParams) { p.RequestState = "" }, false},
		"forged":          {func(_ *mcp.CallToolResult, p *mcp.CallToolParams) { p.RequestState = "eyJpZCI6IjEifQ" }, false},
		"changed":         {func(_ *mcp.CallToolResult, p *mcp.CallToolParams) { p.RequestState = flip(p.RequestState) }, false},
		"no answer":       {func(_ *mcp.CallToolResult, p *mcp.CallToolParams) { p.InputResponses = nil }, false},
		"another answer": {func(_ *mcp.CallToolResult, p *mcp.CallToolParams) {
			//lint:ignore SA1019 an old client may still answer so
			p.InputResponses = mcp.InputResponseMap{"approval": &mcp.ListRootsResult{Roots: []*mcp.Root{}}}
		}, false},
		"another question": {func(_ *mcp.CallToolResult, p *mcp.CallToolParams) {
			p.InputResponses = mcp.InputResponseMap{"other": allowed()["approval"]}
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, key, &approval.Memory{})
			cs := b.connect(true, true, func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) { return nil, nil })
			first, err := cs.CallTool(t.Context(), callExec("make"))
			if err != nil {
				t.Fatal(err)
			}
			if !first.NeedsInput() || first.RequestState == "" || b.ran.Load() != 0 {
				t.Fatalf("the first answer asks for nothing: %s", text(first))
			}
			if raw, _ := json.Marshal(first); strings.Contains(first.RequestState, "make") || strings.Contains(string(raw), "sha256:") {
				t.Errorf("the state can be read: %s", raw)
			}
			p := callExec("make")
			p.RequestState, p.InputResponses = first.RequestState, allowed()
			c.mutate(first, p)
			res, err := cs.CallTool(t.Context(), p)
			if err != nil {
				t.Fatal(err)
			}
			if res.NeedsInput() || res.IsError == c.runs || (b.ran.Load() == 1) != c.runs {
				t.Errorf("asks again %v, ran %d: %s", res.NeedsInput(), b.ran.Load(), text(res))
			}
			// Replayed, it is worth nothing.
			ran := b.ran.Load()
			replay := callExec("make")
			replay.RequestState, replay.InputResponses = first.RequestState, allowed()
			for range 2 {
				if res, err = cs.CallTool(t.Context(), replay); err != nil {
					t.Fatal(err)
				}
			}
			if c.runs && (!res.IsError || b.ran.Load() != ran) {
				t.Errorf("a replay ran the tool: %s", text(res))
			}
		})
	}
}

func flip(s string) string {
	b := []byte(s)
	i := len(b) / 2
	if b[i]++; b[i] > 'y' || b[i] == '[' || b[i] == ':' {
		b[i] = 'a'
	}
	return string(b)
}

// The second half may reach another process, or the same one after a restart:
// with the same key and store it goes on, and with another key it is refused.
func TestRequestStateAcrossARestart(t *testing.T) {
	for name, same := range map[string]bool{"same key": true, "another key": false} {
		t.Run(name, func(t *testing.T) {
			store, key := &approval.Memory{}, make([]byte, approval.KeySize)
			show := func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) { return nil, nil }
			first, err := newBench(t, key, store).connect(true, true, show).CallTool(t.Context(), callExec("make"))
			if err != nil {
				t.Fatal(err)
			}
			if !same {
				key = append([]byte{1}, key[1:]...)
			}
			b := newBench(t, key, store)
			p := callExec("make")
			p.RequestState, p.InputResponses = first.RequestState, allowed()
			res, err := b.connect(true, true, show).CallTool(t.Context(), p)
			if err != nil || res.IsError == same || (b.ran.Load() == 1) != same {
				t.Errorf("%v, ran %d: %s", err, b.ran.Load(), text(res))
			}
		})
	}
}

// careless makes a client of the era that looks at no form before it sends it
// back, other than the SDK's own. It returns what calls exec.
func (b *bench) careless(modern bool, answer func() *mcp.ElicitResult) func() *mcp.CallToolResult {
	c := mcp.NewClient(&mcp.Implementation{Name: "t", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) { return answer(), nil },
		MultiRoundTrip:     &mcp.MultiRoundTripOptions{Disabled: true},
	})
	c.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
			if method == "elicitation/create" {
				return answer(), nil
			}
			return next(ctx, method, r)
		}
	})
	cs := b.join(c, modern)
	return func() *mcp.CallToolResult {
		b.t.Helper()
		p := callExec("make")
		res, err := cs.CallTool(b.t.Context(), p)
		if err == nil && res.NeedsInput() {
			p.RequestState, p.InputResponses = res.RequestState, mcp.InputResponseMap{"approval": answer()}
			res, err = cs.CallTool(b.t.Context(), p)
		}
		if err != nil {
			b.t.Fatal(err)
		}
		return res
	}
}

// An answer that the form does not offer is told as that, whatever the client's
// era; it is nobody's lasting no, so the same call asks again.
func TestAnAnswerThatWasNotOffered(t *testing.T) {
	for name, answer := range map[string]mcp.ElicitResult{
		"another decision": {Action: "accept", Content: map[string]any{"decision": "yes"}},
		"another type":     {Action: "accept", Content: map[string]any{"decision": true}},
		"another field":    {Action: "accept", Content: map[string]any{"answer": "allow once"}},
		"nothing":          {Action: "accept"},
		"another action":   {Action: "approve", Content: map[string]any{"decision": "allow once"}},
	} {
		t.Run(name, func(t *testing.T) {
			eras(t, func(t *testing.T, modern bool) {
				b := newBench(t, nil, &approval.Memory{})
				var asked atomic.Int64
				exec := b.careless(modern, func() *mcp.ElicitResult {
					asked.Add(1)
					filled := answer
					return &filled
				})
				for range 2 {
					res := exec()
					got := text(res)
					if !res.IsError || !strings.Contains(got, "none of the offered ones") || !strings.Contains(got, `"blockedBy":"approval"`) {
						t.Errorf("the refusal says %s", got)
					}
					if strings.Contains(got, "doctor") {
						t.Errorf("the refusal sends the user to what does not help: %s", got)
					}
				}
				if asked.Load() != 2 || b.ran.Load() != 0 {
					t.Errorf("asked %d times, ran %d; want 2 and 0", asked.Load(), b.ran.Load())
				}
			})
		})
	}
}

// A no in the form stands for the same call; a form that was only closed does not.
func TestANoInTheForm(t *testing.T) {
	for name, c := range map[string]struct {
		answer mcp.ElicitResult
		asked  int64 // of two calls
	}{
		"deny":    {mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "deny"}}, 1},
		"decline": {mcp.ElicitResult{Action: "decline"}, 1},
		"cancel":  {mcp.ElicitResult{Action: "cancel"}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			eras(t, func(t *testing.T, modern bool) {
				b := newBench(t, nil, &approval.Memory{})
				var asked atomic.Int64
				cs := b.connect(modern, false, func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					asked.Add(1)
					filled := c.answer
					return &filled, nil
				})
				for range 2 {
					res, err := cs.CallTool(t.Context(), callExec("make"))
					if err != nil || !res.IsError || !strings.Contains(text(res), "denied it") {
						t.Errorf("%v, %+v; want a denial", err, res)
					}
				}
				if asked.Load() != c.asked || b.ran.Load() != 0 {
					t.Errorf("asked %d times, ran %d; want %d and 0", asked.Load(), b.ran.Load(), c.asked)
				}
			})
		})
	}
}
