package config

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/toolsearch/toolsearch/internal/json5"
)

// Change says what an edit did.
type Change struct {
	Path     string // the file, after symbolic links
	Created  bool   // it was not there before
	Changed  bool   // false when nothing had to be written
	Warnings []Warning
}

// NotSetError: the file does not give a key.
type NotSetError struct {
	File, Key string
	Default   string // as in the reference, "" when there is none
}

// Error says so, and what applies instead.
func (e *NotSetError) Error() string {
	if e.Default == "" {
		return fmt.Sprintf("%s is not set in %s", e.Key, e.File)
	}
	return fmt.Sprintf("%s is not set in %s; the default is %s", e.Key, e.File, e.Default)
}

// Get returns the value of a key such as mcp.servers.github.args[0] as the file
// has it, as JSON, with references to variables unexpanded. "" is the whole
// file. The file need not be free of faults, only readable as JSON5. The error
// is a *NotSetError when the file does not give the key.
func Get(ctx context.Context, file, key string) (json.RawMessage, error) {
	path, err := json5.ParsePath(key)
	if err != nil {
		return nil, err
	}
	src, err := readFile(ctx, file)
	if err != nil {
		return nil, err
	}
	doc, err := json5.Parse(src)
	if err != nil {
		return nil, syntaxErrors(file, src, err)
	}
	n := doc.Get(path)
	if n == nil {
		return nil, &NotSetError{File: file, Key: path.String(), Default: defaultOf(path)}
	}
	raw, err := n.JSON()
	if err != nil {
		p := doc.Pos(n.Start)
		return nil, &Error{Pos: Pos{file, p.Line, p.Column}, Key: path.String(), Problem: err.Error()}
	}
	return raw, nil
}

// Set gives a key a value and keeps every comment and the formatting of the
// file. The value is read as JSON5, and as a plain string when it is none. The
// whole result is checked before the file is replaced: on an error the file is
// as it was. A file that is not there is created, readable by its user alone.
//
// The replacement is atomic, and edits by several processes follow one another;
// see replaceFile and lockFolder for how.
func Set(ctx context.Context, file, key, value string) (Change, error) {
	text, err := valueText(value)
	if err != nil {
		return Change{}, fmt.Errorf("set %s: %w", key, err)
	}
	return edit(ctx, file, "set", key, func(d *json5.Document, p json5.Path) ([]byte, error) {
		d, err := openToolSearch(d, p)
		if err != nil {
			return nil, err
		}
		return d.Set(p, text)
	})
}

// openToolSearch writes a toolSearch that is true or false as the object that
// means the same, if the path leads into it.
func openToolSearch(d *json5.Document, path json5.Path) (*json5.Document, error) {
	for i := range len(path) - 1 {
		at := path[:i+1]
		n := d.Get(at)
		if n == nil || n.Kind != json5.Bool || path[i].Key != "toolSearch" {
			continue
		}
		out, err := d.Set(at, fmt.Sprintf("{ enabled: %t }", n.Bool()))
		if err != nil {
			return nil, err
		}
		return json5.Parse(out)
	}
	return d, nil
}

// Unset removes a key, and keeps the comments beside it. A key that is not
// there is no error: Change.Changed is false.
func Unset(ctx context.Context, file, key string) (Change, error) {
	return edit(ctx, file, "unset", key, func(d *json5.Document, p json5.Path) ([]byte, error) {
		out, _, err := d.Unset(p)
		return out, err
	})
}

// valueText returns a value as JSON5.
func valueText(value string) (string, error) {
	_, err := json5.Parse([]byte(value))
	if err == nil {
		return value, nil
	}
	if trimmed := strings.TrimSpace(value); strings.HasPrefix(trimmed, "{") || strings.HasPrefix(trimmed, "[") {
		return "", fmt.Errorf("the value begins like JSON5 and is none: %w", err)
	}
	return json5.Quote(strings.ToValidUTF8(value, "\uFFFD"), '"'), nil
}

type editFunc func(*json5.Document, json5.Path) ([]byte, error)

func edit(ctx context.Context, file, verb, key string, apply editFunc) (Change, error) {
	path, err := json5.ParsePath(key)
	if err != nil {
		return Change{}, err
	}
	if len(path) == 0 {
		return Change{}, fmt.Errorf("%s a configuration key: expected a key such as tools.toolSearch.mode, found none", verb)
	}
	target, err := editTarget(file, verb == "set")
	if err != nil {
		return Change{}, err
	}
	change := Change{Path: target}
	release, err := lockFolder(ctx, target)
	if err != nil {
		return Change{}, fmt.Errorf("%s %s in %s: %w", verb, path, target, err)
	}
	defer release()

	src, err := readFile(ctx, target)
	if errors.Is(err, os.ErrNotExist) {
		change.Created, src, err = true, []byte("{}\n"), nil
	}
	if err != nil {
		return Change{}, err
	}
	doc, err := json5.Parse(src)
	if err != nil {
		return Change{}, syntaxErrors(target, src, err)
	}
	out, err := apply(doc, path)
	if err != nil {
		return Change{}, fmt.Errorf("%s %s in %s: %w", verb, path, target, err)
	}
	if bytes.Equal(out, src) {
		change.Created = false
		return change, nil
	}
	c, err := Parse(target, out)
	if err != nil {
		return Change{}, fmt.Errorf("%s %s: the file was left as it is, since the result would not be valid:\n%w", verb, path, err)
	}
	if err := replaceFile(target, out); err != nil {
		return Change{}, fmt.Errorf("%s %s in %s: %w", verb, path, target, err)
	}
	change.Changed, change.Warnings = true, c.Warnings
	return change, nil
}

// editTarget follows symbolic links, so that a link stays a link, and creates
// the folder of a new file.
func editTarget(file string, create bool) (string, error) {
	abs, err := filepath.Abs(file)
	if err != nil {
		return "", fmt.Errorf("find the configuration %s: %w", file, err)
	}
	target, err := filepath.EvalSymlinks(abs)
	switch {
	case err == nil:
		return target, nil
	case !errors.Is(err, os.ErrNotExist):
		return "", fmt.Errorf("find the configuration: %w", err)
	}
	if _, err := os.Lstat(abs); err == nil {
		return "", fmt.Errorf("find the configuration %s: it is a symbolic link to a file that is not there; create that file first", abs)
	}
	if !create {
		return "", fmt.Errorf("find the configuration %s: %w", abs, os.ErrNotExist)
	}
	if err := os.MkdirAll(filepath.Dir(abs), 0o700); err != nil {
		return "", fmt.Errorf("create the configuration's folder: %w", err)
	}
	return abs, nil
}
