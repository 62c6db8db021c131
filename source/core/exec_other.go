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

func signalName(*os.ProcessState) string { return "" }
