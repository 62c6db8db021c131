package toolsearch_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/toolsearch/toolsearch"
	"github.com/toolsearch/toolsearch/internal/mcptest"
	"github.com/toolsearch/toolsearch/policy"
	"github.com/toolsearch/toolsearch/source/mcp"
	"github.com/toolsearch/toolsearch/surface"
	"github.com/toolsearch/toolsearch/tool"
)

func TestMain(m *testing.M) {
	serveIfProxy()
	mcptest.Main(m)
}

// weatherServer is the command line of a small MCP server.
func weatherServer() (command string, args, env []string) {
	return mcptest.Command(exampleTB{}, mcptest.Script{Tools: []json.RawMessage{
		json.RawMessage(`{"name":"echo","description":"Weather forecast for a place","inputSchema":{"type":"object"}}`),
	}})
}

// exampleTB is what mcptest needs of a test where there is none.
type exampleTB struct{ testing.TB }

func (exampleTB) Helper()                   {}
func (exampleTB) Fatal(args ...any)         { panic(args) }
func (exampleTB) Fatalf(f string, a ...any) { panic(f) }
func (exampleTB) TempDir() string           { return os.TempDir() }
func (exampleTB) Setenv(string, string)     {}
func (exampleTB) Cleanup(func())            {}
func (exampleTB) Context() context.Context  { return context.Background() }

func newSet(tb testing.TB, opt toolsearch.Options) *toolsearch.Toolset {
	tb.Helper()
	set, err := toolsearch.New(tb.Context(), opt)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := set.Close(); err != nil {
			tb.Error(err)
		}
	})
	if err := set.Wait(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	return set
}

