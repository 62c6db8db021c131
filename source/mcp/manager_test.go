package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsearch/toolsearch/internal/mcptest"
	"github.com/toolsearch/toolsearch/source/mcp"
	"github.com/toolsearch/toolsearch/tool"
)

func TestNewManagerRefuses(t *testing.T) {
	tests := []struct {
		name    string
		servers []mcp.Server
		words   string
	}{
		{"no name", []mcp.Server{{Command: "x"}}, "the name is empty"},
		{"colon", []mcp.Server{{Name: "a:b", Command: "x"}}, "the name has a colon"},
		{"neither", []mcp.Server{{Name: "a"}}, "neither a command nor a url"},
		{"both", []mcp.Server{{Name: "a", Command: "x", URL: "http://h"}}, "both a command and a url"},
		{"twice", []mcp.Server{{Name: "a", Command: "x"}, {Name: "a", Command: "y"}}, "configured twice"},
		{"scheme", []mcp.Server{{Name: "a", URL: "file:///etc/passwd"}}, "http:// or https://"},
		{"no host", []mcp.Server{{Name: "a", URL: "http://"}}, "name a host"},
		{"environment", []mcp.Server{{Name: "a", Command: "x", Env: []string{"=v"}}}, "not KEY=VALUE"},
		{"header", []mcp.Server{{Name: "a", URL: "http://h", Headers: map[string]string{"mcp-session-id": "x"}}}, "belongs to the protocol"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := mcp.NewManager(tt.servers, mcp.Options{})
			if err == nil || !strings.Contains(err.Error(), tt.words) {
				t.Errorf("error = %v, want %q", err, tt.words)
			}
		})
	}
}

func TestSnapshotOrder(t *testing.T) {
	m := started(t, quick(),
		scripted(t, "zeta", mcptest.Script{Tools: listed("b", "a")}),
		scripted(t, "alpha", mcptest.Script{Tools: listed("d", "c")}),
		mcp.Server{Name: "mid", Command: "x", Disabled: true},
	)
	snap := m.Snapshot()
	var ids []string
	for _, tl := range snap.Tools {
		ids = append(ids, string(tl.ID))
	}
	want := []string{"mcp:alpha:d", "mcp:alpha:c", "mcp:zeta:b", "mcp:zeta:a"}
	if diff := cmp.Diff(want, ids); diff != "" {
		t.Error(diff)
	}
	var states []string
	for _, s := range snap.Status {
		states = append(states, s.Name+" "+string(s.State))
	}
	if diff := cmp.Diff([]string{"alpha ready", "mid disabled", "zeta ready"}, states); diff != "" {
		t.Error(diff)
	}
}

