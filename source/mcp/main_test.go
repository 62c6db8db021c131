package mcp_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/toolsearch/toolsearch/internal/mcptest"
	"github.com/toolsearch/toolsearch/source/mcp"
	"github.com/toolsearch/toolsearch/tool"
)

func TestMain(m *testing.M) {
	mcptest.ServeIfChild()
	goleak.VerifyTestMain(m)
}

// quick are options whose waits are short enough for a test; what answers the
// probe may take its time.
func quick() mcp.Options {
	return mcp.Options{
		ProbePatience: long,
		Debounce:      time.Millisecond,
		RetryMin:      time.Millisecond,
		RetryMax:      10 * time.Millisecond,
	}
}

// deadline bounds a test that waits for an event; it is long, since only a
// failing test ever reaches it.
func deadline(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// withTime makes an attempt under a start timeout that a server must get somewhere
// before, and makes it again under one four times as long, while it fails: this
// machine may be slow. Beyond half a minute a failure is one.
func withTime(t *testing.T, limit time.Duration, attempt func(limit time.Duration) error) {
	t.Helper()
	for {
		err := attempt(limit)
		if err == nil {
			return
		}
		if limit > 30*time.Second {
			t.Fatal(err)
		}
		t.Logf("with a start timeout of %v: %v", limit, err)
		limit *= 4
	}
}

// long is a timeout that only a failing test meets: reading 100,000 tools has
// taken half a minute on one busy processor with the race detector.
const long = 4 * time.Minute

func scripted(t testing.TB, name string, s mcptest.Script) mcp.Server {
	command, args, env := mcptest.Command(t, s)
	return mcp.Server{Name: name, Command: command, Args: args, Env: env, StartTimeout: long, CallTimeout: long}
}

// listed makes definitions of the named tools.
func listed(names ...string) []json.RawMessage {
	var out []json.RawMessage
	for _, n := range names {
		out = append(out, json.RawMessage(`{"name":"`+n+`","description":"The `+n+` tool.","inputSchema":{"type":"object"}}`))
	}
	return out
}

func open(t testing.TB, opt mcp.Options, servers ...mcp.Server) *mcp.Manager {
	t.Helper()
	m, err := mcp.NewManager(servers, opt)
	if err != nil {
		t.Fatalf("NewManager: %v", err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	m.Start(context.Background())
	return m
}

// started opens a Manager and waits until all servers have settled.
func started(t testing.TB, opt mcp.Options, servers ...mcp.Server) *mcp.Manager {
	t.Helper()
	m := open(t, opt, servers...)
	if err := m.Wait(deadline(t)); err != nil {
		t.Fatalf("Wait: %v", err)
	}
	return m
}

func status(t testing.TB, m *mcp.Manager, name string) mcp.Status {
	t.Helper()
	for _, s := range m.Snapshot().Status {
		if s.Name == name {
			return s
		}
	}
	t.Fatalf("no status of %q", name)
	return mcp.Status{}
}

// until waits for a snapshot that fits.
func until(t testing.TB, m *mcp.Manager, what string, fits func(mcp.Snapshot) bool) mcp.Snapshot {
	t.Helper()
	ctx := deadline(t)
	for {
		snap := m.Snapshot()
		if fits(snap) {
			return snap
		}
		select {
		case <-snap.Superseded():
		case <-ctx.Done():
			t.Fatalf("%s: not within the deadline; status %+v", what, snap.Status)
		}
	}
}

func find(t testing.TB, m *mcp.Manager, name string) *tool.Tool {
	t.Helper()
	for _, tl := range m.Snapshot().Tools {
		if tl.Name == name {
			return tl
		}
	}
	t.Fatalf("no tool %q; status %+v", name, m.Snapshot().Status)
	return nil
}

func call(t testing.TB, m *mcp.Manager, name, args string) (*tool.Result, error) {
	t.Helper()
	return find(t, m, name).Invoker.Invoke(deadline(t), tool.Call{Args: json.RawMessage(args)})
}

func mustCall(t testing.TB, m *mcp.Manager, name, args string) *tool.Result {
	t.Helper()
	res, err := call(t, m, name, args)
	if err != nil {
		t.Fatalf("call %s(%s): %v", name, args, err)
	}
	return res
}

func names(tools []*tool.Tool) []string {
	out := []string{}
	for _, tl := range tools {
		out = append(out, tl.Name)
	}
	return out
}
