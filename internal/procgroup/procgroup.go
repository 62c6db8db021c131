// Package procgroup runs a command that must leave nothing behind: whatever it
// started dies with it, when it ends, is cancelled or runs out of time.
package procgroup

import "os/exec"

// Group is a running command and everything it started, as long as that stays in
// the command's process group (unix) or job (Windows).
type Group struct{ group *group }

// Start starts the command, which must have a context, at the head of a group of
// its own. The end of its context kills the group.
func Start(cmd *exec.Cmd) (*Group, error) {
	g := newGroup(cmd)
	cmd.Cancel = g.kill
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	g.started()
	return &Group{g}, nil
}

// Terminate asks everything in the group to end, where the system has a way to
// (Windows has none). Nothing happens once the command has ended.
func (g *Group) Terminate() { g.group.terminate() }

// Kill kills everything in the group. Nothing happens once the command has ended.
func (g *Group) Kill() { _ = g.group.kill() } // it fails where nobody is left

// Wait waits for the command to end and kills what it left. The error is that of
// exec.Cmd.Wait.
func (g *Group) Wait() error {
	g.group.awaitLeader()
	err := g.group.cmd.Wait()
	g.group.close()
	return err
}
