package mcp

import (
	"errors"
	"os/exec"

	"golang.org/x/sys/unix"
)

// reap waits for the leader, kills what is left of its group, and only then
// collects the leader: until that moment no other process can get its number.
func (g *processGroup) reap(cmd *exec.Cmd) {
	for {
		err := unix.Waitid(unix.P_PID, g.pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	g.kill()
	_ = cmd.Wait() // the state is kept in cmd
}
