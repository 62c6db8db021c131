package plugin

import (
	"errors"
	"fmt"
	"strings"

	"github.com/toolsearch/toolsearch/internal/json5"
)

// maxErrors bounds the faults reported of one manifest.
const maxErrors = 20

// Error is one fault in a manifest. Line and Column count from 1, columns in
// characters.
type Error struct {
	File         string
	Line, Column int
	Key          string // such as tools[0].parameters, "" for the whole
	Problem      string // what is wrong, and what was expected
	Hint         string // what to do, may be empty
}

// Error returns "file:line:column: key: problem; hint".
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:%d:%d: ", e.File, e.Line, e.Column)
	if e.Key != "" {
		b.WriteString(e.Key + ": ")
	}
	b.WriteString(e.Problem)
	if e.Hint != "" {
		b.WriteString("; " + e.Hint)
	}
	return b.String()
}

// Errors are the faults of one manifest, in its order, at most 20.
type Errors []*Error

// Error returns one fault a line.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, err := range e {
		lines[i] = err.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the faults.
func (e Errors) Unwrap() []error {
	all := make([]error, len(e))
	for i, err := range e {
		all[i] = err
	}
	return all
}

// faultsOf turns what json5 found into Errors; an error of another kind stays
// as it is.
func faultsOf(file string, err error) error {
	list := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		list = joined.Unwrap()
	}
	var out Errors
	for _, one := range list {
		var fault *json5.Error
		if !errors.As(one, &fault) {
			return err
		}
		out = append(out, &Error{
			File: file, Line: fault.Pos.Line, Column: fault.Pos.Column,
			Key: fault.Path.String(), Problem: fault.Problem, Hint: fault.Hint,
		})
	}
	return out
}
