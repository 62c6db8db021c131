package config

import (
	"fmt"
	"strings"
)

// maxErrors and maxWarnings bound what is reported of one file.
const (
	maxErrors   = 20
	maxWarnings = 50
)

// Error is one fault in a configuration file. It never holds the value of a
// variable, nor any text of a server's command, env, url or headers.
type Error struct {
	Pos
	Key     string // such as tools.toolSearch.mode
	Problem string // what is wrong, and what was expected
	Hint    string // what to do, may be empty
}

// Error returns "file:line:column: key: problem; hint".
func (e *Error) Error() string { return message(e.Pos, e.Key, e.Problem, e.Hint) }

func message(pos Pos, key, problem, hint string) string {
	var b strings.Builder
	for _, part := range []string{pos.String(), key} {
		if part != "" {
			b.WriteString(part + ": ")
		}
	}
	b.WriteString(problem)
	if hint != "" {
		b.WriteString("; " + hint)
	}
	return b.String()
}

// Errors are the faults of one file, in the file's order, at most 20.
type Errors struct {
	List []*Error
	More int // how many were left out
}

// Error returns one fault a line.
func (e *Errors) Error() string {
	lines := make([]string, 0, len(e.List)+1)
	for _, err := range e.List {
		lines = append(lines, err.Error())
	}
	if e.More > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", e.More))
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the faults.
func (e *Errors) Unwrap() []error {
	all := make([]error, len(e.List))
	for i, err := range e.List {
		all[i] = err
	}
	return all
}

// Warning says what was changed or ignored in a file that is used all the same.
type Warning struct {
	Pos
	Key     string // may be empty
	Message string
}

// String returns "file:line:column: key: message".
func (w Warning) String() string { return message(w.Pos, w.Key, w.Message, "") }
