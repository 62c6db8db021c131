package cli_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/toolsearch/toolsearch/internal/mcptest"
)

// manyTools is a server with n tools of some 450 bytes each.
func manyTools(n int) mcptest.Script {
	var s mcptest.Script
	for i := range n {
		s.Tools = append(s.Tools, toolDef(fmt.Sprintf("tool_%03d", i), "ROBOTIC "+strings.Repeat("does much ", 35)))
	}
	return s
}

// greeting is what a client is told when it connects.
func (g *gateway) greeting(modern bool) string {
	g.t.Helper()
	var res struct{ Instructions string }
	if err := json.Unmarshal(g.connect(modern), &res); err != nil {
		g.t.Fatal(err)
	}
	return res.Instructions
}

// listed is the names of tools/list.
func (g *gateway) listed() []string {
	g.t.Helper()
	var list struct{ Tools []struct{ Name string } }
	if err := json.Unmarshal(g.result("tools/list", "{}"), &list); err != nil {
		g.t.Fatal(err)
	}
	var names []string
	for _, t := range list.Tools {
		names = append(names, t.Name)
	}
	return names
}

// A client of mode directory reads the listing in its instructions, within the
// 2 KB that clients keep, and calls what it read of by name.
func TestGatewayDirectory(t *testing.T) {
	eras(t, func(t *testing.T, modern bool) {
		weather := mcptest.Script{Modern: modern, Tools: []json.RawMessage{toolDef("echo", "SECRET forecast"), toolDef("weird", "SECRET odd")}}
		g := startGateway(t, t.TempDir(), `{tools:{core: true, deny: ["exec"], toolSearch:{mode:"directory", directory: {required: ["mcp:weather:weird"]}}},
			mcp:{servers:{`+serverConfig(t, "weather", weather)+`,`+serverConfig(t, "large", manyTools(30))+`}}}`)
		text := g.greeting(modern)
		if len(text) > 2048 {
			t.Errorf("the instructions have %d bytes", len(text))
		}
		for _, want := range []string{"tool_describe", "\n- read (core): ", "\n- web_fetch (core): ", "large (30), weather (2)"} {
			if !strings.Contains(text, want) {
				t.Errorf("the instructions lack %q:\n%s", want, text)
			}
		}
		for _, bad := range []string{"SECRET", "ROBOTIC", "tool_0", "exec"} {
			if strings.Contains(text, bad) {
				t.Errorf("the instructions contain %q:\n%s", bad, text)
			}
		}
		if got, want := g.listed(), []string{"tool_search", "tool_describe", "tool_call", "image", "weather__weird"}; !slices.Equal(got, want) {
			t.Errorf("the client sees %q, want %q", got, want)
		}
		// A required tool is found all the same; a hidden one runs under each of its names.
		if got := content(t, g.result("tools/call", `{"name":"tool_search","arguments":{"query":"SECRET odd"}}`)); !strings.Contains(got[0], "mcp:weather:weird") {
			t.Errorf("search found %s", got)
		}
		for _, name := range []string{"weather__weird", "echo", "weather__echo", "mcp:weather:echo"} {
			res := g.result("tools/call", `{"name":"`+name+`","arguments":{"x":7}}`)
			if got := content(t, res); len(got) == 0 || strings.Contains(string(res), `"isError":true`) {
				t.Errorf("%s: %s", name, res)
			}
		}
		if got := content(t, g.result("tools/call", `{"name":"tool_describe","arguments":{"id":"read"}}`)); !strings.Contains(got[0], `"openclaw:core:read"`) || !strings.Contains(got[0], `"parameters"`) {
			t.Errorf("describe by a listed name: %s", got)
		}
		if m := g.request("tools/call", `{"name":"exec","arguments":{}}`); m.Error == nil {
			t.Errorf("a denied tool ran: %s", m.Result)
		}
	})
}

// Mode auto passes a few tools through, and says nothing of search; with many
// it shows a surface, which stays when the tools leave.
func TestGatewayAuto(t *testing.T) {
	eras(t, func(t *testing.T, modern bool) {
		few := mcptest.Script{Modern: modern, Tools: []json.RawMessage{toolDef("echo", "Weather forecast"), toolDef("weird", "Odd")}}
		g := startGateway(t, t.TempDir(), `{tools:{toolSearch:{mode:"auto"}}, mcp:{servers:{`+serverConfig(t, "weather", few)+`}}}`)
		if text := g.greeting(modern); text != "" {
			t.Errorf("few tools: the instructions are %q", text)
		}
		if got, want := g.listed(), []string{"weather__echo", "weather__weird"}; !slices.Equal(got, want) {
			t.Errorf("few tools: the client sees %q, want %q", got, want)
		}

		g = startGateway(t, t.TempDir(), `{tools:{deny: ["tool_search_code"], toolSearch:{mode:"auto"}}, mcp:{servers:{`+serverConfig(t, "weather", few)+`,`+serverConfig(t, "large", manyTools(60))+`}}}`)
		if text := g.greeting(modern); !strings.Contains(text, "tool_search") {
			t.Errorf("many tools: the instructions are %q", text)
		}
		if got, want := g.listed(), []string{"tool_search", "tool_describe", "tool_call"}; !slices.Equal(got, want) {
			t.Errorf("many tools: the client sees %q, want %q", got, want)
		}
		if res := g.result("tools/call", `{"name":"weather__echo","arguments":{"x":7}}`); strings.Contains(string(res), `"isError":true`) {
			t.Errorf("a hidden tool by its wire name: %s", res)
		}
	})
}

// Each mode says in the instructions what it shows.
func TestGatewayInstructions(t *testing.T) {
	server := serverConfig(t, "weather", mcptest.Script{Tools: []json.RawMessage{toolDef("echo", "Weather forecast")}})
	for _, tt := range []struct{ search, want, lacks string }{
		{"false", "", "tool_"},
		{`{mode: "tools"}`, "3. tool_call", "tool_search_code"},
		{`{mode: "directory"}`, "weather (1)", "tool_search_code"},
	} {
		g := startGateway(t, t.TempDir(), `{tools:{toolSearch:`+tt.search+`}, mcp:{servers:{`+server+`}}}`)
		text := g.greeting(false)
		if !strings.Contains(text, tt.want) || strings.Contains(text, tt.lacks) || len(text) > 2048 {
			t.Errorf("%s: the instructions are %q", tt.search, text)
		}
		g.stop()
	}
}
