//go:build linux && !cgo

// Code mode needs a build without cgo: elsewhere these tests would only see
// the fallback.

package cli_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/toolsearch/toolsearch/internal/mcptest"
)

func codeGateway(t *testing.T, toolSearch string) *gateway {
	t.Helper()
	g := startGateway(t, t.TempDir(), `{tools:{toolSearch:`+toolSearch+`}, mcp:{servers:{`+
		serverConfig(t, "weather", mcptest.Script{Tools: []json.RawMessage{
			toolDef("echo", "Weather forecast for a place"), toolDef("refuse", "Always refuses"),
			json.RawMessage(`{"name":"count","description":"Counts","inputSchema":{"type":"object","properties":{"n":{"type":"integer"}}}}`),
		}})+`}}}`)
	g.connect(false)
	return g
}

type codeAnswer struct {
	OK    bool
	Value json.RawMessage
	Error struct {
		Message, Code string
		Line          int
	}
	Logs  []string
	Calls []struct {
		ID, Outcome string
		Details     struct {
			Problems   []struct{ Pointer, Constraint string }
			Parameters json.RawMessage
		}
	}
	Telemetry struct{ CatalogSize, SearchCount, DescribeCount, CallCount int }
}

func (g *gateway) runCode(body string) codeAnswer {
	g.t.Helper()
	args, err := json.Marshal(map[string]any{"name": "tool_search_code", "arguments": map[string]string{"code": body}})
	if err != nil {
		g.t.Fatal(err)
	}
	var a codeAnswer
	text := content(g.t, g.result("tools/call", string(args)))[0]
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		g.t.Fatalf("%s: %v", text, err)
	}
	return a
}

// true, {enabled:true} and mode "code" all show the one control.
func TestGatewayCodeModeSurface(t *testing.T) {
	for _, setting := range []string{`true`, `{enabled:true}`, `{mode:"code"}`} {
		var list struct{ Tools []struct{ Name string } }
		if err := json.Unmarshal(codeGateway(t, setting).result("tools/list", "{}"), &list); err != nil {
			t.Fatal(err)
		}
		if len(list.Tools) != 1 || list.Tools[0].Name != "tool_search_code" {
			t.Errorf("toolSearch: %s shows %+v, want tool_search_code alone", setting, list.Tools)
		}
	}
}

