package approval

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/toolsearch/toolsearch/tool"
)

// hold keeps a record for the call that asks, until it expires or release is
// called. It returns nil when another call holds it, unless the call continues
// that one.
func (g *Gate) hold(r *Record, continues bool) (release func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	for id, until := range g.held { // few: those that ask now, and those that are to be resumed
		if !now.Before(until) {
			delete(g.held, id)
		}
	}
	if _, held := g.held[r.ID]; held && !continues {
		return nil
	}
	g.held[r.ID] = r.Expires
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		delete(g.held, r.ID)
	}
}

type answer struct {
	Decision
	err error
}

// wait brings the record to somebody, and takes the first answer: the route's,
// or one that stands in the store. continued says that the record stays with
// a call to come.
func (a *asking) wait(ctx context.Context, rec Record) (continued bool, err error) {
	defer a.gate.opt.Pause(ctx)()
	asked, cancel := context.WithDeadline(ctx, rec.Expires)
	defer cancel()
	answers := make(chan answer, 1)
	go func() {
		d, err := askRoutes(asked, a.gate.opt.Routes, Request{
			Record: rec, Target: a.req.Target, Call: a.canon, Origin: a.req.Origin,
		})
		answers <- answer{d, err}
	}()
	poll := time.NewTicker(pollInterval)
	defer poll.Stop()
	for {
		select {
		case got := <-answers:
			return got.err == nil && got.Answer == Continued, a.settle(ctx, rec, got)
		case <-asked.Done():
			return false, a.ended(ctx, rec)
		case <-poll.C:
			now, err := a.gate.opt.Store.Get(asked, rec.ID)
			switch {
			case asked.Err() != nil:
				return false, a.ended(ctx, rec)
			case err != nil:
				return false, a.failed(ctx, "the answer could not be read", err)
			case now.State != Pending:
				return false, a.follow(ctx, now)
			}
		}
	}
}

// settle writes a route's answer into the record.
func (a *asking) settle(ctx context.Context, rec Record, got answer) error {
	switch {
	case got.err == nil:
	case ctx.Err() != nil, errors.Is(got.err, context.DeadlineExceeded) && !time.Now().Before(rec.Expires):
		return a.ended(ctx, rec)
	case errors.Is(got.err, ErrNoRoute):
		return a.nobody(ctx, rec.ID)
	default:
		e := a.failed(ctx, "asking for the approval failed", got.err)
		return errors.Join(a.close(ctx, rec, Change{To: Denied, DecidedBy: "failure", Reason: e.Error()}), e)
	}
	now := time.Now()
	c := Change{From: Pending, DecidedBy: tool.Clean(got.By, 200), Reason: tool.Clean(got.Reason, tool.MaxErrorText), At: now}
	switch got.Answer {
	case Later, Continued:
		if got.Taken != nil {
			got.Taken()
		}
		a.note(ctx, rec.ID, "pending", "")
		return a.pending(rec, got.Reason)
	case Allow:
		if why := a.terms(&c, got.Decision); why != "" {
			c = Change{From: Pending, To: Denied, DecidedBy: c.DecidedBy, Reason: why, At: now, Expires: now}
		}
	default:
		c.To = Denied
		if got.AskAgain || got.Answer != Deny {
			c.Expires = now // see asking.refused
		}
	}
	changed, err := a.gate.opt.Store.Change(ctx, rec.ID, c)
	if err != nil {
		return a.failed(ctx, "the answer could not be recorded", err)
	}
	if !changed { // somebody else was first, or it came too late
		stands, err := a.gate.opt.Store.Get(ctx, rec.ID)
		if err != nil {
			return a.failed(ctx, "the answer could not be read", err)
		}
		return a.follow(ctx, stands)
	}
	if got.Taken != nil {
		got.Taken()
	}
	rec.State, rec.DecidedBy, rec.Reason = c.To, c.DecidedBy, c.Reason
	if c.To == Denied {
		return a.denied(ctx, rec)
	}
	a.note(ctx, rec.ID, "approved", rec.DecidedBy)
	return nil
}

// terms completes the change by which a route allows the call; why says that
// its terms cannot be met.
func (a *asking) terms(c *Change, d Decision) (why string) {
	switch d.Scope {
	case Once, "":
		c.To, c.Scope = Used, Once
	case Session:
		c.To, c.Scope, c.Expires = Approved, Session, c.At.Add(SessionExpiry)
	case Pattern:
		c.To, c.Scope, c.Expires, c.Pattern = Approved, Pattern, c.At.Add(PatternExpiry), d.Pattern
		if c.Pattern == "" {
			c.Pattern = Exactly(a.key.tool)
		}
		if !matches(c.Pattern, a.req.Target) {
			return fmt.Sprintf("the answer's pattern %q does not match the tool", c.Pattern)
		}
	default:
		return fmt.Sprintf("the answer has the unknown scope %q", d.Scope)
	}
	return ""
}

