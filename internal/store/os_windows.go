package store

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lockOffset lies beyond what a journal reaches: locks are mandatory here, and
// the bytes of the file must stay readable.
const lockOffset = 1 << 30

// lockFile takes the exclusive lock of an open file, unless another holds it. The
// lock ends with the file or the process.
func lockFile(f *os.File) (held bool, err error) {
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	err = windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, &windows.Overlapped{OffsetHigh: lockOffset})
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, windows.ERROR_LOCK_VIOLATION):
		return false, nil
	}
	return false, &os.PathError{Op: "LockFileEx", Path: f.Name(), Err: err}
}

// unlinked reports whether an open file has no name left: here it keeps it.
func unlinked(*os.File) bool { return false }

func isQuota(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) || errors.Is(err, windows.ERROR_HANDLE_DISK_FULL)
}
