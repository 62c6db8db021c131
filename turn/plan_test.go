package turn_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/toolsearch/toolsearch/catalog"
	"github.com/toolsearch/toolsearch/policy"
	"github.com/toolsearch/toolsearch/surface"
	"github.com/toolsearch/toolsearch/tool"
	"github.com/toolsearch/toolsearch/turn"
)

// source is a Source whose snapshot a test swaps.
type source struct {
	mu   sync.Mutex
	snap turn.Snapshot
	next chan struct{}
}

func newSource(tools ...*tool.Tool) *source {
	s := &source{next: make(chan struct{})}
	s.snap = turn.Snapshot{Tools: tools}
	return s
}

func (s *source) Snapshot() turn.Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.snap
	out.Superseded = s.next
	return out
}

func (s *source) set(snap turn.Snapshot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.snap = snap
	close(s.next)
	s.next = make(chan struct{})
}

func mcpTool(server, name string) *tool.Tool {
	return &tool.Tool{
		ID: tool.NewID(tool.MCP, server, name), Source: tool.MCP, Owner: server, Name: name,
		Description: "Does " + name, Label: "Label", Input: tool.RawSchema(`{"type":"object","properties":{"x":{}}}`), Revision: "1",
	}
}

func compile(t *testing.T, rules policy.Rules) *policy.Policy {
	t.Helper()
	p, _, err := policy.Compile([]policy.Layer{{Scope: policy.ScopeGlobal, Name: "test", Rules: rules}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func entries(patterns ...string) []policy.Entry {
	var out []policy.Entry
	for _, p := range patterns {
		out = append(out, policy.Entry{Pattern: p})
	}
	return out
}

func names(v *surface.View) string { return strings.Join(v.Direct.All(), " ") }

func TestPlan(t *testing.T) {
	image := &tool.Tool{ID: "openclaw:core:image", Source: tool.OpenClaw, Owner: "core", Name: "image", Input: tool.RawSchema(`{}`), Mode: tool.DirectOnly}
	tools := []*tool.Tool{mcpTool("a", "one"), mcpTool("a", "two"), image}
	tests := []struct {
		name   string
		mode   surface.Mode
		rules  policy.Rules
		want   surface.Mode
		direct string
		hidden int
		warns  string
	}{
		{name: "tools", mode: surface.Tools, want: surface.Tools, direct: "image", hidden: 2},
		{name: "code", mode: surface.Code, want: surface.Code, direct: "image", hidden: 2},
		{name: "off", mode: surface.Off, want: surface.Off, direct: "a__one a__two image"},
		{name: "denied", mode: surface.Tools, rules: policy.Rules{Deny: entries("one", "image")}, want: surface.Tools, hidden: 1},
		{name: "a control of another mode denied", mode: surface.Tools, rules: policy.Rules{Deny: entries("tool_search_code")}, want: surface.Tools, direct: "image", hidden: 2},
		{name: "a needed control denied", mode: surface.Tools, rules: policy.Rules{Deny: entries("tool_call")}, want: surface.Off, direct: "a__one a__two image", warns: "tool_call"},
		{name: "code's control denied", mode: surface.Code, rules: policy.Rules{Deny: entries("tool_search_code")}, want: surface.Off, direct: "a__one a__two image", warns: "tool_search_code"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			plan, err := turn.NewPlanner(turn.Config{Mode: tt.mode, Policy: compile(t, tt.rules), Sources: []turn.Source{turn.Fixed(tools)}}).Refresh()
			if err != nil {
				t.Fatal(err)
			}
			hidden := 0
			if plan.View.Catalog != nil {
				hidden = plan.View.Catalog.Len()
			}
			if plan.View.Mode != tt.want || names(plan.View) != tt.direct || hidden != tt.hidden {
				t.Errorf("mode %s, direct %q, %d hidden; want %s, %q, %d", plan.View.Mode, names(plan.View), hidden, tt.want, tt.direct, tt.hidden)
			}
			if got := strings.Join(plan.Warnings, "; "); (tt.warns == "") != (got == "") || !strings.Contains(got, tt.warns) {
				t.Errorf("warnings are %q, want %q", got, tt.warns)
			}
		})
	}
}

// An allow list that leaves nothing stops the run, but not while a server that
// may bring what it names is still starting.
func TestPlanWithNothingAllowed(t *testing.T) {
	s := newSource(mcpTool("a", "one"))
	p := turn.NewPlanner(turn.Config{Mode: surface.Tools, Policy: compile(t, policy.Rules{Allow: entries("mcp:b")}), Sources: []turn.Source{s}})
	var empty *policy.EmptyError
	if _, err := p.Refresh(); !errors.As(err, &empty) {
		t.Errorf("got %v, want a policy.EmptyError", err)
	}
	if p.View() != nil {
		t.Error("a failed plan shows something")
	}
	s.set(turn.Snapshot{Tools: []*tool.Tool{mcpTool("a", "one")}, Outages: []catalog.Outage{{Owner: "b", Reason: "it is still starting"}, {Owner: "a", Reason: "x"}}})
	plan, err := p.Refresh()
	if err != nil {
		t.Fatal(err)
	}
	if len(plan.Outages) != 1 || plan.Outages[0].Owner != "b" {
		t.Errorf("outages are %+v, want only that of a server the run may use", plan.Outages)
	}
}

// The same tools, of which the policy leaves none, are an error as soon as no
// server is starting any more.
func TestPlanWithNothingAllowedOnceSettled(t *testing.T) {
	tools := []*tool.Tool{mcpTool("a", "one")}
	s := newSource()
	s.set(turn.Snapshot{Tools: tools, Outages: []catalog.Outage{{Owner: "a", Reason: "it is still starting", Stale: true}}})
	p := turn.NewPlanner(turn.Config{Mode: surface.Tools, Policy: compile(t, policy.Rules{Allow: entries("mcp:b")}), Sources: []turn.Source{s}})
	if _, err := p.Refresh(); err != nil {
		t.Fatal(err)
	}
	s.set(turn.Snapshot{Tools: tools})
	var empty *policy.EmptyError
	if _, err := p.Refresh(); !errors.As(err, &empty) {
		t.Errorf("got %v, want a policy.EmptyError", err)
	}
}

// An unchanged offer keeps the plan; other outages keep the index; a change of
// a tool makes a new one.
func TestPlanIsSwapped(t *testing.T) {
	s := newSource(mcpTool("a", "one"))
	p := turn.NewPlanner(turn.Config{Mode: surface.Tools, Policy: compile(t, policy.Rules{}), Sources: []turn.Source{s}})
	refresh := func() *turn.Plan {
		t.Helper()
		plan, err := p.Refresh()
		if err != nil {
			t.Fatal(err)
		}
		return plan
	}
	first := refresh()
	if refresh() != first {
		t.Error("an unchanged offer made a new plan")
	}
	s.set(turn.Snapshot{Tools: first.Allowed, Outages: []catalog.Outage{{Owner: "b", Reason: "down"}}})
	second := refresh()
	if second == first || len(second.View.Catalog.Outages()) != 1 || second.Fingerprint != first.Fingerprint {
		t.Errorf("an outage: %+v", second)
	}
	if len(first.View.Catalog.Outages()) != 0 {
		t.Error("the earlier plan changed")
	}
	changed := *first.Allowed[0]
	changed.Revision, changed.Description = "2", "Does something else"
	s.set(turn.Snapshot{Tools: []*tool.Tool{&changed}})
	if third := refresh(); third.Fingerprint == first.Fingerprint || third.View.Catalog.Tools()[0].Description != "Does something else" {
		t.Errorf("a changed tool: %+v", third)
	}
}

// Tools that the policy denies, and that come or go, are offered or not, and
// change nothing that a model sees.
func TestPlanKnowsWhatIsOffered(t *testing.T) {
	one, denied := mcpTool("a", "one"), mcpTool("a", "denied")
	s := newSource(one)
	p := turn.NewPlanner(turn.Config{Mode: surface.Tools, Policy: compile(t, policy.Rules{Deny: entries("denied")}), Sources: []turn.Source{s}})
	var view *surface.View
	for i, tools := range [][]*tool.Tool{{one}, {one, denied}, {one}} {
		s.set(turn.Snapshot{Tools: tools})
		plan, err := p.Refresh()
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(plan.Offered, tools) || len(plan.Allowed) != 1 {
			t.Errorf("%d: %d tools are offered and %d allowed, want %d and 1", i, len(plan.Offered), len(plan.Allowed), len(tools))
		}
		if again, err := p.Refresh(); err != nil || again != plan {
			t.Errorf("%d: an unchanged offer made a new plan: %v", i, err)
		}
		if view != nil && plan.View != view {
			t.Errorf("%d: the view has changed", i)
		}
		view = plan.View
	}
}

// Run follows every change, and ends with its context.
func TestPlannerRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource(mcpTool("a", "one"))
		p := turn.NewPlanner(turn.Config{Mode: surface.Tools, Policy: compile(t, policy.Rules{}), Sources: []turn.Source{s, turn.Fixed(nil)}})
		var seen []int
		stop := p.Subscribe(func(plan *turn.Plan) { seen = append(seen, plan.View.Catalog.Len()) })
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { p.Run(ctx); close(ended) }()
		synctest.Wait()
		s.set(turn.Snapshot{Tools: []*tool.Tool{mcpTool("a", "one"), mcpTool("a", "two")}})
		synctest.Wait()
		s.set(turn.Snapshot{})
		synctest.Wait()
		stop()
		s.set(turn.Snapshot{Tools: []*tool.Tool{mcpTool("a", "one")}})
		synctest.Wait()
		cancel()
		<-ended
		if len(seen) != 3 || seen[0] != 1 || seen[1] != 2 || seen[2] != 0 {
			t.Errorf("the swaps had %v tools, want 1, 2 and 0", seen)
		}
		if n := p.View().Catalog.Len(); n != 1 {
			t.Errorf("the last view has %d tools, want 1", n)
		}
	})
}

