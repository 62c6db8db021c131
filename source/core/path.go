package core

import (
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"github.com/toolsearch/toolsearch/tool"
)

// maxPath bounds a path in bytes, as Linux does.
const maxPath = 4096

// rel turns a path of a model into one relative to the workspace root. It is
// no wall: os.Root is. It lets absolute paths inside the workspace work, and
// answers the plainly wrong ones with better words.
func (s *Source) rel(path string) (string, error) {
	switch {
	case path == "":
		return "", invalid("Give a path relative to the workspace, such as src/main.go", "the path is empty")
	case len(path) > maxPath:
		return "", invalid("Give a shorter path", "the path has %d bytes; at most %d are allowed", len(path), maxPath)
	case strings.IndexByte(path, 0) >= 0:
		return "", invalid("Give the path without it", "the path holds a NUL byte")
	}
	name := filepath.FromSlash(path)
	if filepath.IsAbs(name) {
		inside := ""
		for _, base := range []string{s.workspace, s.real} {
			if r, err := filepath.Rel(base, name); err == nil && filepath.IsLocal(r) {
				inside = r
				break
			}
		}
		if inside == "" {
			return "", s.outside(path, nil)
		}
		return inside, nil
	}
	if filepath.VolumeName(name) != "" {
		return "", s.outside(path, nil)
	}
	return name, nil
}

// slashed is how paths are shown: relative, with forward slashes.
func slashed(name string) string {
	clean := filepath.ToSlash(filepath.Clean(name))
	return strings.ToValidUTF8(clean, "\uFFFD")
}

// openRegular opens a regular file for reading. The kind is asked before the
// file is opened, since opening a device can do something, and again of the
// opened file, which cannot be exchanged any more. openFlags keeps the opening
// of a FIFO that was exchanged in between from waiting for a writer.
func openRegular(root *os.Root, name string) (*os.File, fs.FileInfo, error) {
	info, err := root.Stat(name)
	if err != nil {
		return nil, nil, err
	}
	if err := regular(info, name); err != nil {
		return nil, nil, err
	}
	return openSeen(root, name)
}

// openSeen is openRegular for a file that its folder has just listed as
// regular.
func openSeen(root *os.Root, name string) (*os.File, fs.FileInfo, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil {
		err = regular(info, name)
	}
	if err != nil {
		_ = f.Close() // nothing was written
		return nil, nil, err
	}
	return f, info, nil
}

// regular refuses everything but regular files.
func regular(info fs.FileInfo, name string) error {
	switch {
	case info.Mode().IsRegular():
		return nil
	case info.IsDir():
		return refuse("Use list to see what is in it", "%q is a folder", shown(name))
	}
	return refuse("Choose a regular file", "%q is a %s, not a regular file", shown(name), kind(info.Mode()))
}

// kind names the type of a file.
func kind(m fs.FileMode) string {
	switch {
	case m.IsRegular():
		return "file"
	case m.IsDir():
		return "folder"
	case m&fs.ModeSymlink != 0:
		return "symlink"
	case m&fs.ModeNamedPipe != 0:
		return "FIFO"
	case m&fs.ModeSocket != 0:
		return "socket"
	case m&fs.ModeDevice != 0:
		return "device"
	}
	return "special file"
}

// nearest names up to three entries of the path's folder whose names resemble
// the missing one. It reads at most 2,000 entries.
func (s *Source) nearest(path string) string {
	name, err := s.rel(path)
	if err != nil {
		return ""
	}
	dir, base := filepath.Split(filepath.Clean(name))
	if dir == "" {
		dir = "."
	}
	parent, err := s.root.OpenRoot(dir)
	if err != nil {
		return ""
	}
	defer parent.Close()
	f, err := parent.Open(".")
	if err != nil {
		return ""
	}
	defer f.Close()
	entries, _ := f.ReadDir(2000) // what could be read will do for a hint
	type scored struct {
		name  string
		score float64
	}
	var found []scored
	for _, e := range entries {
		if sim := similarity(strings.ToLower(base), strings.ToLower(e.Name())); sim >= 0.5 {
			found = append(found, scored{e.Name(), sim})
		}
	}
	sort.Slice(found, func(i, j int) bool {
		if found[i].score != found[j].score {
			return found[i].score > found[j].score
		}
		return found[i].name < found[j].name
	})
	names := make([]string, 0, 3)
	for _, f := range found[:min(3, len(found))] {
		names = append(names, tool.Clean(slashed(filepath.Join(dir, f.name)), 200))
	}
	return strings.Join(names, ", ")
}

// similarity is the Sørensen–Dice coefficient of the two texts' byte pairs: 1
// for equal texts, 0 for texts that share no pair. Only the first 200 bytes of
// each count.
func similarity(a, b string) float64 {
	a, b = a[:min(200, len(a))], b[:min(200, len(b))]
	if a == b {
		return 1
	}
	if len(a) < 2 || len(b) < 2 {
		return 0
	}
	pairs := make(map[[2]byte]int, len(a))
	for i := range len(a) - 1 {
		pairs[[2]byte{a[i], a[i+1]}]++
	}
	shared := 0
	for i := range len(b) - 1 {
		p := [2]byte{b[i], b[i+1]}
		if pairs[p] > 0 {
			pairs[p]--
			shared++
		}
	}
	return 2 * float64(shared) / float64(len(a)+len(b)-2)
}
