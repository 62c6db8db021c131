package core

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"sort"
)

const (
	maxScan  = 100000 // directory entries that one call looks at
	maxDepth = 64     // folders inside one another that grep enters
)

// skipped reports folders that hold other people's files by the thousand: they
// are shown, and not entered unless a call names them.
func skipped(name string) bool {
	switch name {
	case ".git", ".hg", ".svn", "node_modules":
		return true
	}
	return false
}

// scan reads folders and counts what it has seen.
type scan struct {
	ctx  context.Context
	left int  // entries that may still be read
	full bool // there were more
}

func newScan(ctx context.Context) *scan { return &scan{ctx: ctx, left: maxScan} }

// folder returns the entries of an open folder, sorted by name.
func (s *scan) folder(dir *os.Root) ([]fs.DirEntry, error) {
	f, err := dir.Open(".")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var all []fs.DirEntry
	for s.ctx.Err() == nil {
		some, err := f.ReadDir(1024)
		if len(some) > s.left {
			some, s.full = some[:s.left], true
		}
		all = append(all, some...)
		s.left -= len(some)
		if errors.Is(err, io.EOF) || s.full {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	if s.ctx.Err() != nil {
		return nil, s.ctx.Err()
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Name() < all[j].Name() })
	return all, nil
}
