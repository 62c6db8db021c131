package tool

import (
	"encoding/json"
	"errors"
	"strings"
)

// Code classifies a refusal or failure. Codes are stable: scripts and models
// branch on them.
type Code string

// The codes.
const (
	CodeUnknownTool    Code = "unknown_tool"      // not in this run's catalog; also what is not allowed
	CodeAmbiguous      Code = "ambiguous_tool"    // a name that several tools have
	CodeInvalidInput   Code = "invalid_input"     // a control's own arguments are wrong
	CodeInvalidArgs    Code = "invalid_arguments" // the target's arguments break its schema
	CodeInvalidOutput  Code = "invalid_output"    // the target broke its output schema
	CodeBadSchema      Code = "bad_schema"        // a declared schema does not compile
	CodeBlocked        Code = "blocked"           // policy, approval, pin or hook said no
	CodeUnavailable    Code = "unavailable"       // the source is down or the tool is gone
	CodeTimeout        Code = "timeout"
	CodeCancelled      Code = "cancelled"
	CodeFailed         Code = "failed"          // the tool or its transport failed
	CodeCatalogGone    Code = "catalog_gone"    // the run's catalog is gone
	CodeCallDirectly   Code = "call_directly"   // the tool is visible, no control needed
	CodeLimitExhausted Code = "limit_exhausted" // a stated limit was reached
)

// MaxErrorText bounds, in bytes, each text of an Error that a model reads.
const MaxErrorText = 2000

// Error is the one type for failures a model or a client may read. Reason says
// what was being done, with which input, and what is wrong; Next says what to
// do. Err is the cause, for logs only: it is never shown to a model.
type Error struct {
	Code    Code
	Reason  string
	Next    string
	By      string          // who blocked, for CodeBlocked: "policy", "approval", "pin", a hook's name
	Details json.RawMessage // machine-readable extras, such as the schema that was broken
	Err     error
}

// Error returns the reason and the next step.
func (e *Error) Error() string {
	if e.Next == "" {
		return e.Reason
	}
	if strings.HasSuffix(e.Reason, "?") || strings.HasSuffix(e.Reason, ".") { // such as a guess at what was meant
		return e.Reason + " " + e.Next
	}
	return e.Reason + ". " + e.Next
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// MarshalJSON writes the machine-readable refusal {code, reason, next}, with
// texts bounded and cleaned.
func (e *Error) MarshalJSON() ([]byte, error) {
	status := ""
	if e.Code == CodeBlocked {
		status = "blocked"
	}
	return Encode(struct {
		Status  string          `json:"status,omitempty"`
		Code    Code            `json:"code"`
		Reason  string          `json:"reason"`
		Next    string          `json:"next,omitempty"`
		By      string          `json:"blockedBy,omitempty"`
		Details json.RawMessage `json:"details,omitempty"`
	}{status, e.Code, Clean(e.Reason, MaxErrorText), Clean(e.Next, MaxErrorText), e.By, e.Details})
}

// CodeOf returns the code of the first Error in err's chain, and CodeFailed
// for any other error.
func CodeOf(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return CodeFailed
}

// Result turns the error into what a model reads.
func (e *Error) Result() *Result {
	raw, err := e.MarshalJSON()
	if err != nil { // only Details can be malformed
		raw, _ = (&Error{Code: e.Code, Reason: e.Reason, Next: e.Next, By: e.By}).MarshalJSON()
	}
	return &Result{Content: []Content{Text(string(raw))}, Details: raw, IsError: true}
}

// Clean makes text from outside safe to show: invalid UTF-8 becomes U+FFFD,
// control and invisible characters (except newline and tab) are dropped, and
// the text is cut to max bytes at a rune boundary with an ellipsis.
func Clean(s string, max int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if strings.IndexFunc(s, hidden) >= 0 {
		s = strings.Map(func(r rune) rune {
			if hidden(r) {
				return -1
			}
			return r
		}, s)
	}
	const ellipsis = "…"
	if len(s) <= max {
		return s
	}
	cut := max - len(ellipsis)
	if cut < 0 {
		return ""
	}
	for cut > 0 && s[cut]&0xC0 == 0x80 { // never inside a rune
		cut--
	}
	return s[:cut] + ellipsis
}

// CleanLine is Clean for one line: each run of white space, line ends included,
// becomes one space.
func CleanLine(s string, max int) string {
	s = s[:min(len(s), 4*max)] // whatever is cut later need not be cleaned first
	return Clean(strings.Join(strings.Fields(Clean(s, 4*max)), " "), max)
}

// hidden reports characters that can hide or reorder text in a prompt or on a
// terminal: controls, bidirectional overrides, zero-width and tag characters.
func hidden(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r < 0x20 || (r >= 0x7F && r <= 0x9F):
		return true
	case r == 0x00AD || r == 0x061C || r == 0x180E || r == 0xFEFF:
		return true
	case r >= 0x200B && r <= 0x200F, r >= 0x2028 && r <= 0x202E, r >= 0x2060 && r <= 0x206F:
		return true
	case r >= 0xFE00 && r <= 0xFE0F, r >= 0xFFF9 && r <= 0xFFFB:
		return true
	case r >= 0xE0000 && r <= 0xE0FFF:
		return true
	}
	return false
}
