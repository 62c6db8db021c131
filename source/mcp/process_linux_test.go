package mcp_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/toolsearch/toolsearch/internal/mcptest"
	"github.com/toolsearch/toolsearch/source/mcp"
)

// A server has no terminal: it leads a session of its own. Else it could type
// the answer to a question that a person is asked.
func TestServerHasNoTerminal(t *testing.T) {
	m := started(t, quick(), scripted(t, "s", mcptest.Script{Tools: listed(mcptest.ToolEcho)}))
	mustCall(t, m, mcptest.ToolEcho, `{}`)
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	servers := 0
	for _, path := range stats {
		raw, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		_, rest, _ := strings.Cut(string(raw), ") ") // pid (name) state ppid pgrp session tty_nr, see proc_pid_stat(5)
		var state string
		var parent, group, session, terminal int
		if _, err := fmt.Sscan(rest, &state, &parent, &group, &session, &terminal); err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		if parent != os.Getpid() || state == "Z" {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil {
			t.Fatal(err)
		}
		servers++
		ours, err := unix.Getsid(0)
		if err != nil {
			t.Fatal(err)
		}
		if session != pid || session == ours || terminal != 0 {
			t.Errorf("the server %d is in session %d (ours is %d) with terminal %d, want a session of its own without one", pid, session, ours, terminal)
		}
	}
	if servers == 0 {
		t.Error("no server was found among the processes")
	}
}

// What a server printed instead of messages is told whichever comes first: its end,
// the start timeout, or the end of its output, which a stranger may hold open.
func TestLastErrorQuotesWhatIsNoMessage(t *testing.T) {
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip("setsid is not there")
	}
	const junk = `; 1 lines on its stdout were no MCP messages, the first is "hello"`
	stranger := `setsid sh -c 'echo >"$0"; sleep 3' "$1" & while [ ! -e "$1" ]; do :; done; `
	for name, tt := range map[string]struct {
		script, want string
		timeout      time.Duration
		failure      mcp.Failure
	}{
		"ends":                       {"exit 3", "its process ended (exit status 3)" + junk, long, mcp.FailureOther},
		"ends, held open":            {stranger + "exit 3", "its process ended (exit status 3)" + junk, long, mcp.FailureOther},
		"ends, held open until late": {stranger + "exit 3", "its process ended (exit status 3)" + junk, 900 * time.Millisecond, mcp.FailureOther},
		"hangs":                      {"sleep 60", "it did not answer within LIMIT" + junk, 900 * time.Millisecond, mcp.FailureSlow},
		"hangs, held open":           {stranger + "sleep 60", "it did not answer within LIMIT" + junk, 900 * time.Millisecond, mcp.FailureSlow},
	} {
		t.Run(name, func(t *testing.T) {
			withTime(t, tt.timeout, func(limit time.Duration) error {
				opt := quick()
				opt.RetryMin, opt.RetryMax = time.Hour, time.Hour
				got := status(t, started(t, opt, mcp.Server{
					Name: "s", Command: "sh", Args: []string{"-c", "echo hello; " + tt.script, "sh", filepath.Join(t.TempDir(), "up")}, StartTimeout: limit,
				}), "s")
				if want := strings.ReplaceAll(tt.want, "LIMIT", limit.String()); got.LastError != want || got.Failure != tt.failure {
					return fmt.Errorf("%s: %q, want %s: %q", got.Failure, got.LastError, tt.failure, want)
				}
				return nil
			})
		})
	}
}