func TestDefinition(t *testing.T) {
	full := `{"vendor":{"n":9007199254740993},"name":"full","title":" A\u200b title ","description":"tab\tbell\u0007 \u202eevil","inputSchema":{"type":"object","z":1,"a":18446744073709551615},"outputSchema":{"type":"object"},"annotations":{"readOnlyHint":true,"destructiveHint":"no","title":"other"},"_meta":{"anthropic/searchHint":"find\n  files\u0000 fast","anthropic/alwaysLoad":true}}`
	defs := []json.RawMessage{json.RawMessage(full)}
	for _, s := range []string{
		`{"name":"bare"}`,
		`{"name":"odd","description":7,"title":{},"inputSchema":null,"annotations":[],"_meta":"x"}`,
		`{"name":"in\u0007vis\u200bible"}`,
		`{"description":"no name"}`,
		`"no object"`,
		`{"name":"` + strings.Repeat("n", 300) + `"}`,
		`{"name":"bare","description":"again"}`,
		`{"name":"p2","_meta":{"anthropic/alwaysLoad":true}}`,
		`{"name":"p3","_meta":{"anthropic/alwaysLoad":true}}`,
		`{"name":"p4","_meta":{"anthropic/alwaysLoad":true}}`,
		`{"name":"p5","_meta":{"anthropic/alwaysLoad":true}}`,
	} {
		defs = append(defs, json.RawMessage(s))
	}
	srv := scripted(t, "s", mcptest.Script{Tools: defs})
	srv.TrustSchemas = true
	m := started(t, quick(), srv)
	if diff := cmp.Diff([]string{"full", "bare", "odd", "invisible", "p2", "p3", "p4", "p5"}, names(m.Snapshot().Tools)); diff != "" {
		t.Fatal(diff)
	}
	got := find(t, m, "full")
	if string(got.Definition) != strings.Replace(full, `"destructiveHint":"no",`, "", 1) { // which is no claim
		t.Errorf("definition = %s", got.Definition)
	}
	if got.Label != "A title" || got.Description != "tab\tbell evil" || got.SearchHint != "find files fast" {
		t.Errorf("texts: label %q, description %q, hint %q", got.Label, got.Description, got.SearchHint)
	}
	if string(got.Input.JSON()) != `{"type":"object","z":1,"a":18446744073709551615}` || string(got.Output.JSON()) != `{"type":"object"}` {
		t.Errorf("schemas: %s, %s", got.Input.JSON(), got.Output.JSON())
	}
	if !got.TrustSchema || got.Source != tool.MCP || got.Owner != "s" || got.Mode != tool.DirectOnly {
		t.Errorf("tool = %+v", got)
	}
	if a := got.Annotations; a.ReadOnly == nil || !*a.ReadOnly || a.Destructive != nil || a.Title != "other" {
		t.Errorf("annotations = %+v", a)
	}
	odd := find(t, m, "odd")
	if string(odd.Input.JSON()) != `{"type":"object"}` || odd.Output != nil || odd.Description != "" || odd.Mode != tool.Cataloged {
		t.Errorf("odd = %+v", odd)
	}
	if find(t, m, "p4").Mode != tool.DirectOnly || find(t, m, "p5").Mode != tool.Cataloged {
		t.Error("not exactly the first four pins count")
	}
	last := status(t, m, "s").LastError
	for _, w := range []string{"3 tools were left out: no usable name", "1 tools were left out: their names were listed before", "1 tools asked to be always visible", "2 tools have members of a wrong type"} {
		if !strings.Contains(last, w) {
			t.Errorf("last error %q does not say %q", last, w)
		}
	}
	// The name is shown clean and called as the server spells it.
	_, err := call(t, m, "invisible", `{}`)
	wantError(t, err, tool.CodeInvalidArgs, "Unknown tool")
}

func TestDescriptionsAreBounded(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tools.json")
	def := `{"name":"long","description":"` + strings.Repeat("ü", 5<<20) + `"}` // 10 MB
	if err := os.WriteFile(file, []byte(def), 0o600); err != nil {
		t.Fatal(err)
	}
	m := started(t, quick(), scripted(t, "s", mcptest.Script{ToolsFile: file}))
	got := find(t, m, "long")
	if n := len(got.Description); n > 64<<10 || n < 60<<10 {
		t.Errorf("the description has %d bytes, want at most 64 KiB", n)
	}
	if string(got.Definition) != def {
		t.Error("the definition was changed")
	}
}

func TestListChanges(t *testing.T) {
	eras(t, func(t *testing.T, modern bool) {
		m := started(t, quick(), scripted(t, "s", mcptest.Script{Modern: modern, Tools: listed(mcptest.ToolChange, "old", mcptest.ToolEcho)}))
		before := m.Snapshot()
		old, echo := find(t, m, "old"), find(t, m, mcptest.ToolEcho)
		// The change happens while the call runs: its own result still arrives.
		mustCall(t, m, mcptest.ToolChange, `{"add":"new","remove":"old"}`)
		after := until(t, m, "the swap", func(s mcp.Snapshot) bool { return s.Generation > before.Generation })
		if diff := cmp.Diff([]string{mcptest.ToolChange, mcptest.ToolEcho, "new"}, names(after.Tools)); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]string{mcptest.ToolChange, "old", mcptest.ToolEcho}, names(before.Tools)); diff != "" {
			t.Errorf("the old snapshot changed: %s", diff)
		}
		if after.Tools[1] != echo {
			t.Error("a tool that did not change was replaced")
		}
		_, err := old.Invoker.Invoke(deadline(t), tool.Call{})
		wantError(t, err, tool.CodeUnavailable, `no longer offers the tool "old"`)
	})
}

