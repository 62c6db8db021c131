//go:build unix

package procgroup

import (
	"errors"
	"os"
	"os/exec"
	"sync"
	"syscall"
)

// group is the process group of a command.
type group struct {
	cmd *exec.Cmd
	mu  sync.Mutex
	// gone is set before the leader is reaped: from then on its number may
	// belong to a stranger and must not be killed.
	gone bool
}

// newGroup makes the command the leader of a session of its own, which is also a
// process group, and has no terminal to ask anything on.
func newGroup(cmd *exec.Cmd) *group {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setsid = true
	return &group{cmd: cmd}
}

func (g *group) started() {}

// kill kills every process of the group.
func (g *group) kill() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.signal(syscall.SIGKILL)
}

// terminate asks every process of the group to end.
func (g *group) terminate() {
	g.mu.Lock()
	defer g.mu.Unlock()
	_ = g.signal(syscall.SIGTERM) // nobody may be left
}

// signal reaches every process of the group. The lock is held.
func (g *group) signal(sig syscall.Signal) error {
	if g.gone || g.cmd.Process == nil {
		return os.ErrProcessDone
	}
	err := syscall.Kill(-g.cmd.Process.Pid, sig)
	if errors.Is(err, syscall.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}

// awaitLeader waits until the command has ended, and kills what it left behind
// while its number is still its own.
func (g *group) awaitLeader() {
	if waitUnreaped(g.cmd.Process.Pid) {
		g.close()
	}
}

// close kills what is left. Where the system cannot wait without reaping, it comes
// a moment late: an empty group makes the signal fail, and a group that is not
// empty keeps its number.
func (g *group) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	_ = g.signal(syscall.SIGKILL) // nobody may be left
	g.gone = true
}
