package turn

import (
	"cmp"
	"fmt"

	"github.com/toolsearch/toolsearch/surface"
	"github.com/toolsearch/toolsearch/tool"
)

// AutoConfig is what mode auto needs to choose.
type AutoConfig struct {
	// Code says that bodies of code can run; else the choice is between Off and
	// Tools.
	Code bool
}

// Decision is what mode auto chose, and why. It compares bytes of tool
// definitions, as Definition.Size counts them.
type Decision struct {
	Chosen  surface.Mode `json:"chosen"`
	Search  surface.Mode `json:"search"`            // what is chosen above the threshold
	Direct  int          `json:"directBytes"`       // every allowed tool
	Surface int          `json:"surfaceBytes"`      // the controls of Search and the direct-only tools
	Most    int          `json:"threshold"`         // above it search is chosen
	Pending bool         `json:"pending,omitempty"` // of some server nothing was known yet
	Fixed   bool         `json:"fixed,omitempty"`   // a model saw it; the session keeps it whatever comes
}

// Finding and using one tool costs about lookupBytes of answers that a model
// reads, beside the surface itself.
//
// How it is counted: with its tool visible, a task takes two rounds, the call
// and the answer, and each carries every definition: 2·direct bytes. Behind
// search it takes four: search, describe, call, answer. Each carries the
// surface; three carry the answer of the search, two that of the describe:
// 4·surface + 3·search + 2·describe. Both are equal at
//
//	direct = 2·surface + 1.5·search + describe
//
// Measured with the searches that an agent really typed (the evaluation set
// livemcp-agent: 527 tools, 186 searches, 8 hits each) a search answers with
// 4,704 bytes and a describe with 1,081, so that the two together are 8,137.
// The other sets, whose tools say less of themselves, lie between 2,700 and
// 6,500. The higher end is taken, since search also costs the time of two
// rounds. TestBreakEven measures again.
const lookupBytes = 8000

// breakEven is the bytes of definitions up to which tools stay direct.
func breakEven(surfaceBytes int) int { return 2*surfaceBytes + lookupBytes }

// Reason explains the decision in a sentence.
func (d Decision) Reason() string {
	switch {
	case d.Pending:
		return fmt.Sprintf("%d bytes of definitions are known, and a server has not said yet what it has", d.Direct)
	case d.Chosen == surface.Off:
		return fmt.Sprintf("%d bytes of definitions are at most the break-even of %d", d.Direct, d.Most)
	}
	return fmt.Sprintf("%d bytes of definitions are above the break-even of %d", d.Direct, d.Most)
}

// decide chooses between direct exposure and search; nil means that nobody
// asked. While a server's tools are unknown it chooses search: they may be
// thousands. What a model has seen stays.
func (p *Planner) decide(allowed []*tool.Tool, pending bool) *Decision {
	if p.cfg.Mode != surface.Auto || p.fixed != nil {
		return p.fixed
	}
	d := &Decision{Search: surface.Tools, Pending: pending}
	if p.cfg.Auto.Code && p.cfg.Policy.Control(surface.ToolSearchCode).Allowed {
		d.Search = surface.Code
	}
	for _, c := range surface.Controls(d.Search, p.cfg.Limits) {
		d.Surface += c.Size()
	}
	for _, t := range allowed {
		n := surface.Direct(t, surface.WireName(t, p.cfg.NameLimit)).Size()
		d.Direct += n
		if t.Mode == tool.DirectOnly {
			d.Surface += n
		}
	}
	d.Most = breakEven(d.Surface)
	if d.Chosen = surface.Off; pending || d.Direct > d.Most {
		d.Chosen = d.Search
	}
	return d
}

// undecided reports whether a plan's decision has to be made again although
// its tools are the same.
func (p *Planner) undecided(plan *Plan, pending bool) bool {
	return plan.Auto != nil && !plan.Auto.Fixed && plan.Auto.Pending != pending
}

// fix holds the planner to what a model sees now, and returns it.
func (p *Planner) fix(plan *Plan) *Plan {
	if plan.Auto == nil || plan.Auto.Fixed {
		return plan
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.current.Load()
	if now == nil || now.Auto.Fixed { // nil: planning has failed since
		return cmp.Or(now, plan)
	}
	plan = now
	next, decision := *plan, *plan.Auto
	decision.Fixed = true
	next.Auto, p.fixed = &decision, &decision
	p.current.Store(&next)
	return &next
}
