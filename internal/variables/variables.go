// Package variables fills variables into the texts of configurations and manifests.
package variables

import (
	"errors"
	"fmt"
	"strings"
)

// maxExpanded bounds, in bytes, a text with its variables filled in.
const maxExpanded = 1 << 20

// UnsetError says which variable a text needs that is not set.
type UnsetError struct{ Name string }

// Error names the variable.
func (e *UnsetError) Error() string { return "the variable " + e.Name + " is not set" }

// Expand fills ${NAME} and ${NAME:-default} into a text; the default counts where
// NAME is absent or empty, "$${" is a literal "${", and any other "$" stands for
// itself. lookup is such as os.LookupEnv. The result has at most 1 MiB. An error
// names the variable, never a value; one that is not set is an *UnsetError.
func Expand(text string, lookup func(name string) (value string, ok bool)) (string, error) {
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
		if !closed || !ValidName(name) {
			return "", errors.New("a malformed variable; expected ${NAME} or ${NAME:-default}, or $${ for a literal ${")
		}
		value, set := lookup(name)
		if value == "" && optional {
			value, set = fallback, true
		}
		if !set {
			return "", &UnsetError{name}
		}
		if out.Len()+len(before)+len(value) > maxExpanded {
			return "", fmt.Errorf("more than %d bytes once its variables are filled in", maxExpanded)
		}
		out.WriteString(before)
		out.WriteString(value)
		text = after
	}
	return out.String(), nil
}

// ValidName reports a name of letters, digits and '_', which no digit begins.
func ValidName(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}
