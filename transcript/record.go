// Package transcript records every call of a tool: what was asked before it
// runs, and what came of it before the answer is given. Secrets are taken out
// before anything leaves this package.
//
// The guarantees of the Stage:
//
//  1. A tool does not run when its intent cannot be recorded.
//  2. An answer is not given when its outcome cannot be recorded; the caller is
//     told that side effects may have happened.
//  3. A cancelled call is recorded like any other.
//  4. What a Recorder gets is redacted and bounded.
package transcript

import (
	"context"
	"time"

	"github.com/toolsearch/toolsearch/tool"
)

// Ref names a recorded intent to the Recorder that made it.
type Ref int64

// Recorder keeps the transcript. Implementations are safe for concurrent use.
// A method that returns nil has taken the record: it survives the end of the
// process, however that comes.
type Recorder interface {
	Begin(ctx context.Context, in Intent) (Ref, error)
	End(ctx context.Context, ref Ref, out Outcome) error
}

// Counter keeps what a model saw and asked, per run.
type Counter interface {
	// StartRun records a run; a second call for the same run replaces what it
	// says of the surface and keeps the counts.
	StartRun(ctx context.Context, r Run) error
	// Count adds to the counts of a run, which need not be started.
	Count(ctx context.Context, key RunKey, n Counts) error
}

// RunKey names a run.
type RunKey struct {
	Session string // the conversation
	Run     string // unique inside the session
}

// Run is one request to the agent, and what its model saw up front.
type Run struct {
	RunKey
	Agent  string
	Caller string
	Mode   string // of the surface
	// Schemas and SchemaBytes count the tools sent to the model up front,
	// controls included; Catalog those hidden behind search.
	Schemas     int
	SchemaBytes int
	Catalog     int
	Started     time.Time // set by Transcript.StartRun when zero
}

// Counts are uses of the controls.
type Counts struct {
	Searches      int
	EmptySearches int // those of the searches that found nothing
	Describes     int
}

// Intent is a call that is about to run.
type Intent struct {
	RunKey
	Call    string // the call's id, unique inside the run when the client behaves
	Parent  string // the id of the control's call, "" for a direct call
	Control string // the control that asked, "" for a direct call
	Agent   string
	Caller  string
	Target  tool.ID
	Source  tool.Source
	Owner   string
	Name    string
	Args    Body
	Started time.Time
}

// Status says in a word how a call ended.
type Status string

// The ways a call ends.
const (
	StatusOK        Status = "ok"
	StatusError     Status = "error"     // the tool answered that it failed
	StatusBlocked   Status = "blocked"   // policy, approval, pin or hook said no
	StatusRefused   Status = "refused"   // it never ran for another reason: arguments, an unknown or missing tool
	StatusFailed    Status = "failed"    // there is no answer; it may have run
	StatusCancelled Status = "cancelled" // the caller gave up; it may have run
)

// Outcome is how a call ended.
type Outcome struct {
	Duration time.Duration
	Status   Status
	Code     tool.Code // of the error, "" when there is a result
	By       string    // who blocked
	Reason   string    // of the error, and what hooks replaced; redacted
	Approval Approval
	Result   Body
}

// Approval is what the approval stage decided about a call.
type Approval struct {
	ID       string // of the request, "" when a rule decided
	Decision string // "allowed", "approved", "denied", "expired"
	By       string // who or which rule decided
}

// Body is JSON as recorded: redacted, and cut when it is large.
type Body struct {
	// Text is the redacted JSON, or its head when Digest is set.
	Text []byte
	// Size is the size in bytes of the redacted JSON before the cut.
	Size int
	// Digest is "sha256:" and the hex digest of the whole redacted JSON, ""
	// when Text is all of it. It is of the redacted form, so that it cannot be
	// used to guess a secret.
	Digest string
}
