package cli_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolsearch/toolsearch/internal/mcptest"
)

// gateway is a running "toolsearch mcp" that the test speaks to in raw lines,
// so that every byte on the wire can be looked at.
type gateway struct {
	t      *testing.T
	in     io.WriteCloser
	out    *bufio.Reader
	stderr *bytes.Buffer
	cmd    *exec.Cmd
	nextID int
	modern bool
	// others are the notifications and requests that came while waiting for
	// an answer, in order.
	others []message
}

type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

// env is an environment in which nothing of the user's is read or written.
func env(home string) []string {
	return []string{
		asProgram + "=1", "HOME=" + home, "XDG_CACHE_HOME=" + filepath.Join(home, "cache"), "XDG_CONFIG_HOME=" + filepath.Join(home, "config"),
		"XDG_STATE_HOME=" + filepath.Join(home, "state"), "PATH=" + os.Getenv("PATH"), "GORACE=atexit_sleep_ms=0", "GOCOVERDIR=" + home,
	}
}

// startGateway runs the gateway with a configuration, in a home of its own.
func startGateway(t *testing.T, home, config string) *gateway {
	t.Helper()
	return startGatewayWith(t, home, config)
}

// startGatewayWith is startGateway with further variables in its environment.
func startGatewayWith(t *testing.T, home, config string, vars ...string) *gateway {
	t.Helper()
	file := filepath.Join(home, "toolsearch.json5")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	g := &gateway{t: t, stderr: &bytes.Buffer{}}
	g.cmd = exec.Command(exe, "mcp", "--config", file)
	g.cmd.Env, g.cmd.Dir, g.cmd.Stderr = append(env(home), vars...), home, g.stderr
	g.startPiped()
	return g
}

// startPiped starts the command, which stops with the test.
func (g *gateway) startPiped() {
	g.t.Helper()
	var err error
	if g.in, err = g.cmd.StdinPipe(); err != nil {
		g.t.Fatal(err)
	}
	out, err := g.cmd.StdoutPipe()
	if err != nil {
		g.t.Fatal(err)
	}
	g.out = bufio.NewReader(out)
	if err := g.cmd.Start(); err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(g.stop)
}

// stop ends the gateway as a client does: by closing its stdin.
func (g *gateway) stop() {
	if g.cmd.ProcessState != nil {
		return
	}
	_ = g.in.Close()
	go func() { _, _ = io.Copy(io.Discard, g.out) }()
	if err := g.cmd.Wait(); err != nil {
		g.t.Errorf("the gateway ended with %v; stderr:\n%s", err, g.stderr)
	}
}

func (g *gateway) send(line string) {
	g.t.Helper()
	if _, err := io.WriteString(g.in, line+"\n"); err != nil {
		g.t.Fatalf("write to the gateway: %v; stderr:\n%s", err, g.stderr)
	}
}

func (g *gateway) read() message {
	g.t.Helper()
	line, err := g.out.ReadBytes('\n')
	if err != nil {
		g.t.Fatalf("read from the gateway: %v; stderr:\n%s", err, g.stderr)
	}
	var m message
	if err := json.Unmarshal(line, &m); err != nil {
		g.t.Fatalf("the gateway sent %s", line)
	}
	return m
}

// start sends a request and returns its id.
func (g *gateway) start(method, params string) string {
	g.nextID++
	id := fmt.Sprint(g.nextID)
	if g.modern {
		const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
		if params == "{}" {
			params = "{" + meta + "}"
		} else {
			params = "{" + meta + "," + params[1:]
		}
	}
	g.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, params))
	return id
}

// wait reads until the answer to id, keeping what else comes.
func (g *gateway) wait(id string) message {
	g.t.Helper()
	for {
		m := g.read()
		if string(m.ID) == id && m.Method == "" {
			return m
		}
		g.others = append(g.others, m)
	}
}

func (g *gateway) request(method, params string) message {
	g.t.Helper()
	return g.wait(g.start(method, params))
}

// result is a request that must succeed.
func (g *gateway) result(method, params string) json.RawMessage {
	g.t.Helper()
	m := g.request(method, params)
	if m.Error != nil {
		g.t.Fatalf("%s: error %d: %s", method, m.Error.Code, m.Error.Message)
	}
	return m.Result
}

