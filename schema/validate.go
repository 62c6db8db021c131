package schema

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Bounds of what is validated and of what is said about it.
const (
	MaxDocumentBytes = 4 << 20
	MaxProblems      = 8
	maxMessage       = 300 // bytes of one message
	maxPointer       = 200 // bytes of one pointer
)

// documentLimits bounds the values that are validated.
var documentLimits = limits{bytes: MaxDocumentBytes, depth: 64, nodes: 200_000}

// Problem is one broken constraint, written so that a model can repair its
// call in one retry.
type Problem struct {
	// Pointer is the JSON pointer (RFC 6901) of the value at fault; "" is the
	// whole document. For a missing property it is the object that lacks it.
	Pointer string `json:"pointer"`
	// Constraint is the keyword that is broken, such as "type" or "required".
	// Four are no keywords: "json" (the text is not JSON or over a bound),
	// "work" (the check is over its bound), "schema" (broken, but telling where
	// is over the bound) and "internal" (the validator failed).
	Constraint string `json:"constraint"`
	// Message says what was expected and what was found.
	Message string `json:"message"`
	// Nearest is the name or value that was probably meant: the declared name
	// closest to an unknown one, the unknown name that looks like a missing
	// one, or the allowed value closest to the one given. Often empty.
	Nearest string `json:"nearest,omitempty"`
}

// String returns the problem as one line.
func (p Problem) String() string {
	at := p.Pointer
	if at == "" {
		at = "(root)"
	}
	return at + ": " + p.Message
}

// ValidationError lists what is wrong with a document, ordered by pointer,
// then constraint. All its texts are bounded and free of invisible characters.
type ValidationError struct {
	Problems []Problem // 1 to MaxProblems
	Omitted  int       // further problems that were left out
	Err      error     // the validator's own failure, nil otherwise
}

// Error returns the problems, separated by "; ".
func (e *ValidationError) Error() string {
	var b strings.Builder
	for i, p := range e.Problems {
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(p.String())
	}
	if e.Omitted > 0 {
		fmt.Fprintf(&b, "; and %d more", e.Omitted)
	}
	return b.String()
}

// Unwrap returns the validator's own failure.
func (e *ValidationError) Unwrap() error { return e.Err }

// Validate checks one JSON document. It returns nil or a *ValidationError.
// Work is bounded; a document whose check goes over a bound is refused, never
// let through.
func (c *Compiled) Validate(doc []byte) error {
	v, err := decode(doc, documentLimits)
	if err != nil {
		return &ValidationError{Problems: []Problem{{
			Constraint: "json", Message: clip("not accepted as JSON: "+err.Error(), maxMessage),
		}}}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.check(v); e != nil {
		return e
	}
	return nil
}

// check decides first and explains afterwards. Deciding keeps no errors, so it
// may take many steps; explaining keeps one for each failed step, with its
// place, and gets fewer.
func (c *Compiled) check(v any) *ValidationError {
	broken, stop := c.run(func() error { return c.decide.Validate(v) }, maxSteps)
	if stop != nil {
		return stop
	}
	if broken != nil { // decide is the schema's negation
		return nil
	}
	err, stop := c.run(func() error { return c.schema.Validate(v) }, maxExplainSteps)
	if stop != nil {
		// A slow pattern says more by itself, and the same on a machine where
		// the first pass was slow enough to end there.
		if stop.Err != nil || stop.Problems[0].Constraint == "pattern" {
			return stop
		}
		return &ValidationError{Problems: []Problem{{
			Constraint: "schema", Message: "the value does not match the schema; it is too large to say where",
		}}}
	}
	r := reporter{doc: v, byPlace: c.byPlace}
	var cause *jsonschema.ValidationError
	if errors.As(err, &cause) {
		r.walk(cause)
	}
	return r.result()
}

// run runs one pass of the validator within a number of steps. It returns the
// pass's answer or why it had to stop.
func (c *Compiled) run(pass func() error, steps int) (answer error, stop *ValidationError) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case *undecided:
			stop = &ValidationError{Problems: []Problem{{
				Constraint: p.constraint, Message: clip(p.message, maxMessage),
			}}}
		default: // a fault in the validator: fail closed
			stop = &ValidationError{
				Problems: []Problem{{Constraint: "internal", Message: "the validator failed on this value"}},
				Err:      fmt.Errorf("validate: panic: %v", p),
			}
		}
	}()
	c.meter.reset(steps)
	return pass(), nil
}

// reporter turns the validator's tree of errors into problems.
type reporter struct {
	doc      any
	above    int // steps of a location that lead to doc
	byPlace  map[string]*jsonschema.Schema
	problems []Problem
}

func (r *reporter) result() *ValidationError {
	if len(r.problems) == 0 {
		r.problems = []Problem{{Constraint: "schema", Message: "the value does not match the schema"}}
	}
	slices.SortFunc(r.problems, func(a, b Problem) int {
		return strings.Compare(a.order(), b.order())
	})
	r.problems = slices.Compact(r.problems)
	e := &ValidationError{Problems: r.problems}
	if len(e.Problems) > MaxProblems {
		e.Omitted = len(e.Problems) - MaxProblems
		e.Problems = slices.Clone(e.Problems[:MaxProblems])
	}
	return e
}

func (p Problem) order() string {
	return p.Pointer + "\x00" + p.Constraint + "\x00" + p.Message + "\x00" + p.Nearest
}

// pointer writes a location as a bounded JSON pointer.
func pointer(tokens []string) string {
	var b strings.Builder
	for _, t := range tokens {
		b.WriteByte('/')
		b.WriteString(pointerToken(t))
	}
	return clip(plain(b.String()), maxPointer)
}

// at returns the value at a location of the document.
func (r *reporter) at(tokens []string) (any, bool) {
	v := r.doc
	for _, t := range tokens[min(r.above, len(tokens)):] {
		switch parent := v.(type) {
		case map[string]any:
			part, ok := parent[t]
			if !ok {
				return nil, false
			}
			v = part
		case []any:
			i, err := strconv.Atoi(t)
			if err != nil || i < 0 || i >= len(parent) {
				return nil, false
			}
			v = parent[i]
		default:
			return nil, false
		}
	}
	return v, true
}
