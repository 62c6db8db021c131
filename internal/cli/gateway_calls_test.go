package cli_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/toolsearch/toolsearch/internal/mcptest"
	"github.com/toolsearch/toolsearch/tool"
)

// with puts further keys into the tools section of a configuration for the
// gateway.
func with(config, keys string) string {
	return strings.Replace(config, `{tools:{`, `{tools:{`+keys+`,`, 1)
}

func toolCall(id, args string) string {
	return fmt.Sprintf(`{"name":"tool_call","arguments":{"id":%q,"args":%s}}`, id, args)
}

// With pins off, a server may change its tools: they are shown and called as
// they are now.
func TestGatewayPinsOff(t *testing.T) {
	home := t.TempDir()
	call := toolCall("mcp:weather:echo", `{"n":1}`)
	for _, description := range []string{"Weather forecast", "Weather forecast in two lines"} {
		g := startGateway(t, home, with(oneCommand(t, home, mcptest.Script{Tools: []json.RawMessage{toolDef("echo", description)}}), `pins:"off"`))
		g.connect(false)
		var found []string
		for found = content(t, g.result("tools/call", `{"name":"tool_search","arguments":{"query":"echo"}}`)); strings.Contains(strings.Join(found, ""), "not connected yet"); {
			found = content(t, g.result("tools/call", `{"name":"tool_search","arguments":{"query":"echo"}}`))
		}
		if !strings.Contains(found[0], `"`+description+`"`) {
			t.Errorf("search shows %s, want %q", found[0], description)
		}
		if res := string(g.result("tools/call", call)); strings.Contains(res, `"isError":true`) || !strings.Contains(res, `"n":1`) {
			t.Errorf("described as %q, the tool answered %s", description, res)
		}
		g.stop()
	}
	g := startGateway(t, home, `{}`)
	if out, code := g.program("pins", "list", "--all", "--json"); code != 0 || strings.TrimSpace(out) != "[]" {
		t.Errorf("pins list: exit %d, %s; want no pin", code, out)
	}
}

// A result is cut at tools.output.maxChars; what is cut can be paged.
func TestGatewayOutputMaxChars(t *testing.T) {
	long := strings.Repeat("x", 5000)
	for _, c := range []struct {
		keys string
		cut  bool
	}{{`output:{}`, false}, {`output:{maxChars:1000}`, true}} {
		home := t.TempDir()
		g := startGateway(t, home, with(oneCommand(t, home, mcptest.Script{Tools: []json.RawMessage{toolDef("echo", "Weather forecast")}}), c.keys))
		g.connect(false)
		blocks := content(t, g.result("tools/call", toolCall("mcp:weather:echo", `{"text":"`+long+`"}`)))
		text := strings.Join(blocks, "")
		if whole := strings.Contains(text, long); whole == c.cut {
			t.Errorf("%s: the result is whole: %v, want %v", c.keys, whole, !c.cut)
		}
		if n := tool.Chars(text); c.cut && (n > 1000 || !strings.Contains(text, "more")) {
			t.Errorf("%s: %d characters are shown, want at most 1000 that say what is left out:\n%s", c.keys, n, text)
		}
		g.stop()
	}
}

// The gateway asks an endpoint about each call. What is resolved for it is in no
// record, whoever else says it.
func TestGatewayHookEndpoint(t *testing.T) {
	const token = "tok-8f14e45fceea"
	asked := make(chan http.Header, 1)
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Event string
			Tool  struct{ ID string }
		}
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil || in.Event != "before_tool_call" || in.Tool.ID != "mcp:weather:echo" {
			t.Errorf("the endpoint was asked %+v, %v", in, err)
		}
		asked <- r.Header.Clone()
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"decision":"continue"}`)
	}))
	defer endpoint.Close()

	home := t.TempDir()
	config := with(oneCommand(t, home, mcptest.Script{Tools: []json.RawMessage{toolDef("echo", "Weather forecast")}}),
		fmt.Sprintf(`hooks:[{name:"audit",event:"before_tool_call",url:%q,headers:{Authorization:"Bearer ${HOOK_TOKEN:-%s}"}}]`, endpoint.URL, token))
	g := startGateway(t, home, config)
	g.connect(false)
	if res := string(g.result("tools/call", toolCall("mcp:weather:echo", `{"note":"it is `+token+`, keep it"}`))); strings.Contains(res, `"isError":true`) {
		t.Fatalf("the call answered %s", res)
	}
	if got := (<-asked).Get("Authorization"); got != "Bearer "+token {
		t.Errorf("the endpoint got Authorization %q", got)
	}
	g.stop()

	out, code := g.program("sessions", "list", "--json")
	var sessions []struct{ ID string }
	if err := json.Unmarshal([]byte(out), &sessions); err != nil || code != 0 || len(sessions) != 1 {
		t.Fatalf("sessions list: exit %d, %s", code, out)
	}
	out, code = g.program("sessions", "show", sessions[0].ID, "--json")
	if code != 0 || !strings.Contains(out, "keep it") || strings.Contains(out, token) {
		t.Errorf("sessions show: exit %d; want the call without the token:\n%s", code, out)
	}
}

// A hook's block reaches the model as a result that names the hook.
func TestGatewayHookBlocks(t *testing.T) {
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"decision":"block","reason":"no forecasts today"}`)
	}))
	defer endpoint.Close()
	home := t.TempDir()
	g := startGateway(t, home, with(oneCommand(t, home, mcptest.Script{Tools: []json.RawMessage{toolDef("echo", "Weather forecast")}}),
		fmt.Sprintf(`hooks:[{name:"guard",event:"before_tool_call",tools:["mcp:weather"],url:%q}]`, endpoint.URL)))
	g.connect(false)
	res := string(g.result("tools/call", toolCall("mcp:weather:echo", `{"n":1}`)))
	for _, want := range []string{`"isError":true`, `\"blockedBy\":\"guard\"`, "no forecasts today"} {
		if !strings.Contains(res, want) {
			t.Errorf("a blocked call answered %s, want %s in it", res, want)
		}
	}
}
