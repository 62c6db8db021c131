//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// tryLock takes the lock on the file's folder itself: nothing is left lying
// about, and the lock outlives the replacement of the file.
func tryLock(file string) (release func(), busy bool, err error) {
	dir, err := os.Open(filepath.Dir(file))
	if err != nil {
		return nil, false, err
	}
	for {
		err = syscall.Flock(int(dir.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	switch {
	case err == nil:
		return func() { _ = dir.Close() }, false, nil // closing releases
	case errors.Is(err, syscall.EWOULDBLOCK):
		return nil, true, dir.Close()
	}
	return nil, false, errors.Join(fmt.Errorf("flock %s: %w", dir.Name(), err), dir.Close())
}

// keepOwner gives the new version the old one's owner and group, for an
// administrator who edits a user's file.
func keepOwner(f *os.File, old os.FileInfo) error {
	was, ok := old.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	now, err := f.Stat()
	if err != nil {
		return err
	}
	is, ok := now.Sys().(*syscall.Stat_t)
	if !ok || is.Uid == was.Uid && is.Gid == was.Gid {
		return nil
	}
	return f.Chown(int(was.Uid), int(was.Gid))
}

// syncFolder makes a rename durable.
func syncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
