package plugin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Prefixes of folders that are not installed plugins yet, or no more.
const (
	addingPrefix   = ".adding-"
	removingPrefix = ".removing-"
)

// ErrInstalled says that a plugin of the same id is installed already.
var ErrInstalled = errors.New("already installed")

// ErrNotInstalled says that no plugin has the id.
var ErrNotInstalled = errors.New("not installed")

// Staged is a plugin that was copied and read, and is not installed yet. What
// it says is what will be installed, whatever happens to the folder it came
// from. One of Commit and Discard must be called.
type Staged struct {
	Plugin   *Plugin
	Replaces bool // a folder of its id is installed

	root, dir string
}

// Stage copies the plugin in the folder from beside the installed ones in root,
// which is made if need be, and checks the copy, its schemas too. It is bounded
// by the limits of a copy: see MaxFiles, MaxBytes and MaxDepth.
func Stage(ctx context.Context, root, from string) (*Staged, error) {
	fail := func(err error) (*Staged, error) {
		return nil, fmt.Errorf("add the plugin in %s: %w", from, err)
	}
	if _, err := Load(ctx, from); err != nil { // before anything is copied, and with the user's own path
		return nil, err
	}
	root, err := filepath.Abs(root)
	if err != nil {
		return fail(err)
	}
	if err := os.MkdirAll(root, 0o700); err != nil {
		return fail(err)
	}
	dir, err := os.MkdirTemp(root, addingPrefix)
	if err != nil {
		return fail(err)
	}
	s := &Staged{root: root, dir: dir}
	if err := copyFolder(ctx, dir, from, copyLimits{MaxFiles, MaxBytes, MaxDepth}); err != nil {
		return fail(errors.Join(err, s.Discard()))
	}
	if s.Plugin, err = Load(ctx, dir); err == nil {
		err = s.Plugin.Check()
	}
	if err != nil {
		return fail(errors.Join(inFolder(err, dir, from), s.Discard()))
	}
	_, err = os.Lstat(s.target())
	s.Replaces = err == nil
	return s, nil
}

// inFolder names the user's folder instead of the copy in the faults of a
// manifest.
func inFolder(err error, dir, from string) error {
	var faults Errors
	if !errors.As(err, &faults) {
		return err
	}
	if abs, absErr := filepath.Abs(from); absErr == nil {
		from = abs
	}
	for _, f := range faults {
		if rel, relErr := filepath.Rel(dir, f.File); relErr == nil {
			f.File = filepath.Join(from, rel)
		}
	}
	return faults
}

func (s *Staged) target() string { return filepath.Join(s.root, s.Plugin.ID) }

// Discard removes the copy.
func (s *Staged) Discard() error {
	if err := os.RemoveAll(s.dir); err != nil {
		return fmt.Errorf("remove the copy: %w", err)
	}
	return nil
}

// Commit moves the copy into place in one step. An installed plugin of the id is
// ErrInstalled, unless replace is set: then it is moved away first, and back if
// the copy cannot take its place. After an error the copy is gone.
func (s *Staged) Commit(ctx context.Context, replace bool) error {
	err := s.commit(replace)
	if err != nil {
		return fmt.Errorf("install plugin %q: %w", s.Plugin.ID, errors.Join(err, s.Discard()))
	}
	s.Plugin, err = Load(ctx, s.target()) // for its folder
	return err
}

func (s *Staged) commit(replace bool) error {
	target := s.target()
	_, err := os.Lstat(target)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err := os.Rename(s.dir, target)
		if _, statErr := os.Lstat(target); err != nil && statErr == nil {
			err = fmt.Errorf("%w in %s meanwhile: %w", ErrInstalled, target, err)
		}
		return err
	case err != nil:
		return err
	case !replace:
		return fmt.Errorf("%w in %s", ErrInstalled, target)
	}
	old, err := moveAway(s.root, target)
	if err != nil {
		return err
	}
	if err := os.Rename(s.dir, target); err != nil {
		return errors.Join(err, os.Rename(old, target))
	}
	return discardOld(old)
}

// Remove deletes an installed plugin, be its manifest valid or not. A process of
// it that runs is not stopped. ErrNotInstalled says that there is none.
func Remove(ctx context.Context, root, id string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if !ValidID(id) { // such as "..": never part of a path
		return fmt.Errorf("remove plugin %s: it is %w: %s", clip(id), ErrNotInstalled, idRule)
	}
	target := filepath.Join(root, id)
	if _, err := os.Lstat(target); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = ErrNotInstalled
		}
		return fmt.Errorf("remove plugin %q: %w", id, err)
	}
	old, err := moveAway(root, target)
	if err == nil {
		err = discardOld(old)
	}
	if err != nil {
		return fmt.Errorf("remove plugin %q: %w", id, err)
	}
	return nil
}

// moveAway renames an installed folder in one step to a name that is not listed.
func moveAway(root, target string) (string, error) {
	holder, err := os.MkdirTemp(root, removingPrefix)
	if err != nil {
		return "", err
	}
	old := filepath.Join(holder, filepath.Base(target))
	if err := os.Rename(target, old); err != nil {
		return "", errors.Join(err, os.Remove(holder))
	}
	return old, nil
}

func discardOld(old string) error { return os.RemoveAll(filepath.Dir(old)) }
