package surface_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsearch/toolsearch/call"
	"github.com/toolsearch/toolsearch/surface"
	"github.com/toolsearch/toolsearch/tool"
)

type observed struct {
	searches  []surface.Search
	describes int
	negative  bool
}

func (o *observed) Searched(_ context.Context, s surface.Search) {
	o.negative = o.negative || s.Took < 0
	s.Took = 0
	o.searches = append(o.searches, s)
}

func (o *observed) Described(_ context.Context, _ call.Origin, took time.Duration) {
	o.negative = o.negative || took < 0
	o.describes++
}

// The observer is told of each search and describe that was answered, with the
// numbers that the transcript counts; refused input is neither.
func TestObserver(t *testing.T) {
	var seen observed
	s := newObserved(t, &seen, echo(tool.MCP, "weather", "forecast", `{"type":"object"}`))
	origin := call.Origin{Session: "s", Run: "r"}
	for _, c := range []struct{ name, args string }{
		{"tool_search", `{"query":"forecast"}`},
		{"tool_search", `{"query":"xylophone"}`},
		{"tool_search", `{"queries":[{"query":"forecast"},{"query":"xylophone"},{"query":"zither"}]}`},
		{"tool_search", `{"query":7}`},
		{"tool_describe", `{"id":"mcp:weather:forecast"}`},
		{"tool_describe", `{"id":"nothing"}`},
		{"tool_describe", `{}`},
	} {
		if _, err := s.Call(t.Context(), c.name, surface.Request{Args: []byte(c.args), Origin: origin}); err != nil {
			t.Fatal(err)
		}
	}
	want := []surface.Search{{Origin: origin, Queries: 1}, {Origin: origin, Queries: 1, Empty: 1}, {Origin: origin, Queries: 3, Empty: 2}}
	if diff := cmp.Diff(want, seen.searches); diff != "" || seen.describes != 2 || seen.negative {
		t.Errorf("%d describes, %s", seen.describes, diff)
	}
	if got := s.Telemetry(); got.SearchCount != 5 || got.DescribeCount != 2 {
		t.Errorf("the totals are %+v", got)
	}
}
