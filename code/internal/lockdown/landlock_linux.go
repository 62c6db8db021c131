package lockdown

import (
	"fmt"
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/toolsearch/toolsearch/code/internal/wire"
)

// handled returns the rights that Landlock knows at an ABI version, as listed
// in the kernel's documentation. A handled right that no rule grants is denied.
func handled(abi int) unix.LandlockRulesetAttr {
	attr := unix.LandlockRulesetAttr{Handled_access_fs: 1<<13 - 1}
	if abi >= 2 {
		attr.Handled_access_fs |= unix.LANDLOCK_ACCESS_FS_REFER
	}
	if abi >= 3 {
		attr.Handled_access_fs |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if abi >= 4 {
		attr.Handled_access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	}
	if abi >= 5 {
		attr.Handled_access_fs |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	if abi >= 6 {
		attr.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	return attr
}

// landlock denies the whole file system and TCP, as far as this kernel can,
// except what the rules grant.
func landlock(rules ...pathRule) wire.Layer {
	abi, _, e := syscall.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if e != 0 {
		return off(LayerLandlock, "this kernel does not offer it: "+e.Error())
	}
	attr := handled(int(abi))
	fd, _, e := syscall.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if e != 0 {
		return off(LayerLandlock, "make a ruleset: "+e.Error())
	}
	defer unix.Close(int(fd))
	for _, r := range rules {
		if err := r.add(int(fd), attr.Handled_access_fs); err != nil {
			return off(LayerLandlock, err.Error())
		}
	}
	if _, _, e := syscall.AllThreadsSyscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0); e != 0 {
		return off(LayerLandlock, "restrict: "+e.Error())
	}
	return on(LayerLandlock, fmt.Sprintf("abi %d", abi))
}

// pathRule grants rights under one path, or for one open file.
type pathRule struct {
	path   string
	file   *os.File
	access uint64
}

func (r pathRule) add(ruleset int, known uint64) error {
	var fd int
	if r.file != nil {
		fd = int(r.file.Fd())
	} else {
		opened, err := unix.Open(r.path, unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("grant access to %s: %w", r.path, err)
		}
		defer unix.Close(opened)
		fd = opened
	}
	attr := unix.LandlockPathBeneathAttr{Allowed_access: r.access & known, Parent_fd: int32(fd)}
	_, _, e := syscall.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&attr)), 0, 0, 0)
	runtime.KeepAlive(&attr)
	if e != 0 {
		return fmt.Errorf("grant access to %s: %w", r.path, e)
	}
	return nil
}
