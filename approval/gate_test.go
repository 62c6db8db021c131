package approval_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/toolsearch/toolsearch/approval"
	"github.com/toolsearch/toolsearch/call"
	"github.com/toolsearch/toolsearch/policy"
	"github.com/toolsearch/toolsearch/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func yes() *bool { v := true; return &v }
func no() *bool  { v := false; return &v }

// counted is a tool that counts how often it ran.
func counted(source tool.Source, owner, name string, a tool.Annotations) (*tool.Tool, *atomic.Int64) {
	var ran atomic.Int64
	return &tool.Tool{
		ID: tool.NewID(source, owner, name), Source: source, Owner: owner, Name: name, Annotations: a,
		Input: tool.RawSchema(`{"type":"object"}`),
		Invoker: tool.InvokerFunc(func(context.Context, tool.Call) (*tool.Result, error) {
			ran.Add(1)
			return tool.TextResult("ran"), nil
		}),
	}, &ran
}

func execTool() (*tool.Tool, *atomic.Int64) {
	return counted(tool.OpenClaw, tool.CoreOwner, "exec", tool.Annotations{Destructive: yes()})
}

func newGate(t testing.TB, opt approval.Options) *approval.Gate {
	t.Helper()
	g, err := approval.New(opt)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// answers is a route that always says the same, and counts how often it is asked.
type answers struct {
	approval.Decision
	asked atomic.Int64
	last  atomic.Pointer[approval.Request]
}

func (a *answers) Ask(_ context.Context, r approval.Request) (approval.Decision, error) {
	a.asked.Add(1)
	a.last.Store(&r)
	return a.Decision, nil
}

func do(g *approval.Gate, t *tool.Tool, args string, o call.Origin) error {
	return doContext(context.Background(), g, t, args, o)
}

func doContext(ctx context.Context, g *approval.Gate, t *tool.Tool, args string, o call.Origin) error {
	_, err := call.New(g.Stage(), g.Recheck()).Call(ctx, call.Request{Target: t, Args: json.RawMessage(args), Origin: o})
	return err
}

// blocked asserts that the approval stage refused.
func blocked(t *testing.T, err error, containing string) *tool.Error {
	t.Helper()
	var te *tool.Error
	if !errors.As(err, &te) || te.Code != tool.CodeBlocked || te.By != "approval" || te.Next == "" {
		t.Fatalf("got %#v, want a refusal by approval with a next step", err)
	}
	if !strings.Contains(te.Error(), containing) {
		t.Fatalf("got %q, want it to contain %q", te.Error(), containing)
	}
	return te
}

func only(t *testing.T, s approval.Store, state approval.State) approval.Record {
	t.Helper()
	found, err := s.Find(context.Background(), approval.Query{State: state})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != 1 {
		all, _ := s.Find(context.Background(), approval.Query{})
		t.Fatalf("%d records are %s, want 1; all: %+v", len(found), state, all)
	}
	return found[0]
}

func entries(patterns ...string) []policy.Entry {
	var out []policy.Entry
	for _, p := range patterns {
		out = append(out, policy.Entry{Pattern: p})
	}
	return out
}

func compile(t testing.TB, set approval.RuleSet) *approval.Rules {
	t.Helper()
	r, _, err := approval.Compile(set)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestNoRouteIsAnImmediateRefusal(t *testing.T) {
	for name, routes := range map[string][]approval.Route{
		"none": nil,
		"none fits": {approval.RouteFunc(func(context.Context, approval.Request) (approval.Decision, error) {
			return approval.Decision{}, approval.ErrNoRoute
		})},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				target, ran := execTool()
				start := time.Now()
				store := &approval.Memory{}
				err := do(newGate(t, approval.Options{Routes: routes, Store: store}), target, `{}`, call.Origin{})
				blocked(t, err, "no way to ask")
				if ran.Load() != 0 {
					t.Error("the tool ran")
				}
				if waited := time.Since(start); waited != 0 {
					t.Errorf("the refusal took %s", waited)
				}
				if found, _ := store.Find(t.Context(), approval.Query{State: approval.Pending}); len(found) != 0 {
					t.Errorf("a request stays pending: %+v", found)
				}
			})
		})
	}
}

