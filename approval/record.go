package approval

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/toolsearch/toolsearch/call"
	"github.com/toolsearch/toolsearch/tool"
)

// State says where a record stands.
type State string

// The states. Only a pending record can be answered; only an approved one can
// be used.
const (
	Pending  State = "pending"
	Approved State = "approved"
	Denied   State = "denied"
	Expired  State = "expired"
	Used     State = "used"
)

// Scope says how far an approval reaches.
type Scope string

// The scopes; see the package's comment.
const (
	Once    Scope = "once"
	Session Scope = "session"
	Pattern Scope = "pattern"
)

// Valid reports whether s is one of the scopes.
func (s Scope) Valid() bool { return s == Once || s == Session || s == Pattern }

// Record is one request for approval and what became of it.
type Record struct {
	ID            string
	Created       time.Time
	Expires       time.Time // of the request while pending, of the approval after
	Caller        string
	Agent         string
	Session       string // what scope session means: the session, else the run, else the Gate
	Run           string
	Tool          tool.ID
	Digest        string          // of the canonical arguments, "sha256:…"
	Args          json.RawMessage // redacted and bounded, to be shown only
	Folder        string          // in which a core tool would run; "" for other tools
	PolicyVersion string          // of the policy and the rules of approval
	State         State
	Scope         Scope
	Pattern       string // for scope Pattern
	DecidedBy     string
	Decided       time.Time // zero while pending
	Reason        string    // while pending: why it is asked; then why it was decided so
}

// Lifetime is how long an approval counts once it is given: SessionExpiry,
// PatternExpiry, or for a single call as long as the request for it stood.
func (r *Record) Lifetime(s Scope) time.Duration {
	switch s {
	case Session:
		return SessionExpiry
	case Pattern:
		return PatternExpiry
	}
	return min(max(r.Expires.Sub(r.Created), MinExpiry), MaxExpiry)
}

// Covers reports whether a pattern of an approval is about the tool that the
// record asks about.
func (r *Record) Covers(pattern string) bool {
	source, rest, _ := strings.Cut(string(r.Tool), ":")
	owner, name, _ := strings.Cut(rest, ":")
	return matches(pattern, &tool.Tool{ID: r.Tool, Source: tool.Source(source), Owner: owner, Name: name})
}

// OfProcess reports whether the session of the record is a process alone: a call
// outside of any conversation, such as one of the command line.
func (r *Record) OfProcess() bool { return strings.HasPrefix(r.Session, processSession) }

// key is what a call must share with a record.
type key struct {
	caller, agent, session string
	tool                   tool.ID
	digest, version        string
	folder                 string
	inFolder               bool // of a core tool: the folder is part of what the call does
}

// binds reports whether the record is about the same caller, agent, policy and
// folder, and still stands at now.
func (k key) binds(r *Record, now time.Time) bool {
	if k.inFolder && r.Folder != k.folder {
		return false
	}
	return r.Caller == k.caller && r.Agent == k.agent && r.PolicyVersion == k.version && now.Before(r.Expires)
}

// same reports whether the record is about this very call.
func (k key) same(r *Record, now time.Time) bool {
	return k.binds(r, now) && r.Tool == k.tool && r.Digest == k.digest
}

// DigestOf returns the digest of arguments as a Record binds them, "sha256:…". Two
// texts share it if they differ in white space, in the order of members or in how
// characters are escaped alone: an approval of 1 is none of 1.0. It fails where
// call.CanonicalLiteral does.
func DigestOf(args json.RawMessage) (string, error) {
	canonical, err := call.CanonicalLiteral(args)
	if err != nil {
		return "", fmt.Errorf("digest arguments: %w", err)
	}
	return digestOf(canonical), nil
}

func digestOf(canonical json.RawMessage) string {
	sum := sha256.Sum256(canonical)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// newID returns a name that a person can type: 50 random bits. The store
// refuses one that exists.
func newID() string { return strings.ToLower(rand.Text()[:10]) }

// Request is a Record on its way to somebody who can answer, with the call
// itself, which is not kept.
type Request struct {
	Record
	Target *tool.Tool
	// Call is the arguments in full, secrets included. They may be shown to the
	// person who is asked, by Text, and go nowhere else.
	Call   json.RawMessage
	Origin call.Origin
}

// Answer is what a route brings back.
type Answer int

// The answers. The zero value refuses.
const (
	Deny Answer = iota
	Allow
	// Later leaves the record pending: the call is refused for now, and its
	// repetition finds the answer.
	Later
	// Continued is like Later, but only a call that is marked by Resume goes on
	// with the record; one that merely looks the same asks for itself.
	Continued
)

// Decision is an answer with its terms.
type Decision struct {
	Answer Answer
	Scope  Scope // for Allow; "" means Once
	// Pattern is for scope Pattern, as in an allow list of package policy; it
	// must match the tool. "" means the tool's own id.
	Pattern string
	By      string // who answered, for the record
	Reason  string // why; for Later and Continued, what the caller should do
	// AskAgain is for a Deny that nobody meant, such as a form that was closed:
	// the same call may ask again at once. Any other Deny stands as long as the
	// request would have.
	AskAgain bool
	// Taken, when not nil, is called if this is the answer that counts: another
	// one may have come first.
	Taken func()
}
