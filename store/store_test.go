package store_test

import (
	"context"
	"encoding/json"
	"path/filepath"
	"testing"
	"time"

	"github.com/toolsearch/toolsearch/approval"
	"github.com/toolsearch/toolsearch/call"
	sqlite "github.com/toolsearch/toolsearch/internal/store"
	"github.com/toolsearch/toolsearch/pin"
	"github.com/toolsearch/toolsearch/store"
	"github.com/toolsearch/toolsearch/tool"
	"github.com/toolsearch/toolsearch/transcript"
)

func open(t *testing.T, dir string) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), store.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// What a program keeps is there when it opens the folder again, and is what the
// command line reads of that folder.
func TestWhatIsKept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "toolsearch")
	s := open(t, dir)
	tr, err := s.Transcript(transcript.Config{})
	if err != nil {
		t.Fatal(err)
	}
	target := &tool.Tool{ID: "openclaw:desk:send", Source: tool.OpenClaw, Owner: "desk", Name: "send", Input: tool.RawSchema(`{"type":"object"}`),
		Invoker: tool.InvokerFunc(func(context.Context, tool.Call) (*tool.Result, error) { return tool.TextResult("sent"), nil })}
	origin := call.Origin{Session: "talk", Run: "one"}
	if err := tr.StartRun(t.Context(), transcript.Run{RunKey: transcript.RunKey{Session: "talk", Run: "one"}, Mode: "tools", Schemas: 3}); err != nil {
		t.Fatal(err)
	}
	if _, err := call.New(tr.Stage()).Call(t.Context(), call.Request{Target: target, Args: json.RawMessage(`{}`), Origin: origin}); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	asked := approval.Record{ID: "abcdefghij", State: approval.Pending, Tool: target.ID, Args: json.RawMessage(`{}`), Digest: "d", Created: now, Expires: now.Add(time.Hour), Scope: approval.Once}
	if err := s.Approvals().Put(t.Context(), asked); err != nil {
		t.Fatal(err)
	}
	if err := s.Pins().Add(t.Context(), []pin.Pin{{Server: "files", Tool: "read", Digest: "d", Definition: json.RawMessage(`{}`), FirstSeen: now, AcceptedAt: now}}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	again := open(t, dir)
	if r, err := again.Approvals().Get(t.Context(), asked.ID); err != nil || r.Tool != target.ID || r.State != approval.Pending {
		t.Errorf("the approval is %+v, %v", r, err)
	}
	if pins, err := again.Pins().List(t.Context(), "files"); err != nil || len(pins) != 1 || pins[0].Tool != "read" {
		t.Errorf("the pins are %+v, %v", pins, err)
	}
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}

	db, err := sqlite.Open(t.Context(), sqlite.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if got, err := db.Session(t.Context(), "talk"); err != nil || got.Calls != 1 || got.Schemas != 3 {
		t.Errorf("the session is %+v, %v", got, err)
	}
}
