package code

import (
	"os"
	"syscall"
)

func selfPath() (string, error) { return os.Executable() }

func processAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{HideWindow: true} }

func killGroup(p *os.Process) {
	_ = p.Kill() // fails only if the process is gone
}
