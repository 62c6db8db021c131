package cli_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/toolsearch/toolsearch/internal/config"
	"github.com/toolsearch/toolsearch/internal/mcptest"
	"github.com/toolsearch/toolsearch/internal/store"
	"github.com/toolsearch/toolsearch/transcript"
)

// The defaults and bounds that the configuration names are those of the store.
func TestTranscriptBoundsAreTheStores(t *testing.T) {
	if k := config.Default().Tools.Transcript; k.MaxAge != store.DefaultMaxAge || k.MaxBytes != store.DefaultMaxBytes || k.MaxBody != transcript.DefaultBody {
		t.Errorf("defaults %+v", k)
	}
	for _, c := range []struct {
		text      string
		age, size bool
	}{{`maxAgeDays: 0, maxBytes: 0`, false, false}, {`maxAgeDays: 1e9, maxBytes: 1e15`, true, true}} {
		cfg, err := config.Parse("t.json5", []byte(`{tools: {transcript: {`+c.text+`}}}`))
		if err != nil {
			t.Fatal(err)
		}
		k := cfg.Tools.Transcript
		if k.MaxAge < store.MinMaxAge || k.MaxAge > store.MaxMaxAge || k.MaxBytes < store.MinMaxBytes || k.MaxBytes > store.MaxMaxBytes {
			t.Errorf("%s: %+v is out of the store's bounds", c.text, k)
		}
	}
}

// recordAt records a call of a session at a time.
func recordAt(t *testing.T, home, session string, at time.Time) {
	t.Helper()
	s, err := store.Open(t.Context(), store.Options{Dir: filepath.Join(home, "state", "toolsearch"), MaxAge: store.MaxMaxAge, Now: func() time.Time { return at }})
	if err != nil {
		t.Fatal(err)
	}
	ref, err := s.Begin(t.Context(), transcript.Intent{RunKey: transcript.RunKey{Session: session, Run: "r"}, Call: "c", Target: "mcp:a:b", Source: "mcp", Owner: "a", Name: "b", Started: at,
		Args: transcript.Body{Text: []byte("{}"), Size: 2}})
	if err == nil {
		err = s.End(t.Context(), ref, transcript.Outcome{Status: transcript.StatusOK})
	}
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
}

// What is older than the configured age goes when the next call is recorded,
// and not before: listing deletes nothing.
func TestTranscriptMaxAge(t *testing.T) {
	home := t.TempDir()
	recordAt(t, home, "old", time.Now().Add(-50*time.Hour))
	recordAt(t, home, "recent", time.Now().Add(-2*time.Hour))
	g := startGateway(t, home, with(oneCommand(t, home, mcptest.Script{Tools: []json.RawMessage{toolDef("echo", "Weather forecast")}}), `transcript:{maxAgeDays:2}`))
	g.connect(false)
	if out, code := g.program("sessions", "list"); code != 0 || !strings.Contains(out, "old") || !strings.Contains(out, "recent") {
		t.Errorf("before a call: exit %d, %s", code, out)
	}
	g.result("tools/call", toolCall("mcp:weather:echo", `{"n":1}`))
	g.stop()
	if out, code := g.program("sessions", "list"); code != 0 || strings.Contains(out, "old") || !strings.Contains(out, "recent") {
		t.Errorf("after it: exit %d, %s", code, out)
	}
}

// Beyond the configured size the oldest calls go while new ones are recorded.
func TestTranscriptMaxBytes(t *testing.T) {
	home := t.TempDir()
	g := startGateway(t, home, with(oneCommand(t, home, mcptest.Script{Tools: []json.RawMessage{toolDef("echo", "Weather forecast")}}), `transcript:{maxBytes:4194304,maxBodyBytes:1048576}`))
	g.connect(false)
	const calls = 10 // of a megabyte each
	long := strings.Repeat("y", 500_000)
	for i := range calls {
		g.result("tools/call", toolCall("mcp:weather:echo", fmt.Sprintf(`{"n":%d,"text":%q}`, i, long)))
	}
	g.stop()
	kept := g.exported()
	if len(kept) == 0 || len(kept) > calls/2 {
		t.Fatalf("%d of %d calls are left", len(kept), calls)
	}
	for i, c := range kept {
		if want := fmt.Sprintf(`{"n":%d,`, calls-len(kept)+i); !strings.HasPrefix(string(c.Arguments.Value), want) {
			t.Errorf("call %d of those that are left is %.20s, want %s: the oldest go first", i, c.Arguments.Value, want)
		}
	}
}

// The fields that the configuration names are in no record, and bodies are cut
// at the configured size.
func TestTranscriptRedactAndBody(t *testing.T) {
	home := t.TempDir()
	g := startGateway(t, home, with(oneCommand(t, home, mcptest.Script{Tools: []json.RawMessage{toolDef("echo", "Weather forecast")}}), `transcript:{redact:["customerNumber"],maxBodyBytes:256}`))
	g.connect(false)
	long := strings.Repeat("y", 1000)
	if res := string(g.result("tools/call", toolCall("mcp:weather:echo", `{"customer_number":"K-4711-X","city":"Oslo"}`))); !strings.Contains(res, "K-4711-X") {
		t.Errorf("the caller got %s, want its own number back", res)
	}
	g.result("tools/call", toolCall("mcp:weather:echo", `{"text":"`+long+`"}`))
	g.stop()
	out, _ := g.program("sessions", "list", "--json")
	var sessions []struct{ ID string }
	if err := json.Unmarshal([]byte(out), &sessions); err != nil || len(sessions) != 1 {
		t.Fatalf("sessions list: %s", out)
	}
	out, code := g.program("sessions", "export", sessions[0].ID)
	if code != 0 || strings.Contains(out, "K-4711-X") || !strings.Contains(out, "Oslo") {
		t.Errorf("exit %d; want the call without the number:\n%s", code, out)
	}
	if strings.Contains(out, long) || !strings.Contains(out, "sha256:") || !strings.Contains(out, strings.Repeat("y", 200)) {
		t.Errorf("want the head of the long body and a digest:\n%s", out)
	}
}
