package transcript

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/toolsearch/toolsearch/call"
	"github.com/toolsearch/toolsearch/tool"
)

// Bounds, in bytes.
const (
	DefaultBody = 16 << 10 // of arguments, and of a result, kept as text
	MinBody     = 256
	MaxBody     = 1 << 20
	maxName     = 256 // of an id or name
)

// outcomeWait bounds how long an outcome waits for a busy recorder, also when
// the caller has gone.
const outcomeWait = 10 * time.Second

// Config makes a Transcript.
type Config struct {
	Recorder Recorder
	Counter  Counter   // nil counts nothing
	Redactor *Redactor // nil redacts by the built-in names alone
	// MaxBody is how many bytes of arguments and of a result are kept; the rest
	// is kept as a digest. Zero means DefaultBody; other values are brought
	// into MinBody…MaxBody.
	MaxBody int
	Now     func() time.Time // nil means time.Now
}

// Transcript records calls. It is safe for concurrent use.
type Transcript struct {
	rec     Recorder
	counter Counter
	redact  *Redactor
	maxBody int
	now     func() time.Time
	own     string // names calls and runs that come without a name
	made    atomic.Uint64
}

// New makes a Transcript.
func New(c Config) (*Transcript, error) {
	if c.Recorder == nil {
		return nil, errors.New("make a transcript: a recorder is required")
	}
	t := &Transcript{rec: c.Recorder, counter: c.Counter, redact: c.Redactor, maxBody: c.MaxBody, now: c.Now}
	if t.redact == nil {
		t.redact = NewRedactor(RedactorConfig{})
	}
	if t.maxBody == 0 {
		t.maxBody = DefaultBody
	}
	t.maxBody = min(max(t.maxBody, MinBody), MaxBody)
	if t.now == nil {
		t.now = time.Now
	}
	var random [6]byte
	_, _ = rand.Read(random[:]) // never fails, by its contract
	t.own = hex.EncodeToString(random[:])
	return t, nil
}

// Key returns the run that an origin belongs to. A run without a session is a
// session of its own; calls without a run belong to one run per Transcript.
func (t *Transcript) Key(o call.Origin) RunKey {
	k := RunKey{Session: bound(o.Session), Run: bound(o.Run)}
	if k.Run == "" {
		k.Run = "p-" + t.own
	}
	if k.Session == "" {
		k.Session = k.Run
	}
	return k
}

// StartRun records what a model sees up front. Its key is completed as Key does.
func (t *Transcript) StartRun(ctx context.Context, r Run) error {
	if t.counter == nil {
		return nil
	}
	r.RunKey = t.Key(call.Origin{Session: r.Session, Run: r.Run})
	r.Agent, r.Caller, r.Mode = bound(r.Agent), bound(r.Caller), bound(r.Mode)
	if r.Started.IsZero() {
		r.Started = t.now()
	}
	return t.counter.StartRun(ctx, r)
}

// Count adds to the counts of the origin's run.
func (t *Transcript) Count(ctx context.Context, o call.Origin, n Counts) error {
	if t.counter == nil || n == (Counts{}) {
		return nil
	}
	return t.counter.Count(ctx, t.Key(o), n)
}

// Stage is the outermost stage of a pipeline. It gives a call without an id
// one, so that the stages below see it.
func (t *Transcript) Stage() call.Stage {
	return func(next call.Handler) call.Handler {
		return func(ctx context.Context, r call.Request) (*tool.Result, error) {
			if r.Origin.CallID == "" {
				r.Origin.CallID = t.newCallID()
			}
			started := t.now()
			ref, err := t.rec.Begin(ctx, t.intent(r, started))
			if err != nil {
				return nil, unrecorded(ctx, r.Target, err)
			}
			n := &note{}
			res, callErr := next(context.WithValue(ctx, noteKey{}, n), r)
			out := t.outcome(ctx, res, callErr)
			out.Duration = t.now().Sub(started)
			out.Approval = n.get()
			if reason := n.reason(t, out.Reason); reason != "" {
				out.Reason = reason
			}
			if err := t.end(ctx, ref, out); err != nil {
				return nil, lost(r.Target, out, err)
			}
			return res, callErr
		}
	}
}

// Redact takes the secrets out of text that is to be logged.
func (t *Transcript) Redact(text string) string { return t.redact.Text(text) }

func (t *Transcript) newCallID() string {
	var buf [40]byte
	id := append(append(buf[:0], "c-"...), t.own...)
	return string(strconv.AppendUint(append(id, '-'), t.made.Add(1), 36))
}

func (t *Transcript) intent(r call.Request, started time.Time) Intent {
	return Intent{
		RunKey:  t.Key(r.Origin),
		Call:    bound(r.Origin.CallID),
		Parent:  bound(r.Origin.Parent),
		Control: bound(r.Origin.Control),
		Agent:   bound(r.Origin.Agent),
		Caller:  bound(r.Origin.Caller),
		Target:  tool.ID(bound(string(r.Target.ID))),
		Source:  r.Target.Source,
		Owner:   bound(r.Target.Owner),
		Name:    bound(r.Target.Name),
		Args:    t.body(r.Args),
		Started: started,
	}
}

