package pin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toolsearch/toolsearch/call"
	"github.com/toolsearch/toolsearch/tool"
)

// Mode says what is done about a changed definition.
type Mode string

// The modes.
const (
	Block Mode = "block" // the tool is not called until the change is accepted
	Warn  Mode = "warn"  // it is called, and the change is reported and recorded
	Off   Mode = "off"   // nothing is pinned
)

// Bounds.
const (
	// MaxPins bounds the tools of one server that are ever pinned, gone ones
	// included. Beyond it new tools are blocked.
	MaxPins = 20_000
	// Fresh is how long a verdict that lets a tool pass is kept before the store is
	// asked again. A verdict that blocks is never kept.
	Fresh = 10 * time.Second

	maxVerdicts = 1 << 16 // kept verdicts and digests; all are dropped when they are more
	maxWarned   = 4096    // changes that were reported, likewise
	// Comparisons of one check in search of renamed tools, and of changes that come
	// again under another name. Beyond the latter new tools are refused.
	maxRenameWork   = 20_000
	maxDisguiseWork = 200_000
)

// ErrNotPending says that the change to accept does not wait, or no longer: the
// server has changed the tool once more, or somebody else has decided.
var ErrNotPending = errors.New("no such change is waiting")

// Config makes a Pinner.
type Config struct {
	Store Store // required unless Mode is Off
	Mode  Mode  // "" is Block
	// OnChange, when not nil, takes every change once, in every mode but Off. It
	// must not block.
	OnChange func(Change)
	// OnRename, when not nil, takes every rename once, likewise.
	OnRename func(Rename)
	// Now is the clock; nil is time.Now.
	Now func() time.Time
}

// Change is a tool whose definition is not the accepted one.
type Change struct {
	ID     tool.ID
	Server string
	Tool   string
	Digest string // of the new definition, as Accept takes it
	// Disguised says that the tool is new under this name, with a definition that
	// waits under another one.
	Disguised bool
}

// Rename is a new tool that is, but for its name, one that has gone.
type Rename struct {
	ID       tool.ID
	Server   string
	From, To string
}

// Report says what a Check found, in the order of the tools.
type Report struct {
	New     []tool.ID // seen for the first time; the renamed ones too
	Changed []Change
	Renamed []Rename
	Refused []Refusal
}

// Refusal is a tool that cannot be pinned, and so is not called, in every mode.
type Refusal struct {
	ID  tool.ID
	Why string // completes "was not called: …"
}

// Held lists the tools that are blocked in mode Block. A planner should not show
// their new descriptions to a model either.
func (r *Report) Held() []tool.ID {
	var out []tool.ID
	for _, c := range r.Changed {
		out = append(out, c.ID)
	}
	for _, x := range r.Refused {
		out = append(out, x.ID)
	}
	return out
}

// Pinner pins. It is safe for concurrent use.
type Pinner struct {
	cfg Config
	// turn holds one token: who has it reads and writes the store.
	turn chan struct{}

	mu       sync.RWMutex
	verdicts map[revision]time.Time // tools that passed, and when the store was asked
	digests  map[revision]Definition
	warned   map[string]bool
	waits    map[string]bool // servers of which a change waits, as far as was seen
}

// revision is one definition of one tool, without reading it.
type revision struct {
	id  tool.ID
	rev string
}

// New makes a Pinner.
func New(c Config) (*Pinner, error) {
	if c.Mode == "" {
		c.Mode = Block
	}
	if c.Mode != Block && c.Mode != Warn && c.Mode != Off {
		return nil, fmt.Errorf("set up pins: the mode %q is unknown; use %q, %q or %q", c.Mode, Block, Warn, Off)
	}
	if c.Store == nil && c.Mode != Off {
		return nil, errors.New("set up pins: a store is required")
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	p := &Pinner{cfg: c, turn: make(chan struct{}, 1)}
	p.turn <- struct{}{}
	p.forget()
	return p, nil
}

// forget drops everything that was kept in memory.
func (p *Pinner) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.verdicts, p.digests = map[revision]time.Time{}, map[revision]Definition{}
	p.warned, p.waits = map[string]bool{}, map[string]bool{}
}

// Check pins the tools that are new, and says what has changed. The tools of a
// server must be all that it offers: those that are missing count as gone. Tools
// that are not an MCP server's are passed over. When the store fails there is no
// report, and the stage blocks until it works again.
func (p *Pinner) Check(ctx context.Context, tools []*tool.Tool) (Report, error) {
	var all Report
	if p.cfg.Mode == Off {
		return all, nil
	}
	var servers []string
	byServer := map[string][]*tool.Tool{}
	for _, t := range tools {
		if t == nil || t.Source != tool.MCP {
			continue
		}
		if byServer[t.Owner] == nil {
			servers = append(servers, t.Owner)
		}
		byServer[t.Owner] = append(byServer[t.Owner], t)
	}
	for _, server := range servers {
		if p.settled(server) && !slices.ContainsFunc(byServer[server], func(t *tool.Tool) bool { return !p.passed(t) }) {
			continue // all of them passed a moment ago
		}
		r, err := p.observe(ctx, server, byServer[server], true)
		if err != nil {
			return Report{}, err
		}
		all.New = append(all.New, r.New...)
		all.Changed = append(all.Changed, r.Changed...)
		all.Renamed = append(all.Renamed, r.Renamed...)
		all.Refused = append(all.Refused, r.Refused...)
	}
	return all, nil
}

