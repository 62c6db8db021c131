package turn_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/toolsearch/toolsearch/catalog"
	"github.com/toolsearch/toolsearch/policy"
	"github.com/toolsearch/toolsearch/surface"
	"github.com/toolsearch/toolsearch/tool"
	"github.com/toolsearch/toolsearch/turn"
)

// A run whose rules leave nothing of what is known waits for what is starting, and
// no longer; one that has a tool does not wait.
func TestSettle(t *testing.T) {
	one := mcpTool("a", "one")
	starting := turn.Snapshot{Starting: true, Pending: true, Outages: []catalog.Outage{{Owner: "a", Reason: "it is still starting"}}}
	restarted := turn.Snapshot{Tools: []*tool.Tool{one}, Starting: true, Outages: []catalog.Outage{{Owner: "a", Reason: "it is still starting", Stale: true}}}
	down := turn.Snapshot{Outages: []catalog.Outage{{Owner: "a", Reason: "its process ended"}}}
	up := turn.Snapshot{Tools: []*tool.Tool{one}}
	for name, tt := range map[string]struct {
		rules       policy.Rules
		first, then turn.Snapshot
		waits       bool
		empty       bool
		says        string
	}{
		"allowed at once":              {rules: policy.Rules{Allow: entries("mcp:a")}, first: restarted},
		"no rules":                     {first: starting},
		"allowed once it is up":        {rules: policy.Rules{Allow: entries("mcp:a")}, first: starting, then: up, waits: true},
		"nothing when it is up":        {rules: policy.Rules{Allow: entries("nosuch")}, first: starting, then: up, waits: true, empty: true},
		"nothing of what was known":    {rules: policy.Rules{Allow: entries("nosuch")}, first: restarted, then: up, waits: true, empty: true},
		"nothing when it is down":      {rules: policy.Rules{Allow: entries("nosuch")}, first: starting, then: down, waits: true, empty: true},
		"the allowed one is down":      {rules: policy.Rules{Allow: entries("mcp:a")}, first: starting, then: down, waits: true, empty: true, says: "a (its process ended)"},
		"nothing, and it is down long": {rules: policy.Rules{Allow: entries("nosuch")}, first: down, empty: true},
		"nothing, and it is up long":   {rules: policy.Rules{Allow: entries("nosuch")}, first: up, empty: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSource()
				s.set(tt.first)
				p := turn.NewPlanner(turn.Config{Mode: surface.Tools, Policy: compile(t, tt.rules), Sources: []turn.Source{turn.Fixed(nil), s}})
				done := make(chan error, 1)
				go func() { done <- p.Settle(t.Context()) }()
				synctest.Wait()
				if (len(done) == 0) != tt.waits {
					t.Errorf("waits: %v, want %v", len(done) == 0, tt.waits)
				}
				if tt.waits {
					s.set(tt.then)
				}
				err := <-done
				var empty *policy.EmptyError
				if errors.As(err, &empty) != tt.empty || (err != nil) != tt.empty {
					t.Fatalf("got %v, want a policy.EmptyError: %v", err, tt.empty)
				}
				if tt.says != "" && !strings.Contains(err.Error(), tt.says) {
					t.Errorf("got %q, want %q in it", err, tt.says)
				}
			})
		})
	}
}

func TestSettleHonoursItsContext(t *testing.T) {
	s := newSource()
	s.set(turn.Snapshot{Starting: true, Outages: []catalog.Outage{{Owner: "a", Reason: "it is still starting"}}})
	p := turn.NewPlanner(turn.Config{Mode: surface.Tools, Policy: compile(t, policy.Rules{Allow: entries("mcp:a")}), Sources: []turn.Source{s}})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Settle(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the context's error", err)
	}
}

// What nobody waits for is told of once, and again after it has worked.
func TestUpdateTellsOnce(t *testing.T) {
	s := newSource()
	told := 0
	p := turn.NewPlanner(turn.Config{
		Mode: surface.Tools, Policy: compile(t, policy.Rules{Allow: entries("mcp:a")}), Sources: []turn.Source{s},
		Failed: func(err error) {
			var empty *policy.EmptyError
			if told++; !errors.As(err, &empty) {
				t.Errorf("told %v, want a policy.EmptyError", err)
			}
		},
	})
	for i, step := range []struct {
		snap turn.Snapshot
		want int
	}{
		{turn.Snapshot{Starting: true, Outages: []catalog.Outage{{Owner: "a"}}}, 0},
		{turn.Snapshot{Outages: []catalog.Outage{{Owner: "a", Reason: "down"}}}, 1},
		{turn.Snapshot{Tools: []*tool.Tool{mcpTool("b", "one")}}, 1},
		{turn.Snapshot{Tools: []*tool.Tool{mcpTool("b", "two")}}, 1},
		{turn.Snapshot{Tools: []*tool.Tool{mcpTool("a", "one")}}, 1},
		{turn.Snapshot{}, 2},
	} {
		s.set(step.snap)
		if p.Update(); told != step.want {
			t.Errorf("step %d: told %d times, want %d", i, told, step.want)
		}
	}
}
