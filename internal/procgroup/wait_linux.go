package procgroup

import "golang.org/x/sys/unix"

// waitUnreaped waits until the child has ended and leaves it to be reaped. It
// reports whether that worked.
func waitUnreaped(pid int) bool {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			return err == nil
		}
	}
}
