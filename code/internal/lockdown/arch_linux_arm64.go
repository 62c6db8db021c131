package lockdown

import "golang.org/x/sys/unix"

const (
	auditArch        = unix.AUDIT_ARCH_AARCH64
	firstForeignCall = 0
)

// programCalls are what a C library here uses beside the common calls.
var programCalls = []uintptr{unix.SYS_FSTATAT, unix.SYS_PPOLL}
