package core

import (
	"context"
	"os"
	"os/exec"
	"syscall"
)

// shell makes the command. cmd reads its line by rules of its own, so the line
// is given as it is and not quoted argument by argument.
func shell(ctx context.Context, command string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "cmd.exe")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		CmdLine: `cmd.exe /D /S /C "` + command + `"`,
	}
	return cmd
}

// signalName is "": processes here end by exit codes alone.
func signalName(*os.ProcessState) string { return "" }
