//go:build unix

package core

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"sync"
	"syscall"
)

// shell makes the command. Its standard input is the null device.
func shell(ctx context.Context, command string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", command)
	// A session of its own is a process group of its own, and has no terminal
	// from which a password could be asked.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd
}

// passed names the variables that commands inherit.
func passed() []string {
	return []string{"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR"}
}

// group is the process group of a command.
type group struct {
	cmd *exec.Cmd
	mu  sync.Mutex
	// gone is set before the leader is reaped: from then on its number may
	// belong to a stranger and must not be killed.
	gone bool
}

func newGroup(cmd *exec.Cmd) *group { return &group{cmd: cmd} }

func (g *group) started() {}

// kill kills every process of the group.
func (g *group) kill() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.killLocked()
}

func (g *group) killLocked() error {
	if g.gone || g.cmd.Process == nil {
		return os.ErrProcessDone
	}
	err := syscall.Kill(-g.cmd.Process.Pid, syscall.SIGKILL)
	if errors.Is(err, syscall.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}

// awaitLeader waits until the command has ended, and kills what it left behind
// while its number is still its own.
func (g *group) awaitLeader() {
	if !waitUnreaped(g.cmd.Process.Pid) {
		return // close does it, a moment late
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	_ = g.killLocked() // nobody may be left
	g.gone = true
}

// close kills what is left on systems that cannot wait without reaping.
func (g *group) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	_ = g.killLocked()
	g.gone = true
}

// signalName names the signal that ended a process, "" if none did.
func signalName(st *os.ProcessState) string {
	if ws, ok := st.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return ws.Signal().String()
	}
	return ""
}
