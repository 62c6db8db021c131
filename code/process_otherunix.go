//go:build unix && !linux

package code

import (
	"os"
	"syscall"
)

func selfPath() (string, error) { return os.Executable() }

func processAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
