package toolsearch

import (
	"context"
	"fmt"
	"sync"

	"github.com/toolsearch/toolsearch/call"
	"github.com/toolsearch/toolsearch/catalog"
	"github.com/toolsearch/toolsearch/policy"
	"github.com/toolsearch/toolsearch/surface"
	"github.com/toolsearch/toolsearch/tool"
	"github.com/toolsearch/toolsearch/turn"
)

// ScopeOptions are the rules of one kind of run: those of an agent with a model
// provider and a sender, say. Zero fields are the Toolset's own.
type ScopeOptions struct {
	// Policy filters the tools; nil is the Toolset's.
	Policy *policy.Policy
	Mode   surface.Mode
	Limits catalog.Limits
	// NameLimit is the longest name that the model's API takes; 0 is
	// surface.ModelNameLimit.
	NameLimit int
	// ContextTokens is the context of the run's model, for the listing of mode
	// Directory; 0 means that it is not known.
	ContextTokens int
	// Required are the tools that mode Directory shows; nil are the Toolset's.
	Required []string
}

// Scope is a Toolset under the rules of one kind of run. It shares the servers
// and all that is kept of calls, and has a plan of its own. It is safe for
// concurrent use, and ends with its Toolset, or at Close.
type Scope struct {
	set      *Toolset
	limits   catalog.Limits
	planner  *turn.Planner
	stop     context.CancelFunc // of following the sources
	pipeline *call.Pipeline
	runner   surface.CodeRunner // nil unless the mode is Code, or Auto may become it
	warnings []string

	mu      sync.Mutex
	built   *catalog.Catalog // of mode Off; see Catalog
	builtOf *turn.Plan
}

// Scope plans the tools under other rules. Make one for each kind of run and
// keep it: it holds an index of its own.
func (t *Toolset) Scope(ctx context.Context, o ScopeOptions) (*Scope, error) {
	opt := t.options
	if o.Policy != nil {
		opt.Policy = o.Policy
	}
	if o.Mode != "" {
		opt.Mode = o.Mode
	}
	if o.Limits != (catalog.Limits{}) {
		opt.Limits = o.Limits
	}
	if o.ContextTokens > 0 {
		opt.Directory.ContextTokens = o.ContextTokens
	}
	if o.Required != nil {
		opt.Directory.Required = o.Required
	}
	if o.NameLimit == 0 {
		o.NameLimit = surface.ModelNameLimit
	}
	s, err := t.scope(ctx, opt, o.NameLimit)
	if err != nil {
		return nil, err
	}
	if _, err := s.planner.Refresh(); err != nil {
		return nil, err
	}
	s.follow()
	return s, nil
}

// scope makes a scope, which plans nothing yet.
func (t *Toolset) scope(ctx context.Context, opt Options, nameLimit int) (*Scope, error) {
	s := &Scope{set: t, limits: opt.Limits, pipeline: call.New(opt.stages(t.schemas, t.repeats)...)}
	if opt.Mode == surface.Code || opt.Mode == surface.Auto {
		// Before the catalog is split: never direct exposure for want of a runtime.
		runner, err := t.runtime(ctx)
		switch {
		case err == nil:
			s.runner = runner
		case opt.Mode == surface.Code:
			opt.Mode = surface.Tools
			s.warnings = append(s.warnings, fmt.Sprintf("mode \"code\" acts as \"tools\": %v", err))
		default:
			opt.Logger.Info("mode auto cannot choose code here", "error", err)
		}
	}
	s.planner = turn.NewPlanner(turn.Config{
		Mode:      opt.Mode,
		Policy:    opt.Policy,
		Keep:      opt.Keep,
		Held:      opt.held(ctx),
		Sources:   []turn.Source{turn.Fixed(opt.Tools), turn.Servers(t.servers)},
		Limits:    opt.Limits,
		NameLimit: nameLimit,
		Auto:      turn.AutoConfig{Code: s.runner != nil},
		Directory: opt.Directory,
		Logger:    opt.Logger,
		Failed:    opt.PlanFailed,
	})
	return s, nil
}

// follow plans anew after each change, until the toolset closes.
func (s *Scope) follow() {
	var running context.Context
	running, s.stop = context.WithCancel(s.set.running)
	s.set.planners.Go(func() { s.planner.Run(running) })
}

// Close ends the planning. Sessions that have begun go on with the last plan.
func (s *Scope) Close() { s.stop() }

// surface makes what a model of this scope sees and says; c has its view.
func (s *Scope) surface(c surface.Config) (*surface.Surface, error) {
	opt := &s.set.options
	c.Limits, c.Pipeline, c.Code = s.limits, s.pipeline, s.runner
	c.Schemas, c.Shaper, c.Transcript, c.Observer, c.Logger = s.set.schemas, s.set.shaper, opt.Transcript, opt.Observer, opt.Logger
	return surface.New(c)
}

// Warnings says what is not as the options asked.
func (s *Scope) Warnings() []string { return s.warnings }

// SessionOptions say who runs, and with which tools.
type SessionOptions struct {
	// Client are the tools that the caller of this run brought; see package
	// source/client. A *turn.CollisionError tells of names that are taken.
	Client []*tool.Tool
	// Visible says which of Client the model must see itself, and Deferred which it
	// must find by search; nil leaves it to the mode.
	Visible, Deferred func(*tool.Tool) bool
	// Key names the conversation: sessions of one key begin with the same bytes.
	// "" remembers nothing.
	Key string
}

// Session is one run of a conversation: what its model sees, and the way to its
// tools. It is safe for concurrent use and needs no closing.
type Session struct {
	*surface.Surface
	turn     *turn.Session
	pipeline *call.Pipeline
}

// Session begins a run.
func (s *Scope) Session(o SessionOptions) (*Session, error) {
	planned, err := s.planner.Session(turn.SessionConfig{Client: o.Client, Visible: o.Visible, Deferred: o.Deferred, Key: o.Key})
	if err != nil {
		return nil, fmt.Errorf("begin a run: %w", err)
	}
	out := &Session{turn: planned, pipeline: s.pipeline}
	out.Surface, err = s.surface(surface.Config{View: planned.View, Visible: planned.Visible})
	if err != nil {
		return nil, fmt.Errorf("begin a run: %w", err)
	}
	return out, nil
}

// Settle waits until a run of the scope may begin. That is at once when the rules
// allow any tool that is known. Otherwise it waits for the servers that are still
// starting; when none of them brings an allowed tool, the error holds a
// *policy.EmptyError.
func (s *Scope) Settle(ctx context.Context) error { return s.planner.Settle(ctx) }

// Plan returns what runs of the scope can see now.
func (s *Scope) Plan() (*turn.Plan, error) { return s.planner.Current() }

// Front is what the prompts of the conversation begin with.
func (s *Session) Front() *turn.Front { return s.turn.Front() }
