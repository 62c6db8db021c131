package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

const (
	folderMode   = 0o700
	fileMode     = 0o600
	databaseName = "toolsearch.db"
	journalsName = "journals"
)

// DefaultDir is the user's state folder of the program: toolsearch in
// $XDG_STATE_HOME when that is an absolute path, and else in ~/.local/state, on
// macOS in ~/Library/Application Support, on Windows in %LocalAppData%.
func DefaultDir() (string, error) {
	if base := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(base) { // a relative one is to be ignored
		return filepath.Join(base, "toolsearch"), nil
	}
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		// On both, os.UserConfigDir or UserCacheDir is where programs keep state.
		dir, err := os.UserConfigDir()
		if runtime.GOOS == "windows" {
			dir, err = os.UserCacheDir()
		}
		if err != nil {
			return "", fmt.Errorf("find the state folder: %w; set XDG_STATE_HOME", err)
		}
		return filepath.Join(dir, "toolsearch"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("find the state folder: %w; set XDG_STATE_HOME", err)
	}
	return filepath.Join(home, ".local", "state", "toolsearch"), nil
}

// prepareFolder makes the folders, for the user alone.
func prepareFolder(dir string) error {
	for _, d := range []string{dir, filepath.Join(dir, journalsName)} {
		if err := os.MkdirAll(d, folderMode); err != nil {
			return failure("make the state folder", d, err)
		}
		if err := tighten(d, folderMode); err != nil {
			return failure("protect the state folder", d, err)
		}
	}
	return nil
}

// prepareFile makes the database file before SQLite does, since SQLite gives
// the files beside it the permissions that it finds.
func prepareFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, fileMode)
	if err != nil {
		return failure("open the store", path, err)
	}
	if err := errors.Join(tighten(path, fileMode), f.Close()); err != nil {
		return failure("protect the store", path, err)
	}
	return nil
}

// tighten takes away what the mode does not grant.
func tighten(path string, mode fs.FileMode) error {
	if runtime.GOOS == "windows" {
		return nil // the folder's access list is inherited from the user's profile
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.Mode().Perm()&^mode == 0 {
		return nil
	}
	return os.Chmod(path, info.Mode().Perm()&mode)
}