func TestOnceBindsTheArguments(t *testing.T) {
	store := &approval.Memory{}
	route := &answers{Decision: approval.Decision{Answer: approval.Allow, By: "ann"}}
	g := newGate(t, approval.Options{Routes: []approval.Route{route}, Store: store})
	target, ran := execTool()
	for i, args := range []string{`{"command":"ls","n":1}`, `{"n":1, "command":"l\u0073"}`, `{"command":"rm","n":1}`} {
		if err := do(g, target, args, call.Origin{}); err != nil {
			t.Fatal(err)
		}
		if n := route.asked.Load(); n != int64(i+1) {
			t.Errorf("after call %d the route was asked %d times: an approval is for one call", i+1, n)
		}
	}
	if ran.Load() != 3 {
		t.Errorf("the tool ran %d times", ran.Load())
	}
	used, err := store.Find(t.Context(), approval.Query{State: approval.Used})
	if err != nil || len(used) != 3 {
		t.Fatalf("%d records are used, want 3 (%v)", len(used), err)
	}
	// The same value, written differently, has the same digest; another has not.
	if used[2].Digest != used[1].Digest || used[0].Digest == used[1].Digest {
		t.Errorf("digests: %s %s %s", used[2].Digest, used[1].Digest, used[0].Digest)
	}
	if used[0].DecidedBy != "ann" || used[0].Decided.IsZero() {
		t.Errorf("the record does not say who decided: %+v", used[0])
	}
}

func TestDenied(t *testing.T) {
	failing := errors.New("the dialog crashed")
	for name, c := range map[string]struct {
		route approval.Route
		want  string
	}{
		"denied":        {&answers{Decision: approval.Decision{By: "ann", Reason: "not today"}}, "ann denied it"},
		"zero":          {&answers{}, "denied it"},
		"unknown":       {&answers{Decision: approval.Decision{Answer: 99}}, "denied it"},
		"unknown scope": {&answers{Decision: approval.Decision{Answer: approval.Allow, Scope: "forever"}}, `unknown scope "forever"`},
		"other pattern": {&answers{Decision: approval.Decision{Answer: approval.Allow, Scope: approval.Pattern, Pattern: "write"}}, `does not match`},
		"failed": {approval.RouteFunc(func(context.Context, approval.Request) (approval.Decision, error) {
			return approval.Decision{Answer: approval.Allow}, failing
		}), "asking for the approval failed"},
	} {
		t.Run(name, func(t *testing.T) {
			store := &approval.Memory{}
			target, ran := execTool()
			g := newGate(t, approval.Options{Routes: []approval.Route{c.route}, Store: store})
			blocked(t, do(g, target, `{}`, call.Origin{}), c.want)
			if ran.Load() != 0 {
				t.Error("the tool ran")
			}
			only(t, store, approval.Denied)
		})
	}
}

func TestExpiryDeniesAndIsRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &approval.Memory{}
		var notes []approval.Note
		g := newGate(t, approval.Options{
			Store: store, Expiry: time.Minute,
			Note: func(_ context.Context, n approval.Note) { notes = append(notes, n) },
			Routes: []approval.Route{approval.RouteFunc(func(ctx context.Context, _ approval.Request) (approval.Decision, error) {
				<-ctx.Done()
				return approval.Decision{}, ctx.Err()
			})},
		})
		target, ran := execTool()
		start := time.Now()
		blocked(t, do(g, target, `{}`, call.Origin{}), "nobody answered")
		if waited := time.Since(start); waited != time.Minute {
			t.Errorf("it waited %s, want the expiry", waited)
		}
		if ran.Load() != 0 {
			t.Error("the tool ran")
		}
		r := only(t, store, approval.Expired)
		if r.DecidedBy != "expiry" || len(notes) != 1 || notes[0].Decision != "expired" || notes[0].ID != r.ID {
			t.Errorf("record %+v, notes %+v", r, notes)
		}
	})
}

// An answer that comes after the expiry is too late, even from a route that does
// not look at its context.
func TestLateAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &approval.Memory{}
		g := newGate(t, approval.Options{
			Store: store, Expiry: time.Minute,
			Routes: []approval.Route{approval.RouteFunc(func(context.Context, approval.Request) (approval.Decision, error) {
				time.Sleep(2 * time.Minute) // of the bubble's clock
				return approval.Decision{Answer: approval.Allow}, nil
			})},
		})
		target, ran := execTool()
		blocked(t, do(g, target, `{}`, call.Origin{}), "nobody answered")
		time.Sleep(2 * time.Minute)
		if ran.Load() != 0 {
			t.Error("the tool ran")
		}
		only(t, store, approval.Expired)
	})
}

func TestCancellationFreesEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &approval.Memory{}
		var resumed, left atomic.Bool
		g := newGate(t, approval.Options{
			Store: store,
			Pause: func(context.Context) func() { return func() { resumed.Store(true) } },
			Routes: []approval.Route{approval.RouteFunc(func(ctx context.Context, _ approval.Request) (approval.Decision, error) {
				<-ctx.Done()
				left.Store(true)
				return approval.Decision{}, ctx.Err()
			})},
		})
		target, ran := execTool()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- doContext(ctx, g, target, `{}`, call.Origin{}) }()
		synctest.Wait()
		only(t, store, approval.Pending)
		if resumed.Load() {
			t.Error("the clock runs while a person decides")
		}
		cancel()
		if err := <-done; tool.CodeOf(err) != tool.CodeCancelled {
			t.Errorf("got %v, want cancelled", err)
		}
		synctest.Wait()
		if !resumed.Load() || !left.Load() || ran.Load() != 0 {
			t.Errorf("resumed %v, route left %v, ran %d", resumed.Load(), left.Load(), ran.Load())
		}
		only(t, store, approval.Denied)
	})
}

// Two Gates over one store stand for two processes: one asks and ends, the
// other, after a restart, finds the answer that a third gave in between.
func TestRestartInTheMiddle(t *testing.T) {
	store := &approval.Memory{}
	opt := approval.Options{Store: store, PolicyVersion: "p1", Routes: []approval.Route{approval.Elsewhere{}}}
	target, ran := execTool()
	origin := call.Origin{Caller: "ann", Agent: "main", Session: "s1"}
	const args = `{"command":"make"}`
	first := blocked(t, do(newGate(t, opt), target, args, origin), "toolsearch approvals approve")
	r := only(t, store, approval.Pending)
	if !strings.Contains(first.Reason, r.ID) || !strings.Contains(string(first.Details), r.ID) {
		t.Errorf("the answer does not name the request %s: %v", r.ID, first)
	}
	// A repetition does not make a second request.
	blocked(t, do(newGate(t, opt), target, args, origin), r.ID)
	only(t, store, approval.Pending)

	now := time.Now()
	ok, err := store.Change(t.Context(), r.ID, approval.Change{
		From: approval.Pending, To: approval.Approved, Scope: approval.Once, DecidedBy: "cli", Expires: now.Add(time.Minute), At: now,
	})
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	other := opt
	other.PolicyVersion = "p2"
	for name, c := range map[string]struct {
		opt    approval.Options
		args   string
		origin call.Origin
	}{
		"other arguments": {opt, `{"command":"rm"}`, origin},
		"other caller":    {opt, args, call.Origin{Caller: "bob", Agent: "main", Session: "s1"}},
		"other agent":     {opt, args, call.Origin{Caller: "ann", Agent: "b", Session: "s1"}},
		"other policy":    {other, args, origin},
	} {
		c.opt.Routes = nil
		if err := do(newGate(t, c.opt), target, c.args, c.origin); err == nil || ran.Load() != 0 {
			t.Fatalf("%s: the approval counted", name)
		}
	}
	if err := do(newGate(t, opt), target, args, origin); err != nil || ran.Load() != 1 {
		t.Fatalf("after the restart: %v, ran %d", err, ran.Load())
	}
	only(t, store, approval.Used)
	blocked(t, do(newGate(t, opt), target, args, origin), "pending")
	if ran.Load() != 1 {
		t.Error("one approval let two calls pass")
	}
}

func TestSingleUseRace(t *testing.T) {
	store := &approval.Memory{}
	opt := approval.Options{Store: store, Routes: []approval.Route{approval.Elsewhere{}}}
	target, ran := execTool()
	blocked(t, do(newGate(t, opt), target, `{}`, call.Origin{}), "pending")
	now := time.Now()
	if ok, err := store.Change(t.Context(), only(t, store, approval.Pending).ID, approval.Change{
		From: approval.Pending, To: approval.Approved, Expires: now.Add(time.Hour), At: now,
	}); !ok || err != nil {
		t.Fatal(ok, err)
	}
	var wg sync.WaitGroup
	gates := []*approval.Gate{newGate(t, opt), newGate(t, opt)}
	for i := range 32 {
		wg.Go(func() { _ = do(gates[i%2], target, `{}`, call.Origin{}) })
	}
	wg.Wait()
	if ran.Load() != 1 {
		t.Errorf("one approval let %d calls pass", ran.Load())
	}
}

