package approval

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/toolsearch/toolsearch/call"
	"github.com/toolsearch/toolsearch/tool"
)

// Bounds and defaults.
const (
	DefaultExpiry  = 10 * time.Minute // of a request, and of an approval for one call
	MinExpiry      = time.Second
	MaxExpiry      = 24 * time.Hour
	SessionExpiry  = 12 * time.Hour      // of an approval for a session
	PatternExpiry  = 30 * 24 * time.Hour // of an approval for a pattern
	MaxWaiting     = 256                 // calls of one Gate that wait at one time
	MaxPerCaller   = 100                 // pending requests of one caller
	MaxShownArgs   = 16 << 10
	pollInterval   = 250 * time.Millisecond // how often a waiting call looks for an answer from elsewhere
	recordDeadline = 10 * time.Second       // for recording what became of a cancelled call
)

// processSession begins the session of calls that name neither session nor run.
const processSession = "process-"

// Note is what was decided about a call, for its transcript.
type Note struct {
	ID       string // of the record, "" when a rule decided
	Decision string // "allowed", "approved", "denied", "expired", "pending"
	By       string // who, or which rule
}

// Options make a Gate.
type Options struct {
	Rules *Rules // nil means the defaults of RuleSet
	// PolicyVersion is the fingerprint of the policy that holds for all calls: an
	// approval given under another one does not count. See also StageUnder.
	PolicyVersion string
	// Folder is the working folder of the core tools, an absolute path without
	// symbolic links. It is what their relative paths and commands mean, so an
	// approval for one of them counts in no other folder. "" is for programs in
	// which it is always the same.
	Folder string
	Store  Store   // nil keeps records in memory
	Routes []Route // tried in their order; none refuses whatever must be asked
	// Expiry is how long a request stands, and how long an approval for one call
	// may be used. Zero means DefaultExpiry; it is brought into MinExpiry…MaxExpiry.
	Expiry time.Duration
	// Pause stops the clock of whoever waits for the call until the function it
	// returns is called. Nil pauses nothing.
	Pause func(ctx context.Context) (resume func())
	// Redact takes secrets out of JSON before it is kept: of the arguments, and of
	// the reason why it is asked, as a JSON string. Nil keeps them as they are.
	Redact func(args []byte) []byte
	// Note, when not nil, is told what was decided about each call that a rule or
	// somebody decided. A Toolset that has a transcript records it there by itself.
	Note func(ctx context.Context, n Note)
}

// Gate is the stage that asks. It is safe for concurrent use.
type Gate struct {
	opt     Options
	own     string // the session of calls that name neither session nor run
	waiting chan struct{}

	mu   sync.Mutex
	held map[string]time.Time // records that belong to a call which asks now, until when
}

// New makes a Gate.
func New(opt Options) (*Gate, error) {
	if opt.Rules == nil {
		var err error
		if opt.Rules, _, err = Compile(RuleSet{}); err != nil {
			return nil, fmt.Errorf("make the approval gate: %w", err)
		}
	}
	for i, r := range opt.Routes {
		if r == nil {
			return nil, fmt.Errorf("make the approval gate: route %d is nil", i)
		}
	}
	if opt.Store == nil {
		opt.Store = &Memory{}
	}
	if opt.Expiry == 0 {
		opt.Expiry = DefaultExpiry
	}
	opt.Expiry = min(max(opt.Expiry, MinExpiry), MaxExpiry)
	if opt.Pause == nil {
		opt.Pause = func(context.Context) func() { return func() {} }
	}
	if opt.Redact == nil {
		opt.Redact = func(args []byte) []byte { return args }
	}
	if opt.Note == nil {
		opt.Note = func(context.Context, Note) {}
	}
	return &Gate{
		opt:     opt,
		own:     processSession + rand.Text(),
		waiting: make(chan struct{}, MaxWaiting),
		held:    map[string]time.Time{},
	}, nil
}

// versionUnder is what a record binds of policies and rules.
func (g *Gate) versionUnder(policyVersion string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q", g.opt.PolicyVersion, g.opt.Rules.version, policyVersion))
	return hex.EncodeToString(sum[:16])
}

// Stage decides by the rules, and asks where they say so.
func (g *Gate) Stage() call.Stage { return g.StageUnder("") }