// end records the outcome, also for a caller that has gone.
func (t *Transcript) end(ctx context.Context, ref Ref, out Outcome) error {
	if ctx.Err() == nil {
		if err := t.rec.End(ctx, ref, out); err == nil || ctx.Err() == nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), outcomeWait)
	defer cancel()
	return t.rec.End(ctx, ref, out)
}

func (t *Transcript) outcome(ctx context.Context, res *tool.Result, err error) Outcome {
	if err == nil && res == nil {
		err = errors.New("the tool returned neither a result nor an error")
	}
	if err == nil {
		out := Outcome{Status: StatusOK, Result: t.body(resultJSON(res))}
		if res.IsError {
			out.Status = StatusError
		}
		return out
	}
	out := Outcome{Status: StatusFailed, Code: codeOf(ctx, err)}
	var te *tool.Error
	reason := err.Error()
	if errors.As(err, &te) {
		reason, out.By = te.Reason, bound(te.By)
	}
	out.Reason = tool.Clean(t.redact.Text(reason), tool.MaxErrorText) // a cut could hide a secret from the search
	switch out.Code {
	case tool.CodeBlocked:
		out.Status = StatusBlocked
	case tool.CodeCancelled:
		out.Status = StatusCancelled
	case tool.CodeUnknownTool, tool.CodeAmbiguous, tool.CodeInvalidInput, tool.CodeInvalidArgs,
		tool.CodeBadSchema, tool.CodeUnavailable, tool.CodeCatalogGone, tool.CodeLimitExhausted:
		out.Status = StatusRefused
	}
	return out
}

// codeOf reads an error as the pipeline will: it stands outside of this stage.
func codeOf(ctx context.Context, err error) tool.Code {
	var te *tool.Error
	switch {
	case errors.As(err, &te):
		return te.Code
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		return tool.CodeCancelled
	case errors.Is(err, context.DeadlineExceeded):
		return tool.CodeTimeout
	}
	return tool.CodeFailed
}

// body redacts JSON and cuts it to the bound.
func (t *Transcript) body(raw []byte) Body {
	clean := t.redact.JSON(raw)
	b := Body{Text: clean, Size: len(clean)}
	if len(clean) > t.maxBody {
		sum := sha256.Sum256(clean)
		b.Digest = "sha256:" + hex.EncodeToString(sum[:])
		b.Text = clean[:cut(clean, t.maxBody)]
	}
	return b
}

// cut returns the largest index up to max at which text may be cut: never
// inside a UTF-8 sequence.
func cut(text []byte, max int) int {
	for n := max; n > 0 && n > max-4; n-- {
		if text[n]&0xC0 != 0x80 {
			return n
		}
	}
	return max
}

// resultJSON is a result in MCP's format: as the server sent it, or put
// together from its parts.
func resultJSON(r *tool.Result) []byte {
	if len(r.Raw) > 0 {
		return r.Raw
	}
	size := 48 + len(r.Details)
	for _, c := range r.Content {
		size += len(c.Raw) + 1
	}
	out := append(make([]byte, 0, size), `{"content":[`...)
	for i, c := range r.Content {
		if i > 0 {
			out = append(out, ',')
		}
		if len(c.Raw) == 0 {
			out = append(out, "null"...)
		}
		out = append(out, c.Raw...)
	}
	out = append(out, ']')
	if len(r.Details) > 0 {
		out = append(append(out, `,"structuredContent":`...), r.Details...)
	}
	if r.IsError {
		out = append(out, `,"isError":true`...)
	}
	return append(out, '}')
}

// bound cleans and cuts a name from outside.
func bound(s string) string {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] >= 0x7F {
			return tool.Clean(s, maxName)
		}
	}
	if len(s) <= maxName {
		return s
	}
	return strings.Clone(tool.Clean(s, maxName))
}

// why says what a recorder tells of its failure, for a model to read.
func why(err error) string {
	var r interface{ Reason() string }
	if errors.As(err, &r) {
		return ": " + tool.Clean(r.Reason(), maxName)
	}
	return ""
}

func unrecorded(ctx context.Context, target *tool.Tool, err error) error {
	if ctx.Err() != nil {
		return &tool.Error{Code: tool.CodeCancelled, Reason: fmt.Sprintf("call %s: cancelled before it ran", target.ID), Err: err}
	}
	return &tool.Error{
		Code:   tool.CodeFailed,
		Reason: fmt.Sprintf("%s was not called: the transcript cannot be written%s", target.ID, why(err)),
		Next:   "Ask the user to run 'toolsearch doctor': the state folder may be full or not writable.",
		Err:    fmt.Errorf("record the intent to call %s: %w", target.ID, err),
	}
}

// lost says that an answer was withheld. What never ran keeps its own words.
func lost(target *tool.Tool, out Outcome, err error) error {
	e := &tool.Error{
		Code:   tool.CodeFailed,
		Reason: fmt.Sprintf("%s ran, but its outcome cannot be written to the transcript, so its answer is withheld%s", target.ID, why(err)),
		Next:   "Side effects may have happened: check before you repeat it. Ask the user to run 'toolsearch doctor'.",
		Err:    fmt.Errorf("record the outcome of %s: %w", target.ID, err),
	}
	if out.Status == StatusBlocked || out.Status == StatusRefused {
		e.Reason = fmt.Sprintf("%s was not called, and that cannot be written to the transcript%s", target.ID, why(err))
		e.Next = "Ask the user to run 'toolsearch doctor': the state folder may be full or not writable."
	}
	return e
}
