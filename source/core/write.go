package core

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/toolsearch/toolsearch/tool"
)

type writeArgs struct {
	Path    string  `json:"path"`
	Content *string `json:"content"`
}

func (s *Source) write(ctx context.Context, a writeArgs) (*tool.Result, error) {
	if a.Content == nil {
		return nil, invalid("Give the whole text of the file; an empty one is \"\"", "content is missing")
	}
	if len(*a.Content) > s.limits.WriteBytes {
		return nil, invalid("Write the file in parts: the first with write, the rest with edit or exec",
			"content has %d bytes; at most %d are allowed", len(*a.Content), s.limits.WriteBytes)
	}
	name, err := s.rel(a.Path)
	if err != nil {
		return nil, err
	}
	unlock, err := s.lockWrites(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	target, err := s.openTarget(name, true)
	if err != nil {
		return nil, s.pathError("write", a.Path, err)
	}
	defer target.close()
	if err := target.replace(ctx, []byte(*a.Content)); err != nil {
		return nil, s.pathError("write", a.Path, err)
	}
	verb := "Created"
	if target.old != nil {
		verb = "Replaced"
	}
	return tool.TextResult(fmt.Sprintf("%s %s (%d bytes).", verb, slashed(name), len(*a.Content))), nil
}

// target is the place of a file that is about to be written: its folder, held
// open so that nobody can exchange it, and its name there.
type target struct {
	dir  *os.Root
	name string
	old  fs.FileInfo // nil when there is no file yet
}

func (t *target) close() { _ = t.dir.Close() } // nothing is written through it

// maxLinks is how many symbolic links may lead to a file, as in os.Root.
const maxLinks = 8

// openTarget finds the place of a file, following symbolic links, since to
// replace a link by a file would surprise. Every step goes through the wall. With
// create, missing folders are made.
func (s *Source) openTarget(name string, create bool) (*target, error) {
	sep := string(filepath.Separator)
	if strings.HasSuffix(name, sep) || filepath.Base(name) == "." || filepath.Base(name) == ".." {
		return nil, invalid("Give the path of a file", "%q is a folder", shown(name))
	}
	for range maxLinks {
		info, err := s.root.Lstat(name)
		if err == nil && info.Mode()&fs.ModeSymlink != 0 {
			to, err := s.root.Readlink(name)
			if err != nil {
				return nil, err
			}
			if filepath.IsAbs(to) || filepath.VolumeName(to) != "" {
				return nil, s.outside(name, nil)
			}
			// The parts must not be cleaned: "folder/.." is not nothing when
			// folder is a link.
			dir, _ := filepath.Split(name)
			name = dir + to
			continue
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		return s.openParent(name, create)
	}
	return nil, refuse("Write to the file itself", "%q leads through more than %d symbolic links", shown(name), maxLinks)
}

func (s *Source) openParent(name string, create bool) (*target, error) {
	dir, base := filepath.Split(name)
	if dir == "" {
		dir = "."
	}
	if base == "" || base == "." || base == ".." {
		return nil, invalid("Give the path of a file", "%q is a folder", shown(name))
	}
	if create {
		if err := s.root.MkdirAll(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
	}
	parent, err := s.root.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	t := &target{dir: parent, name: base}
	info, err := parent.Lstat(base)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = nil
	case err == nil:
		err = regular(info, name)
	}
	if s.isRules(base, info) {
		err = &tool.Error{
			Code: tool.CodeBlocked, By: "workspace",
			Reason: fmt.Sprintf("%q says what you may do, so a person has to write it", shown(name)),
			Next:   "Tell the user what should stand there",
		}
	}
	if err == nil && info != nil && info.Mode().Perm()&0o200 == 0 {
		err = refuse("Choose another file, or ask the user to make it writable", "%q is read-only", shown(name))
	}
	if err != nil {
		t.close()
		return nil, err
	}
	t.old = info
	return t, nil
}

// isRules reports whether a file is one of Options.Rules. info is nil for one that
// is not there yet.
func (s *Source) isRules(base string, info fs.FileInfo) bool {
	for _, rules := range s.rules {
		if filepath.Base(rules) == rules {
			if strings.EqualFold(base, rules) {
				return true
			}
			continue
		}
		if known, err := os.Stat(rules); err == nil && info != nil && os.SameFile(known, info) {
			return true
		}
	}
	return false
}

// replace puts data in the file's place at once: a reader sees the old file or
// the new one. An existing file's permission bits and, where the process may set
// it, its owner are kept.
func (t *target) replace(ctx context.Context, data []byte) (err error) {
	temp := "." + shorten(t.name, 100) + ".tmp-" + rand.Text()
	perm := fs.FileMode(0o644)
	if t.old != nil {
		perm = 0o600
	}
	f, err := t.dir.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = f.Close() // it may be closed; the file is thrown away
			_ = t.dir.Remove(temp)
		}
	}()
	if _, err := f.Write(data); err != nil {
		return err
	}
	if t.old != nil {
		keepOwner(f, t.old)
		if err := f.Chmod(t.old.Mode().Perm()); err != nil {
			return err
		}
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return t.dir.Rename(temp, t.name)
}
