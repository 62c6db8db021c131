package surface_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/toolsearch/toolsearch/call"
	"github.com/toolsearch/toolsearch/catalog"
	"github.com/toolsearch/toolsearch/code"
	"github.com/toolsearch/toolsearch/schema"
	"github.com/toolsearch/toolsearch/surface"
	"github.com/toolsearch/toolsearch/tool"
)

// runner is a CodeRunner whose body is a Go function.
type runner func(ctx context.Context, host code.Host) error

func (r runner) Run(ctx context.Context, _ string, host code.Host) (*code.Report, error) {
	if err := r(ctx, host); err != nil {
		return nil, err
	}
	return &code.Report{OK: true, Value: json.RawMessage(`[]`)}, nil
}

// A body that searches learns which servers are missing, as tool_search does;
// one that does not search is not told.
func TestCodeTellsOfOutages(t *testing.T) {
	c, err := catalog.Build(catalog.Input{
		Tools:   []*tool.Tool{echo(tool.MCP, "weather", "forecast", `{}`)},
		Outages: []catalog.Outage{{Owner: "calendar", Reason: "connection refused"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	names, err := surface.NewNames(nil, surface.MCPNameLimit)
	if err != nil {
		t.Fatal(err)
	}
	view := &surface.View{Mode: surface.Code, Catalog: c, Direct: names}
	searches := func(ctx context.Context, host code.Host) error {
		_, err := host.Search(ctx, "appointments", nil)
		return err
	}
	for name, tt := range map[string]struct {
		body runner
		told bool
	}{
		"searches": {searches, true},
		"computes": {func(context.Context, code.Host) error { return nil }, false},
	} {
		s, err := surface.New(surface.Config{
			Limits: catalog.Limits{Default: 8, Max: 20}, View: func() *surface.View { return view },
			Pipeline: call.New(), Schemas: schema.NewCache(8), Code: tt.body,
		})
		if err != nil {
			t.Fatal(err)
		}
		res := control(t, s, surface.ToolSearchCode, `{"code":"…"}`)
		if told := strings.Contains(res.Text(), `server "calendar" is not available (connection refused)`); told != tt.told {
			t.Errorf("a body that %s is told of the outage: %v\n%s", name, told, res.Text())
		}
		if first := res.Content[0].Text(); !json.Valid([]byte(first)) {
			t.Errorf("the answer is no JSON of its own: %s", first)
		}
	}
}