// StageUnder is Stage for the calls of runs that have a policy of their own, of
// that fingerprint: an approval given under another one does not count.
func (g *Gate) StageUnder(policyVersion string) call.Stage {
	version := g.versionUnder(policyVersion)
	return func(next call.Handler) call.Handler {
		return func(ctx context.Context, r call.Request) (*tool.Result, error) {
			action, by := g.opt.Rules.Decide(r.Target)
			p := &passed{target: r.Target.ID, version: version, asks: action == RuleAsk}
			// Also where nothing is asked: a tool may call another under its own
			// context, and what was approved for the one is not for the other.
			ctx = context.WithValue(ctx, passedKey{}, p)
			switch action {
			case RuleAllow:
				if by != "" {
					g.note(ctx, Note{Decision: "allowed", By: by})
				}
				return next(ctx, r)
			case RuleAsk:
				if err := g.ask(ctx, r, p, ""); err != nil {
					return nil, err
				}
				return next(ctx, r)
			default:
				return nil, g.forbid(ctx, r.Target, by)
			}
		}
	}
}

// Recheck belongs behind the stages that may replace arguments: an approval of
// other arguments than those that run is none, and is asked for anew.
func (g *Gate) Recheck() call.Stage {
	return func(next call.Handler) call.Handler {
		return func(ctx context.Context, r call.Request) (*tool.Result, error) {
			if p := g.passedOf(ctx, r.Target); p.asks {
				if err := g.ask(ctx, r, p, "a hook replaced the arguments"); err != nil {
					return nil, err
				}
			}
			return next(ctx, r)
		}
	}
}

// AskFor asks about a call for a reason that is not a rule's, such as a hook's. What
// the rules deny stays denied, and what was approved for this very call is not
// asked about twice. The error, if any, is a *tool.Error.
func (g *Gate) AskFor(ctx context.Context, r call.Request, reason string) error {
	if action, by := g.opt.Rules.Decide(r.Target); action == RuleDeny {
		return g.forbid(ctx, r.Target, by)
	}
	return g.ask(ctx, r, g.passedOf(ctx, r.Target), reason)
}

type passedKey struct{}

// passed is what was approved for one call on its way through the pipeline.
type passed struct {
	target  tool.ID
	version string // see versionUnder
	asks    bool   // the rules ask about the call

	mu      sync.Mutex
	digests []string // a few at most: one for each replacement of arguments
}

// passedOf finds what was approved for the call of t that ctx belongs to. Where ctx
// has passed no Stage for t, that is nothing.
func (g *Gate) passedOf(ctx context.Context, t *tool.Tool) *passed {
	if p, ok := ctx.Value(passedKey{}).(*passed); ok && p.target == t.ID {
		return p
	}
	return &passed{target: t.ID, version: g.versionUnder("")}
}

func (p *passed) has(digest string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Contains(p.digests, digest)
}

func (p *passed) add(digest string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.digests = append(p.digests, digest)
}

func (g *Gate) forbid(ctx context.Context, t *tool.Tool, by string) error {
	if by == "" {
		by = "approvals"
	}
	g.note(ctx, Note{Decision: "denied", By: by})
	return refusal(t, "the rules of approval deny it", "Do not try again; use another tool or tell the user.")
}

// refusal is the one shape of a no.
func refusal(t *tool.Tool, why, next string) *tool.Error {
	return &tool.Error{
		Code: tool.CodeBlocked, By: "approval",
		Reason: fmt.Sprintf("%s was not called: %s", t.ID, why),
		Next:   next,
	}
}

// broken refuses because something failed.
func broken(t *tool.Tool, what string, err error) *tool.Error {
	e := refusal(t, what, "Ask the user to run 'toolsearch doctor', then repeat the call.")
	if errors.Is(err, ErrFull) {
		e.Next = "Ask the user to answer what is pending with 'toolsearch approvals list', then repeat the call."
	}
	e.Err = err
	return e
}

// shownReason is what a record keeps of why it is asked: a hook may quote the
// arguments.
func (g *Gate) shownReason(reason string) string {
	quoted, err := tool.Encode(reason)
	if err != nil || json.Unmarshal(g.opt.Redact(quoted), &reason) != nil {
		return "(the reason could not be redacted and is not kept)"
	}
	return tool.Clean(reason, tool.MaxErrorText)
}

// shownArgs is what a record keeps of the arguments: JSON, bounded.
func (g *Gate) shownArgs(canonical json.RawMessage) json.RawMessage {
	out := g.opt.Redact(canonical)
	if !json.Valid(out) {
		out = json.RawMessage(`"(the arguments could not be redacted and are not kept)"`)
	}
	if len(out) <= MaxShownArgs {
		return out
	}
	head := tool.Clean(string(out), MaxShownArgs/2) // escapes may double it
	short, err := tool.Encode(fmt.Sprintf("%s (%d bytes in all)", head, len(out)))
	if err != nil { // a string always marshals
		return json.RawMessage(`""`)
	}
	return short
}
