package core

import (
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"github.com/toolsearch/toolsearch/tool"
)

type grepArgs struct {
	Pattern    string  `json:"pattern"`
	Path       string  `json:"path"`
	Glob       string  `json:"glob"`
	IgnoreCase bool    `json:"ignoreCase"`
	Literal    bool    `json:"literal"`
	Context    integer `json:"context"`
	Limit      integer `json:"limit"`
}

const (
	maxContext   = 10
	maxLineShown = 400       // bytes of a line in an answer
	maxGrepText  = 256 * kib // bytes of all lines in an answer
	defaultFinds = 100       // matches, when the call names no limit
)

// findings is what grep answers.
type findings struct {
	Matches   []finding `json:"matches"`
	Files     int       `json:"files"`     // files searched
	Truncated bool      `json:"truncated"` // there may be more matches
	Notes     []string  `json:"notes"`
}

type finding struct {
	Path   string   `json:"path"`
	Line   int      `json:"line"`
	Text   string   `json:"text"`
	Before []string `json:"before,omitempty"`
	After  []string `json:"after,omitempty"`
}

func (s *Source) grep(ctx context.Context, a grepArgs) (*tool.Result, error) {
	if a.Path == "" {
		a.Path = "."
	}
	if a.Context < 0 || a.Context > maxContext {
		return nil, invalid("", "context is %d; it must be from 0 to %d", a.Context, maxContext)
	}
	if a.Limit == 0 {
		a.Limit = defaultFinds
	}
	m, err := newMatcher(a.Pattern, a.Literal, a.IgnoreCase)
	if err != nil {
		return nil, err
	}
	gl, err := newGlob(a.Glob)
	if err != nil {
		return nil, err
	}
	name, err := s.rel(a.Path)
	if err != nil {
		return nil, err
	}
	g := &grepper{
		ctx: ctx, matcher: m, glob: gl, scan: newScan(ctx), context: int(a.Context),
		limit: capped(a.Limit, s.limits.GrepMatches), fileBytes: s.limits.GrepFileBytes,
		out: findings{Matches: []finding{}, Notes: []string{}},
	}
	if err := g.start(s.root, name, a.Path); err != nil {
		return nil, s.pathError("grep", a.Path, err)
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return g.result()
}

// grepper is one search. It goes through folders depth first in the order of
// names, so that equal trees give equal answers.
type grepper struct {
	ctx       context.Context
	matcher   *matcher
	glob      *glob
	scan      *scan
	context   int
	limit     int
	fileBytes int
	buf       []byte // the file at hand; grows to fileBytes at most

	out    findings
	bytes  int // of text in out
	full   bool
	unread int
	cut    []string // files searched only in part
	deep   bool     // folders beyond maxDepth were left out
}

// start searches one file, or a folder and what is below it.
func (g *grepper) start(root *os.Root, name, asked string) error {
	info, err := root.Stat(name)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		text, err := g.load(openRegular(root, name))
		if err != nil {
			return err
		}
		if err := textual(text[:min(len(text), sniffBytes)], asked); err != nil {
			return err
		}
		g.search(text, slashed(name))
		return nil
	}
	folder, err := root.OpenRoot(name)
	if err != nil {
		return err
	}
	defer folder.Close()
	entries, err := g.scan.folder(folder)
	if err != nil {
		return err
	}
	shown := slashed(name)
	if shown == "." {
		shown = ""
	}
	for _, e := range entries {
		g.entry(folder, e.Name(), e.Type(), place{shown: path.Join(shown, slashed(e.Name())), below: e.Name(), depth: 1})
	}
	return nil
}

// place says where the walk is.
type place struct {
	shown string // the path for the answer, from the workspace on
	below string // the path for the glob, from the searched folder on
	depth int
}

func (g *grepper) stop() bool { return g.full || g.ctx.Err() != nil }

func (g *grepper) result() (*tool.Result, error) {
	g.out.Notes = g.notes()
	g.out.Truncated = len(g.out.Notes) > 0
	var b strings.Builder
	for i, m := range g.out.Matches {
		g.print(&b, i, m)
	}
	if len(g.out.Matches) == 0 {
		fmt.Fprintf(&b, "No match in %d files.\n", g.out.Files)
	}
	for _, n := range g.out.Notes {
		fmt.Fprintf(&b, "[%s]\n", oneLine(n))
	}
	return withDetails(b.String(), &g.out)
}

// print writes a match as path:line:text, and lines of context, which matches
// close to one another share, as path-line-text.
func (g *grepper) print(w io.Writer, i int, m finding) {
	all := g.out.Matches
	printed := 0 // the last line of this file that is written already
	if i > 0 && all[i-1].Path == m.Path {
		printed = min(all[i-1].Line+len(all[i-1].After), m.Line-1)
	}
	first := m.Line - len(m.Before)
	if g.context > 0 && i > 0 && (all[i-1].Path != m.Path || first > printed+1) {
		fmt.Fprintln(w, "--")
	}
	name := oneLine(m.Path)
	for k, text := range m.Before {
		if n := first + k; n > printed {
			fmt.Fprintf(w, "%s-%d-%s\n", name, n, text)
		}
	}
	fmt.Fprintf(w, "%s:%d:%s\n", name, m.Line, m.Text)
	for k, text := range m.After {
		n := m.Line + 1 + k
		if i+1 < len(all) && all[i+1].Path == m.Path && all[i+1].Line <= n {
			break
		}
		fmt.Fprintf(w, "%s-%d-%s\n", name, n, text)
	}
}
