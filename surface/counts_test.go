package surface_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/toolsearch/toolsearch/call"
	"github.com/toolsearch/toolsearch/catalog"
	"github.com/toolsearch/toolsearch/code"
	"github.com/toolsearch/toolsearch/schema"
	"github.com/toolsearch/toolsearch/surface"
	"github.com/toolsearch/toolsearch/tool"
)

// Callers that share a surface read totals of their own, and their bodies belong
// to them.
func TestTotalsAreEachCallersOwn(t *testing.T) {
	c, err := catalog.Build(catalog.Input{Tools: []*tool.Tool{echo(tool.MCP, "weather", "forecast", `{}`)}})
	if err != nil {
		t.Fatal(err)
	}
	names, err := surface.NewNames(nil, surface.MCPNameLimit)
	if err != nil {
		t.Fatal(err)
	}
	view := &surface.View{Mode: surface.Code, Catalog: c, Direct: names}
	owner := ""
	s, err := surface.New(surface.Config{
		Limits: catalog.Limits{Default: 8, Max: 20}, View: func() *surface.View { return view }, Pipeline: call.New(), Schemas: schema.NewCache(8),
		Code: runner(func(ctx context.Context, host code.Host) error {
			if o, ok := host.(code.Owned); ok {
				owner = o.Owner()
			}
			if _, err := host.Search(ctx, "forecast", nil); err != nil {
				return err
			}
			if _, err := host.Describe(ctx, "forecast"); err != nil {
				return err
			}
			_, err := host.Call(ctx, "forecast", nil)
			return err
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		caller string
		want   int64
	}{{"alice", 1}, {"alice", 2}, {"bob", 1}, {"", 1}, {"alice", 3}} {
		res, err := s.Call(t.Context(), surface.ToolSearchCode, surface.Request{Args: []byte(`{"code":"…"}`), Origin: call.Origin{Caller: step.caller}})
		if err != nil {
			t.Fatal(err)
		}
		var got struct{ Telemetry surface.Telemetry }
		if err := json.Unmarshal(res.Details, &got); err != nil {
			t.Fatal(err)
		}
		if n := got.Telemetry; n.SearchCount != step.want || n.DescribeCount != step.want || n.CallCount != step.want {
			t.Errorf("%q reads %+v, want %d of each", step.caller, n, step.want)
		}
		if owner != step.caller {
			t.Errorf("the body of %q belongs to %q", step.caller, owner)
		}
	}
	if n := s.Telemetry(); n.SearchCount != 5 || n.DescribeCount != 5 || n.CallCount != 5 {
		t.Errorf("all callers: %+v, want 5 of each", n)
	}
}
