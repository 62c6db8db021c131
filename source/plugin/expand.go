package plugin

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// maxExpanded bounds, in bytes, a text with its variables filled in.
const maxExpanded = 1 << 20

// Lookup finds a variable, as os.LookupEnv does.
type Lookup func(name string) (value string, ok bool)

// expand fills ${NAME} and ${NAME:-default} into a text; the default counts
// where NAME is absent or empty, "$${" is a literal "${", and any other "$"
// stands for itself. An error names the variable, never a value.
func expand(text string, lookup Lookup) (string, error) {
	var out strings.Builder
	for text != "" {
		before, rest, found := strings.Cut(text, "${")
		if !found {
			out.WriteString(text)
			break
		}
		if kept, escaped := strings.CutSuffix(before, "$"); escaped {
			out.WriteString(kept + "${")
			text = rest
			continue
		}
		body, after, closed := strings.Cut(rest, "}")
		name, fallback, optional := strings.Cut(body, ":-")
		if !closed || !variableName(name) {
			return "", errors.New("malformed variable; expected ${NAME} or ${NAME:-default}, or $${ for a literal ${")
		}
		value, set := lookup(name)
		if value == "" && optional {
			value, set = fallback, true
		}
		if !set {
			return "", fmt.Errorf("the variable %s is not set; set it in the environment", name)
		}
		out.WriteString(before)
		out.WriteString(value)
		if out.Len() > maxExpanded {
			return "", fmt.Errorf("longer than %d bytes once its variables are filled in", maxExpanded)
		}
		text = after
	}
	return out.String(), nil
}

func variableName(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

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
	out, err := expand(s, e.lookup)
	if err != nil && e.err == nil {
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
