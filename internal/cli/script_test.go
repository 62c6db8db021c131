package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/toolsearch/toolsearch/internal/mcptest"
	"github.com/toolsearch/toolsearch/provider/mock"
)

// TestScripts runs the command lines of testdata/*.txt.
func TestScripts(t *testing.T) {
	examples, err := filepath.Abs("../../examples")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(e *testscript.Env) error {
			home := filepath.Join(e.WorkDir, "home")
			e.Vars = append(e.Vars, "HOME="+home, "XDG_CACHE_HOME="+home+"/cache", "XDG_CONFIG_HOME="+home+"/config", "XDG_STATE_HOME="+home+"/state",
				"EXAMPLES="+examples, "GORACE=atexit_sleep_ms=0")
			server := serverConfig(t, "weather", mcptest.Script{Tools: []json.RawMessage{
				json.RawMessage(`{"name":"echo","description":"Weather forecast for a place","inputSchema":{"type":"object","properties":{"city":{"type":"string"}},"additionalProperties":false}}`),
				toolDef("weird", "Something odd"),
				toolDef("refuse", "Always refuses"),
			}})
			model, stop, err := mock.New(mock.Agent()).Listen("127.0.0.1:0")
			if err != nil {
				return err
			}
			e.Defer(func() {
				if err := stop(); err != nil {
					t.Errorf("stop the mock of a model API: %v", err)
				}
			})
			e.Vars = append(e.Vars, "MODEL="+model)
			e.Vars = append(e.Vars, "LARGE="+strings.TrimPrefix(serverConfig(t, "large", manyTools(60)), `"large":`))
			config := "// a comment\n{\n  tools: { toolSearch: { mode: \"tools\" } },\n  mcp: { servers: {" + server + "} },\n}\n"
			return os.WriteFile(filepath.Join(e.WorkDir, "toolsearch.json5"), []byte(config), 0o600)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"json": compareJSON, "exits": exits, "approve": answers("approve"), "deny": answers("deny")},
	})
}

// compareJSON is "json FILE PATH WANT": the value at a dotted path of a file's
// JSON ("stdout" for the last output) is WANT.
func compareJSON(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: json FILE PATH WANT")
	}
	var v any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &v))
	for part := range strings.SplitSeq(args[1], ".") {
		switch x := v.(type) {
		case map[string]any:
			v = x[part]
		case []any:
			i := 0
			for _, c := range part {
				i = i*10 + int(c-'0')
			}
			if part == "length" {
				v = float64(len(x))
			} else if i < len(x) {
				v = x[i]
			} else {
				v = nil
			}
		default:
			v = nil
		}
	}
	got, err := json.Marshal(v)
	ts.Check(err)
	if (string(got) == args[2]) == neg {
		ts.Fatalf("%s of %s is %s, want %s (negated: %v)", args[1], args[0], got, args[2], neg)
	}
}

// exits is "exits CODE COMMAND…": the command ends with that code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND...")
	}
	err := ts.Exec(args[1], args[2:]...)
	got := "0"
	if err != nil {
		got = strings.TrimPrefix(err.Error(), "exit status ")
	}
	if got != args[0] {
		ts.Fatalf("%s ended with %s, want %s", strings.Join(args[1:], " "), got, args[0])
	}
}

// answers is "approve TOOL FLAG…" or "deny TOOL FLAG…": answer the pending call of
// a core tool. $ANSWERED is its id.
func answers(verb string) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) == 0 {
			ts.Fatalf("usage: %s TOOL FLAG...", verb)
		}
		ts.Check(ts.Exec("toolsearch", "approvals", "list", "--json"))
		var list []struct{ ID, Tool, State string }
		ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &list))
		for _, a := range list {
			if a.Tool == "openclaw:core:"+args[0] && a.State == "pending" {
				ts.Setenv("ANSWERED", a.ID)
				ts.Check(ts.Exec("toolsearch", append([]string{"approvals", verb, a.ID}, args[1:]...)...))
				return
			}
		}
		ts.Fatalf("no approval of %s is pending: %s", args[0], ts.ReadFile("stdout"))
	}
}
