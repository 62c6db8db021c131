package lockdown

import "golang.org/x/sys/unix"

const (
	auditArch        = unix.AUDIT_ARCH_X86_64
	firstForeignCall = 0x40000000 // x32
)

// programCalls are what a C library here uses beside the common calls.
var programCalls = []uintptr{unix.SYS_ACCESS, unix.SYS_NEWFSTATAT, unix.SYS_READLINK, unix.SYS_ARCH_PRCTL, unix.SYS_POLL, unix.SYS_EPOLL_WAIT, unix.SYS_DUP2}
