// Package turn plans what a model sees and, from that, what it may call.
package turn

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/toolsearch/toolsearch/catalog"
	"github.com/toolsearch/toolsearch/policy"
	"github.com/toolsearch/toolsearch/surface"
	"github.com/toolsearch/toolsearch/tool"
)

// Source is where tools come from. Snapshot is cheap and never blocks.
type Source interface{ Snapshot() Snapshot }

// Snapshot is what a source offers at one moment. It never changes.
type Snapshot struct {
	Tools   []*tool.Tool
	Outages []catalog.Outage
	// Superseded is closed once the source offers something else; nil means
	// that it never will.
	Superseded <-chan struct{}
	// Pending says that the source has tools of which nothing is known yet.
	Pending bool
	// Starting says that a part of the source has not been up or failed yet: what
	// it has may still come. It ends, and Superseded is closed then.
	Starting bool
}

// Fixed is a Source whose tools never change.
type Fixed []*tool.Tool

// Snapshot returns the tools.
func (f Fixed) Snapshot() Snapshot { return Snapshot{Tools: f} }

// Config makes a Planner.
type Config struct {
	Mode   surface.Mode // Auto leaves the choice to planning
	Policy *policy.Policy
	Keep   func(*tool.Tool) bool // a further filter; nil keeps all
	// Held, when not nil, names those of the MCP servers' tools whose definition
	// waits to be accepted: what they now say of themselves is not shown. An
	// error holds none; the pipeline blocks what it cannot judge.
	Held    func([]*tool.Tool) ([]tool.ID, error)
	Sources []Source       // in the order core and plugins, MCP servers, client
	Limits  catalog.Limits // as the controls state them
	// NameLimit is the longest wire name; 0 is MCP's 128.
	NameLimit int
	Auto      AutoConfig      // of mode Auto
	Directory DirectoryConfig // of mode Directory
	Logger    *slog.Logger
	// Failed, when not nil, is told instead of the log that Update failed. It is
	// called while no other plan can be made.
	Failed func(error)
}

// Plan is the outcome of planning: what the model sees and what stands behind.
type Plan struct {
	View        *surface.View
	Offered     []*tool.Tool // by the sources, before policy
	Allowed     []*tool.Tool // after policy, in source order
	Outages     []catalog.Outage
	Warnings    []string
	Fingerprint string
	Auto        *Decision // nil unless the mode was left to planning
	// Nothing is not nil when an allow list leaves none of the tools that are known,
	// while a part of a source is out that may have some: a run must not begin. See
	// Settle.
	Nothing *policy.EmptyError

	core map[string]struct{} // names of the core tools in Offered
	byID func() map[tool.ID]*tool.Tool
}

// AllowedTool finds an allowed tool by its id, visible to the model or not.
func (p *Plan) AllowedTool(id tool.ID) (*tool.Tool, bool) {
	t, ok := p.byID()[id]
	return t, ok
}

// byID indexes tools once somebody asks: most runs resolve through the catalog.
func byID(tools []*tool.Tool) func() map[tool.ID]*tool.Tool {
	return sync.OnceValue(func() map[tool.ID]*tool.Tool {
		out := make(map[tool.ID]*tool.Tool, len(tools))
		for _, t := range tools {
			out[t.ID] = t
		}
		return out
	})
}

// Planner keeps the current plan and swaps it when a source changes. It is
// safe for concurrent use.
type Planner struct {
	cfg     Config
	current atomic.Pointer[Plan]
	mu      sync.Mutex   // one Refresh at a time
	offered []*tool.Tool // what current was made of; guarded by mu
	fixed   *Decision    // of mode Auto, once a model saw it; guarded by mu
	told    bool         // Update failed last time; guarded by mu

	sessions *sessions

	subMu sync.Mutex
	subs  map[int]func(*Plan)
	next  int
}

// NewPlanner makes a planner. Nothing is planned before the first Refresh.
func NewPlanner(cfg Config) *Planner {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.NameLimit == 0 {
		cfg.NameLimit = surface.MCPNameLimit
	}
	return &Planner{cfg: cfg, subs: map[int]func(*Plan){}, sessions: newSessions()}
}

// Run refreshes the plan after each change of a source, until ctx ends. A
// change during a refresh leads to one more; none is lost.
func (p *Planner) Run(ctx context.Context) {
	wake := make(chan struct{}, 1)
	var watchers sync.WaitGroup
	defer watchers.Wait()
	for _, s := range p.cfg.Sources {
		watchers.Go(func() { watch(ctx, s, wake) })
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-wake:
			p.Update()
		}
	}
}

// watch wakes Run now, for what changed before it listened, and after each
// change.
func watch(ctx context.Context, s Source, wake chan<- struct{}) {
	for {
		snap := s.Snapshot()
		select {
		case wake <- struct{}{}:
		default: // a refresh is due already, and it will see this snapshot
		}
		select {
		case <-ctx.Done():
			return
		case <-snap.Superseded:
		}
	}
}