// Two calls that look the same ask for themselves: one answer is for one call.
func TestTwoCallsThatLookTheSame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ids := make(chan string, 2)
		answer := make(chan approval.Decision)
		g := newGate(t, approval.Options{Routes: []approval.Route{approval.RouteFunc(
			func(ctx context.Context, r approval.Request) (approval.Decision, error) {
				ids <- r.ID
				select {
				case d := <-answer:
					return d, nil
				case <-ctx.Done():
					return approval.Decision{}, ctx.Err()
				}
			})}})
		target, ran := execTool()
		errs := make(chan error)
		for range 2 {
			go func() { errs <- do(g, target, `{}`, call.Origin{}) }()
			synctest.Wait()
		}
		if a, b := <-ids, <-ids; a == b {
			t.Errorf("both ask as %s", a)
		}
		answer <- approval.Decision{Answer: approval.Allow}
		if err := <-errs; err != nil || ran.Load() != 1 {
			t.Errorf("%v, ran %d", err, ran.Load())
		}
		answer <- approval.Decision{}
		blocked(t, <-errs, "denied it")
		if ran.Load() != 1 {
			t.Errorf("ran %d", ran.Load())
		}
	})
}

// While a route waits, another process may answer.
func TestAnsweredElsewhereWhileWaiting(t *testing.T) {
	for state, want := range map[approval.State]int64{approval.Approved: 1, approval.Denied: 0} {
		t.Run(string(state), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &approval.Memory{}
				g := newGate(t, approval.Options{Store: store, Routes: []approval.Route{approval.RouteFunc(
					func(ctx context.Context, _ approval.Request) (approval.Decision, error) {
						<-ctx.Done()
						return approval.Decision{}, ctx.Err()
					})}})
				target, ran := execTool()
				done := make(chan error)
				go func() { done <- do(g, target, `{}`, call.Origin{}) }()
				synctest.Wait()
				r := only(t, store, approval.Pending)
				if ok, err := store.Change(t.Context(), r.ID, approval.Change{
					From: approval.Pending, To: state, DecidedBy: "cli", Reason: "because", At: time.Now(),
				}); !ok || err != nil {
					t.Fatal(ok, err)
				}
				err := <-done
				if ran.Load() != want {
					t.Errorf("ran %d times: %v", ran.Load(), err)
				}
				if want == 0 {
					blocked(t, err, "cli denied it")
				}
			})
		})
	}
}

func TestScopes(t *testing.T) {
	s1 := call.Origin{Caller: "ann", Session: "s1"}
	s2 := call.Origin{Caller: "ann", Session: "s2"}
	bob := call.Origin{Caller: "bob", Session: "s1"}
	exec, _ := execTool()
	write, _ := counted(tool.OpenClaw, tool.CoreOwner, "write", tool.Annotations{Destructive: yes()})
	type step struct {
		target *tool.Tool
		args   string
		origin call.Origin
		asked  bool
	}
	for name, c := range map[string]struct {
		decision approval.Decision
		steps    []step
	}{
		"once": {approval.Decision{Answer: approval.Allow}, []step{
			{exec, `{"a":1}`, s1, true}, {exec, `{"a":1}`, s1, true},
		}},
		"session": {approval.Decision{Answer: approval.Allow, Scope: approval.Session}, []step{
			{exec, `{"a":1}`, s1, true}, {exec, `{"a":2}`, s1, false}, {write, `{}`, s1, true},
			{exec, `{"a":1}`, s2, true}, {exec, `{"a":1}`, bob, true},
		}},
		"pattern, its own id": {approval.Decision{Answer: approval.Allow, Scope: approval.Pattern}, []step{
			{exec, `{"a":1}`, s1, true}, {exec, `{"a":2}`, s2, false}, {write, `{}`, s1, true}, {exec, `{"a":1}`, bob, true},
		}},
		"pattern, a group": {approval.Decision{Answer: approval.Allow, Scope: approval.Pattern, Pattern: "group:openclaw"}, []step{
			{exec, `{"a":1}`, s1, true}, {exec, `{"a":2}`, s2, false}, {write, `{}`, s2, false}, {write, `{}`, bob, true},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			route := &answers{Decision: c.decision}
			g := newGate(t, approval.Options{Routes: []approval.Route{route}})
			for i, s := range c.steps {
				before := route.asked.Load()
				if err := do(g, s.target, s.args, s.origin); err != nil {
					t.Fatalf("step %d: %v", i, err)
				}
				if asked := route.asked.Load() > before; asked != s.asked {
					t.Errorf("step %d: asked %v, want %v", i, asked, s.asked)
				}
			}
		})
	}
}