// follow does what the store says was answered.
func (a *asking) follow(ctx context.Context, rec Record) error {
	now := time.Now()
	switch rec.State {
	case Approved:
		if a.covers(&rec, now) {
			a.note(ctx, rec.ID, "approved", rec.DecidedBy)
			return nil
		}
		if rec.Scope != Once || !a.key.same(&rec, now) {
			return a.denied(ctx, rec)
		}
		used, err := a.gate.opt.Store.Change(ctx, rec.ID, Change{From: Approved, To: Used, At: now})
		if err != nil {
			return a.failed(ctx, "the use of its approval could not be recorded", err)
		}
		if used {
			a.note(ctx, rec.ID, "approved", rec.DecidedBy)
			return nil
		}
		return a.used(ctx, rec)
	case Used:
		return a.used(ctx, rec)
	case Denied:
		return a.denied(ctx, rec)
	}
	return a.expired(ctx, rec)
}

// ended is for a call that was cancelled or whose request expired.
func (a *asking) ended(ctx context.Context, rec Record) error {
	if ctx.Err() == nil {
		return a.expired(ctx, rec)
	}
	err := &tool.Error{
		Code:   tool.CodeCancelled,
		Reason: fmt.Sprintf("%s was not called: the call was cancelled while it waited for an approval", a.req.Target.ID),
		Err:    ctx.Err(),
	}
	if slices.ContainsFunc(a.gate.opt.Routes, isElsewhere) {
		return err // the request stands for whoever repeats the call
	}
	if failed := a.close(ctx, rec, Change{To: Denied, DecidedBy: "cancellation", Reason: "the call was cancelled"}); failed != nil {
		err.Err = errors.Join(err.Err, failed)
	}
	return err
}

// expired records that nobody answered in time.
func (a *asking) expired(ctx context.Context, rec Record) error {
	if err := a.close(ctx, rec, Change{To: Expired, DecidedBy: byExpiry}); err != nil {
		return a.failed(ctx, "its approval expired, which could not be recorded", err)
	}
	a.note(ctx, rec.ID, "expired", byExpiry)
	return refusal(a.req.Target, fmt.Sprintf("nobody answered the request for approval %s in time", rec.ID),
		"Tell the user; repeat the call only when they ask for it.")
}

// close ends a pending record that nobody answered, also for a caller that has
// gone. Nobody said no: the record stands no longer, see refused.
func (a *asking) close(ctx context.Context, rec Record, c Change) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordDeadline)
	defer cancel()
	c.From, c.At = Pending, time.Now()
	c.Expires = c.At
	_, err := a.gate.opt.Store.Change(ctx, rec.ID, c)
	return err
}

// nobody refuses at once: there is no way to ask.
func (a *asking) nobody(ctx context.Context, id string) error {
	if id != "" {
		if err := a.close(ctx, Record{ID: id}, Change{To: Denied, DecidedBy: "no route", Reason: "there is no way to ask"}); err != nil {
			return a.failed(ctx, "it needs an approval, and there is no way to ask", err)
		}
	}
	a.note(ctx, id, "denied", "no route")
	return refusal(a.req.Target, "it needs an approval, and there is no way to ask for one here",
		"Tell the user: a rule under approvals can allow it, or they can run it themselves.")
}

func (a *asking) denied(ctx context.Context, rec Record) error {
	by := rec.DecidedBy
	if by == "" {
		by = "the user"
	}
	why := fmt.Sprintf("%s denied it (approval %s)", by, rec.ID)
	if rec.Reason != "" {
		why += ": " + rec.Reason
	}
	a.note(ctx, rec.ID, "denied", by)
	return refusal(a.req.Target, why, "Do not repeat it or work around it; ask the user what to do instead.")
}

func (a *asking) used(ctx context.Context, rec Record) error {
	a.note(ctx, rec.ID, "denied", "single use")
	return refusal(a.req.Target, fmt.Sprintf("approval %s was used by another call", rec.ID), "Repeat the call to ask anew.")
}

// maxShownReason bounds, in bytes, what a refusal says of why it is asked.
const maxShownReason = 300

// pending says where an answer can be given and how to go on.
func (a *asking) pending(rec Record, how string) error {
	why := ""
	if rec.State == Pending && rec.Reason != "" {
		why = " (" + tool.Clean(rec.Reason, maxShownReason) + ")"
	}
	e := refusal(a.req.Target, fmt.Sprintf("it needs an approval%s, which is pending as %s until %s", why, rec.ID, rec.Expires.UTC().Format(time.RFC3339)),
		"Then repeat the same call with the same arguments.")
	if how != "" {
		e.Next = how + ", then repeat the same call with the same arguments."
	}
	details, err := tool.Encode(struct {
		Approval string    `json:"approval"`
		State    State     `json:"state"`
		Expires  time.Time `json:"expires"`
	}{rec.ID, Pending, rec.Expires.UTC()})
	if err == nil { // strings and a time always marshal
		e.Details = details
	}
	return e
}

func (a *asking) failed(ctx context.Context, what string, err error) *tool.Error {
	if ctx.Err() != nil {
		return &tool.Error{
			Code: tool.CodeCancelled, Err: err,
			Reason: fmt.Sprintf("%s was not called: the call was cancelled", a.req.Target.ID),
		}
	}
	a.note(ctx, "", "denied", "failure")
	return broken(a.req.Target, what, err)
}

func (a *asking) note(ctx context.Context, id, decision, by string) {
	a.gate.note(ctx, Note{ID: id, Decision: decision, By: by})
}
