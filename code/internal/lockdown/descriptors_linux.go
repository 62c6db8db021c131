package lockdown

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// firstForeign is the lowest descriptor that is not one of the child's own.
const firstForeign = 5

// closeDescriptors closes every descriptor but the child's own and those of the
// Go runtime's poller, and makes sure that the poller has them: later it could
// open none. A package that was linked in may have made it use them already,
// by opening a file before main.
//
// The poller's are told by what they are and by being closed on exec, which
// nothing that was inherited can be.
func closeDescriptors() error {
	if err := closeForeign(); err != nil {
		return err
	}
	time.AfterFunc(time.Hour, func() {}).Stop() // makes the poller's now, if it had none
	return nil
}

func closeForeign() error {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil { // no /proc: the poller goes with the rest, if it has begun, and the child with it
		if err := unix.CloseRange(firstForeign, ^uint(0), 0); err != nil {
			return fmt.Errorf("close inherited descriptors: %w", err)
		}
		return nil
	}
	for _, e := range entries {
		fd, err := strconv.Atoi(e.Name())
		if err != nil || fd < firstForeign || ofPoller(fd) {
			continue
		}
		// The one that listed them is gone by now.
		if err := unix.Close(fd); err != nil && !errors.Is(err, unix.EBADF) {
			return fmt.Errorf("close the inherited descriptor %d: %w", fd, err)
		}
	}
	return nil
}

func ofPoller(fd int) bool {
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
	if err != nil || flags&unix.FD_CLOEXEC == 0 {
		return false
	}
	what, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
	return err == nil && (what == "anon_inode:[eventpoll]" || what == "anon_inode:[eventfd]")
}
