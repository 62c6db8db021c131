package pin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/toolsearch/toolsearch/tool"
)

// round is one comparison of a server's tools with its pins.
type round struct {
	p        *Pinner
	server   string
	complete bool // the tools are all that the server offers
	now      time.Time

	accepted map[string]Pin
	pending  map[string]Pin
	waiting  []Pin // the pending ones in order
	gone     []Pin // accepted ones that the server no longer offers, in order
	work     int   // comparisons made in search of renamed tools

	report Report
	write  []Pin    // to be put, never over an accepted one
	drop   []string // tools whose pending pins are moot
	passed []*tool.Tool
}

// observe compares, writes what is new, and keeps the verdicts.
func (p *Pinner) observe(ctx context.Context, server string, tools []*tool.Tool, complete bool) (Report, error) {
	if err := p.take(ctx); err != nil {
		return Report{}, err
	}
	defer p.give()
	first, err := p.compare(ctx, server, tools, complete)
	if err != nil {
		return Report{}, fmt.Errorf("check the pins of server %q: %w", server, err)
	}
	last := first
	if len(first.report.New) > 0 {
		// Another process may have seen the same tools for the first time in the
		// same moment, in another shape: what the store holds now decides.
		if last, err = p.compare(ctx, server, tools, complete); err != nil {
			return Report{}, fmt.Errorf("check the pins of server %q: %w", server, err)
		}
		if len(last.report.New) > 0 {
			return Report{}, fmt.Errorf("check the pins of server %q: %w", server, errors.New("the store does not keep what is written to it"))
		}
		last.report.New, last.report.Renamed = first.report.New, first.report.Renamed
	}
	for _, t := range last.passed {
		p.pass(t, last.now)
	}
	for _, c := range last.report.Changed {
		p.tell(c)
	}
	return last.report, nil
}

// compare makes one round, and writes what it found.
func (p *Pinner) compare(ctx context.Context, server string, tools []*tool.Tool, complete bool) (*round, error) {
	r := &round{p: p, server: server, complete: complete, now: p.cfg.Now(), accepted: map[string]Pin{}, pending: map[string]Pin{}}
	if err := r.load(ctx, tools); err != nil {
		return nil, err
	}
	for _, t := range tools {
		if err := r.tool(t); err != nil {
			return nil, err
		}
	}
	if len(r.write) > 0 {
		if err := p.cfg.Store.Put(ctx, r.write); err != nil {
			return nil, err
		}
	}
	for _, name := range r.drop {
		if err := p.cfg.Store.Drop(ctx, server, name); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// load reads the pins: of one tool alone where that is enough to judge it.
func (r *round) load(ctx context.Context, tools []*tool.Tool) error {
	if !r.complete && len(tools) == 1 {
		pins, err := r.p.cfg.Store.Get(ctx, r.server, tools[0].Name)
		if err != nil {
			return err
		}
		if len(pins) > 0 {
			return r.sort(pins, nil)
		}
	}
	pins, err := r.p.cfg.Store.List(ctx, r.server)
	if err != nil {
		return err
	}
	return r.sort(pins, tools)
}

// sort puts the pins where they are looked for. A row that makes no sense is an
// error: a store that was tampered with must not open anything.
func (r *round) sort(pins []Pin, offered []*tool.Tool) error {
	there := make(map[string]bool, len(offered))
	for _, t := range offered {
		there[t.Name] = true
	}
	for _, pin := range pins {
		if pin.Server != r.server || !pin.Status.Valid() || pin.Digest == "" {
			return fmt.Errorf("the store answers with a pin of %q (server %q, status %q) that makes no sense", pin.Tool, pin.Server, pin.Status)
		}
		if pin.Status == Pending {
			r.pending[pin.Tool] = pin
			r.waiting = append(r.waiting, pin)
			continue
		}
		r.accepted[pin.Tool] = pin
		if r.complete && !there[pin.Tool] {
			r.gone = append(r.gone, pin)
		}
	}
	return nil
}

// tool compares one tool.
func (r *round) tool(t *tool.Tool) error {
	def, err := r.p.describe(t)
	if err != nil {
		r.refuse(t, "its definition cannot be read")
		return nil
	}
	old, known := r.accepted[t.Name]
	wait, waits := r.pending[t.Name]
	switch {
	case known && old.Digest == def.Digest:
		if waits {
			r.drop = append(r.drop, t.Name)
		}
		r.passed = append(r.passed, t)
	case known:
		return r.changed(t, def, waits && wait.Digest == def.Digest, false)
	case waits:
		return r.changed(t, def, wait.Digest == def.Digest, true)
	default:
		return r.first(t, def)
	}
	return nil
}

func (r *round) refuse(t *tool.Tool, why string) {
	r.report.Refused = append(r.report.Refused, Refusal{t.ID, why})
}

// changed reports a change, and records it unless it waits already.
func (r *round) changed(t *tool.Tool, def Definition, waits, disguised bool) error {
	r.report.Changed = append(r.report.Changed, Change{ID: t.ID, Server: r.server, Tool: t.Name, Digest: def.Digest, Disguised: disguised})
	if waits {
		return nil
	}
	return r.record(t, def, Pending)
}

// first judges a tool that was never seen under this name.
func (r *round) first(t *tool.Tool, def Definition) error {
	if len(r.accepted)+len(r.pending)+len(r.write) >= MaxPins {
		r.refuse(t, fmt.Sprintf("its server has had more than %d different tools, and new ones are not pinned any more", MaxPins))
		return nil
	}
	_, same, err := r.under(def, r.waiting)
	switch {
	case err != nil:
		return err
	case same:
		return r.changed(t, def, false, true)
	case r.work > maxRenameWork && len(r.waiting) > 0:
		r.refuse(t, "it is new, and so many changed tools of its server wait to be accepted that it cannot be compared with them")
		return nil
	}
	r.report.New = append(r.report.New, t.ID)
	from, same, err := r.under(def, r.gone)
	if err != nil {
		return err
	}
	if same {
		r.report.Renamed = append(r.report.Renamed, Rename{ID: t.ID, Server: r.server, From: from, To: t.Name})
	}
	return r.record(t, def, Accepted)
}

// under finds the pin whose definition is the same but for the name.
func (r *round) under(def Definition, pins []Pin) (string, bool, error) {
	for _, pin := range pins {
		if r.work++; r.work > maxRenameWork {
			return "", false, nil
		}
		digest, err := def.under(pin.Tool)
		if err != nil {
			return "", false, err
		}
		if digest == pin.Digest {
			return pin.Tool, true, nil
		}
	}
	return "", false, nil
}

// record adds a pin to what is written.
func (r *round) record(t *tool.Tool, def Definition, status Status) error {
	if def.Text == nil { // the digest was kept, the text was not
		var err error
		if def, err = Describe(t); err != nil {
			return err
		}
	}
	pin := Pin{Server: r.server, Tool: t.Name, Digest: def.Digest, FirstSeen: r.now, Status: status}
	if len(def.Text) <= MaxDefinition {
		pin.Definition = def.Text
	}
	if status == Accepted {
		pin.AcceptedAt = r.now
	}
	r.write = append(r.write, pin)
	return nil
}
