package mcp_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/toolsearch/toolsearch/internal/mcptest"
	"github.com/toolsearch/toolsearch/source/mcp"
)

// What runtimes and npm print around a cause is not the cause.
func TestLastErrorQuotesTheCauseOnStderr(t *testing.T) {
	frames := strings.Repeat("    at Module._load (node:internal/modules/cjs/loader:1104:12)\n", 40)
	for name, tt := range map[string]struct{ stderr, want string }{
		"node": {"node:internal/modules/cjs/loader:1404\n  throw err;\n  ^\n\nError: Cannot find module '/srv/.npm/_npx/1/dist/index.js'\n" + frames +
			"  code: 'MODULE_NOT_FOUND',\n  requireStack: []\n}\n\nNode.js v22.0.0", "Error: Cannot find module '/srv/.npm/_npx/1/dist/index.js'"},
		"npm": {"npm notice\nnpm notice New major version of npm available! 10.9.0 -> 11.6.2\nnpm error code EACCES\nnpm error syscall mkdir\nnpm error A complete log is in /tmp/x",
			"npm error code EACCES"},
		"python":      {"Traceback (most recent call last):\n  File \"/srv/s.py\", line 1, in <module>\n    import nothing\nModuleNotFoundError: No module named 'nothing'", "ModuleNotFoundError: No module named 'nothing'"},
		"go":          {"starting\npanic: no route\n\ngoroutine 1 [running]:\nmain.main()\n\t/srv/main.go:3", "panic: no route"},
		"words alone": {"loading\nno licence here\nnpm notice update available", "no licence here"},
		"a secret":    {"Error: the token topsecret-value is refused", "Error: the token [hidden] is refused"},
		"nothing":     {"\n\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			srv := scripted(t, "s", mcptest.Script{Start: mcptest.StartExit, Stderr: tt.stderr})
			srv.Env = append(srv.Env, "TOKEN=topsecret-value")
			opt := quick()
			opt.RetryMin, opt.RetryMax = time.Hour, time.Hour
			got := status(t, started(t, opt, srv), "s")
			want := "its process ended (exit status 3)"
			if tt.want != "" {
				want += "; on stderr: " + tt.want
			}
			if got.LastError != want {
				t.Errorf("last error = %q, want %q", got.LastError, want)
			}
			whole := strings.TrimSpace(strings.ReplaceAll(tt.stderr, "topsecret-value", "[hidden]"))
			if got.Stderr != whole || got.Failure != mcp.FailureOther {
				t.Errorf("failure %q, stderr %q, want the whole of it: %q", got.Failure, got.Stderr, whole)
			}
		})
	}
}

func TestStderrIsBounded(t *testing.T) {
	lines := strings.Repeat("a line of the log\n", 1000)
	srv := scripted(t, "s", mcptest.Script{Start: mcptest.StartExit, Stderr: lines + "the last"})
	opt := quick()
	opt.RetryMin, opt.RetryMax = time.Hour, time.Hour
	got := status(t, started(t, opt, srv), "s").Stderr
	if len(got) > 4<<10 || len(got) < 4000 || !strings.HasPrefix(got, "a line of the log\n") || !strings.HasSuffix(got, "\nthe last") {
		t.Errorf("%d bytes, want whole lines of the last 4096: %q", len(got), got)
	}
}

func TestFailureKinds(t *testing.T) {
	silent := scripted(t, "s", mcptest.Script{Start: mcptest.StartSilent})
	silent.StartTimeout = 200 * time.Millisecond
	unlisted := scripted(t, "s", mcptest.Script{List: mcptest.ListHangs})
	unlisted.StartTimeout = 500 * time.Millisecond
	elsewhere := scripted(t, "s", mcptest.Script{})
	elsewhere.Dir = filepath.Join(t.TempDir(), "none")
	for name, tt := range map[string]struct {
		srv  mcp.Server
		want mcp.Failure
	}{
		"unusable":    {mcp.Server{Name: "s", Unusable: "TOKEN is not set"}, mcp.FailureConfig},
		"not in PATH": {mcp.Server{Name: "s", Command: "no-such-command-anywhere"}, mcp.FailureNoProgram},
		"no file":     {mcp.Server{Name: "s", Command: filepath.Join(t.TempDir(), "none")}, mcp.FailureNoProgram},
		"no folder":   {elsewhere, mcp.FailureNoFolder},
		"silent":      {silent, mcp.FailureSlow},
		"no list":     {unlisted, mcp.FailureSlow},
		"refused":     {mcp.Server{Name: "s", URL: "http://127.0.0.1:1"}, mcp.FailureRefused},
		"a device":    {mcp.Server{Name: "s", Command: os.DevNull}, mcp.FailureOther},
	} {
		t.Run(name, func(t *testing.T) {
			opt := quick()
			opt.RetryMin, opt.RetryMax = time.Hour, time.Hour
			if got := status(t, started(t, opt, tt.srv), "s"); got.State != mcp.Failed || got.Failure != tt.want {
				t.Errorf("failure = %q of %q, want %q", got.Failure, got.LastError, tt.want)
			}
		})
	}
}
