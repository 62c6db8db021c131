package config

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// lockPatience is how long an edit waits for another process's edit.
const lockPatience = 10 * time.Second

// lockRetry is how often it tries.
const lockRetry = 10 * time.Millisecond

// lockFolder makes edits of one file follow one another, among processes and
// goroutines. The lock is the system's and ends with the process that holds it,
// however it ends. Editors do not know of it; against them only the atomic
// replacement helps: the last writer wins, and the file is always whole.
func lockFolder(ctx context.Context, file string) (release func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, lockPatience)
	defer cancel()
	for {
		release, busy, err := tryLock(file)
		if err != nil {
			return nil, fmt.Errorf("lock the configuration: %w", err)
		}
		if !busy {
			return release, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for another edit of the configuration to end: %w", ctx.Err())
		case <-time.After(lockRetry):
		}
	}
}

// replaceFile writes a new version beside the file, makes it durable, and
// renames it into place: a reader, and a crash at any moment, sees the old
// version or the new one. Mode and owner are kept. The lock must be held.
func replaceFile(file string, data []byte) (err error) {
	mode := os.FileMode(0o600) // a new file may come to hold secrets
	old, err := os.Stat(file)
	switch {
	case err == nil:
		mode = old.Mode().Perm()
	case !errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("replace the file: %w", err)
	}
	pattern := "." + filepath.Base(file) + ".*.tmp"
	removeLeftovers(filepath.Join(filepath.Dir(file), pattern))
	tmp, err := os.CreateTemp(filepath.Dir(file), pattern)
	if err != nil {
		return fmt.Errorf("replace the file: %w", err)
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("replace the file: %w", errors.Join(err, os.Remove(tmp.Name())))
		}
	}()
	if err := fill(tmp, data, mode, old); err != nil {
		return err
	}
	if err := os.Rename(tmp.Name(), file); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(file))
}

func fill(tmp *os.File, data []byte, mode os.FileMode, old os.FileInfo) error {
	_, err := tmp.Write(data)
	if err == nil && old != nil {
		err = keepOwner(tmp, old)
	}
	if err == nil {
		err = tmp.Chmod(mode)
	}
	if err == nil {
		err = tmp.Sync()
	}
	return errors.Join(err, tmp.Close())
}

// removeLeftovers deletes what edits that were killed left behind. The lock is
// held, so no other edit is using them; one that cannot be deleted does no harm.
func removeLeftovers(pattern string) {
	names, err := filepath.Glob(pattern)
	if err != nil {
		return
	}
	for _, name := range names {
		_ = os.Remove(name)
	}
}
