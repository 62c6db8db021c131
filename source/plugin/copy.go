package plugin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

// Bounds of a plugin's folder when it is copied.
const (
	MaxFiles = 20_000    // files, folders and links
	MaxBytes = 256 << 20 // of all files together
	MaxDepth = 64        // nested folders
)

// copyLimits bound one copy.
type copyLimits struct {
	files int
	bytes int64
	depth int
}

// copier copies one tree. Both sides are os.Root, so that no name and no link,
// be it swapped during the copy, leads out of either.
type copier struct {
	src, dst *os.Root
	limits   copyLimits
	entries  int
	bytes    int64
	links    []string
}

// copyFolder copies the folder from into the empty folder dst, .git left out.
// Symbolic links are kept when they are relative and lead to something inside
// the folder; any other is an error, and so is what is neither file nor folder.
func copyFolder(ctx context.Context, dst, from string, limits copyLimits) (err error) {
	c := &copier{limits: limits}
	if c.src, err = os.OpenRoot(from); err != nil {
		return err
	}
	defer func() { _ = c.src.Close() }() // only read
	if c.dst, err = os.OpenRoot(dst); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.dst.Close()) }()
	if err := c.folder(ctx, ".", 0); err != nil {
		return err
	}
	for _, name := range c.links { // of the copy, which nobody else changes
		if _, err := c.dst.Stat(name); err != nil {
			return fmt.Errorf("%s is a symbolic link that leads out of the folder or nowhere; put the file itself there", name)
		}
	}
	return nil
}

func (c *copier) folder(ctx context.Context, name string, depth int) error {
	if depth > c.limits.depth {
		return fmt.Errorf("%s is nested deeper than %d folders", name, c.limits.depth)
	}
	f, err := c.src.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // only read
	for {
		entries, err := f.ReadDir(256) // a folder of millions is not read whole
		for _, e := range entries {
			if err := c.entry(ctx, path.Join(name, e.Name()), depth); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (c *copier) entry(ctx context.Context, name string, depth int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if c.entries++; c.entries > c.limits.files {
		return fmt.Errorf("the folder holds more than %d files", c.limits.files)
	}
	info, err := c.src.Lstat(name)
	if err != nil {
		return err
	}
	switch mode := info.Mode(); {
	case mode.IsDir() && path.Base(name) == ".git":
		return nil
	case mode.IsDir():
		if err := c.dst.Mkdir(name, 0o700); err != nil {
			return err
		}
		return c.folder(ctx, name, depth+1)
	case mode.IsRegular():
		return c.file(ctx, name)
	case mode.Type() == fs.ModeSymlink:
		return c.link(name)
	}
	return fmt.Errorf("%s is no regular file", name)
}

func (c *copier) link(name string) error {
	target, err := c.src.Readlink(name)
	if err != nil {
		return err
	}
	if filepath.IsAbs(target) {
		return fmt.Errorf("%s is a symbolic link to an absolute path; put the file itself there", name)
	}
	c.links = append(c.links, name)
	return c.dst.Symlink(target, name)
}

func (c *copier) file(ctx context.Context, name string) (err error) {
	in, err := c.src.OpenFile(name, os.O_RDONLY|nonblock, 0) // it may have become a pipe
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // only read
	info, err := in.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is no regular file", name)
	}
	if info.Size() > c.limits.bytes-c.bytes {
		return c.tooLarge()
	}
	perm := fs.FileMode(0o600)
	if info.Mode().Perm()&0o111 != 0 {
		perm = 0o700
	}
	out, err := c.dst.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	n, err := io.Copy(out, io.LimitReader(untilDone{ctx, in}, c.limits.bytes-c.bytes+1))
	if c.bytes += n; err == nil && c.bytes > c.limits.bytes { // it grew
		err = c.tooLarge()
	}
	return err
}

func (c *copier) tooLarge() error {
	return fmt.Errorf("the files are larger than %d bytes together", c.limits.bytes)
}

// untilDone reads until the context ends.
type untilDone struct {
	ctx context.Context
	r   io.Reader
}

func (u untilDone) Read(p []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.r.Read(p)
}
