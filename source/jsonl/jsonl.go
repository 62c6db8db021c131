// Package jsonl reads catalog files: one JSON object a line that describes one
// tool. Such a catalog can be searched and described, but not called; it serves
// evaluation and offline browsing.
//
// A line has the members id, name, description, source, server and parameters,
// and optionally outputSchema and label. The id is taken as it is, the server
// is the owner. Schemas are checked for well-formed JSON and kept as bytes;
// nothing looks into them.
package jsonl

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"unicode/utf8"

	"github.com/toolsearch/toolsearch/tool"
)

// Bounds of a catalog file. What exceeds them is reported, never cut silently.
const (
	MaxFile        = 1 << 30  // bytes of a file
	MaxTools       = 1 << 20  // tools of a file
	MaxProblems    = 1000     // problems reported one by one
	MaxIdentity    = 1024     // bytes of an id, name, label or server
	MaxDescription = 16 << 20 // bytes of a description
)

// Options say how a file is read. The zero value is the safe choice.
type Options struct {
	TrustSchemas bool // the schemas may be walked (for ranking and signatures)
}

// Problem is a line that was left out, and why.
type Problem struct {
	Line int // from 1
	Err  error
}

// Error returns "line N: what is wrong".
func (p Problem) Error() string { return "line " + strconv.Itoa(p.Line) + ": " + p.Err.Error() }

// Unwrap returns the cause.
func (p Problem) Unwrap() error { return p.Err }

// ErrDuplicate is the cause of the problem of a line whose id an earlier line
// has.
var ErrDuplicate = errors.New("duplicate id; the first line with it counts")

// LoadFile reads the catalog file at path.
func LoadFile(ctx context.Context, path string, o Options) ([]*tool.Tool, []Problem, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, fmt.Errorf("open catalog file: %w", err)
	}
	defer f.Close()
	size := int64(0)
	if info, err := f.Stat(); err == nil {
		if info.IsDir() {
			return nil, nil, fmt.Errorf("open catalog file %s: it is a folder; name a .jsonl file", path)
		}
		size = info.Size()
	}
	tools, problems, err := load(ctx, f, size, o)
	if err != nil {
		return nil, nil, fmt.Errorf("read catalog file %s: %w", path, err)
	}
	return tools, problems, nil
}

// Load reads a catalog. Lines that cannot be read are problems, in the order
// of the lines, and the rest loads; the error is for input that cannot be read
// at all, or a context that ends.
func Load(ctx context.Context, r io.Reader, o Options) ([]*tool.Tool, []Problem, error) {
	tools, problems, err := load(ctx, r, 0, o)
	if err != nil {
		return nil, nil, fmt.Errorf("read catalog: %w", err)
	}
	return tools, problems, nil
}

// load reads r; size, when not 0, is a hint of how long it is.
func load(ctx context.Context, r io.Reader, size int64, o Options) ([]*tool.Tool, []Problem, error) {
	var buf bytes.Buffer
	if size > 0 && size <= MaxFile {
		buf.Grow(int(size) + bytes.MinRead)
	}
	n, err := buf.ReadFrom(io.LimitReader(&ctxReader{ctx, r}, MaxFile+1))
	if err != nil {
		return nil, nil, err
	}
	if n > MaxFile {
		return nil, nil, fmt.Errorf("it is longer than %d bytes; split it", MaxFile)
	}
	l := loader{opts: o, seen: map[tool.ID]struct{}{}}
	if err := l.lines(ctx, buf.Bytes()); err != nil {
		return nil, nil, err
	}
	return l.tools, l.problems, nil
}

// ctxReader ends reading when its context does.
type ctxReader struct {
	ctx context.Context
	r   io.Reader
}

func (c *ctxReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, context.Cause(c.ctx)
	}
	return c.r.Read(p)
}

type loader struct {
	opts     Options
	seen     map[tool.ID]struct{}
	tools    []*tool.Tool
	problems []Problem
	more     int // problems beyond MaxProblems
}

