//go:build unix

package mcp

import (
	"os/exec"
	"syscall"
)

// processGroup is a POSIX process group whose leader is the server.
type processGroup struct{ pid int }

// prepare makes the server the leader of a session of its own, which is also a
// process group. So it has no terminal: one that shared ours could write over
// what a person is asked there, and on some systems type the answer.
func (g *processGroup) prepare(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
}

func (g *processGroup) attach(pid int) error {
	g.pid = pid
	return nil
}

func (g *processGroup) terminate() { g.signal(syscall.SIGTERM) }
func (g *processGroup) kill()      { g.signal(syscall.SIGKILL) }
func (g *processGroup) close()     {}

// signal reaches every process of the group. That there is none left is no
// failure.
func (g *processGroup) signal(sig syscall.Signal) { _ = syscall.Kill(-g.pid, sig) }
