package config

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/windows"
)

// tryLock locks a small file beside the configuration, which stays: a folder
// cannot be locked here, and the file itself is replaced.
func tryLock(file string) (release func(), busy bool, err error) {
	name := filepath.Join(filepath.Dir(file), "."+filepath.Base(file)+".lock")
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, false, err
	}
	err = windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &windows.Overlapped{})
	switch {
	case err == nil:
		return func() { _ = f.Close() }, false, nil // closing releases
	case errors.Is(err, windows.ERROR_LOCK_VIOLATION), errors.Is(err, windows.ERROR_IO_PENDING):
		return nil, true, f.Close()
	}
	return nil, false, errors.Join(err, f.Close())
}

// keepOwner does nothing: a new file inherits its folder's access rules.
func keepOwner(*os.File, os.FileInfo) error { return nil }

// syncFolder does nothing: a folder cannot be flushed here.
func syncFolder(string) error { return nil }
