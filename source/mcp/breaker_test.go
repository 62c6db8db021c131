package mcp_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/toolsearch/toolsearch/internal/mcptest"
	"github.com/toolsearch/toolsearch/source/mcp"
	"github.com/toolsearch/toolsearch/tool"
)

// records is a log handler that passes on the values of one attribute.
type records struct {
	key string
	out chan slog.Value
}

func (r records) Enabled(context.Context, slog.Level) bool { return true }
func (r records) WithAttrs([]slog.Attr) slog.Handler       { return r }
func (r records) WithGroup(string) slog.Handler            { return r }
func (r records) Handle(_ context.Context, rec slog.Record) error {
	rec.Attrs(func(a slog.Attr) bool {
		if a.Key == r.key {
			r.out <- a.Value
		}
		return true
	})
	return nil
}

func TestBreakerBoundsTheRestarts(t *testing.T) {
	opt := quick()
	opt.MaxRetries, opt.RetryMin, opt.RetryMax = 3, time.Nanosecond, time.Hour
	seen := make(chan slog.Value, 100)
	opt.Logger = slog.New(records{"breaker_open", seen})
	open(t, opt, scripted(t, "s", mcptest.Script{Start: mcptest.StartExit}))
	var got []bool
	for len(got) == 0 || !got[len(got)-1] {
		select {
		case v := <-seen:
			got = append(got, v.Bool())
		case <-deadline(t).Done():
			t.Fatalf("the breaker never opened: %v", got)
		}
	}
	if want := "[false false false true]"; fmt.Sprint(got) != want {
		t.Errorf("breaker after each failure = %v, want %s: the first start and 3 restarts", got, want)
	}
}

// linked is a server whose command is found in a PATH of its own, so that a
// test can take it away.
func linked(t *testing.T) (srv mcp.Server, remove, restore func()) {
	t.Helper()
	dir := t.TempDir()
	srv = scripted(t, "s", mcptest.Script{Tools: listed(mcptest.ToolEcho)})
	exe, link := srv.Command, filepath.Join(dir, "the-server")
	srv.Command = "the-server"
	srv.Env = append(srv.Env, "PATH="+dir)
	restore = func() {
		if err := os.Symlink(exe, link); err != nil {
			t.Fatal(err)
		}
	}
	restore()
	return srv, func() {
		if err := os.Remove(link); err != nil {
			t.Fatal(err)
		}
	}, restore
}

func TestServerThatIsDownKeepsItsLastKnownTools(t *testing.T) {
	srv, remove, restore := linked(t)
	opt := quick()
	opt.CacheDir = t.TempDir()
	opt.RetryMin, opt.RetryMax = time.Hour, time.Hour
	_ = started(t, opt, srv).Close()
	remove()

	m := started(t, opt, srv)
	got := status(t, m, "s")
	if got.State != mcp.Failed || !got.Stale || got.Tools != 1 || !strings.Contains(got.LastError, `"the-server"`) {
		t.Errorf("status = %+v, want failed with one stale tool", got)
	}
	_, err := call(t, m, mcptest.ToolEcho, `{}`)
	wantError(t, err, tool.CodeUnavailable, `"s" is not available`, `find command "the-server"`, "try again in 1h0m0s")
	_ = m.Close()

	// Once the cool-down has passed, a call starts the server.
	opt.RetryMin, opt.RetryMax = time.Nanosecond, time.Nanosecond
	m = started(t, opt, srv)
	restore()
	mustCall(t, m, mcptest.ToolEcho, `{}`)
	if got := status(t, m, "s"); got.State != mcp.Ready || got.Stale {
		t.Errorf("status = %+v, want ready and fresh", got)
	}
}