func TestGatewayCodeMode(t *testing.T) {
	g := codeGateway(t, "true")
	a := g.runCode(`
const hits = await openclaw.tools.search("weather forecast", {limit: 3});
const d = await openclaw.tools.describe(hits[0].id);
const {tool, result} = await openclaw.tools.call(hits[0].id, {city: "Oslo"});
console.log("called", tool.name);
return {id: hits[0].id, type: d.parameters.type, city: result.details.city};`)
	if want := `{"id":"mcp:weather:echo","type":"object","city":"Oslo"}`; !a.OK || string(a.Value) != want {
		t.Errorf("got %+v with value %s, want %s", a, a.Value, want)
	}
	if len(a.Logs) != 1 || a.Logs[0] != "called echo" {
		t.Errorf("logs are %q", a.Logs)
	}
	if tel := a.Telemetry; tel.CatalogSize != 3 || tel.SearchCount != 1 || tel.DescribeCount != 1 || tel.CallCount != 1 {
		t.Errorf("telemetry is %+v", tel)
	}

	// What is cut of an answer can be read on, in another body.
	args, err := json.Marshal(map[string]any{"name": "tool_search_code", "arguments": map[string]string{
		"code": `return await openclaw.tools.call("mcp:weather:echo", {rows: Array.from({length: 3000}, (_, i) => "row " + i)})`,
	}})
	if err != nil {
		t.Fatal(err)
	}
	cut := content(t, g.result("tools/call", string(args)))
	handle := regexp.MustCompile(`await openclaw\.tools\.call\("([A-Z2-7]+)", \{offset: 0\}\)`).FindStringSubmatch(cut[len(cut)-1])
	if handle == nil {
		t.Fatalf("a long answer ends with %q", cut[len(cut)-1])
	}
	a = g.runCode(`let text = "", at = 0;
for (;;) {
  const {result} = await openclaw.tools.call("` + handle[1] + `", {offset: at});
  text += result.content[0].text;
  if ((at = result.details.next) >= result.details.total) break;
}
return JSON.parse(text).value.result.details.rows.slice(-1);`)
	if want := `["row 2999"]`; !a.OK || string(a.Value) != want {
		t.Errorf("the pages give %s (%s), want %s", a.Value, a.Error.Message, want)
	}
	if a = g.runCode(`return (await openclaw.tools.call("` + handle[1] + `", {city: "Oslo"}))`); a.OK || !strings.Contains(a.Error.Message, "offset") {
		t.Errorf("a page with arguments gave %+v", a)
	}
	if a = g.runCode(`return (await openclaw.tools.call("` + strings.Repeat("A", 26) + `"))`); a.OK || !strings.Contains(a.Error.Message, "no such page") {
		t.Errorf("a page that never was gave %+v", a)
	}

	// A failed run tells where, and which calls were made already.
	a = g.runCode("await openclaw.tools.call('mcp:weather:echo', {n: 1});\nawait openclaw.tools.call('mcp:weather:refuse', {code: -32000, message: 'not today'});")
	if a.OK || !strings.Contains(a.Error.Message, "not today") || a.Error.Line != 2 {
		t.Errorf("got %+v, want the tool's words at line 2", a)
	}
	if len(a.Calls) != 2 || a.Calls[0].Outcome != "ok" || a.Calls[1].Outcome != "error" {
		t.Errorf("calls are %+v, want one that worked and one that did not", a.Calls)
	}
	if a.Telemetry.CallCount != 4 {
		t.Errorf("%d calls counted, want the running total 4, and no page", a.Telemetry.CallCount)
	}
	// What mends wrong arguments is in the answer, so that one retry suffices.
	a = g.runCode(`await openclaw.tools.call("mcp:weather:count", {n: "many"})`)
	if a.OK || len(a.Calls) != 1 || len(a.Calls[0].Details.Problems) != 1 {
		t.Fatalf("wrong arguments gave %+v", a)
	}
	if p := a.Calls[0].Details.Problems[0]; p.Pointer != "/n" || p.Constraint != "type" || !strings.Contains(string(a.Calls[0].Details.Parameters), `"n":{"type":"integer"}`) {
		t.Errorf("wrong arguments gave %+v", a.Calls[0].Details)
	}
	if a = g.runCode(`try { await openclaw.tools.call("mcp:weather:count", {n: "many"}) } catch {}; await openclaw.tools.call("mcp:weather:count", {n: "many"})`); a.OK || a.Error.Code != "limit_exhausted" || strings.Contains(a.Error.Message, "tool_describe") {
		t.Errorf("a third same call gave %+v", a)
	}
	if a = g.runCode(`await openclaw.tools.describe("no_such_thing")`); a.OK || !strings.Contains(a.Error.Message, "openclaw.tools.search") {
		t.Errorf("an unknown tool gave %+v, want advice in the body's words", a)
	}
}

// The clock of a body stands still while one of its calls waits for a person: it
// goes on when they have answered, however long its time has been over. A machine
// on which the body needs more than its second for itself has it take longer.
func TestCodeWaitsForApproval(t *testing.T) {
	last := ""
	for limit := time.Second; limit < time.Minute; limit *= 4 {
		if last = approveLate(t, limit); strings.Contains(last, `\"value\":\"done\"`) {
			return
		}
	}
	t.Errorf("the body answered %s", last)
}

// approveLate answers the call of a code body when the body's time is over, and
// returns what the body then answers.
func approveLate(t *testing.T, limit time.Duration) string {
	t.Helper()
	g := startGateway(t, t.TempDir(), fmt.Sprintf(`{tools:{core:true,toolSearch:{mode:"code",codeTimeoutMs:%d},approvals:{waitMs:600000}}}`, limit.Milliseconds()))
	g.connect(false)
	id := g.start("tools/call", `{"name":"tool_search_code","arguments":{"code":"await openclaw.tools.call('openclaw:core:write', {path: 'late.txt', content: 'x'}); return 'done'"}}`)
	ended := make(chan message, 1)
	go func() {
		defer close(ended)
		ended <- g.wait(id)
	}()
	var pending []struct {
		ID      string
		Created time.Time
	}
	for len(pending) == 0 || time.Since(pending[0].Created) < limit+limit/2 {
		select {
		case res := <-ended:
			return string(res.Result)
		default:
		}
		out, code := g.program("approvals", "list", "--json")
		if err := json.Unmarshal([]byte(out), &pending); err != nil || code != 0 {
			t.Fatalf("approvals list: exit %d, %s", code, out)
		}
	}
	if out, code := g.program("approvals", "approve", pending[0].ID); code != 0 {
		t.Fatalf("approve: exit %d, %s", code, out)
	}
	return string((<-ended).Result)
}