// Accept makes the waiting definition with this digest the accepted one. The
// digest is that of the definition that a person has looked at.
func (p *Pinner) Accept(ctx context.Context, server, name, digest string) error {
	if p.cfg.Store == nil {
		return fmt.Errorf("accept %s of server %q: %w", name, server, ErrNotPending)
	}
	if err := p.take(ctx); err != nil {
		return err
	}
	defer p.give()
	defer p.forget()
	accepted, err := p.cfg.Store.Accept(ctx, server, name, digest, p.cfg.Now())
	if err == nil && !accepted {
		err = ErrNotPending
	}
	if err != nil {
		return fmt.Errorf("accept %s of server %q: %w", name, server, err)
	}
	return nil
}

func (p *Pinner) take(ctx context.Context) error {
	select {
	case <-p.turn:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *Pinner) give() { p.turn <- struct{}{} }

// Mode is what is done about a changed definition.
func (p *Pinner) Mode() Mode { return p.cfg.Mode }

// Stage returns the stage that blocks calls of changed tools.
func (p *Pinner) Stage() call.Stage {
	if p.cfg.Mode == Off {
		return func(next call.Handler) call.Handler { return next }
	}
	return func(next call.Handler) call.Handler {
		return func(ctx context.Context, r call.Request) (*tool.Result, error) {
			if r.Target.Source == tool.MCP && !p.passed(r.Target) {
				if err := p.judge(ctx, r.Target); err != nil {
					return nil, err
				}
			}
			return next(ctx, r)
		}
	}
}

// passed reports whether the tool has a fresh verdict.
func (p *Pinner) passed(t *tool.Tool) bool {
	if t.Revision == "" {
		return false
	}
	p.mu.RLock()
	at, ok := p.verdicts[revision{t.ID, t.Revision}]
	p.mu.RUnlock()
	if !ok {
		return false
	}
	age := p.cfg.Now().Sub(at)
	return age >= 0 && age < Fresh
}

// settled reports whether no change of the server was seen to wait.
func (p *Pinner) settled(server string) bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return !p.waits[server]
}

// judge asks the store about one tool, and returns the refusal if there is one.
func (p *Pinner) judge(ctx context.Context, t *tool.Tool) error {
	report, err := p.observe(ctx, t.Owner, []*tool.Tool{t}, false)
	switch {
	case err != nil && ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return &tool.Error{
			Code:   tool.CodeBlocked,
			By:     "pin",
			Reason: fmt.Sprintf("%s was not called: its definition could not be compared with the one that was pinned", t.ID),
			Next:   "The store of pins must be mended first; tell the user.",
			Err:    err,
		}
	case len(report.Refused) > 0:
		return &tool.Error{
			Code:   tool.CodeBlocked,
			By:     "pin",
			Reason: fmt.Sprintf("%s was not called: %s", t.ID, report.Refused[0].Why),
			Next:   "Use another tool, and tell the user.",
		}
	case len(report.Changed) > 0 && p.cfg.Mode == Block:
		return p.refusal(ctx, t, report.Changed[0])
	}
	return nil
}

// refusal says what has changed, by the names of the members.
func (p *Pinner) refusal(ctx context.Context, t *tool.Tool, c Change) *tool.Error {
	what := "its definition has changed since it was accepted"
	if c.Disguised {
		what = "it is new, with a changed definition that waits to be accepted under another name"
	} else if pin, ok, err := p.cfg.Store.Get(ctx, c.Server, c.Tool); err == nil && ok {
		if names := changedMembers(&pin); len(names) > 0 {
			what += " (" + strings.Join(names, ", ") + ")"
		}
	}
	return &tool.Error{
		Code:   tool.CodeBlocked,
		By:     "pin",
		Reason: fmt.Sprintf("%s was not called: %s", t.ID, what),
		Next:   fmt.Sprintf("Use another tool. The user can read the change with `toolsearch pins diff %s` and allow it with `toolsearch pins accept %s`.", t.ID, t.ID),
	}
}

// describe returns the definition, without its text where the digest was kept.
func (p *Pinner) describe(t *tool.Tool) (Definition, error) {
	key := revision{t.ID, t.Revision}
	if t.Revision != "" {
		p.mu.RLock()
		d, ok := p.digests[key]
		p.mu.RUnlock()
		if ok {
			return d, nil
		}
	}
	d, err := Describe(t)
	if err == nil && t.Revision != "" {
		light := d
		light.Text = nil
		p.mu.Lock()
		if len(p.digests) >= maxVerdicts {
			clear(p.digests)
		}
		p.digests[key] = light
		p.mu.Unlock()
	}
	return d, err
}

// keep remembers what a round found.
func (p *Pinner) keep(r *round) {
	for _, t := range r.passed {
		p.pass(t, r.now)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch waits := len(r.waiting)+len(r.report.Changed) > 0; {
	case waits:
		p.waits[r.server] = true
	case r.complete:
		delete(p.waits, r.server)
	}
}

// pass keeps the verdict that a tool may be called.
func (p *Pinner) pass(t *tool.Tool, at time.Time) {
	if t.Revision == "" {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.verdicts) >= maxVerdicts {
		clear(p.verdicts)
	}
	p.verdicts[revision{t.ID, t.Revision}] = at
}

// tell reports a change once.
func (p *Pinner) tell(c Change) {
	if p.cfg.OnChange == nil {
		return
	}
	key := string(c.ID) + "\x00" + c.Digest
	p.mu.Lock()
	told := p.warned[key]
	if !told {
		if len(p.warned) >= maxWarned {
			clear(p.warned)
		}
		p.warned[key] = true
	}
	p.mu.Unlock()
	if !told {
		p.cfg.OnChange(c)
	}
}