// Subscribe has f called with each new plan, until stop is called. It is called
// while no other plan can be made: it must not block, refresh or call stop.
func (p *Planner) Subscribe(f func(*Plan)) (stop func()) {
	p.subMu.Lock()
	defer p.subMu.Unlock()
	id := p.next
	p.next++
	p.subs[id] = f
	return func() {
		p.subMu.Lock()
		defer p.subMu.Unlock()
		delete(p.subs, id)
	}
}

// View returns what the model sees now, planning it if nobody has. It is nil
// when planning fails: then nothing is shown. The first view settles what mode
// Auto chose.
func (p *Planner) View() *surface.View {
	plan, err := p.Current()
	if err != nil {
		return nil
	}
	return p.fix(plan).View
}

// Current returns the current plan, planning if nobody has.
func (p *Planner) Current() (*Plan, error) {
	if plan := p.current.Load(); plan != nil {
		return plan, nil
	}
	return p.Refresh()
}

// Refresh plans from what the sources offer now. An unchanged offer keeps the
// current plan.
func (p *Planner) Refresh() (*Plan, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.refresh()
}

// refresh is Refresh for who holds mu.
func (p *Planner) refresh() (*Plan, error) {
	plan, err := p.plan()
	if err != nil {
		p.current.Store(nil)
		return nil, err
	}
	if old := p.current.Load(); old == plan {
		return old, nil
	}
	p.current.Store(plan)
	p.subMu.Lock()
	defer p.subMu.Unlock()
	for _, f := range p.subs {
		f(plan)
	}
	return plan, nil
}

// offers is what the sources offer together, as far as it is kept.
func (p *Planner) offers() (all Snapshot) {
	for _, s := range p.cfg.Sources {
		snap := s.Snapshot()
		all.Tools = append(all.Tools, snap.Tools...)
		all.Outages = append(all.Outages, snap.Outages...)
		all.Pending = all.Pending || snap.Pending
	}
	if p.cfg.Keep != nil {
		all.Tools = slices.DeleteFunc(all.Tools, func(t *tool.Tool) bool { return !p.cfg.Keep(t) })
	}
	return all
}

// plan follows the contract's order: policy over core and plugin tools, MCP
// tools and client tools; direct-only tools stay visible, the rest is indexed;
// then the mode's controls. It returns the current plan when nothing changed.
func (p *Planner) plan() (*Plan, error) {
	now := p.offers()
	plan, pending := &Plan{}, now.Pending
	settled := len(now.Outages) == 0
	for _, o := range now.Outages {
		if p.ownerAllowed(o.Owner) {
			plan.Outages = append(plan.Outages, o)
		}
	}
	offered, held := p.hideHeld(now.Tools)
	if old := p.current.Load(); old != nil && len(old.Allowed) > 0 && slices.Equal(offered, p.offered) && !p.undecided(old, pending) {
		// The same tools, and a policy never changes. Where it leaves none, the
		// outages decide whether that is an error.
		return old.withOutages(plan.Outages), nil
	}
	for _, id := range held {
		plan.Warnings = append(plan.Warnings, fmt.Sprintf("the definition of %s has changed; it is blocked until it is accepted", id))
	}
	allowed, err := p.cfg.Policy.Filter(offered)
	if err != nil && (settled || !errors.As(err, &plan.Nothing)) {
		return nil, fmt.Errorf("plan the tools: %w", err)
	}
	plan.Offered, plan.Allowed, plan.core = offered, allowed, coreNames(offered)
	plan.byID = byID(allowed)

	mode := p.cfg.Mode
	if plan.Auto = p.decide(allowed, pending); plan.Auto != nil {
		mode = plan.Auto.Chosen
	}
	for _, name := range surface.ControlNames(mode) {
		if !p.cfg.Policy.Control(name).Allowed {
			plan.Warnings = append(plan.Warnings, fmt.Sprintf("policy removes %s, which mode %q needs: every allowed tool is exposed directly", name, mode))
			mode = surface.Off
			break
		}
	}
	plan.Fingerprint = string(mode) + ":" + catalog.Fingerprint(allowed)
	if old := p.current.Load(); old != nil && old.Fingerprint == plan.Fingerprint {
		p.offered = offered
		return old.withOffered(offered).withOutages(plan.Outages).withDecision(plan.Auto), nil
	}
	if plan.View, err = p.view(mode, allowed, nil); err != nil {
		return nil, err
	}
	for _, t := range plan.View.Direct.Left() {
		plan.Warnings = append(plan.Warnings, fmt.Sprintf("%s is not shown: another tool would have the same name", t.ID))
		p.cfg.Logger.Warn("a tool is not shown: another one would have the same name", "tool", t.ID)
	}
	if mode == surface.Directory && !pending {
		plan.Warnings = append(plan.Warnings, p.missingRequired(plan.View)...)
	}
	plan.View.Catalog = withOutages(plan.View.Catalog, plan.Outages)
	p.offered = offered
	return plan, nil
}

