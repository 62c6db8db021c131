//go:build unix && !linux

package mcp

import "os/exec"

// reap waits for the leader and kills what is left of its group. There is no
// portable way to wait without collecting; the system does not reuse a number
// while a group bears it, and an empty group makes the signal fail.
func (g *processGroup) reap(cmd *exec.Cmd) {
	_ = cmd.Wait() // the state is kept in cmd
	g.kill()
}
