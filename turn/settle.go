package turn

import (
	"context"
	"fmt"
	"strings"

	"github.com/toolsearch/toolsearch/tool"
)

// Settle waits until a run may begin. That is at once when the rules allow any tool
// that is known. Otherwise it waits for the parts of sources that are still
// starting, at most for the servers' start timeouts. If none of them brings an
// allowed tool, the error holds a *policy.EmptyError and says what is out.
func (p *Planner) Settle(ctx context.Context) error {
	plan, err := p.Current()
	for {
		starting, changed := p.starting() // before the plan, so that no change is missed
		if err == nil && plan.Nothing != nil {
			plan, err = p.Refresh()
		}
		switch {
		case err != nil:
			return err
		case plan.Nothing == nil:
			return nil
		case !starting:
			return plan.nothing()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the sources of tools: %w", ctx.Err())
		case <-changed:
		}
	}
}

// starting reports whether a part of a source is starting. changed is closed once
// the first such source offers something else.
func (p *Planner) starting() (is bool, changed <-chan struct{}) {
	for _, s := range p.cfg.Sources {
		if snap := s.Snapshot(); snap.Starting {
			return true, snap.Superseded
		}
	}
	return false, nil
}

// maxOutages bounds the outages that an error names.
const maxOutages = 3

// nothing says that the rules leave nothing, and which servers are out that they
// let the run use.
func (p *Plan) nothing() error {
	var out []string
	for i, o := range p.Outages {
		if i == maxOutages {
			out = append(out, fmt.Sprintf("%d more", len(p.Outages)-i))
			break
		}
		out = append(out, fmt.Sprintf("%s (%s)", o.Owner, tool.Clean(o.Reason, 300)))
	}
	if len(out) == 0 {
		return fmt.Errorf("plan the tools: %w", p.Nothing)
	}
	return fmt.Errorf("plan the tools: %w; out of reach: %s", p.Nothing, strings.Join(out, ", "))
}

// Update is Refresh for whom nobody waits: that it fails, or leaves nothing though
// no source is starting any more, is told of once, until it works again.
func (p *Planner) Update() {
	p.mu.Lock()
	defer p.mu.Unlock()
	starting, _ := p.starting()
	plan, err := p.refresh()
	if err == nil && plan.Nothing != nil && !starting {
		err = plan.nothing()
	}
	switch {
	case err == nil || p.told:
	case p.cfg.Failed != nil:
		p.cfg.Failed(err)
	default:
		p.cfg.Logger.Error("planning failed; no tool is shown", "error", err)
	}
	p.told = err != nil
}