// coreNames are the names of the core tools among them.
func coreNames(tools []*tool.Tool) map[string]struct{} {
	out := map[string]struct{}{}
	for _, t := range tools {
		if t.Source == tool.OpenClaw && t.Owner == tool.CoreOwner {
			out[t.Name] = struct{}{}
		}
	}
	return out
}

// view splits tools into those a model sees and those behind search. visible
// are seen in any case.
func (p *Planner) view(mode surface.Mode, tools, visible []*tool.Tool) (*surface.View, error) {
	if mode == surface.Off {
		return p.viewOf(&surface.View{Mode: mode}, append(slices.Clip(tools), visible...))
	}
	c, err := catalog.Build(catalog.Input{Tools: tools})
	if err != nil {
		return nil, err
	}
	view := &surface.View{Mode: mode, Catalog: c}
	if mode == surface.Directory {
		view.Listing = p.listing(c).Text
	}
	return p.viewOf(view, append(slices.Clip(c.Direct()), visible...))
}

// extend adds tools to those of a view: some behind search, and some that are
// seen in any case. It does not index them: see catalog.Extend.
func (p *Planner) extend(v *surface.View, hidden, visible []*tool.Tool) (*surface.View, error) {
	c, err := v.Catalog.Extend(hidden)
	if err != nil {
		return nil, err
	}
	view := &surface.View{Mode: v.Mode, Catalog: c, Listing: v.Listing}
	if v.Mode == surface.Directory && len(hidden) > 0 {
		view.Listing = p.listing(c).Text
	}
	return p.viewOf(view, append(slices.Clip(c.Direct()), visible...))
}

// viewOf completes a view with what is seen of it.
func (p *Planner) viewOf(view *surface.View, direct []*tool.Tool) (*surface.View, error) {
	if view.Mode == surface.Directory {
		direct = append(direct, p.required(view.Catalog, direct)...)
	}
	var err error
	if view.Direct, err = surface.NewNames(direct, p.cfg.NameLimit); err != nil {
		return nil, fmt.Errorf("plan the tools: %w", err)
	}
	return view, nil
}

func withOutages(c *catalog.Catalog, outages []catalog.Outage) *catalog.Catalog {
	if c == nil || slices.Equal(c.Outages(), outages) {
		return c
	}
	return c.WithOutages(outages)
}

// heldDescription stands for what a changed tool says of itself.
const heldDescription = "(Blocked: the server changed this tool's definition, and a person has not accepted it yet.)"

// hideHeld replaces the texts and schemas of changed tools. They stay what a
// model sees or finds, in every mode: a call is told by their pin what is wrong.
func (p *Planner) hideHeld(offered []*tool.Tool) ([]*tool.Tool, []tool.ID) {
	if p.cfg.Held == nil {
		return offered, nil
	}
	held, err := p.cfg.Held(offered)
	if err != nil {
		p.cfg.Logger.Error("the tools of MCP servers cannot be held to their definitions; their calls are blocked", "error", err)
		return offered, nil
	}
	if len(held) == 0 {
		return offered, nil
	}
	blocked := make(map[tool.ID]struct{}, len(held)) // a server may change all of its thousands
	for _, id := range held {
		blocked[id] = struct{}{}
	}
	out := make([]*tool.Tool, 0, len(offered))
	for _, t := range offered {
		if _, isHeld := blocked[t.ID]; !isHeld {
			out = append(out, t)
			continue
		}
		// Definition stays: by it the pipeline judges a call.
		c := *t
		c.Label, c.SearchHint, c.Description, c.Output = "", "", heldDescription, nil
		c.Input, c.TrustSchema, c.Mode = tool.RawSchema(`{"type":"object"}`), false, tool.Cataloged
		c.Annotations, c.Held = tool.Annotations{}, true
		c.Revision += " held"
		out = append(out, &c)
	}
	return out, held
}

// withOutages returns the plan itself when the outages are the same, and else a
// copy that shares the index.
func (p *Plan) withOutages(outages []catalog.Outage) *Plan {
	if slices.Equal(p.Outages, outages) {
		return p
	}
	next, view := *p, *p.View
	view.Catalog = withOutages(view.Catalog, outages)
	next.Outages, next.View = outages, &view
	return &next
}

// withOffered is the plan where what is offered has changed, and nothing that is
// allowed.
func (p *Plan) withOffered(offered []*tool.Tool) *Plan {
	if slices.EqualFunc(p.Offered, offered, func(a, b *tool.Tool) bool { return a.ID == b.ID }) {
		return p
	}
	next := *p
	next.Offered, next.core = offered, coreNames(offered)
	return &next
}

// ownerAllowed reports whether a model may hear of an MCP server: not of one
// whose tools it may not use.
func (p *Planner) ownerAllowed(server string) bool {
	return p.cfg.Policy.Allows(&tool.Tool{
		ID: tool.NewID(tool.MCP, server, "*"), Source: tool.MCP, Owner: server, Name: "*",
	})
}
