package plugin

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/toolsearch/toolsearch/internal/variables"
)

// Lookup finds a variable, as os.LookupEnv does.
type Lookup func(name string) (value string, ok bool)

func headerName(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c != '-' && c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// expander fills in several texts and keeps the first error, with its key.
type expander struct {
	lookup Lookup
	err    error
}

func (e *expander) text(key, s string) string {
	out, err := variables.Expand(s, e.lookup)
	var unset *variables.UnsetError
	switch {
	case err == nil || e.err != nil:
	case errors.As(err, &unset):
		e.err = fmt.Errorf("%s: %w; set it in the environment", key, err)
	default:
		e.err = fmt.Errorf("%s: %w", key, err)
	}
	return out
}

func (e *expander) texts(key string, list []string) []string {
	var out []string
	for i, s := range list {
		out = append(out, e.text(fmt.Sprintf("%s[%d]", key, i), s))
	}
	return out
}

func (e *expander) vars(key string, list []Var) []Var {
	var out []Var
	for _, v := range list {
		out = append(out, Var{v.Name, e.text(key+"."+v.Name, v.Value)})
	}
	return out
}

// Expand returns the start with its variables filled in, its command and its
// folder absolute or in PATH. The result holds secrets.
func (s *Start) Expand(dir string, lookup Lookup) (Start, error) {
	e := &expander{lookup: lookup}
	out := *s
	out.Command = e.text("start.command", s.Command)
	out.Args = e.texts("start.args", s.Args)
	out.Env = e.vars("start.env", s.Env)
	out.Cwd = e.text("start.cwd", s.Cwd)
	if e.err == nil && !insideOrElsewhere(out.Command) {
		e.err = errors.New("start.command: the program lies outside the plugin's folder once its variables are filled in")
	}
	if e.err == nil && out.Cwd != "" && !filepath.IsLocal(filepath.FromSlash(out.Cwd)) {
		e.err = errors.New("start.cwd: it leaves the plugin's folder once its variables are filled in")
	}
	if e.err != nil {
		return Start{}, e.err
	}
	out.Command = program(dir, out.Command)
	out.Cwd = filepath.Join(dir, filepath.FromSlash(out.Cwd))
	return out, nil
}