func (l *loader) lines(ctx context.Context, data []byte) error {
	data = bytes.TrimPrefix(data, []byte("\xEF\xBB\xBF"))
	for n := 1; len(data) > 0; n++ {
		if n%256 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		var line []byte
		line, data, _ = bytes.Cut(data, []byte("\n"))
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		t, err := l.tool(line)
		if err != nil {
			l.problem(n, err)
			continue
		}
		l.seen[t.ID] = struct{}{}
		l.tools = append(l.tools, t)
	}
	if l.more > 0 {
		last := &l.problems[len(l.problems)-1]
		last.Err = fmt.Errorf("%w (and %d more lines with problems)", last.Err, l.more)
	}
	return nil
}

func (l *loader) problem(line int, err error) {
	if len(l.problems) == MaxProblems {
		l.more++
		return
	}
	l.problems = append(l.problems, Problem{line, err})
}

// tool reads one line.
func (l *loader) tool(line []byte) (*tool.Tool, error) {
	if len(l.tools) >= MaxTools {
		return nil, fmt.Errorf("the file has more than %d tools; split it", MaxTools)
	}
	if !utf8.Valid(line) {
		line = bytes.ToValidUTF8(line, []byte("\uFFFD"))
	}
	r := record{t: &tool.Tool{TrustSchema: l.opts.TrustSchemas}}
	s := scanner{b: line}
	if err := s.object(r.member); err != nil {
		return nil, err
	}
	if err := r.check(); err != nil {
		return nil, err
	}
	if _, dup := l.seen[r.t.ID]; dup {
		return nil, fmt.Errorf("tool %q: %w", r.t.ID, ErrDuplicate)
	}
	r.t.Revision = revision(line)
	return r.t, nil
}

// record collects the members of one line.
type record struct {
	t *tool.Tool
}

func (r *record) member(key, value []byte) error {
	var err error
	switch string(key) {
	case `"id"`:
		var id string
		id, err = identity(value)
		r.t.ID = tool.ID(id)
	case `"name"`:
		r.t.Name, err = identity(value)
	case `"label"`:
		r.t.Label, err = identity(value)
	case `"server"`:
		r.t.Owner, err = identity(value)
	case `"source"`:
		var source string
		source, err = identity(value)
		r.t.Source = tool.Source(source)
	case `"description"`:
		if r.t.Description, err = text(value); err == nil {
			r.t.Description = tool.Clean(r.t.Description, MaxDescription)
		}
	case `"parameters"`:
		r.t.Input, err = schema(value)
	case `"outputSchema"`:
		r.t.Output, err = schema(value)
	}
	if err != nil {
		return fmt.Errorf("member %s: %w", key, err)
	}
	return nil
}

// schema keeps the bytes of a schema; null is none.
func schema(value []byte) (tool.Schema, error) {
	switch value[0] {
	case '{', 't', 'f': // JSON Schema knows the schemas true and false
		return tool.RawSchema(json.RawMessage(value)), nil
	case 'n':
		return nil, nil
	}
	return nil, errors.New("expected a JSON Schema, which is an object")
}

// identity reads a string that names something: cleaned, and not cut, since a
// cut id is another id.
func identity(value []byte) (string, error) {
	s, err := text(value)
	if err != nil {
		return "", err
	}
	if len(s) > MaxIdentity {
		return "", fmt.Errorf("%d bytes; at most %d", len(s), MaxIdentity)
	}
	return tool.Clean(s, 3*MaxIdentity), nil
}

// check completes the tool and refuses one that cannot be identified.
func (r *record) check() error {
	t := r.t
	switch {
	case t.Name == "":
		return errors.New(`it has no "name"`)
	case t.Source == "":
		t.Source = tool.MCP // untrusted, the safe reading
	case !t.Source.Valid():
		return fmt.Errorf("member \"source\": %q is none of openclaw, mcp, client", t.Source)
	}
	if t.ID == "" {
		t.ID = tool.NewID(t.Source, t.Owner, t.Name)
	}
	if t.Input == nil {
		t.Input = tool.RawSchema(`{"type":"object"}`)
	}
	return nil
}

// revision is a hash of the line, so that it changes with anything in it.
func revision(line []byte) string {
	sum := sha256.Sum256(line)
	return hex.EncodeToString(sum[:16])
}
