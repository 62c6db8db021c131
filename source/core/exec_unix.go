//go:build unix

package core

import (
	"context"
	"os"
	"os/exec"
	"syscall"
)

// shell makes the command. Its standard input is the null device.
func shell(ctx context.Context, command string) *exec.Cmd {
	return exec.CommandContext(ctx, "/bin/sh", "-c", command)
}

// signalName names the signal that ended a process, "" if none did.
func signalName(st *os.ProcessState) string {
	if ws, ok := st.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return ws.Signal().String()
	}
	return ""
}
