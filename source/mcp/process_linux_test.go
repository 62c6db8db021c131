package mcp_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/toolsearch/toolsearch/internal/mcptest"
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
