package approval_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolsearch/toolsearch/approval"
	"github.com/toolsearch/toolsearch/call"
	"github.com/toolsearch/toolsearch/tool"
)

// careless is a store that finds everything, whatever is asked: what an approval
// is good for is for the gate to say.
type careless struct{ approval.Memory }

func (c *careless) Find(ctx context.Context, _ approval.Query) ([]approval.Record, error) {
	return c.Memory.Find(ctx, approval.Query{})
}

// An approval counts for the caller, agent, tool, arguments, policy and rules that
// it was given for, while it stands, and for nothing else; a pending request is
// not taken for that of somebody else.
func TestAnApprovalBinds(t *testing.T) {
	ask := approval.RuleSet{Otherwise: approval.RuleAsk}
	claims := approval.RuleSet{Otherwise: approval.RuleAsk, Rules: []approval.Rule{{
		Action: approval.RuleAllow, Tools: entries("nothing"), Claims: approval.Claims{ReadOnly: yes()},
	}}}
	unclaimed := approval.RuleSet{Otherwise: approval.RuleAsk, Rules: []approval.Rule{{Action: approval.RuleAllow, Tools: entries("nothing")}}}
	type moment struct {
		rules   approval.RuleSet
		version string
		tool    string
		args    string
		origin  call.Origin
		after   time.Duration
	}
	given := moment{rules: claims, version: "1", tool: "send", args: `{"to":"ann"}`, origin: call.Origin{Caller: "ann", Agent: "main", Session: "s"}}
	for name, c := range map[string]struct {
		change func(*moment)
		// holds are the scopes of an approval that count for the changed call.
		holds []approval.Scope
	}{
		"nothing":      {func(*moment) {}, []approval.Scope{approval.Once, approval.Session, approval.Pattern}},
		"the caller":   {func(m *moment) { m.origin.Caller = "bob" }, nil},
		"the agent":    {func(m *moment) { m.origin.Agent = "other" }, nil},
		"the tool":     {func(m *moment) { m.tool = "delete" }, nil},
		"the args":     {func(m *moment) { m.args = `{"to":"bob"}` }, []approval.Scope{approval.Session, approval.Pattern}},
		"the session":  {func(m *moment) { m.origin.Session = "t" }, []approval.Scope{approval.Once, approval.Pattern}},
		"the policy":   {func(m *moment) { m.version = "2" }, nil},
		"the rules":    {func(m *moment) { m.rules = ask }, nil},
		"their claims": {func(m *moment) { m.rules = unclaimed }, nil},
		"the time":     {func(m *moment) { m.after = 31 * 24 * time.Hour }, nil},
	} {
		for _, scope := range []approval.Scope{approval.Once, approval.Session, approval.Pattern} {
			t.Run(name+"/"+string(scope), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					store := &careless{}
					do := func(m moment) error {
						target, _ := counted(tool.MCP, "mail", m.tool, tool.Annotations{})
						g := newGate(t, approval.Options{
							Rules: compile(t, m.rules), PolicyVersion: m.version, Store: store, Routes: []approval.Route{approval.Elsewhere{}},
						})
						return do(g, target, m.args, m.origin)
					}
					blocked(t, do(given), "pending")
					asked := only(t, &store.Memory, approval.Pending)
					now := time.Now()
					change := approval.Change{From: approval.Pending, To: approval.Approved, Scope: scope, Expires: now.Add(asked.Lifetime(scope)), At: now}
					if scope == approval.Pattern {
						change.Pattern = approval.Exactly(asked.Tool)
					}
					if ok, err := store.Change(t.Context(), asked.ID, change); !ok || err != nil {
						t.Fatal(ok, err)
					}
					then := given
					c.change(&then)
					time.Sleep(then.after) // of the bubble's clock
					want := false
					for _, s := range c.holds {
						want = want || s == scope
					}
					if err := do(then); (err == nil) != want {
						t.Errorf("it counts: %v (%v), want %v", err == nil, err, want)
					}
				})
			})
		}
	}
}

// Somebody else's pending request of the same call is not joined.
func TestAPendingRequestIsItsCallers(t *testing.T) {
	store := &careless{}
	g := newGate(t, approval.Options{Store: store, Routes: []approval.Route{approval.Elsewhere{}}})
	target, _ := execTool()
	blocked(t, do(g, target, `{}`, call.Origin{Caller: "ann"}), "pending")
	ann := only(t, &store.Memory, approval.Pending)
	if e := blocked(t, do(g, target, `{}`, call.Origin{Caller: "bob"}), "pending"); strings.Contains(e.Error(), ann.ID) {
		t.Errorf("bob was told of ann's request: %v", e)
	}
}

// Many calls can wait at one time; one more than may is refused at once.
func TestManyWaiting(t *testing.T) {
	arrived, release := make(chan struct{}), make(chan struct{})
	g := newGate(t, approval.Options{Routes: []approval.Route{approval.RouteFunc(func(ctx context.Context, _ approval.Request) (approval.Decision, error) {
		arrived <- struct{}{}
		<-release
		return approval.Decision{Answer: approval.Allow}, nil
	})}})
	target, ran := execTool()
	errs := make(chan error)
	caller := func(i int) call.Origin { return call.Origin{Caller: string(rune('a' + i/50))} }
	for i := range approval.MaxWaiting {
		go func() { errs <- do(g, target, `{}`, caller(i)) }()
	}
	for range approval.MaxWaiting {
		<-arrived
	}
	e := blocked(t, do(g, target, `{}`, call.Origin{Caller: "late"}), "calls wait for one already")
	if !errors.Is(e, approval.ErrFull) {
		t.Errorf("the cause is %v", e.Err)
	}
	close(release)
	for range approval.MaxWaiting {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if ran.Load() != approval.MaxWaiting {
		t.Errorf("%d calls ran, want %d", ran.Load(), approval.MaxWaiting)
	}
}

// What is kept of the arguments is redacted; whoever is asked sees the call.
func TestKeptArgumentsAreRedacted(t *testing.T) {
	store := &approval.Memory{}
	route := &answers{Decision: approval.Decision{Answer: approval.Later}}
	g := newGate(t, approval.Options{Store: store, Routes: []approval.Route{route}, Redact: func(args []byte) []byte {
		return []byte(strings.ReplaceAll(string(args), "hunter2", "[redacted]"))
	}})
	target, _ := execTool()
	blocked(t, do(g, target, `{"password":"hunter2"}`, call.Origin{}), "pending")
	if got, want := string(only(t, store, approval.Pending).Args), `{"password":"[redacted]"}`; got != want {
		t.Errorf("the record keeps %s, want %s", got, want)
	}
	if got := string(route.last.Load().Call); got != `{"password":"hunter2"}` {
		t.Errorf("the route was shown %s", got)
	}
}
