package code

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/toolsearch/toolsearch/tool"
)

// Report is the outcome of a run, also of one that failed: what was logged and
// which calls were made is kept in any case.
type Report struct {
	OK bool
	// Value is the returned value as JSON, null when the run failed. When the
	// value was too long, it is a string: the beginning of its JSON text.
	Value json.RawMessage
	// Content holds the blocks behind the handles in Value, in the order in
	// which they appear first.
	Content []tool.Content
	Error   *GuestError // nil when OK
	Logs    []Log
	// Truncated says what was cut at its limit.
	Truncated Truncated
	// Calls are the tool calls in the order in which they began.
	Calls []CallRecord
	// Searches, Describes and CallsMade count requests that reached the host.
	Searches, Describes, CallsMade int
	// Duration is the time from Run's call; Waited the part of it that passed
	// before a child took the code.
	Duration, Waited time.Duration
}

// Truncated says what a run lost at its limits.
type Truncated struct {
	Logs bool
	// ResultBytes is the whole length of a value's JSON text that was cut, 0
	// when it was not.
	ResultBytes int64
	// Content counts handles whose blocks could not be kept.
	Content int
}

// Log is one line that the body wrote to its console.
type Log struct {
	Level string `json:"level"` // "log", "warn" or "error"
	Text  string `json:"text"`
}

// Outcome of a call.
type Outcome string

// The outcomes. Unfinished means that the run ended first: whether the tool has
// done its work is not known.
const (
	Succeeded  Outcome = "ok"
	Failed     Outcome = "error"
	Unfinished Outcome = "unfinished"
)

// CallRecord is one tool call that a body made.
type CallRecord struct {
	ID      string  `json:"id"`             // as the body wrote it
	Args    string  `json:"args,omitempty"` // the beginning of its JSON text
	Outcome Outcome `json:"outcome"`
	Error   string  `json:"error,omitempty"` // the beginning of the error's text
	// Details are what mends arguments that were refused as invalid: the problems,
	// and the schema. They are left out beyond 32 KiB in all.
	Details  json.RawMessage `json:"details,omitempty"`
	Duration time.Duration   `json:"-"`
}

// Kind says what kind of failure ended a run.
type Kind string

// The kinds.
const (
	KindSyntax    Kind = "syntax"    // the code does not parse
	KindThrown    Kind = "thrown"    // the code threw, or a tool did and nobody caught it
	KindStuck     Kind = "stuck"     // the code waits for what nothing can settle
	KindTimeout   Kind = "timeout"   // the deadline passed, in the queue or running
	KindMemory    Kind = "memory"    // the memory limit was reached
	KindLimit     Kind = "limit"     // another limit: the code's length, the queue's
	KindCancelled Kind = "cancelled" // the caller gave up
	KindCrashed   Kind = "crashed"   // the child ended, or broke the protocol
)

// GuestError is why a run failed, in words a model can act on.
type GuestError struct {
	Kind    Kind   `json:"kind"`
	Name    string `json:"name"` // the error's name in JavaScript, or one like it
	Message string `json:"message"`
	Code    string `json:"code,omitempty"` // a tool error's code
	// Line and Column count from 1 in the code as it was sent; 0 means unknown.
	Line   int `json:"line,omitempty"`
	Column int `json:"column,omitempty"`
	// Snippet is that line.
	Snippet string `json:"snippet,omitempty"`
	Hint    string `json:"hint,omitempty"`
	// Stack lists the body's own frames, innermost first.
	Stack string `json:"stack,omitempty"`
}

// Error returns name, message and place.
func (e *GuestError) Error() string {
	text := e.Name + ": " + e.Message
	if e.Line > 0 {
		text += fmt.Sprintf(" (line %d, column %d)", e.Line, e.Column)
	}
	return text
}
