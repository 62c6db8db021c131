package approval

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/toolsearch/toolsearch/call"
	"github.com/toolsearch/toolsearch/policy"
	"github.com/toolsearch/toolsearch/tool"
)

type resumeKey struct{}

// Resume marks a call as the continuation of the one that asked under the id:
// that record is asked about, if it is still pending and about this very call.
func Resume(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, resumeKey{}, id)
}

// asking is one call for which an approval is needed.
type asking struct {
	gate   *Gate
	req    call.Request
	key    key
	canon  json.RawMessage
	reason string
}

// ask returns nil when the call may run.
func (g *Gate) ask(ctx context.Context, r call.Request, p *passed, reason string) error {
	canon, err := call.CanonicalLiteral(r.Args)
	if err != nil {
		return refusal(r.Target, fmt.Sprintf("its arguments cannot be asked about: %v", err), "Mend them and call again.")
	}
	a := &asking{gate: g, req: r, canon: canon, reason: reason, key: key{
		caller: r.Origin.Caller, agent: r.Origin.Agent, session: g.session(r.Origin),
		tool: r.Target.ID, digest: digestOf(canon), version: p.version,
	}}
	if core(r.Target) {
		a.key.folder, a.key.inFolder = g.opt.Folder, true
	}
	if p.has(a.key.digest) {
		return nil
	}
	if err := a.run(ctx); err != nil {
		return err
	}
	p.add(a.key.digest)
	return nil
}

// session is what scope Session is about.
func (g *Gate) session(o call.Origin) string {
	switch {
	case o.Session != "":
		return o.Session
	case o.Run != "":
		return "run-" + o.Run
	}
	return g.own
}

func (a *asking) run(ctx context.Context) error {
	refused, err := a.refused(ctx)
	if err != nil {
		return a.failed(ctx, "the denials could not be read", err)
	}
	granted, err := a.standing(ctx, refused.Decided)
	if err != nil {
		return a.failed(ctx, "the approvals could not be read", err)
	}
	if granted {
		return nil
	}
	if refused.ID != "" {
		return a.denied(ctx, refused)
	}
	if len(a.gate.opt.Routes) == 0 {
		return a.nobody(ctx, "")
	}
	select {
	case a.gate.waiting <- struct{}{}:
		defer func() { <-a.gate.waiting }()
	default:
		return broken(a.req.Target, fmt.Sprintf("it needs an approval, and %d calls wait for one already", MaxWaiting), ErrFull)
	}
	rec, release, err := a.record(ctx)
	if err != nil {
		return a.failed(ctx, "it needs an approval, which could not be recorded", err)
	}
	continued, err := a.wait(ctx, rec)
	if !continued {
		release()
	}
	return err
}

// refused is the last denial of this very call that stands: whoever said no is
// not asked again before the request would have expired. What ended without
// anybody's no has expired with it, and an approval for more than one call that
// was taken back only means to ask anew. The zero Record says that there is none.
func (a *asking) refused(ctx context.Context) (last Record, err error) {
	now := time.Now()
	found, err := a.gate.opt.Store.Find(ctx, Query{State: Denied, Scope: Once, Caller: a.key.caller, Tool: a.key.tool})
	if err != nil {
		return Record{}, err
	}
	for i := range found {
		r := &found[i]
		if r.State == Denied && r.Scope == Once && a.key.same(r, now) && (last.ID == "" || r.Decided.After(last.Decided)) {
			last = *r
		}
	}
	return last, nil
}

// standing looks for an approval that was given already, and after the time: of
// a denial and an approval the later one counts.
func (a *asking) standing(ctx context.Context, after time.Time) (bool, error) {
	store, now := a.gate.opt.Store, time.Now()
	own, err := store.Find(ctx, Query{State: Approved, Caller: a.key.caller, Tool: a.key.tool})
	if err != nil {
		return false, err
	}
	wide, err := store.Find(ctx, Query{State: Approved, Scope: Pattern, Caller: a.key.caller})
	if err != nil {
		return false, err
	}
	// What is not used up comes first, so that no single use is wasted.
	for _, list := range [][]Record{wide, own} {
		for i := range list {
			if r := &list[i]; r.Decided.After(after) && a.covers(r, now) {
				a.note(ctx, r.ID, "approved", r.DecidedBy)
				return true, nil
			}
		}
	}
	for i := range own {
		r := &own[i]
		if r.State != Approved || r.Scope != Once || !r.Decided.After(after) || !a.key.same(r, now) {
			continue
		}
		used, err := store.Change(ctx, r.ID, Change{From: Approved, To: Used, At: now})
		if err != nil {
			return false, err
		}
		if used {
			a.note(ctx, r.ID, "approved", r.DecidedBy)
			return true, nil
		}
	}
	return false, nil
}