func failing(t *testing.T, name string, failure error) *tool.Tool {
	t.Helper()
	f, err := toolsearch.Func("p", name, "A tool called "+name, func(context.Context, struct{}) (string, error) { return "fine", failure })
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func compile(tb testing.TB, rules policy.Rules) *policy.Policy {
	tb.Helper()
	p, _, err := policy.Compile([]policy.Layer{{Scope: policy.ScopeGlobal, Name: "test", Rules: rules}})
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// What policy removes is unknown everywhere, in the same words.
func TestDeniedIsUnknown(t *testing.T) {
	set := newSet(t, toolsearch.Options{
		Tools:  []*tool.Tool{failing(t, "secret_tool", nil), failing(t, "open_tool", nil)},
		Policy: compile(t, policy.Rules{Deny: []policy.Entry{{Pattern: "secret_*"}}}),
	})
	ctx := t.Context()
	if hits, err := set.Search(ctx, "secret tool", 8); err != nil || len(hits) != 1 || hits[0].Name != "open_tool" {
		t.Errorf("search: %v, %v", hits, err)
	}
	say := func(ref string) string {
		_, describe := set.Describe(ctx, ref)
		_, call := set.Call(ctx, ref, nil)
		res, err := set.Handle(ctx, surface.ToolCall, json.RawMessage(`{"id":"`+ref+`"}`))
		if err != nil {
			t.Fatal(err)
		}
		return strings.ReplaceAll(describe.Error()+call.Error()+res.Text(), ref, "REF")
	}
	denied, unknown := say("openclaw:p:secret_tool"), say("openclaw:p:nosuch_tool")
	if denied != unknown {
		t.Errorf("a denied tool is told apart from an unknown one:\n%s\n%s", denied, unknown)
	}
}

func TestNothingAllowedStopsTheRun(t *testing.T) {
	_, err := toolsearch.New(t.Context(), toolsearch.Options{
		Tools:  []*tool.Tool{failing(t, "a", nil)},
		Policy: compile(t, policy.Rules{Allow: []policy.Entry{{Pattern: "nobody"}}}),
	})
	var empty *policy.EmptyError
	if !errors.As(err, &empty) {
		t.Errorf("got %v, want a policy.EmptyError", err)
	}
}

func TestFuncErrors(t *testing.T) {
	set := newSet(t, toolsearch.Options{Tools: []*tool.Tool{
		failing(t, "plain", errors.New("disk full")),
		failing(t, "told", &tool.Error{Code: tool.CodeTimeout, Reason: "too slow", Next: "Ask for less."}),
	}})
	boom, err := toolsearch.Func("p", "boom", "Panics", func(context.Context, struct{}) (string, error) { panic("ouch") })
	if err != nil {
		t.Fatal(err)
	}
	panics := newSet(t, toolsearch.Options{Tools: []*tool.Tool{boom}})
	if _, err := panics.Call(t.Context(), "boom", nil); tool.CodeOf(err) != tool.CodeFailed || strings.Contains(err.Error(), "ouch") {
		t.Errorf("a tool that panics: %v", err)
	}
	for name, want := range map[string]tool.Code{"plain": tool.CodeFailed, "told": tool.CodeTimeout} {
		if _, err := set.Call(t.Context(), name, nil); tool.CodeOf(err) != want {
			t.Errorf("%s: got %v, want code %s", name, err, want)
		}
	}
	if _, err := set.Call(t.Context(), "plain", json.RawMessage(`{"x":1}`)); tool.CodeOf(err) != tool.CodeInvalidArgs {
		t.Errorf("unknown arguments: got %v", err)
	}
	if _, err := toolsearch.Func("", "x", "", func(context.Context, struct{}) (string, error) { return "", nil }); err == nil {
		t.Error("a tool without a plugin was made")
	}
	if _, err := toolsearch.Func("p", "x", "", func(context.Context, chan int) (string, error) { return "", nil }); err == nil {
		t.Error("a tool of a channel was made")
	}
}

// A server that cannot start is reported and stops nothing.
func TestServerThatFails(t *testing.T) {
	set := newSet(t, toolsearch.Options{
		Tools:   []*tool.Tool{failing(t, "works", nil)},
		Servers: []mcp.Server{{Name: "gone", Command: "/nonexistent/server"}},
	})
	if st := set.Status(); len(st) != 1 || st[0].State != mcp.Failed || st[0].LastError == "" {
		t.Errorf("status is %+v", st)
	}
	if res, err := set.Call(t.Context(), "works", nil); err != nil || res.Text() != "fine" {
		t.Errorf("the other tool: %v, %v", res, err)
	}
	if _, err := set.Call(t.Context(), "mcp:gone:anything", nil); tool.CodeOf(err) != tool.CodeUnavailable {
		t.Errorf("a tool of the server: %v, want unavailable", err)
	}
}

// Mode off shows every tool and no control.
func TestModeOff(t *testing.T) {
	set := newSet(t, toolsearch.Options{Mode: surface.Off, Tools: []*tool.Tool{failing(t, "b", nil), failing(t, "a", nil)}})
	var names []string
	for _, v := range set.Visible() {
		names = append(names, v.Name)
	}
	if got := strings.Join(names, " "); got != "a b" {
		t.Errorf("visible are %q", got)
	}
	if res, err := set.Handle(t.Context(), "a", nil); err != nil || res.Text() != "fine" {
		t.Errorf("direct call: %v, %v", res, err)
	}
	if _, err := set.Handle(t.Context(), surface.ToolSearch, json.RawMessage(`{"query":"a"}`)); tool.CodeOf(err) != tool.CodeUnknownTool {
		t.Errorf("a control answers in mode off: %v", err)
	}
}

// A tool that declares its output is held to it, whichever way it is called; one
// whose declaration makes no sense never runs.
func TestDeclaredOutputIsHeld(t *testing.T) {
	runs := map[string]int{}
	declare := func(name, output string) *tool.Tool {
		d := failing(t, name, nil)
		d.Output = tool.RawSchema(output)
		d.Invoker = tool.InvokerFunc(func(context.Context, tool.Call) (*tool.Result, error) {
			runs[name]++
			return tool.JSONResult(map[string]string{"total": "a lot"})
		})
		return d
	}
	tools := []*tool.Tool{
		declare("honest", `{"type":"object","properties":{"total":{"type":"string"}}}`),
		declare("liar", `{"type":"object","properties":{"total":{"type":"number"}}}`),
		declare("nonsense", `{"type":"nonsense"}`),
	}
	for _, mode := range []surface.Mode{surface.Tools, surface.Off} {
		set := newSet(t, toolsearch.Options{Mode: mode, Tools: tools})
		clear(runs)
		for name, want := range map[string]struct {
			code string
			runs int
		}{"honest": {"", 1}, "liar": {"invalid_output", 1}, "nonsense": {"bad_schema", 0}} {
			ask, args := name, `{}`
			if mode == surface.Tools {
				ask, args = surface.ToolCall, fmt.Sprintf(`{"id":%q,"args":{}}`, name)
			}
			res, err := set.Handle(t.Context(), ask, json.RawMessage(args))
			if err != nil {
				t.Fatal(err)
			}
			if res.IsError != (want.code != "") || !strings.Contains(res.Text(), want.code) || runs[name] != want.runs {
				t.Errorf("mode %s, %s: %d runs, %s", mode, name, runs[name], res.Text())
			}
			if name == "liar" && !strings.Contains(res.Text(), "Side effects may have happened") {
				t.Errorf("mode %s: the answer does not tell of side effects: %s", mode, res.Text())
			}
		}
	}
}

// A long result is cut to the budget, says so, and can be read to its end: what is
// shown and the pages are the tool's own text.
func TestLongResultsArePaged(t *testing.T) {
	var lines []string
	for i := range 5000 {
		lines = append(lines, fmt.Sprintf("line %d \"quoted\"", i))
	}
	whole := strings.Join(lines, "\n")
	long, err := toolsearch.Func("p", "long", "A long text", func(context.Context, struct{}) (string, error) { return whole, nil })
	if err != nil {
		t.Fatal(err)
	}
	set := newSet(t, toolsearch.Options{Tools: []*tool.Tool{long}})
	ask := func(args string) *tool.Result {
		t.Helper()
		res, err := set.Handle(t.Context(), surface.ToolCall, json.RawMessage(args))
		if err != nil || res.IsError {
			t.Fatalf("%s: %v, %s", args, err, res.Text())
		}
		if n := tool.Chars(res.Text()); n > 20_000 {
			t.Fatalf("%s: %d characters, the budget is 20,000", args, n)
		}
		return res
	}
	res := ask(`{"id":"long"}`)
	var first struct{ Result string }
	if err := json.Unmarshal([]byte(res.Content[0].Text()), &first); err != nil {
		t.Fatal(err)
	}
	read, mark, ok := strings.Cut(first.Result, "… (")
	if !ok || !strings.HasPrefix(whole, read) || !strings.HasSuffix(read, "\n") || !strings.HasSuffix(mark, " more characters)") {
		t.Errorf("the text is not cut at the end of a line: …%q", first.Result[max(0, len(first.Result)-60):])
	}
	for page := regexp.MustCompile(`tool_call (\{"page":"[A-Z2-7]+","offset":\d+\})`); ; {
		next := page.FindStringSubmatch(res.Content[1].Text())
		if next == nil {
			break
		}
		res = ask(next[1])
		read += res.Content[0].Text()
	}
	if read != whole {
		t.Errorf("what is shown and the pages have %d bytes and differ from the text's %d", len(read), len(whole))
	}
	// Without tool search there is nothing to read on with, and the budget holds.
	off := newSet(t, toolsearch.Options{Mode: surface.Off, Tools: []*tool.Tool{long}})
	if res, err = off.Handle(t.Context(), "long", nil); err != nil {
		t.Fatal(err)
	}
	if n, text := tool.Chars(res.Text()), res.Text(); n > 20_000 || strings.Contains(text, "tool_call") || !strings.Contains(text, "The rest is not kept") {
		t.Errorf("mode off: %d characters, that end with %q", n, text[max(0, len(text)-200):])
	}
	// The library's own call, like a code body, gets it whole.
	if res, err := set.Call(t.Context(), "long", nil); err != nil || res.Text() != whole {
		t.Errorf("the library got %d of %d bytes (%v)", len(res.Text()), len(whole), err)
	}
}