// The names of MCP tools are hostile: one that looks like a pattern widens
// nothing.
func TestPatternOfAHostileName(t *testing.T) {
	star, _ := counted(tool.MCP, "evil", "*", tool.Annotations{})
	other, _ := counted(tool.MCP, "evil", "other", tool.Annotations{})
	route := &answers{Decision: approval.Decision{Answer: approval.Allow, Scope: approval.Pattern}}
	g := newGate(t, approval.Options{
		Routes: []approval.Route{route},
		Rules:  compile(t, approval.RuleSet{Otherwise: approval.RuleAsk}),
	})
	for i, target := range []*tool.Tool{star, other} {
		if err := do(g, target, `{}`, call.Origin{}); err != nil && i == 1 {
			t.Fatal(err)
		}
	}
	if found := route.last.Load(); found == nil || found.Tool != other.ID {
		t.Error("an approval of a tool named * was taken for every tool of its server")
	}
}

// Arguments that a later stage replaces are asked about again.
func TestReplacedArguments(t *testing.T) {
	route := &answers{Decision: approval.Decision{Answer: approval.Allow}}
	g := newGate(t, approval.Options{Routes: []approval.Route{route}})
	target, ran := execTool()
	replace := func(args string, ask bool) call.Stage {
		return func(next call.Handler) call.Handler {
			return func(ctx context.Context, r call.Request) (*tool.Result, error) {
				r.Args = json.RawMessage(args)
				if ask {
					if err := g.AskFor(ctx, r, "the hook wants to know"); err != nil {
						return nil, err
					}
				}
				return next(ctx, r)
			}
		}
	}
	for name, c := range map[string]struct {
		stage call.Stage
		asked int64
	}{
		"same value":                   {replace(`{ "\u0061": 1}`, false), 1},
		"other value":                  {replace(`{"a":2}`, false), 2},
		"other value, asked by a hook": {replace(`{"a":2}`, true), 2},
		"same value, asked by a hook":  {replace(`{"a":1}`, true), 1},
	} {
		route.asked.Store(0)
		ran.Store(0)
		_, err := call.New(g.Stage(), c.stage, g.Recheck()).Call(t.Context(), call.Request{Target: target, Args: json.RawMessage(`{"a":1}`)})
		if err != nil || ran.Load() != 1 || route.asked.Load() != c.asked {
			t.Errorf("%s: %v, ran %d, asked %d times, want %d", name, err, ran.Load(), route.asked.Load(), c.asked)
		}
	}
}

func TestAskFor(t *testing.T) {
	route := &answers{Decision: approval.Decision{Answer: approval.Allow}}
	g := newGate(t, approval.Options{
		Routes: []approval.Route{route},
		Rules:  compile(t, approval.RuleSet{Rules: []approval.Rule{{Action: approval.RuleDeny, Tools: entries("mcp:s:denied")}}}),
	})
	allowed, _ := counted(tool.MCP, "s", "allowed", tool.Annotations{ReadOnly: yes()})
	denied, _ := counted(tool.MCP, "s", "denied", tool.Annotations{})
	if err := g.AskFor(t.Context(), call.Request{Target: allowed, Args: json.RawMessage(`{}`)}, "odd"); err != nil {
		t.Fatal(err)
	}
	if r := route.last.Load(); r == nil || r.Reason != "odd" || !strings.Contains(r.Text(), "Asked because: odd") {
		t.Errorf("the reason is not shown: %+v", r)
	}
	blocked(t, g.AskFor(t.Context(), call.Request{Target: denied, Args: json.RawMessage(`{}`)}, "odd"), "deny it")
	route.Decision = approval.Decision{}
	blocked(t, g.AskFor(t.Context(), call.Request{Target: allowed, Args: json.RawMessage(`{}`)}, "odd"), "denied it")
}