// The last known list is there before the server is, and a call waits for the
// server to start.
func TestLastKnownListComesFirst(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	opt := quick()
	opt.CacheDir = filepath.Join(t.TempDir(), "known")
	srv := scripted(t, "s", mcptest.Script{Start: mcptest.StartGated, Gate: l.Addr().String(), Tools: listed(mcptest.ToolEcho, "b")})
	pass := func() {
		conn, err := l.Accept()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = conn.Write([]byte{1})
		_ = conn.Close()
	}
	go pass()
	m := started(t, opt, srv)
	want := m.Snapshot().Tools
	_ = m.Close()

	files, err := filepath.Glob(filepath.Join(opt.CacheDir, "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("files = %v, %v; want one", files, err)
	}
	info, err := os.Stat(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode = %v, want 0600", info.Mode().Perm())
	}

	m = open(t, opt, srv) // the gate stays shut
	snap := m.Snapshot()
	if len(snap.Tools) != 2 || !snap.Status[0].Stale || snap.Status[0].State != mcp.Starting {
		t.Fatalf("right after Start: %d tools, %+v", len(snap.Tools), snap.Status[0])
	}
	for i, tl := range snap.Tools {
		if string(tl.Definition) != string(want[i].Definition) || tl.Revision != want[i].Revision {
			t.Errorf("tool %d changed on disk: %s", i, tl.Definition)
		}
	}
	// Within its deadline a call waits.
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	_, err = snap.Tools[0].Invoker.Invoke(ctx, tool.Call{})
	wantError(t, err, tool.CodeTimeout, "was not ready in time")
	go pass()
	mustCall(t, m, mcptest.ToolEcho, `{}`)
	fresh := m.Snapshot()
	if fresh.Generation != snap.Generation || fresh.Status[0].Stale {
		t.Errorf("generation %d → %d, %+v: the same list must not be a new generation", snap.Generation, fresh.Generation, fresh.Status[0])
	}
	_ = m.Close()

	// A spoilt file is ignored.
	data, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)-3] ^= 1
	if err := os.WriteFile(files[0], data, 0o600); err != nil {
		t.Fatal(err)
	}
	m = open(t, opt, srv)
	if n := len(m.Snapshot().Tools); n != 0 {
		t.Errorf("%d tools came from a spoilt file", n)
	}
	go pass()
	if err := m.Wait(deadline(t)); err != nil {
		t.Fatal(err)
	}
	if n := len(m.Snapshot().Tools); n != 2 {
		t.Errorf("%d tools after the start, want 2", n)
	}
}

func TestManyCallsAtOnce(t *testing.T) {
	m := started(t, quick(), scripted(t, "s", mcptest.Script{Tools: listed(mcptest.ToolEcho)}))
	echo := find(t, m, mcptest.ToolEcho)
	errs := make(chan error, 200)
	for i := range cap(errs) {
		go func() {
			want := fmt.Sprintf(`{"i":%d}`, i)
			res, err := echo.Invoker.Invoke(deadline(t), tool.Call{Args: json.RawMessage(want)})
			if err == nil && string(res.Details) != want {
				err = fmt.Errorf("got %s, want %s", res.Details, want)
			}
			errs <- err
		}()
	}
	for range cap(errs) {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

func TestCloseWithoutStart(t *testing.T) {
	m, err := mcp.NewManager([]mcp.Server{scripted(t, "s", mcptest.Script{})}, quick())
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	m.Start(context.Background()) // must start nothing: goleak would tell
}
