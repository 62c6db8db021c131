package cli_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolsearch/toolsearch/internal/mcptest"
)

// What the policy does not allow is answered byte for byte as if there were no
// such tool, whatever is asked: two gateways, one whose server has a tool that
// is denied and one whose server lacks it, cannot be told apart.
func TestClosedDeniedIsUnknown(t *testing.T) {
	echo, secret := toolDef("echo", "Weather forecast"), toolDef("leak", "Weather secrets and forecast leaks")
	for _, mode := range []string{`{mode:"tools"}`, `{mode:"code"}`, `{mode:"directory"}`, `false`} {
		t.Run(mode, func(t *testing.T) {
			gateway := func(keys string, tools ...json.RawMessage) *gateway {
				home := t.TempDir()
				config := strings.Replace(oneCommand(t, home, mcptest.Script{Tools: tools}), `{mode:"tools"}`, mode, 1)
				g := startGateway(t, home, with(config, keys))
				g.connect(false)
				return g
			}
			denied := gateway(`deny:["mcp:weather:leak"]`, echo, secret)
			absent := gateway(`deny:["mcp:weather:other"]`, echo)
			for _, ask := range []struct{ method, params string }{
				{"tools/list", `{}`},
				{"tools/call", `{"name":"tool_search","arguments":{"query":"leak secrets"}}`},
				{"tools/call", `{"name":"tool_search","arguments":{"query":"mcp:weather:leak"}}`},
				{"tools/call", `{"name":"tool_search","arguments":{"queries":[{"query":"leak"},{"query":"weather"}]}}`},
				{"tools/call", `{"name":"tool_describe","arguments":{"id":"mcp:weather:leak"}}`},
				{"tools/call", `{"name":"tool_describe","arguments":{"id":"leek"}}`}, // a typing error away
				{"tools/call", toolCall("mcp:weather:leak", `{}`)},
				{"tools/call", toolCall("leak", `{"text":"x"}`)},
				{"tools/call", `{"name":"leak","arguments":{}}`},
				{"tools/call", `{"name":"weather__leak","arguments":{}}`},
				{"tools/call", `{"name":"tool_search_code","arguments":{"code":"const out = []; for (const f of [() => openclaw.tools.search('leak'), () => openclaw.tools.describe('leak'), () => openclaw.tools.call('mcp:weather:leak', {})]) { try { out.push(await f()) } catch (e) { out.push(String(e)) } } return out"}}`},
			} {
				got, want := denied.request(ask.method, ask.params), absent.request(ask.method, ask.params)
				a, _ := json.Marshal(got)
				b, _ := json.Marshal(want)
				if string(a) != string(b) {
					t.Errorf("%s %s\n denied %s\n absent %s", ask.method, ask.params, a, b)
				}
				if strings.Contains(string(a), "secrets and forecast") {
					t.Errorf("%s tells of the denied tool: %s", ask.params, a)
				}
			}
		})
	}
}

// A tool that vanishes after it was found is not called, and the answer says so.
// When nothing that may be used is left, every control answers with an error.
func TestClosedVanishedToolAndCatalog(t *testing.T) {
	home := t.TempDir()
	config := oneCommand(t, home, mcptest.Script{Tools: []json.RawMessage{toolDef("change", "Change the tools"), toolDef("echo", "Weather forecast")}})
	g := startGateway(t, home, with(config, `allow:["mcp:weather:change","mcp:weather:echo"]`))
	g.connect(false)
	g.result("tools/call", toolCall("mcp:weather:change", `{"remove":"echo"}`))
	search := func(query string) string {
		return strings.Join(content(t, g.result("tools/call", `{"name":"tool_search","arguments":{"query":"`+query+`"}}`)), "")
	}
	for strings.Contains(search("forecast"), "mcp:weather:echo") {
	}
	res := string(g.result("tools/call", toolCall("mcp:weather:echo", `{"n":"should-not-run"}`)))
	if !strings.Contains(res, `"isError":true`) || !strings.Contains(res, "unknown_tool") || strings.Contains(res, `"n":"should`) {
		t.Errorf("a vanished tool answered %s", res)
	}

	g.result("tools/call", toolCall("mcp:weather:change", `{"remove":"change"}`))
	asks := []string{
		`{"name":"tool_search","arguments":{"query":"weather"}}`, `{"name":"tool_describe","arguments":{"id":"mcp:weather:change"}}`, toolCall("mcp:weather:change", `{}`),
	}
	for !strings.Contains(string(g.result("tools/call", asks[0])), "catalog_gone") {
	}
	for _, ask := range asks {
		if res := string(g.result("tools/call", ask)); !strings.Contains(res, `"isError":true`) || !strings.Contains(res, "catalog_gone") {
			t.Errorf("without a catalog %s answered %s", ask, res)
		}
	}
}

