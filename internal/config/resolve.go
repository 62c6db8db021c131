package config

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/toolsearch/toolsearch/internal/variables"
)

// Resolved is a server with its variables filled in: what to start or dial. It
// holds secrets. It prints as the server's name alone.
type Resolved struct {
	Name      string
	Transport Transport
	Command   string
	Args      []string
	Env       []Var
	Dir       string // absolute, or "" for the program's own
	URL       string
	Headers   []Var
}

// Var is one environment variable or header.
type Var struct {
	Name, Value string
}

// String names the server and nothing of what it holds.
func (v Resolved) String() string { return fmt.Sprintf("server %q (%s)", v.Name, v.Transport) }

// GoString is String.
func (v Resolved) GoString() string { return v.String() }

// LogValue is String.
func (v Resolved) LogValue() slog.Value { return slog.StringValue(v.String()) }

// String names the variable alone.
func (v Var) String() string { return v.Name + "=…" }

// GoString is String.
func (v Var) GoString() string { return v.String() }

// LogValue is String.
func (v Var) LogValue() slog.Value { return slog.StringValue(v.String()) }

// Resolve fills in the variables of a server, as lookup (os.LookupEnv) has them
// now. ${VAR:-default} takes the default where VAR is absent or empty. Every
// failing text is reported, with key, place and the variable's name, never with
// a value.
func (s *Server) Resolve(lookup func(string) (string, bool)) (Resolved, error) {
	e := &expander{lookup: lookup}
	v := Resolved{Name: s.Name, Transport: s.Transport}
	v.Command = e.text(s.Command)
	for _, a := range s.Args {
		v.Args = append(v.Args, e.text(a))
	}
	v.Env = e.named(s.Env, "\x00", "a variable may not hold NUL")
	v.Headers = e.named(s.Headers, "\r\n\x00", "a header may not hold a line end")
	v.Dir = e.dir(s.Cwd)
	if v.URL = e.text(s.URL); s.URL.Raw != "" && len(e.errs) == 0 {
		if problem := badURL(v.URL); problem != "" {
			e.fail(s.URL, problem+" once its variables are filled in", "")
		}
	}
	if s.Command.Raw != "" && strings.TrimSpace(v.Command) == "" && len(e.errs) == 0 {
		e.fail(s.Command, "the program is empty once its variables are filled in", "")
	}
	if len(e.errs) > 0 {
		return Resolved{}, fmt.Errorf("resolve the variables of server %q: %w", s.Name, errors.Join(e.errs...))
	}
	return v, nil
}

type expander struct {
	lookup func(string) (string, bool)
	errs   []error
}

func (e *expander) fail(t Text, problem, hint string) {
	if len(e.errs) < maxErrors {
		e.errs = append(e.errs, &Error{Pos: t.Pos, Key: t.Key, Problem: problem, Hint: hint})
	}
}

func (e *expander) text(t Text) string {
	out, err := variables.Expand(t.Raw, e.lookup)
	if err == nil {
		return out
	}
	hint := ""
	var unset *variables.UnsetError
	if errors.As(err, &unset) {
		hint = fmt.Sprintf("set %s in the environment, or write ${%s:-default}", unset.Name, unset.Name)
	}
	e.fail(t, err.Error(), hint)
	return ""
}

func (e *expander) named(texts []NamedText, forbidden, problem string) []Var {
	var all []Var
	for _, t := range texts {
		v := e.text(t.Text)
		if strings.ContainsAny(v, forbidden) {
			e.fail(t.Text, problem, "")
		}
		all = append(all, Var{t.Name, v})
	}
	return all
}

// dir makes a working folder absolute: "~/x" is under the user's home, and a
// relative one under the folder of the file that names it.
func (e *expander) dir(t Text) string {
	dir := e.text(t)
	if dir == "" {
		return ""
	}
	if rest, ok := strings.CutPrefix(dir, "~"); ok && (rest == "" || rest[0] == '/' || rest[0] == filepath.Separator) {
		home, err := os.UserHomeDir()
		if err != nil {
			e.fail(t, "~ stands for the home folder, which is not known", "write the whole path")
			return ""
		}
		return filepath.Join(home, rest)
	}
	if !filepath.IsAbs(dir) {
		return filepath.Join(filepath.Dir(t.Pos.File), dir)
	}
	return filepath.Clean(dir)
}
