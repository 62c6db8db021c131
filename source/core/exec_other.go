//go:build !unix && !windows

package core

import (
	"context"
	"os"
	"os/exec"
)

// shell makes the command.
func shell(ctx context.Context, command string) *exec.Cmd {
	return exec.CommandContext(ctx, "/bin/rc", "-c", command)
}

func passed() []string { return []string{"path", "home", "user"} }

// group is the command alone: there are no process groups here.
type group struct{ cmd *exec.Cmd }

func newGroup(cmd *exec.Cmd) *group      { return &group{cmd} }
func (g *group) started()                {}
func (g *group) kill() error             { return g.cmd.Process.Kill() }
func (g *group) awaitLeader()            {}
func (g *group) close()                  {}
func signalName(*os.ProcessState) string { return "" }
