package variables_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/toolsearch/toolsearch/internal/variables"
)

func lookup(name string) (string, bool) {
	v, ok := map[string]string{"A": "alpha", "EMPTY": "", "_b2": "${A}", "LONG": strings.Repeat("x", 600<<10)}[name]
	return v, ok
}

func TestExpand(t *testing.T) {
	for text, want := range map[string]string{
		"":                  "",
		"plain $ $A }":      "plain $ $A }",
		"<${A}|${A}>":       "<alpha|alpha>",
		"${EMPTY}":          "",
		"${EMPTY:-d}":       "d",
		"${NONE:-}":         "",
		"${NONE:-a:-b}":     "a:-b",
		"${_b2}":            "${A}", // once, not again
		"$${A} $$${A}":      "${A} $${A}",
		"${A:-unused}$${":   "alpha${",
		"${NONE:-two words": "!malformed",
		"${}":               "!malformed",
		"${1A}":             "!malformed",
		"${A-b}":            "!malformed",
		"${input:id}":       "!malformed",
		"${LONG}":           strings.Repeat("x", 600<<10),
		"${LONG}${LONG}":    "!more than",
	} {
		got, err := variables.Expand(text, lookup)
		if problem, bad := strings.CutPrefix(want, "!"); bad {
			if err == nil || !strings.Contains(err.Error(), problem) {
				t.Errorf("%q: %v, want an error with %q", text, err, problem)
			}
		} else if err != nil || got != want {
			t.Errorf("%q is %.40q (%v), want %.40q", text, got, err, want)
		}
	}
	var unset *variables.UnsetError
	if _, err := variables.Expand("${A}${GONE}", lookup); !errors.As(err, &unset) || unset.Name != "GONE" {
		t.Errorf("a variable that is not set: %v", err)
	}
}
