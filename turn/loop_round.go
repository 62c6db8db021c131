package turn

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/source/client"
	"github.com/toolsearch/toolsearch/surface"
	"github.com/toolsearch/toolsearch/tool"
)

// settle is how long a round waits, once only the caller can move it, for
// further calls that a code body makes at the same time: on a busy machine they
// come some way apart, and each that comes later costs the caller a round trip.
const settle = 50 * time.Millisecond

// round is the calls of one answer of the model while they run. Calls start in
// the model's order and run beside each other; one that must run alone waits for
// all before it, and all after it wait for it.
type round struct {
	run  *Run
	wake chan struct{} // holds one

	mu    sync.Mutex
	calls []*running
	asks  []*ask          // that wait for the caller, in the order they came
	told  map[string]*ask // by id: those the last Step told of
}

// running is one call of a round.
type running struct {
	call   provider.Call // as the model made it
	native provider.Native
	id     string // unique in the run
	before failing
	alone  bool

	// Guarded by the round's lock until done.
	state   state
	waits   int       // its calls that wait for the caller
	asked   int       // its calls that ever did
	lastAsk time.Time // when the latest of them came
	given   *given    // what the caller answered to the call itself

	// What became of it. Written before done, and read after.
	answer provider.Answer
	code   tool.Code // why it failed
	err    error     // likewise, for logs
	own    bool      // it failed without having reached a tool
	emit   []provider.Block
	add    []provider.Tool
}

type state int

const (
	ready state = iota
	started
	done
)

// ask is one call that the caller has to answer.
type ask struct {
	block provider.Block
	call  *running
	reply chan provider.Answer // holds one
}

// given is an answer of the caller, and the result that it became.
type given struct {
	answer provider.Answer
	result *tool.Result
}

func (r *Run) newRound(resp *provider.Response) *round {
	rd := &round{run: r, wake: make(chan struct{}, 1)}
	for _, m := range resp.Output {
		for _, b := range m.Blocks {
			if b.Kind != provider.ToolCall {
				continue
			}
			rd.calls = append(rd.calls, &running{call: b.Call, native: b.Native, id: r.unique(b.Call.ID), before: r.repeats[repeatKey(b.Call)]})
		}
	}
	if len(rd.calls) > 1 {
		for _, c := range rd.calls {
			_, local := r.local[c.call.FullName()]
			c.alone = !local && r.opt.Tools.Sequential(c.call.FullName(), c.call.Args)
		}
	}
	return rd
}

// unique returns the id of a call, or another one if an earlier call of the run
// has it.
func (r *Run) unique(id string) string {
	r.ids[id]++
	for n := r.ids[id]; n > 1; n++ {
		other := id + "_" + strconv.Itoa(n)
		if r.ids[other] == 0 {
			r.ids[other]++
			return other
		}
	}
	return id
}

// proceed goes on until every call is done, or only the caller can move one.
func (rd *round) proceed() (held bool, err error) {
	for {
		rd.start()
		held, over, wait := rd.look(time.Now())
		if held || over {
			return held, nil
		}
		var after <-chan time.Time
		if wait > 0 {
			after = time.After(wait)
		}
		select {
		case <-rd.wake:
		case <-after:
		case <-rd.run.ctx.Done():
			return false, context.Cause(rd.run.ctx)
		}
	}
}

// start starts what may start now.
func (rd *round) start() {
	rd.mu.Lock()
	defer rd.mu.Unlock()
	open, busy := 0, 0
	for _, c := range rd.calls {
		if c.state == started {
			if open++; c.waits == 0 {
				busy++
			}
			if c.alone {
				return
			}
		}
	}
	for _, c := range rd.calls {
		if c.state != ready {
			continue
		}
		if busy >= maxParallel || c.alone && open > 0 {
			return
		}
		c.state = started
		open++
		busy++
		rd.run.work.Go(func() { rd.run.perform(rd, c) })
		if c.alone {
			return
		}
	}
}

// look tells whether the round is over, or waits for nobody but the caller. If
// that is to be seen a little later, it tells when.
func (rd *round) look(now time.Time) (held, over bool, wait time.Duration) {
	rd.mu.Lock()
	defer rd.mu.Unlock()
	over = true
	for _, c := range rd.calls {
		switch {
		case c.state == started && c.waits == 0:
			return false, false, 0
		case c.state == started && c.call.FullName() == surface.ToolSearchCode:
			wait = max(wait, c.lastAsk.Add(settle).Sub(now))
			over = false
		case c.state != done:
			over = false
		}
	}
	return !over && wait <= 0, over, wait
}

func (rd *round) notify() {
	select {
	case rd.wake <- struct{}{}:
	default: // it will look anyway
	}
}

// finish ends a call.
func (rd *round) finish(c *running) {
	rd.mu.Lock()
	c.state = done
	rd.mu.Unlock()
	rd.notify()
}

