package core

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"sort"
	"strings"

	"github.com/toolsearch/toolsearch/tool"
)

type listArgs struct {
	Path  string  `json:"path"`
	Depth integer `json:"depth"`
	Glob  string  `json:"glob"`
	Limit integer `json:"limit"`
}

const maxListDepth = 10

// listing is what list answers.
type listing struct {
	Path      string      `json:"path"`
	Entries   []listEntry `json:"entries"`
	Omitted   int         `json:"omitted"`   // entries found but not returned
	Truncated bool        `json:"truncated"` // entries were left out, or not looked for
	Notes     []string    `json:"notes"`
}

type listEntry struct {
	Path string `json:"path"`
	Type string `json:"type"`
	Size int64  `json:"size"`
}

func (s *Source) list(ctx context.Context, a listArgs) (*tool.Result, error) {
	if a.Path == "" {
		a.Path = "."
	}
	if a.Depth == 0 {
		a.Depth = 1
	}
	if a.Depth < 0 || a.Depth > maxListDepth {
		return nil, invalid("", "depth is %d; it must be from 1 to %d", a.Depth, maxListDepth)
	}
	g, err := newGlob(a.Glob)
	if err != nil {
		return nil, err
	}
	name, err := s.rel(a.Path)
	if err != nil {
		return nil, err
	}
	base, err := s.openFolder(name)
	if err != nil {
		return nil, s.pathError("list", a.Path, err)
	}
	defer base.Close()
	l := lister{
		base: base, glob: g, depth: int(a.Depth), limit: capped(a.Limit, s.limits.ListEntries), scan: newScan(ctx),
		out: listing{Path: slashed(name), Entries: []listEntry{}, Notes: []string{}},
	}
	if err := l.run(); err != nil {
		return nil, s.pathError("list", a.Path, err)
	}
	return l.result()
}

// openFolder opens a folder as a wall of its own.
func (s *Source) openFolder(name string) (*os.Root, error) {
	info, err := s.root.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, refuse("Use read for a file", "%q is not a folder", shown(name))
	}
	return s.root.OpenRoot(name)
}

// lister goes through folders level by level, so that what a limit cuts is
// what lies deepest.
type lister struct {
	base  *os.Root
	glob  *glob
	depth int
	limit int
	scan  *scan
	out   listing

	unread  int // folders that could not be read
	ignored []string
}

func (l *lister) run() error {
	level := []string{"."}
	for depth := 1; depth <= l.depth && len(level) > 0 && !l.scan.full; depth++ {
		var below []string
		for _, dir := range level {
			sub, err := l.folder(dir, depth < l.depth)
			if err != nil {
				return err
			}
			below = append(below, sub...)
		}
		level = below
	}
	sort.Slice(l.out.Entries, func(i, j int) bool {
		return pathKey(l.out.Entries[i].Path) < pathKey(l.out.Entries[j].Path)
	})
	return nil
}

// pathKey sorts a folder's content right behind the folder.
func pathKey(p string) string { return strings.ReplaceAll(p, "/", "\x00") }

// folder collects one folder and returns the folders below it.
func (l *lister) folder(dir string, deeper bool) (below []string, err error) {
	root, err := l.base.OpenRoot(dir)
	if err != nil {
		return nil, l.tolerate(dir, err)
	}
	defer root.Close()
	entries, err := l.scan.folder(root)
	if err != nil {
		return nil, l.tolerate(dir, err)
	}
	for _, e := range entries {
		p := path.Join(dir, e.Name())
		if e.IsDir() && deeper {
			if skipped(e.Name()) {
				if len(l.ignored) < 5 {
					l.ignored = append(l.ignored, slashed(p))
				}
			} else {
				below = append(below, p)
			}
		}
		if !l.glob.match(p) {
			continue
		}
		if len(l.out.Entries) >= l.limit {
			l.out.Omitted++
			continue
		}
		l.out.Entries = append(l.out.Entries, describe(root, e, p))
	}
	return below, nil
}

// tolerate lets a listing go on without a folder that cannot be read, unless
// it is the one that was asked for.
func (l *lister) tolerate(dir string, err error) error {
	if l.scan.ctx.Err() != nil || dir == "." {
		return err
	}
	l.unread++
	return nil
}

func describe(dir *os.Root, e fs.DirEntry, p string) listEntry {
	out := listEntry{Path: slashed(p), Type: "other"}
	switch {
	case e.Type().IsRegular():
		out.Type = "file"
		if info, err := dir.Lstat(e.Name()); err == nil { // it may be gone by now
			out.Size = info.Size()
		}
	case e.IsDir():
		out.Type = "folder"
	case e.Type()&fs.ModeSymlink != 0:
		out.Type = "symlink"
	}
	return out
}

func (l *lister) result() (*tool.Result, error) {
	o := &l.out
	if o.Omitted > 0 {
		o.Notes = append(o.Notes, fmt.Sprintf("%d more entries are not shown; list a folder below, or give a glob", o.Omitted))
	}
	if l.scan.full {
		o.Notes = append(o.Notes, fmt.Sprintf("stopped after %d entries; list a folder below", maxScan))
	}
	if l.unread > 0 {
		o.Notes = append(o.Notes, fmt.Sprintf("%d folders could not be read", l.unread))
	}
	if len(l.ignored) > 0 {
		o.Notes = append(o.Notes, "not entered: "+strings.Join(l.ignored, ", "))
	}
	o.Truncated = o.Omitted > 0 || l.scan.full || l.unread > 0
	var b strings.Builder
	for _, e := range o.Entries {
		switch e.Type {
		case "file":
			fmt.Fprintf(&b, "%s  %d\n", oneLine(e.Path), e.Size)
		case "folder":
			fmt.Fprintf(&b, "%s/\n", oneLine(e.Path))
		default:
			fmt.Fprintf(&b, "%s  (%s)\n", oneLine(e.Path), e.Type)
		}
	}
	if len(o.Entries) == 0 {
		b.WriteString("Nothing found.\n")
	}
	for _, n := range o.Notes {
		fmt.Fprintf(&b, "[%s]\n", oneLine(n))
	}
	return withDetails(b.String(), o)
}

// oneLine keeps a name of a file from writing lines of its own.
func oneLine(p string) string {
	if strings.ContainsAny(p, "\n\t") {
		p = strings.NewReplacer("\n", `\n`, "\t", `\t`).Replace(p)
	}
	return tool.Clean(p, maxPath)
}

// withDetails is a result of text for a reader and of JSON for a program.
func withDetails(text string, details any) (*tool.Result, error) {
	raw, err := json.Marshal(details)
	if err != nil {
		return nil, fmt.Errorf("marshal result details: %w", err)
	}
	res := tool.TextResult(text)
	res.Details = raw
	return res, nil
}