// A server that goes away after its tool was found: the call under way says that
// side effects may have happened, and later ones, and describe, say why they
// cannot be made.
func TestClosedServerGoesAway(t *testing.T) {
	home := t.TempDir()
	g := startGateway(t, home, oneCommand(t, home, mcptest.Script{Tools: []json.RawMessage{toolDef("crash", "Crash"), toolDef("echo", "Weather forecast")}}))
	g.connect(false)
	if res := string(g.result("tools/call", toolCall("mcp:weather:echo", `{"n":1}`))); strings.Contains(res, `"isError":true`) {
		t.Fatalf("while the server is there: %s", res)
	}
	if err := os.WriteFile(filepath.Join(home, "server.sh"), []byte("#!/bin/sh\necho no more licences >&2\nexit 7\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if res := string(g.result("tools/call", toolCall("mcp:weather:crash", `{}`))); !strings.Contains(res, `"isError":true`) || !strings.Contains(res, "side effects may have happened") {
		t.Errorf("the call under way answered %s", res)
	}
	res := string(g.result("tools/call", toolCall("mcp:weather:echo", `{"n":"should-not-run"}`)))
	for _, want := range []string{`"isError":true`, `\"code\":\"unavailable\"`, "exit status 7", "no more licences"} {
		if !strings.Contains(res, want) {
			t.Errorf("a later call answered %s, want %s in it", res, want)
		}
	}
	if res := string(g.result("tools/call", `{"name":"tool_describe","arguments":{"id":"mcp:weather:echo"}}`)); !strings.Contains(res, "exit status 7") {
		t.Errorf("describe does not say that the server is down: %s", res)
	}
}

// What approval blocks is reported as blocked, by whom and why, and never runs.
// Without anybody who could be asked, asking is a refusal at once.
func TestClosedApprovalBlocks(t *testing.T) {
	home := t.TempDir()
	config := with(oneCommand(t, home, mcptest.Script{Tools: []json.RawMessage{toolDef("echo", "Weather forecast")}}),
		`core:true,approvals:{rules:[{deny:["mcp:weather:echo"]}]}`)
	g := startGateway(t, home, config)
	g.connect(false)
	res := string(g.result("tools/call", toolCall("mcp:weather:echo", `{"n":"should-not-run"}`)))
	for _, want := range []string{`"isError":true`, `blocked`, `\"blockedBy\":\"approval\"`} {
		if !strings.Contains(res, want) {
			t.Errorf("a denied call answered %s, want %s in it", res, want)
		}
	}
	res = string(g.result("tools/call", toolCall("write", `{"path":"written.txt","content":"x"}`)))
	if _, err := os.Stat(filepath.Join(home, "written.txt")); err == nil || !strings.Contains(res, `"isError":true`) || !strings.Contains(res, "needs an approval") {
		t.Errorf("%v; a call that nobody approved answered %s", err, res)
	}
}

// Where no isolated runtime starts, the client sees the three tools, and the
// log a warning; the tools themselves are not shown.
func TestClosedNoRuntime(t *testing.T) {
	home := t.TempDir()
	config := strings.Replace(oneCommand(t, home, mcptest.Script{Tools: []json.RawMessage{toolDef("echo", "Weather forecast")}}), `{mode:"tools"}`, `true`, 1)
	g := startGatewayWith(t, home, config, "TOOLSEARCH_CODE_EXECUTABLE=/nonexistent/toolsearch")
	g.connect(false)
	list := string(g.result("tools/list", "{}"))
	if strings.Contains(list, "tool_search_code") || strings.Contains(list, "Weather forecast") || strings.Count(list, `"inputSchema"`) != 3 {
		t.Errorf("the client sees %s", list)
	}
	g.stop()
	if !strings.Contains(g.stderr.String(), `"code" acts as "tools"`) {
		t.Errorf("nobody was warned: %s", g.stderr)
	}
}

// A server that never answers, and one that ends at once, hold nobody up:
// planning goes on without them, and search says so.
func TestClosedSourceSlowOrDown(t *testing.T) {
	g := startGateway(t, t.TempDir(), `{tools:{toolSearch:{mode:"tools"}}, mcp:{servers:{`+
		serverConfig(t, "weather", mcptest.Script{Tools: []json.RawMessage{toolDef("echo", "Weather forecast")}})+`,`+
		strings.Replace(serverConfig(t, "slow", mcptest.Script{Start: mcptest.StartSilent}), `{"args"`, `{"startTimeoutMs":200,"args"`, 1)+`,`+
		serverConfig(t, "down", mcptest.Script{Start: mcptest.StartExit})+`}}}`)
	g.connect(false)
	for {
		found := strings.Join(content(t, g.result("tools/call", `{"name":"tool_search","arguments":{"query":"forecast"}}`)), "\n")
		if !strings.Contains(found, "mcp:weather:echo") || !strings.Contains(found, `"slow"`) || !strings.Contains(found, `"down"`) {
			t.Fatalf("search gave %s, want the tool and a note for each missing server", found)
		}
		if strings.Count(found, "is not available") == 2 {
			break
		}
	}
	if res := string(g.result("tools/call", toolCall("mcp:down:any", `{}`))); !strings.Contains(res, `"isError":true`) {
		t.Errorf("a tool of a server that is down answered %s", res)
	}
}

// A hook that hangs, crashes or lies blocks the call, and another tool still
// runs.
func TestClosedHooks(t *testing.T) {
	home := t.TempDir()
	hooks := map[string]string{
		"hangs":    `command:["sleep","60"],timeoutMs:100`,
		"crashes":  `command:["sh","-c","exit 3"]`,
		"garbage":  `command:["sh","-c","cat >/dev/null; echo yes please"]`,
		"lies":     `command:["sh","-c","cat >/dev/null; printf '{\"decision\":\"continue\",\"decision\":\"block\"}'"]`,
		"unknown":  `command:["sh","-c","cat >/dev/null; printf '{\"decision\":\"allow_all\"}'"]`,
		"replaces": `command:["sh","-c","cat >/dev/null; printf '{\"decision\":\"replace\",\"args\":[1]}'"]`,
		"floods":   `command:["sh","-c","cat >/dev/null; yes"]`,
	}
	var tools []json.RawMessage
	var list []string
	for name, fields := range hooks {
		tools = append(tools, toolDef("echo_"+name, "Echo"))
		list = append(list, fmt.Sprintf(`{name:%q,event:"before_tool_call",tools:["mcp:weather:echo_%s"],%s}`, name, name, fields))
	}
	tools = append(tools, toolDef("echo", "Echo"))
	g := startGateway(t, home, with(oneCommand(t, home, mcptest.Script{Tools: tools}), `hooks:[`+strings.Join(list, ",")+`]`))
	g.connect(false)
	for name := range hooks {
		res := string(g.result("tools/call", toolCall("mcp:weather:echo_"+name, `{"n":"should-not-run"}`)))
		if !strings.Contains(res, `"isError":true`) || !strings.Contains(res, `\"blockedBy\":\"`+name+`\"`) || strings.Contains(res, "should-not-run") {
			t.Errorf("with a hook that %s the call answered %s", name, res)
		}
	}
	if res := string(g.result("tools/call", toolCall("mcp:weather:echo", `{"n":1}`))); strings.Contains(res, `"isError":true`) {
		t.Errorf("a call without a hook answered %s", res)
	}
}
