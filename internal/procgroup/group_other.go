//go:build !unix && !windows

package procgroup

import "os/exec"

// group is the command alone: there are no process groups here.
type group struct{ cmd *exec.Cmd }

func newGroup(cmd *exec.Cmd) *group { return &group{cmd} }
func (g *group) started()           {}
func (g *group) kill() error        { return g.cmd.Process.Kill() }
func (g *group) terminate()         {}
func (g *group) awaitLeader()       {}
func (g *group) close()             {}