// report lists the calls that the caller has to answer, in the model's order.
// Those of one code body come at the same time: they are put in an order that
// does not depend on chance.
func (rd *round) report() []provider.Block {
	rd.mu.Lock()
	defer rd.mu.Unlock()
	rd.told = make(map[string]*ask, len(rd.asks))
	var out []provider.Block
	for _, c := range rd.calls {
		first := len(out)
		for _, a := range rd.asks {
			if a.call == c {
				rd.told[a.block.Call.ID] = a
				out = append(out, a.block)
			}
		}
		slices.SortStableFunc(out[first:], func(a, b provider.Block) int {
			return cmp.Or(strings.Compare(a.Call.FullName(), b.Call.FullName()), bytes.Compare(a.Call.Args, b.Call.Args))
		})
	}
	return out
}

// asker hands the calls of client tools that one call leads to to the caller.
type asker struct {
	round *round
	call  *running
}

// Ask waits for the caller's answer.
func (a asker) Ask(ctx context.Context, c client.Call) (*tool.Result, error) {
	q, direct, err := a.round.ask(a.call, c)
	if err != nil {
		return nil, err
	}
	select {
	case answer := <-q.reply:
		res := resultOf(answer)
		if direct {
			a.round.mu.Lock()
			a.call.given = &given{answer, res}
			a.round.mu.Unlock()
		}
		return res, nil
	case <-ctx.Done():
		a.round.withdraw(q)
		return nil, ctx.Err()
	}
}

// ask puts a call before the caller. A call that the model itself made keeps its
// id, and its bytes where nothing has changed them; any other gets an id of its
// own, which nobody can guess.
func (rd *round) ask(c *running, asked client.Call) (q *ask, direct bool, err error) {
	rd.mu.Lock()
	defer rd.mu.Unlock()
	if len(rd.asks) >= maxAsked {
		return nil, false, &tool.Error{
			Code:   tool.CodeLimitExhausted,
			Reason: fmt.Sprintf("%s was not called: %d calls wait for the caller already", asked.Name, maxAsked),
			Next:   "Make fewer calls at a time.",
		}
	}
	c.asked++
	direct = c.asked == 1 && !surface.IsControl(c.call.FullName())
	q = &ask{call: c, reply: make(chan provider.Answer, 1), block: provider.Block{Kind: provider.ToolCall}}
	q.block.Call = rd.run.callers.asked(asked.Name, asked.Args)
	q.block.Call.ID = "call_" + rand.Text()
	if direct {
		q.block.Call.ID = c.id
		if c.id == c.call.ID && c.call.Name == q.block.Call.Name && c.call.Namespace == q.block.Call.Namespace && bytes.Equal(c.call.Args, asked.Args) {
			q.block.Native = c.native
		}
	}
	rd.asks = append(rd.asks, q)
	c.waits++
	c.lastAsk = time.Now()
	rd.notify()
	return q, direct, nil
}

// withdraw forgets a call whose asker has gone. An answer to it is no error.
func (rd *round) withdraw(q *ask) {
	rd.mu.Lock()
	defer rd.mu.Unlock()
	rd.settled(q)
	rd.notify()
}

// settled takes a call off the list. The lock is held.
func (rd *round) settled(q *ask) {
	if i := slices.Index(rd.asks, q); i >= 0 {
		rd.asks = slices.Delete(rd.asks, i, i+1)
		q.call.waits--
	}
}

// give answers calls. Each id is known.
func (rd *round) give(answers []provider.Answer) {
	rd.mu.Lock()
	defer rd.mu.Unlock()
	for _, a := range answers {
		q := rd.told[a.CallID]
		if slices.Contains(rd.asks, q) {
			rd.settled(q)
			q.reply <- a
		}
	}
	rd.told = nil
}

// asObject reads arguments as the object that they must be. What is not one is
// the model's mistake, which it is told of.
func asObject(name string, args json.RawMessage) (json.RawMessage, *tool.Error) {
	args = bytes.TrimSpace(args)
	if len(args) == 0 || string(args) == "null" {
		return json.RawMessage("{}"), nil
	}
	if args[0] == '{' && json.Valid(args) {
		return args, nil
	}
	what := "they are another kind of value"
	var text string
	if json.Unmarshal(args, &text) == nil {
		var object map[string]json.RawMessage
		if err := json.Unmarshal([]byte(text), &object); err != nil {
			what = fmt.Sprintf("%v, in %d bytes", err, len(text))
		}
	}
	return nil, &tool.Error{
		Code:   tool.CodeInvalidInput,
		Reason: fmt.Sprintf("%s was not called: its arguments are not a JSON object: %s", tool.Clean(name, 200), what),
		Next:   "Call it again with one complete JSON object.",
	}
}
