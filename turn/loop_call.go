package turn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/toolsearch/toolsearch/source/client"
	"github.com/toolsearch/toolsearch/surface"
	"github.com/toolsearch/toolsearch/tool"
)

// ActivityKind says what an Activity tells.
type ActivityKind int

// Activity kinds.
const (
	CallStarted ActivityKind = iota + 1
	CallEnded
)

// Outcome says how a call ended.
type Outcome string

// Outcomes.
const (
	Succeeded Outcome = "ok"
	Failed    Outcome = "error"     // the model was told so
	Cancelled Outcome = "cancelled" // with the run
)

// Activity is one thing that happens in a run.
type Activity struct {
	Kind ActivityKind
	ID   string          // of the call, unique in the run
	Name string          // as the model called it
	Args json.RawMessage // as the model wrote them
	// The rest is of CallEnded.
	Duration time.Duration
	Outcome  Outcome
	Err      error // what the model was told of, and its cause, for logs; nil where the tool itself reports a failure
}

func (r *Run) observe(a Activity) {
	if r.opt.Observe == nil {
		return
	}
	r.watch.Lock()
	defer r.watch.Unlock()
	r.opt.Observe(a)
}

// perform makes one call and keeps what became of it.
func (r *Run) perform(rd *round, c *running) {
	a := Activity{Kind: CallStarted, ID: c.id, Name: c.call.FullName(), Args: c.call.Args}
	r.observe(a)
	began := time.Now()
	r.resolve(rd, c)
	c.answer.CallID = c.call.ID
	if c.answer.IsError && c.own && c.before.count == 1 {
		c.answer.Content = append(c.answer.Content, textBlock(repeatedNote))
	}
	a.Kind, a.Duration, a.Outcome = CallEnded, time.Since(began), Succeeded
	a.Err = c.err
	switch {
	case r.ctx.Err() != nil:
		a.Outcome = Cancelled
	case c.answer.IsError:
		a.Outcome = Failed
	}
	r.observe(a)
	rd.finish(c)
}

// resolve finds the answer to a call. A panic on the way ends the call, and not
// the program with every other run.
func (r *Run) resolve(rd *round, c *running) {
	defer func() {
		if p := recover(); p != nil {
			c.fail(&tool.Error{
				Code:   tool.CodeFailed,
				Reason: tool.Clean(c.call.FullName(), 200) + " failed: it panicked",
				Next:   "Side effects may have happened: check before you repeat it.",
				Err:    fmt.Errorf("panic: %v\n%s", p, debug.Stack()),
			})
		}
	}()
	if c.before.own && c.before.count >= maxFailures-1 {
		c.fail(refusedRepeat(c.call.FullName()))
		return
	}
	args, bad := asObject(c.call.FullName(), c.call.Args)
	if bad != nil {
		c.fail(bad)
		return
	}
	if l, ok := r.local[c.call.FullName()]; ok {
		asked := c.call
		asked.Args = args
		c.local(l.Call(r.ctx, asked))
		return
	}
	origin := r.opt.Origin
	origin.CallID = c.id
	ctx := client.WithAsker(r.ctx, asker{rd, c})
	res, err := r.opt.Tools.Call(ctx, c.call.FullName(), surface.Request{Args: args, Origin: origin})
	if err == nil && res == nil {
		err = errors.New("the tool gave neither a result nor an error")
	}
	if err != nil {
		c.fail(r.suggest(c.call.FullName(), err))
		return
	}
	rd.mu.Lock()
	given := c.given
	rd.mu.Unlock()
	if given != nil && sameResult(res, given.result) {
		c.answer = given.answer // whole, with what only its API knows
	} else {
		c.answer = answerOf(res)
	}
	if res.IsError {
		c.code, c.own = judge(c.call.FullName(), res)
	}
}

// fail makes an error the answer.
func (c *running) fail(err error) {
	c.answer, c.err = answerOf(surface.Failure(err)), err
	c.code, c.own = tool.CodeOf(err), true
	if errors.Is(err, context.Canceled) {
		c.code = tool.CodeCancelled
	}
}

func (c *running) local(a LocalAnswer, err error) {
	c.emit, c.add = a.Emit, a.Add
	if err != nil {
		c.fail(err)
		return
	}
	c.answer, c.own = a.Answer, true
}
