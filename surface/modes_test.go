package surface_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/toolsearch/toolsearch/call"
	"github.com/toolsearch/toolsearch/catalog"
	"github.com/toolsearch/toolsearch/schema"
	"github.com/toolsearch/toolsearch/surface"
	"github.com/toolsearch/toolsearch/tool"
)

// inMode makes a surface of a mode. Tools that are direct-only are visible, and
// in mode Off all are.
func inMode(t *testing.T, mode surface.Mode, tools ...*tool.Tool) *surface.Surface {
	t.Helper()
	view := &surface.View{Mode: mode}
	direct := tools
	if mode != surface.Off {
		c, err := catalog.Build(catalog.Input{Tools: tools})
		if err != nil {
			t.Fatal(err)
		}
		view.Catalog, direct = c, c.Direct()
	}
	var err error
	if view.Direct, err = surface.NewNames(direct, surface.MCPNameLimit); err != nil {
		t.Fatal(err)
	}
	schemas := schema.NewCache(64)
	s, err := surface.New(surface.Config{
		Limits:   catalog.Limits{Default: 8, Max: 20},
		View:     func() *surface.View { return view },
		Pipeline: call.New(call.ValidateInput(schemas)),
		Schemas:  schemas,
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A hidden tool runs when it is called by its own name, by its id, or by the
// name it would have if it were visible, in every mode that hides tools.
func TestHiddenToolsAnswerToTheirNames(t *testing.T) {
	const open = `{"type":"object"}`
	long := strings.Repeat("very_", 20) + "long"
	tools := []*tool.Tool{
		echo(tool.OpenClaw, "core", "read", open),
		echo(tool.OpenClaw, "crm", "read_contact", open),
		echo(tool.MCP, "weather", "forecast", open),
		echo(tool.MCP, "cal", "create event!", open),
		echo(tool.MCP, "far", long, open),
		echo(tool.MCP, "a", "twin", open),
		echo(tool.MCP, "b", "twin", open),
	}
	spaced := surface.WireName(tools[3], surface.MCPNameLimit)
	cut := surface.WireName(tools[4], surface.ModelNameLimit)
	tests := []struct {
		name string
		want tool.ID // "" when nothing may run
	}{
		{"read", "openclaw:core:read"},
		{"openclaw:core:read", "openclaw:core:read"},
		{"read_contact", "openclaw:crm:read_contact"},
		{"read-contact", "openclaw:crm:read_contact"},
		{"forecast", "mcp:weather:forecast"},
		{"weather__forecast", "mcp:weather:forecast"},
		{spaced, tools[3].ID},
		{cut, tools[4].ID},
		{"a__twin", "mcp:a:twin"},
		{"twin", ""}, // two have it
		{"weather__read", ""},
		{"core__read", ""},
		{"other__forecast", ""},
		{"tool_search_code_", ""},
	}
	for _, mode := range []surface.Mode{surface.Tools, surface.Code, surface.Directory} {
		s := inMode(t, mode, tools...)
		for _, tt := range tests {
			before := s.Telemetry().CallCount
			res, err := s.Call(t.Context(), tt.name, surface.Request{Args: json.RawMessage(`{"x":1}`)})
			if tt.want == "" {
				if err == nil || s.Telemetry().CallCount != before {
					t.Errorf("%s: %q ran: %+v", mode, tt.name, res)
				}
				continue
			}
			if err != nil || res.IsError || res.Text() != `{"x":1}` {
				t.Errorf("%s: %q: %+v, %v", mode, tt.name, res, err)
			}
			if mode == surface.Code {
				continue // has no tool_call
			}
			args, _ := json.Marshal(map[string]any{"id": tt.name, "args": map[string]int{"x": 1}})
			if res := control(t, s, surface.ToolCall, string(args)); res.IsError || !strings.Contains(res.Text(), `"`+string(tt.want)+`"`) {
				t.Errorf("%s: tool_call of %q answers %s", mode, tt.name, res.Text())
			}
		}
	}
}

// Whether a call must run alone does not depend on what its tool is called.
func TestSequentialByAnyName(t *testing.T) {
	const open = `{"type":"object"}`
	tools := []*tool.Tool{
		echo(tool.MCP, "cal", "book", open),
		echo(tool.MCP, "cal", "cancel event!", open),
		echo(tool.MCP, "cal", "list", open),
	}
	tools[0].Sequential, tools[1].Sequential = true, true
	s := inMode(t, surface.Tools, tools...)
	for i, tl := range tools {
		for _, ref := range []string{string(tl.ID), tl.Name, strings.ToUpper(tl.Name), surface.WireName(tl, surface.MCPNameLimit), surface.WireName(tl, surface.ModelNameLimit)} {
			args, _ := json.Marshal(map[string]string{"id": ref})
			if got := s.Sequential(surface.ToolCall, args); got != (i < 2) {
				t.Errorf("tool_call of %q is sequential: %v", ref, got)
			}
			if got := s.Sequential(ref, nil); got != (i < 2) {
				t.Errorf("%q is sequential: %v", ref, got)
			}
		}
	}
}

// Controls of another mode are not there, not even by name.
func TestControlsOfEachMode(t *testing.T) {
	all := []string{surface.ToolSearch, surface.ToolDescribe, surface.ToolCall, surface.ToolSearchCode}
	want := map[surface.Mode][]string{
		surface.Off: nil, surface.Tools: all[:3], surface.Directory: all[:3], surface.Code: all[3:],
	}
	for mode, names := range want {
		s := inMode(t, mode, echo(tool.MCP, "a", "one", `{"type":"object"}`))
		shown := []string{}
		for _, v := range s.Visible() {
			if v.Tool == nil {
				shown = append(shown, v.Name)
			}
			if len(v.Description) > surface.MaxDescription {
				t.Errorf("%s: the description of %s has %d bytes", mode, v.Name, len(v.Description))
			}
		}
		if strings.Join(shown, " ") != strings.Join(names, " ") {
			t.Errorf("%s shows the controls %q, want %q", mode, shown, names)
		}
		for _, name := range all {
			_, err := s.Call(t.Context(), name, surface.Request{Args: json.RawMessage(`{}`)})
			if shown := strings.Contains(strings.Join(names, " ")+" ", name+" "); (err == nil) != shown {
				t.Errorf("%s: a call of %s gives %v", mode, name, err)
			}
		}
	}
}

func TestControlsAreStable(t *testing.T) {
	for _, mode := range []surface.Mode{surface.Tools, surface.Code, surface.Directory} {
		a, b := surface.Controls(mode, catalog.Limits{Default: 8, Max: 20}), surface.Controls(mode, catalog.Limits{Default: 8, Max: 20})
		for i := range a {
			if a[i].Name != b[i].Name || a[i].Description != b[i].Description || !bytes.Equal(a[i].Parameters, b[i].Parameters) {
				t.Errorf("%s: %s differs from one call to the next", mode, a[i].Name)
			}
		}
	}
}

func TestShows(t *testing.T) {
	direct := echo(tool.MCP, "a", "seen", `{"type":"object"}`)
	direct.Mode = tool.DirectOnly
	hidden := echo(tool.MCP, "a", "hidden", `{"type":"object"}`)
	v := inMode(t, surface.Directory, direct, hidden).View()
	if !v.Shows(direct) || v.Shows(hidden) || v.Shows(echo(tool.MCP, "b", "seen", `{}`)) {
		t.Errorf("shows %v %v", v.Shows(direct), v.Shows(hidden))
	}
}

// Size is what an encoder writes.
func TestDefinitionSize(t *testing.T) {
	for _, d := range []surface.Definition{
		{},
		{Name: "a", Description: "b\n\"<&>\u2028", Parameters: json.RawMessage(`{}`)},
		{Name: "a", Parameters: json.RawMessage(" {\n\t\"a b\" : [ 1 , \"x\\\\\", \"y \\\" z\\\\\\\" \" ] }\r\n")},
		{Name: "日本", Description: "🙂", Parameters: json.RawMessage(`{"type": "object", "description": "日本 語"}`)},
	} {
		raw, err := tool.Encode(struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Parameters  json.RawMessage `json:"parameters"`
		}{d.Name, d.Description, d.Parameters})
		if err != nil {
			t.Fatal(err)
		}
		if got := d.Size(); got != len(raw) {
			t.Errorf("%+v: size %d, an encoder writes %d: %s", d, got, len(raw), raw)
		}
	}
}