// What a changed tool says of itself is not shown, in any mode; the tool stays, so
// that a call of it is told why it is blocked.
func TestPlanHidesHeldTools(t *testing.T) {
	for _, mode := range []surface.Mode{surface.Tools, surface.Off, surface.Auto} {
		bad, good := mcpTool("a", "bad"), mcpTool("a", "good")
		bad.Description, bad.SearchHint = "evil words", "evil"
		p := turn.NewPlanner(turn.Config{
			Mode: mode, Policy: compile(t, policy.Rules{}), Sources: []turn.Source{turn.Fixed{bad, good}},
			Held: func([]*tool.Tool) ([]tool.ID, error) { return []tool.ID{bad.ID}, nil },
		})
		plan, err := p.Refresh()
		if err != nil {
			t.Fatal(err)
		}
		if len(plan.Warnings) != 1 || !strings.Contains(plan.Warnings[0], "mcp:a:bad") {
			t.Errorf("%s: warnings are %q", mode, plan.Warnings)
		}
		if mode != surface.Tools { // so few tools are shown themselves by auto too
			seen := plan.View.Visible(catalog.Limits{Default: 1, Max: 1})
			if len(seen) != 2 || seen[0].Name != "a__bad" || !seen[0].Tool.Held || strings.Contains(seen[0].Description+string(seen[0].Parameters), "evil") || seen[1].Tool.Held {
				t.Errorf("%s shows %+v", mode, seen)
			}
			continue
		}
		d, err := plan.View.Catalog.Describe("bad")
		if err != nil {
			t.Fatal(err)
		}
		raw, err := d.MarshalJSON()
		if err != nil || strings.Contains(string(raw), "evil") || strings.Contains(string(raw), `"x"`) || strings.Contains(string(raw), "Label") {
			t.Errorf("the held tool is described as %s (%v)", raw, err)
		}
	}
}
