package approval_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolsearch/toolsearch/approval"
	"github.com/toolsearch/toolsearch/call"
	"github.com/toolsearch/toolsearch/tool"
)

// change answers a record as another process would.
func change(t *testing.T, s approval.Store, id string, c approval.Change) {
	t.Helper()
	c.At, c.DecidedBy = time.Now(), "ann"
	if ok, err := s.Change(t.Context(), id, c); !ok || err != nil {
		t.Fatal(ok, err)
	}
}

// A denial from elsewhere reaches whoever repeats the call, with its reason, as
// long as the request would have stood, and no second request is made; any other
// call asks.
func TestADenialStands(t *testing.T) {
	type moment struct {
		version, tool, args string
		origin              call.Origin
		after               time.Duration
	}
	given := moment{version: "1", tool: "send", args: `{"to":"ann"}`, origin: call.Origin{Caller: "ann", Agent: "main", Session: "s"}}
	for name, c := range map[string]struct {
		change func(*moment)
		stands bool
	}{
		"nothing":             {func(*moment) {}, true},
		"the session":         {func(m *moment) { m.origin.Session = "t" }, true}, // as of an approval of one call
		"just before the end": {func(m *moment) { m.after = time.Minute - 1 }, true},
		"the end":             {func(m *moment) { m.after = time.Minute }, false},
		"the caller":          {func(m *moment) { m.origin.Caller = "bob" }, false},
		"the agent":           {func(m *moment) { m.origin.Agent = "other" }, false},
		"the tool":            {func(m *moment) { m.tool = "delete" }, false},
		"the args":            {func(m *moment) { m.args = `{"to":"bob"}` }, false},
		"the policy":          {func(m *moment) { m.version = "2" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &careless{}
				do := func(m moment) error {
					target, _ := counted(tool.MCP, "mail", m.tool, tool.Annotations{})
					return do(newGate(t, approval.Options{
						Rules: compile(t, approval.RuleSet{Otherwise: approval.RuleAsk}), Expiry: time.Minute,
						PolicyVersion: m.version, Store: store, Routes: []approval.Route{approval.Elsewhere{}},
					}), target, m.args, m.origin)
				}
				blocked(t, do(given), "pending")
				change(t, store, only(t, &store.Memory, approval.Pending).ID,
					approval.Change{From: approval.Pending, To: approval.Denied, Reason: "never write there"})
				then := given
				c.change(&then)
				time.Sleep(then.after) // of the bubble's clock
				want, pending := "pending", 1
				if c.stands {
					want, pending = "ann denied it", 0
				}
				e := blocked(t, do(then), want)
				if c.stands {
					blocked(t, e, "never write there")
				}
				if found, _ := store.Memory.Find(t.Context(), approval.Query{State: approval.Pending}); len(found) != pending {
					t.Errorf("%d requests are pending, want %d", len(found), pending)
				}
			})
		})
	}
}

// Only a no that somebody meant stands: what failed, was closed or has terms that
// cannot be met is asked about again.
func TestWhichDenialsStand(t *testing.T) {
	for name, c := range map[string]struct {
		decision approval.Decision
		err      error
		asked    int64 // of two calls
	}{
		"a no":           {approval.Decision{Answer: approval.Deny, Reason: "no"}, nil, 1},
		"a closed form":  {approval.Decision{Answer: approval.Deny, AskAgain: true}, nil, 2},
		"unknown":        {approval.Decision{Answer: 99}, nil, 2},
		"unknown scope":  {approval.Decision{Answer: approval.Allow, Scope: "forever"}, nil, 2},
		"a failed route": {approval.Decision{}, errors.New("it failed"), 2},
		"no route":       {approval.Decision{}, approval.ErrNoRoute, 2},
	} {
		t.Run(name, func(t *testing.T) {
			asked := int64(0)
			g := newGate(t, approval.Options{Routes: []approval.Route{approval.RouteFunc(
				func(context.Context, approval.Request) (approval.Decision, error) {
					asked++
					return c.decision, c.err
				})}})
			target, ran := execTool()
			for range 2 {
				blocked(t, do(g, target, `{}`, call.Origin{}), "")
			}
			if asked != c.asked || ran.Load() != 0 {
				t.Errorf("asked %d times, want %d; ran %d", asked, c.asked, ran.Load())
			}
		})
	}
}

// Of a denial and an approval, the later one counts; and an approval of more
// than one call that is taken back leaves no denial of the call that asked.
func TestADenialAndAnApproval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &approval.Memory{}
		g := newGate(t, approval.Options{Store: store, Routes: []approval.Route{approval.Elsewhere{}}})
		target, _ := execTool()
		session := call.Origin{Session: "s"}
		ask := func(args string) string {
			t.Helper()
			blocked(t, do(g, target, args, session), "pending")
			return only(t, store, approval.Pending).ID
		}
		change(t, store, ask(`{"n":1}`), approval.Change{From: approval.Pending, To: approval.Denied})
		blocked(t, do(g, target, `{"n":1}`, session), "ann denied it")
		time.Sleep(time.Nanosecond) // of the bubble's clock: of the two the later counts
		wide := ask(`{"n":2}`)
		change(t, store, wide, approval.Change{From: approval.Pending, To: approval.Approved, Scope: approval.Session, Expires: time.Now().Add(time.Hour)})
		for _, args := range []string{`{"n":1}`, `{"n":2}`} {
			if err := do(g, target, args, session); err != nil {
				t.Errorf("%s, approved for the session later: %v", args, err)
			}
		}
		change(t, store, wide, approval.Change{From: approval.Approved, To: approval.Denied})
		blocked(t, do(g, target, `{"n":2}`, session), "pending")
		blocked(t, do(g, target, `{"n":1}`, session), "ann denied it")
	})
}
