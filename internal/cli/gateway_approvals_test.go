package cli_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// elicit connects a real client of the era to a gateway of core tools. A nil
// answer is a client that cannot show forms.
func elicit(t *testing.T, home string, modern bool, answer func(*mcp.ElicitRequest) *mcp.ElicitResult) *mcp.ClientSession {
	t.Helper()
	file := filepath.Join(home, "toolsearch.json5")
	if err := os.WriteFile(file, []byte(`{tools:{core:true,toolSearch:{mode:"tools"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "mcp", "--config", file)
	cmd.Env, cmd.Dir = env(home), home
	opt := &mcp.ClientOptions{}
	if answer != nil {
		opt.ElicitationHandler = func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) { return answer(r), nil }
	}
	version := "2025-11-25"
	if modern {
		version = "2026-07-28"
	}
	cs, err := mcp.NewClient(&mcp.Implementation{Name: "t", Version: "1"}, opt).
		Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cs.Close() })
	if got := cs.InitializeResult().ProtocolVersion; got != version {
		t.Fatalf("the client speaks %s, want %s", got, version)
	}
	return cs
}

// The gateway asks through the client that calls, where it can show a form, and
// does what its user says; a client without forms is told where to answer.
func TestGatewayAsksItsClient(t *testing.T) {
	form := func(decision string) func(*mcp.ElicitRequest) *mcp.ElicitResult {
		return func(r *mcp.ElicitRequest) *mcp.ElicitResult {
			if !strings.Contains(r.Params.Message, "openclaw:core:write") || !strings.Contains(r.Params.Message, `content: "asked"`) || !strings.Contains(r.Params.Message, "\nFolder: /") {
				t.Errorf("the form shows %q", r.Params.Message)
			}
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": decision}}
		}
	}
	for name, c := range map[string]struct {
		answer func(*mcp.ElicitRequest) *mcp.ElicitResult
		runs   bool
		says   string
	}{
		"allow":    {form("allow once"), true, "asked.txt"},
		"deny":     {form("deny"), false, "denied it"},
		"no forms": {nil, false, "toolsearch approvals approve"},
	} {
		t.Run(name, func(t *testing.T) {
			eras(t, func(t *testing.T, modern bool) {
				home := t.TempDir()
				cs := elicit(t, home, modern, c.answer)
				res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "tool_call", Arguments: map[string]any{
					"id": "openclaw:core:write", "args": map[string]any{"path": "asked.txt", "content": "asked"},
				}})
				if err != nil {
					t.Fatal(err)
				}
				var text strings.Builder
				for _, block := range res.Content {
					if tc, ok := block.(*mcp.TextContent); ok {
						text.WriteString(tc.Text)
					}
				}
				if res.IsError == c.runs || !strings.Contains(text.String(), c.says) {
					t.Errorf("isError %v, %s; want %q", res.IsError, text.String(), c.says)
				}
				if _, err := os.Stat(filepath.Join(home, "asked.txt")); (err == nil) != c.runs {
					t.Errorf("%v; want the file to be written: %v", err, c.runs)
				}
			})
		})
	}
}

// What a person denies on the command line reaches the model that repeats the
// call, with the reason, and makes no second request.
func TestGatewayTellsOfADenial(t *testing.T) {
	home := t.TempDir()
	cs := elicit(t, home, false, nil)
	write := func() string {
		t.Helper()
		res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "tool_call", Arguments: map[string]any{
			"id": "openclaw:core:write", "args": map[string]any{"path": "a.txt", "content": "x"},
		}})
		if err != nil || !res.IsError {
			t.Fatalf("%v, %+v; want a refusal", err, res)
		}
		var text strings.Builder
		for _, block := range res.Content {
			if tc, ok := block.(*mcp.TextContent); ok {
				text.WriteString(tc.Text)
			}
		}
		return text.String()
	}
	person := func(args ...string) []byte {
		t.Helper()
		exe, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(exe, append([]string{"approvals"}, args...)...)
		cmd.Env, cmd.Dir = env(home), home
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("approvals %q: %v", args, err)
		}
		return out
	}
	pending := func() (found []struct{ ID string }) {
		t.Helper()
		if err := json.Unmarshal(person("list", "--json"), &found); err != nil {
			t.Fatal(err)
		}
		return found
	}
	write()
	asked := pending()
	if len(asked) != 1 {
		t.Fatalf("%d requests are pending, want 1", len(asked))
	}
	person("deny", asked[0].ID, "--reason", "never write there")
	if got := write(); !strings.Contains(got, "denied it") || !strings.Contains(got, "never write there") {
		t.Errorf("the repeated call is told %s", got)
	}
	if again := pending(); len(again) != 0 {
		t.Errorf("the repeated call asks again: %v", again)
	}
}
