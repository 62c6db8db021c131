package code

import "syscall"

// selfPath is the running binary itself, also after its file was replaced.
func selfPath() (string, error) { return "/proc/self/exe", nil }

func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