// In the transcript the calls of one body have one parent, and those of another
// body another one.
func TestGatewayCodeCallsHaveTheirBody(t *testing.T) {
	g := codeGateway(t, "true")
	for range 2 {
		if a := g.runCode(`await Promise.all([1, 2].map(n => openclaw.tools.call("mcp:weather:echo", {n})))`); !a.OK {
			t.Fatalf("%+v", a)
		}
	}
	g.stop()
	byParent := map[string]int{}
	for _, c := range g.exported() {
		if c.Control != "tool_search_code" || c.Parent == "" {
			t.Errorf("the call is %+v", c)
		}
		byParent[c.Parent]++
	}
	if len(byParent) != 2 {
		t.Errorf("calls by parent: %v, want two parents", byParent)
	}
	for parent, n := range byParent {
		if n != 2 {
			t.Errorf("%q has %d calls, want 2", parent, n)
		}
	}
}

func TestCodeVerb(t *testing.T) {
	g := codeGateway(t, "{codeMaxResultBytes: 4194304}") // for its configuration and home
	stdin := ""
	run := func(args ...string) (string, error) {
		cmd := exec.Command(g.cmd.Path, append([]string{"code", "--config", g.cmd.Args[3]}, args...)...)
		cmd.Env, cmd.Dir, cmd.Stdin = g.cmd.Env, g.cmd.Dir, strings.NewReader(stdin)
		out, err := cmd.Output()
		return strings.TrimSpace(string(out)), err
	}
	var a codeAnswer
	out, err := run("-e", `console.log("line"); await openclaw.tools.call("mcp:weather:echo", {}); return [1, "a"]`, "--json")
	if err != nil || json.Unmarshal([]byte(out), &a) != nil || !a.OK || string(a.Value) != `[1,"a"]` || len(a.Logs) != 1 || a.Logs[0] != "line" ||
		a.Telemetry.CatalogSize < 2 || a.Telemetry.CallCount != 1 {
		t.Errorf("got %s, %v", out, err)
	}
	// A file and stdin are bodies too; the value is all there is on stdout.
	body := filepath.Join(t.TempDir(), "body.js")
	if err := os.WriteFile(body, []byte("console.log('line');\nreturn 'from a file'"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := run(body); err != nil || out != `"from a file"` {
		t.Errorf("a file gave %s, %v", out, err)
	}
	stdin = "return 'from stdin'"
	if out, err := run("-"); err != nil || out != `"from stdin"` {
		t.Errorf("stdin gave %s, %v", out, err)
	}
	// The largest value that the configuration can allow arrives whole.
	if out, err := run("-e", `return "x".repeat(3e6)`, "--json"); err != nil || json.Unmarshal([]byte(out), &a) != nil || len(a.Value) != 3_000_002 {
		t.Errorf("a value of 3 MB arrived with %d bytes, %v", len(a.Value), err)
	}
	_, err = run("-e", "throw new Error('no')")
	if e, ok := err.(*exec.ExitError); !ok || e.ExitCode() != 1 || !strings.Contains(string(e.Stderr), "no") {
		t.Errorf("a thrown error gave %v, want exit code 1", err)
	}
	if _, err := run(); err == nil || err.(*exec.ExitError).ExitCode() != 2 {
		t.Errorf("no body gave %v, want exit code 2", err)
	}
}

// Doctor lists how code mode's children are confined.
func TestDoctorLayers(t *testing.T) {
	g := codeGateway(t, "true")
	cmd := exec.Command(g.cmd.Path, "doctor", "--json", "--config", g.cmd.Args[3])
	cmd.Env, cmd.Dir = g.cmd.Env, g.cmd.Dir
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var checks []struct{ Name, Detail string }
	if err := json.Unmarshal(out, &checks); err != nil {
		t.Fatal(err)
	}
	state := make(map[string]string)
	for _, c := range checks {
		state[c.Name] = c.Detail
	}
	if !strings.HasPrefix(state["code mode"], "runs quickjs") {
		t.Errorf("code mode: %q", state["code mode"])
	}
	for _, layer := range []string{"process", "limits", "no-new-privileges", "seccomp", "self-test"} {
		if s := state["code mode layer "+layer]; !strings.HasPrefix(s, "on") {
			t.Errorf("layer %s: %q", layer, s)
		}
	}
	for _, layer := range []string{"user", "landlock", "no-files"} { // told of, on or not
		if state["code mode layer "+layer] == "" {
			t.Errorf("nothing is said of layer %s", layer)
		}
	}
}
