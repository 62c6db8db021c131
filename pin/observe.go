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

	pins               map[string]Pin // by tool
	waiting            []Pin          // those with a change that waits, in order
	gone               []Pin          // accepted ones that the server no longer offers, in order
	renames, disguises int            // comparisons made in search of them

	report Report
	add    []Pin // pins of new tools
	put    []Pin // pins that changed
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
	p.keep(last)
	for _, c := range last.report.Changed {
		p.tell(c)
	}
	if p.cfg.OnRename != nil {
		for _, x := range last.report.Renamed {
			p.cfg.OnRename(x)
		}
	}
	return last.report, nil
}

// compare makes one round, and writes what it found.
func (p *Pinner) compare(ctx context.Context, server string, tools []*tool.Tool, complete bool) (*round, error) {
	r := &round{p: p, server: server, complete: complete, now: p.cfg.Now(), pins: map[string]Pin{}}
	if err := r.load(ctx, tools); err != nil {
		return nil, err
	}
	for _, t := range tools {
		if err := r.tool(ctx, t); err != nil {
			return nil, err
		}
	}
	if len(r.add) > 0 {
		if err := p.cfg.Store.Add(ctx, r.add); err != nil {
			return nil, err
		}
	}
	if len(r.put) > 0 {
		if err := p.cfg.Store.Put(ctx, r.put); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// load reads the pins: of one tool alone where that is enough to judge it.
func (r *round) load(ctx context.Context, tools []*tool.Tool) error {
	if !r.complete && len(tools) == 1 {
		pin, ok, err := r.p.cfg.Store.Get(ctx, r.server, tools[0].Name)
		if err != nil {
			return err
		}
		if ok {
			return r.sort([]Pin{pin}, nil)
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
		if pin.Server != r.server || pin.Digest == "" && !pin.Waiting() {
			return fmt.Errorf("the store answers with a pin of %q of server %q that makes no sense", pin.Tool, pin.Server)
		}
		r.pins[pin.Tool] = pin
		if pin.Waiting() {
			r.waiting = append(r.waiting, pin)
		}
		if r.complete && !there[pin.Tool] && pin.Digest != "" {
			r.gone = append(r.gone, pin)
		}
	}
	return nil
}

// tool compares one tool.
func (r *round) tool(ctx context.Context, t *tool.Tool) error {
	def, err := r.p.describe(t)
	if err != nil {
		r.refuse(t, "its definition cannot be read")
		return nil
	}
	pin, known := r.pins[t.Name]
	switch {
	case !known:
		return r.first(t, def)
	case pin.Digest != def.Digest:
		return r.changed(ctx, t, def, pin)
	case pin.Waiting(): // the server has gone back to what was accepted
		full, ok, err := r.p.cfg.Store.Get(ctx, r.server, t.Name)
		if err != nil {
			return err
		}
		if ok && full.Digest == def.Digest {
			full.OfferedDigest, full.OfferedDefinition, full.OfferedAt = "", nil, time.Time{}
			r.put = append(r.put, full)
		}
	}
	r.passed = append(r.passed, t)
	return nil
}

func (r *round) refuse(t *tool.Tool, why string) {
	r.report.Refused = append(r.report.Refused, Refusal{t.ID, why})
}

// changed reports a change, and records it unless it waits already.
func (r *round) changed(ctx context.Context, t *tool.Tool, def Definition, pin Pin) error {
	r.tell(t, def, pin.Digest == "")
	if pin.OfferedDigest == def.Digest {
		return nil
	}
	full, ok, err := r.p.cfg.Store.Get(ctx, r.server, t.Name) // lists may come without definitions
	if err != nil {
		return err
	}
	if !ok || full.Digest != pin.Digest {
		return fmt.Errorf("the pin of %q has just been changed by somebody else", t.Name)
	}
	r.put = append(r.put, full)
	return r.offer(&r.put[len(r.put)-1], t, def)
}

func (r *round) tell(t *tool.Tool, def Definition, disguised bool) {
	r.report.Changed = append(r.report.Changed, Change{ID: t.ID, Server: r.server, Tool: t.Name, Digest: def.Digest, Disguised: disguised})
}

// offer notes in a pin what the server offers now.
func (r *round) offer(pin *Pin, t *tool.Tool, def Definition) (err error) {
	pin.OfferedDigest, pin.OfferedAt = def.Digest, r.now
	pin.OfferedDefinition, err = keptText(t, def)
	return err
}

// keptText is the text that a pin keeps of a definition.
func keptText(t *tool.Tool, def Definition) ([]byte, error) {
	if def.Text == nil { // the digest was kept in memory, the text was not
		var err error
		if def, err = Describe(t); err != nil {
			return nil, err
		}
	}
	if len(def.Text) > MaxDefinition {
		return nil, nil
	}
	return def.Text, nil
}

// first judges a tool that was never seen under this name.
func (r *round) first(t *tool.Tool, def Definition) error {
	if len(r.pins)+len(r.add) >= MaxPins {
		r.refuse(t, fmt.Sprintf("its server has had more than %d different tools, and new ones are not pinned any more", MaxPins))
		return nil
	}
	pin := Pin{Server: r.server, Tool: t.Name, FirstSeen: r.now}
	_, same, err := under(def, r.waiting, offeredDigest, budget{&r.disguises, maxDisguiseWork})
	switch {
	case err != nil:
		return err
	case same:
		r.tell(t, def, true)
		r.add = append(r.add, pin)
		return r.offer(&r.add[len(r.add)-1], t, def)
	case r.disguises > maxDisguiseWork:
		r.refuse(t, "it is new, and so many changed tools of its server wait to be accepted that it cannot be compared with them")
		return nil
	}
	from, same, err := under(def, r.gone, acceptedDigest, budget{&r.renames, maxRenameWork})
	if err != nil {
		return err
	}
	if same {
		r.report.Renamed = append(r.report.Renamed, Rename{ID: t.ID, Server: r.server, From: from, To: t.Name})
	}
	r.report.New = append(r.report.New, t.ID)
	pin.Digest, pin.AcceptedAt = def.Digest, r.now
	pin.Definition, err = keptText(t, def)
	r.add = append(r.add, pin)
	return err
}

func offeredDigest(p Pin) string  { return p.OfferedDigest }
func acceptedDigest(p Pin) string { return p.Digest }

// budget counts comparisons up to most.
type budget struct {
	used *int
	most int
}

// under finds the pin whose definition, of which digest tells, is the same but
// for the name. When the budget is used up it finds nothing.
func under(def Definition, pins []Pin, digest func(Pin) string, b budget) (string, bool, error) {
	for _, pin := range pins {
		if *b.used++; *b.used > b.most {
			return "", false, nil
		}
		renamed, err := def.under(pin.Tool)
		if err != nil {
			return "", false, err
		}
		if renamed == digest(pin) {
			return pin.Tool, true, nil
		}
	}
	return "", false, nil
}
