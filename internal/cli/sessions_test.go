package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolsearch/toolsearch/call"
	"github.com/toolsearch/toolsearch/internal/store"
	"github.com/toolsearch/toolsearch/tool"
	"github.com/toolsearch/toolsearch/transcript"
)

// sessionsVerb runs "toolsearch sessions ARGS" on the store in XDG_STATE_HOME.
func sessionsVerb(t *testing.T, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, errs bytes.Buffer
	c := newSessions(&app{std: newStreams(strings.NewReader(""), &out, &errs)})
	c.SilenceErrors, c.SilenceUsage = true, true
	c.SetArgs(args)
	c.SetOut(&out)
	c.SetErr(&errs)
	err = c.ExecuteContext(t.Context())
	return out.String(), errs.String(), err
}

// recordSession records a session with a run that the model saw three schemas
// in, a call that went well and one that was blocked.
func recordSession(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	s, err := store.Open(ctx, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	tr, err := transcript.New(transcript.Config{Recorder: s, Counter: s})
	if err != nil {
		t.Fatal(err)
	}
	origin := call.Origin{Session: "talk", Run: "r1", Control: "tool_call", Caller: "ci", Agent: "main"}
	ok := &tool.Tool{
		ID: "mcp:weather:forecast", Source: tool.MCP, Owner: "weather", Name: "forecast", Input: tool.RawSchema(`{}`),
		Invoker: tool.InvokerFunc(func(context.Context, tool.Call) (*tool.Result, error) { return tool.TextResult("sunny"), nil }),
	}
	no := *ok
	no.ID, no.Source, no.Owner, no.Name = "openclaw:core:exec", tool.OpenClaw, "core", "exec"
	p := call.New(tr.Stage(), call.Refuse(func(t *tool.Tool) *tool.Error {
		if t.Name == "exec" {
			return &tool.Error{Code: tool.CodeBlocked, By: "policy", Reason: "it deletes too much"}
		}
		return nil
	}))
	_, blocked := p.Call(ctx, call.Request{Target: &no, Args: json.RawMessage(`{"command":"ls","password":"hunter2"}`), Origin: origin})
	if tool.CodeOf(blocked) != tool.CodeBlocked {
		t.Fatal(blocked)
	}
	_, err = p.Call(ctx, call.Request{Target: ok, Args: json.RawMessage(`{"city":"Bern"}`), Origin: origin})
	err = errors.Join(err,
		tr.StartRun(ctx, transcript.Run{RunKey: transcript.RunKey{Session: "talk", Run: "r1"}, Caller: "ci", Agent: "main", Mode: "tools", Schemas: 3, SchemaBytes: 2100, Catalog: 500}),
		tr.Count(ctx, origin, transcript.Counts{Searches: 4, EmptySearches: 1, Describes: 2}),
		s.Close())
	if err != nil {
		t.Fatal(err)
	}
}

func TestSessionsAnswerTheFourQuestions(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	recordSession(t)

	out, _, err := sessionsVerb(t, "list", "--json")
	var list []store.Session
	if err != nil || json.Unmarshal([]byte(out), &list) != nil || len(list) != 1 {
		t.Fatalf("list --json: %v, %s", err, out)
	}
	if s := list[0]; s.ID != "talk" || s.Schemas != 3 || s.Searches != 4 || s.Describes != 2 || s.Calls != 2 || s.Failed != 1 {
		t.Errorf("list shows %+v", s)
	}

	out, _, err = sessionsVerb(t, "show", "talk", "--json")
	var shown struct {
		SchemasUpFront, Searches, Describes int
		RunList                             []struct {
			ID, Mode       string
			SchemasUpFront int
		}
		CallList []struct {
			Tool, Source, Owner, Control, Status, BlockedBy string
			Arguments                                       struct{ Value json.RawMessage }
			Result                                          *struct{ Value json.RawMessage }
		}
	}
	if err != nil || json.Unmarshal([]byte(out), &shown) != nil {
		t.Fatalf("show --json: %v, %s", err, out)
	}
	if shown.SchemasUpFront != 3 || shown.Searches != 4 || shown.Describes != 2 || len(shown.RunList) != 1 || shown.RunList[0].Mode != "tools" || len(shown.CallList) != 2 {
		t.Fatalf("show --json: %s", out)
	}
	if c := shown.CallList[0]; c.Tool != "openclaw:core:exec" || c.Status != "blocked" || c.BlockedBy != "policy" || c.Result != nil || string(c.Arguments.Value) != `{"command":"ls","password":"[redacted]"}` {
		t.Errorf("the blocked call is %+v", c)
	}
	if c := shown.CallList[1]; c.Tool != "mcp:weather:forecast" || c.Source != "mcp" || c.Owner != "weather" || c.Control != "tool_call" || c.Status != "ok" || c.Result == nil {
		t.Errorf("the other call is %+v", c)
	}

	for _, verb := range [][]string{{"list"}, {"show", "talk"}, {"export", "talk"}} {
		out, _, err := sessionsVerb(t, verb...)
		if err != nil || !strings.Contains(out, "talk") || strings.Contains(out, "hunter2") {
			t.Errorf("sessions %s: %v, %s", verb, err, out)
		}
	}
	if out, _, _ := sessionsVerb(t, "list"); !strings.Contains(out, "CALLER") || !strings.Contains(out, "ci (main)") {
		t.Errorf("list does not say who called:\n%s", out)
	}
	if out, _, _ := sessionsVerb(t, "show", "talk"); !strings.Contains(out, "schemas up front 3 (2100 bytes), catalog 500, searches 4 (1 found nothing), describes 2, calls 2 (1 not ok)") || !strings.Contains(out, "blocked by policy") || !strings.Contains(out, "it deletes too much") {
		t.Errorf("show prints\n%s", out)
	}
}

func TestSessionsExport(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	recordSession(t)
	out, _, err := sessionsVerb(t, "export", "talk")
	if err != nil {
		t.Fatal(err)
	}
	var types []string
	for line := range strings.Lines(out) {
		var x struct{ Type string }
		if err := json.Unmarshal([]byte(line), &x); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		types = append(types, x.Type)
	}
	if got := strings.Join(types, " "); got != "session run call call" {
		t.Errorf("export writes %s", got)
	}
}

func TestSessionsFailClearly(t *testing.T) {
	state := t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	if out, stderr, err := sessionsVerb(t, "list"); err != nil || out != "" || !strings.Contains(stderr, "no session") {
		t.Errorf("an empty store: %v, %q, %q", err, out, stderr)
	}
	if out, _, err := sessionsVerb(t, "list", "--json"); err != nil || out != "[]\n" {
		t.Errorf("an empty store: %v, %q", err, out)
	}
	var hint hintError
	if _, _, err := sessionsVerb(t, "show", "nothing"); !errors.Is(err, store.ErrNotFound) || !errors.As(err, &hint) || exitCode(err) != ExitFailed {
		t.Errorf("an unknown session: %v", err)
	}
	if _, _, err := sessionsVerb(t, "list", "--limit", "0"); exitCode(err) != ExitUsage {
		t.Errorf("--limit 0: %v", err)
	}
	if err := os.WriteFile(filepath.Join(state, "toolsearch", "toolsearch.db"), bytes.Repeat([]byte("x"), 5000), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := sessionsVerb(t, "list"); !errors.Is(err, store.ErrCorrupt) || !errors.As(err, &hint) {
		t.Errorf("a damaged store: %v", err)
	}
}