// covers reports whether an approval that is not used up reaches this call.
func (a *asking) covers(r *Record, now time.Time) bool {
	if r.State != Approved || !a.key.binds(r, now) {
		return false
	}
	switch r.Scope {
	case Session:
		return r.Tool == a.key.tool && r.Session == a.key.session
	case Pattern:
		return matches(r.Pattern, a.req.Target)
	}
	return false
}

// exact begins a pattern that is one tool's id, letter by letter: the names of
// MCP tools are hostile, and one may look like a pattern.
const exact = "="

// Exactly is the pattern of one tool.
func Exactly(id tool.ID) string { return exact + string(id) }

// matches reports whether a pattern of an approval is about the tool.
func matches(pattern string, t *tool.Tool) bool {
	if id, ok := strings.CutPrefix(pattern, exact); ok {
		return id == string(t.ID)
	}
	if pattern == "" {
		return false
	}
	p, err := CompilePattern(pattern)
	return err == nil && p.Allows(t)
}

// CompilePattern checks a pattern of an approval: an entry of an allow list.
func CompilePattern(pattern string) (*policy.Policy, error) {
	p, _, err := policy.Compile([]policy.Layer{{
		Scope: policy.ScopeRun, Name: "approval",
		Rules: policy.Rules{Allow: []policy.Entry{{Pattern: pattern}}},
	}})
	if err != nil {
		return nil, fmt.Errorf("read the pattern %q: %w", pattern, err)
	}
	return p, nil
}

// record finds the pending record of this call, or makes one, and holds it: no
// other call takes it before it is released.
func (a *asking) record(ctx context.Context) (r Record, release func(), err error) {
	store, now := a.gate.opt.Store, time.Now()
	if _, err := store.Expire(ctx, now); err != nil {
		return Record{}, nil, err
	}
	pending, err := store.Find(ctx, Query{State: Pending, Caller: a.key.caller})
	if err != nil {
		return Record{}, nil, err
	}
	mine := 0
	for i := range pending {
		r := &pending[i]
		if r.State != Pending || r.Caller != a.key.caller {
			continue
		}
		mine++
		release, err := a.take(ctx, r, now)
		if err != nil || release != nil {
			return *r, release, err
		}
	}
	if mine >= MaxPerCaller {
		return Record{}, nil, fmt.Errorf("%d requests of this caller: %w", mine, ErrFull)
	}
	rec := Record{
		ID: newID(), Created: now, Expires: now.Add(a.gate.opt.Expiry),
		Caller: a.key.caller, Agent: a.key.agent, Session: a.key.session, Run: a.req.Origin.Run,
		Tool: a.key.tool, Digest: a.key.digest, Args: a.gate.shownArgs(a.canon), Folder: a.key.folder, PolicyVersion: a.key.version,
		State: Pending, Scope: Once, Reason: a.gate.shownReason(a.reason),
	}
	release = a.gate.hold(&rec, true) // before anybody can find it
	if err := store.Put(ctx, rec); err != nil {
		release()
		return Record{}, nil, err
	}
	return rec, release, nil
}

// take holds a pending record if it is about this very call and no other call
// asks with it; release is nil when it does not. The record may have been
// answered since it was found.
func (a *asking) take(ctx context.Context, r *Record, now time.Time) (release func(), err error) {
	resumed, _ := ctx.Value(resumeKey{}).(string)
	if !a.key.same(r, now) || resumed != "" && r.ID != resumed {
		return nil, nil
	}
	if release = a.gate.hold(r, r.ID == resumed); release == nil {
		return nil, nil
	}
	stands, err := a.gate.opt.Store.Get(ctx, r.ID)
	if err == nil && stands.State == Pending {
		return release, nil
	}
	release()
	if errors.Is(err, ErrNotFound) {
		err = nil // it was answered and pruned
	}
	return nil, err
}