// connect does what a client of the era does first.
func (g *gateway) connect(modern bool) json.RawMessage {
	g.t.Helper()
	g.modern = modern
	if modern {
		return g.result("server/discover", "{}")
	}
	res := g.result("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`)
	g.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return res
}

// until reads until a notification of the method has come.
func (g *gateway) until(method string) message {
	g.t.Helper()
	for i, m := range g.others {
		if m.Method == method {
			g.others = append(g.others[:i:i], g.others[i+1:]...)
			return m
		}
	}
	for {
		if m := g.read(); m.Method == method {
			return m
		} else {
			g.others = append(g.others, m)
		}
	}
}

// serverConfig is the entry of a scripted server under mcp.servers.
func serverConfig(t *testing.T, name string, s mcptest.Script) string {
	t.Helper()
	command, args, environment := mcptest.Command(t, s)
	entry := map[string]any{"command": command, "args": args}
	vars := map[string]string{}
	for _, kv := range environment {
		key, value, _ := strings.Cut(kv, "=")
		vars[key] = value
	}
	entry["env"] = vars
	raw, err := json.Marshal(map[string]any{name: entry})
	if err != nil {
		t.Fatal(err)
	}
	return string(raw[1 : len(raw)-1])
}

func toolDef(name, description string) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"name":%q,"description":%q,"inputSchema":{"type":"object"}}`, name, description))
}

func eras(t *testing.T, f func(t *testing.T, modern bool)) {
	for name, modern := range map[string]bool{"2025-11-25": false, "2026-07-28": true} {
		t.Run(name, func(t *testing.T) { f(t, modern) })
	}
}

// content is the text blocks of a tools/call result.
func content(t *testing.T, res json.RawMessage) []string {
	t.Helper()
	var body struct {
		Content []struct{ Type, Text string }
	}
	if err := json.Unmarshal(res, &body); err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, c := range body.Content {
		out = append(out, c.Text)
	}
	return out
}

func TestGatewayTools(t *testing.T) {
	eras(t, func(t *testing.T, modern bool) {
		home := t.TempDir()
		g := startGateway(t, home, `{tools:{toolSearch:{mode:"tools"}}, mcp:{servers:{`+
			serverConfig(t, "weather", mcptest.Script{Modern: modern, Tools: []json.RawMessage{
				toolDef("echo", "Weather forecast for a place"), toolDef("weird", "Something odd"),
			}})+`,`+
			serverConfig(t, "broken", mcptest.Script{Start: mcptest.StartExit})+`}}}`)
		g.connect(modern)

		var list struct {
			Tools []struct {
				Name        string
				Description string
				Meta        map[string]any `json:"_meta"`
			}
			TTLMs      *int   `json:"ttlMs"`
			CacheScope string `json:"cacheScope"`
			ResultType string `json:"resultType"`
		}
		raw := g.result("tools/list", "{}")
		if err := json.Unmarshal(raw, &list); err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, tool := range list.Tools {
			names = append(names, tool.Name)
			if tool.Meta["anthropic/alwaysLoad"] != true {
				t.Errorf("%s lacks anthropic/alwaysLoad", tool.Name)
			}
		}
		if got := strings.Join(names, " "); got != "tool_search tool_describe tool_call" {
			t.Errorf("tools/list shows %q", got)
		}
		if modern && (list.TTLMs == nil || list.CacheScope != "private" || list.ResultType != "complete") {
			t.Errorf("a 2026-07-28 list lacks what it requires: %s", raw)
		}
		if again := g.result("tools/list", "{}"); !bytes.Equal(raw, again) {
			t.Errorf("two lists differ:\n%s\n%s", raw, again)
		}

		found := content(t, g.result("tools/call", `{"name":"tool_search","arguments":{"query":"weather forecast"}}`))
		var hits []struct{ ID string }
		if err := json.Unmarshal([]byte(found[0]), &hits); err != nil || len(hits) == 0 || hits[0].ID != "mcp:weather:echo" {
			t.Fatalf("search found %s", found)
		}
		if len(found) < 2 || !strings.Contains(found[1], `"broken"`) {
			t.Errorf("search does not say that a server is down: %s", found)
		}

		res := g.result("tools/call", `{"name":"tool_call","arguments":{"id":"mcp:weather:echo","args":{"n":9007199254740993}}}`)
		if !strings.Contains(string(res), "9007199254740993") {
			t.Errorf("an integer over 2^53 was rounded: %s", res)
		}
		if m := g.request("tools/call", `{"name":"nothing_like_it","arguments":{}}`); m.Error == nil || m.Error.Code != -32602 {
			t.Errorf("an unknown tool gave %+v, want error -32602", m)
		}
	})
}

func TestGatewayOffPassesThrough(t *testing.T) {
	eras(t, func(t *testing.T, modern bool) {
		const odd = `{"zz":1,"name":"weird","x-vendor":{"n":9007199254740993},"description":"caf\u00e9","inputSchema":{"type":"object","b":1.0,"a":2},"annotations":{"readOnlyHint":true,"x":1e2}}`
		g := startGateway(t, t.TempDir(), `{mcp:{servers:{`+
			serverConfig(t, "odd", mcptest.Script{Modern: modern, Tools: []json.RawMessage{json.RawMessage(odd), toolDef("echo", "Echo")}})+`}}}`)
		g.connect(modern)
		list := string(g.result("tools/list", "{}"))
		want := strings.Replace(odd, `"weird"`, `"odd__weird"`, 1)
		if !strings.Contains(list, want) {
			t.Errorf("the definition changed on its way:\n got %s\nwant %s", list, want)
		}
		res := string(g.result("tools/call", `{"name":"odd__weird","arguments":{}}`))
		body := mcptest.WeirdResult[1 : len(mcptest.WeirdResult)-1] // a 2026-07-28 answer adds members
		if i := strings.Index(body, `,"_meta"`); modern && i > 0 {
			body = body[:i]
		}
		if !strings.Contains(res, body) {
			t.Errorf("the result changed on its way:\n got %s\nwant %s", res, mcptest.WeirdResult)
		}
		long := `{"text":"` + strings.Repeat("x", 100_000) + `"}`
		if res := string(g.result("tools/call", `{"name":"odd__echo","arguments":`+long+`}`)); !strings.Contains(res, long) {
			t.Errorf("a long result changed on its way: %.200s", res)
		}
	})
}

func TestGatewayProgressAndCancellation(t *testing.T) {
	eras(t, func(t *testing.T, modern bool) {
		g := startGateway(t, t.TempDir(), `{tools:{toolSearch:{mode:"tools"}}, mcp:{servers:{`+
			serverConfig(t, "s", mcptest.Script{Modern: modern, Tools: []json.RawMessage{
				toolDef("progress", "p"), toolDef("hang", "h"), toolDef("await", "a"),
			}})+`}}}`)
		g.connect(modern)
		meta := `"_meta":{"progressToken":"tok"}`
		if modern {
			g.modern = false // the token goes into the same _meta
			meta = `"_meta":{"progressToken":"tok","io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
		}
		g.result("tools/call", `{`+meta+`,"name":"tool_call","arguments":{"id":"progress"}}`)
		g.modern = modern
		seen := 0
		for _, m := range g.others {
			if m.Method == "notifications/progress" && strings.Contains(string(m.Params), `"tok"`) {
				seen++
			}
		}
		if seen == 0 {
			t.Error("no progress came back")
		}

		id := g.start("tools/call", `{"name":"tool_call","arguments":{"id":"hang"}}`)
		await := g.start("tools/call", `{"name":"tool_call","arguments":{"id":"await","args":{"method":"tools/call","tool":"hang"}}}`)
		g.wait(await) // the upstream call runs
		g.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}`, id))
		g.result("tools/call", `{"name":"tool_call","arguments":{"id":"await","args":{"method":"notifications/cancelled"}}}`)
	})
}

// The second start must answer from the last known list while the server is
// still starting, and say so.
func TestGatewayAnswersAtOnceFromTheLastList(t *testing.T) {
	home := t.TempDir()
	script := mcptest.Script{Tools: []json.RawMessage{toolDef("echo", "Weather forecast for a place")}}
	config := func(s mcptest.Script) string {
		command, args, environment := mcptest.Command(t, s)
		path := filepath.Join(home, "server.sh")
		text := "#!/bin/sh\nexport " + strings.Join(quoteAll(environment), " ") + "\nexec " + strings.Join(quoteAll(append([]string{command}, args...)), " ") + "\n"
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
		// One command line for both starts: the list on disk belongs to it.
		return fmt.Sprintf(`{tools:{toolSearch:{mode:"tools"}}, mcp:{servers:{weather:{command:%q}}}}`, path)
	}
	g := startGateway(t, home, config(script))
	g.connect(false)
	g.result("tools/call", `{"name":"tool_search","arguments":{"query":"forecast"}}`)
	g.stop()

	script.Start = mcptest.StartSilent
	g = startGateway(t, home, config(script))
	g.connect(false)
	found := content(t, g.result("tools/call", `{"name":"tool_search","arguments":{"query":"forecast"}}`))
	if !strings.Contains(found[0], "mcp:weather:echo") {
		t.Errorf("the last known tool is not found: %s", found)
	}
	if len(found) < 2 || !strings.Contains(found[1], "not connected yet") {
		t.Errorf("the answer does not say that the list is old: %s", found)
	}
}

func quoteAll(words []string) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
	}
	return out
}

// A tool that comes or goes is announced to the client that sees it.
func TestGatewayAnnouncesChanges(t *testing.T) {
	g := startGateway(t, t.TempDir(), `{mcp:{servers:{`+
		serverConfig(t, "s", mcptest.Script{Tools: []json.RawMessage{toolDef("change", "c")}})+`}}}`)
	g.connect(false)
	g.result("tools/list", "{}")
	g.result("tools/call", `{"name":"s__change","arguments":{"add":"echo"}}`)
	for { // the start may have been announced too; the test ends with the announced list, or at its timeout
		g.until("notifications/tools/list_changed")
		if list := string(g.result("tools/list", "{}")); strings.Contains(list, `"s__echo"`) {
			return
		}
	}
}
