package server

import (
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolsearch/toolsearch/approval"
	"github.com/toolsearch/toolsearch/tool"
)

// maxHolds bounds the calls that stand still between the two requests of a
// stateless client.
const maxHolds = 64

// holdGrace is how long the result of a call waits for its client beyond the
// expiry of the question.
const holdGrace = time.Minute

// hold is a call of a stateless client that outlives the request which began
// it: it stands still while the client asks its user, and goes on with the
// request that brings the answer. So a code body is not run twice, and one call
// may ask several times.
type hold struct {
	principal string
	name      string
	digest    string // of the arguments

	cancel    context.CancelFunc
	questions chan question
	done      chan struct{}
	result    mcp.Result // when done
	err       error

	progress atomic.Pointer[func(tool.Progress)] // of the request that waits now
}

// question goes from the standing call to the request that waits.
type question struct {
	id       string
	expires  time.Time
	required json.RawMessage // the result input_required
	answer   chan approval.Decision
}

// waiting is a hold whose question is with the client.
type waiting struct {
	*hold
	question question
	timer    *time.Timer
}

// holds are the calls that wait for their clients, by the ids of their
// questions.
type holds struct {
	mu    sync.Mutex
	byID  map[string]*waiting
	taken int // running and waiting ones
}

// reserve takes one of the places, if there is one.
func (h *holds) reserve() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.taken >= maxHolds {
		return false
	}
	h.taken++
	return true
}

func (h *holds) release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.taken--
}

// put keeps a hold until the client comes again, at the longest until a little
// after the question's expiry.
func (h *holds) put(w *hold, q question) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.byID == nil {
		h.byID = map[string]*waiting{}
	}
	h.byID[q.id] = &waiting{hold: w, question: q, timer: time.AfterFunc(time.Until(q.expires)+holdGrace, func() {
		if h.take(q.id, nil) != nil {
			w.cancel()
		}
	})}
}

// take removes and returns the hold of a question, if it is there and fits.
func (h *holds) take(id string, fits func(*hold) bool) *waiting {
	h.mu.Lock()
	defer h.mu.Unlock()
	w := h.byID[id]
	if w == nil || fits != nil && !fits(w.hold) {
		return nil
	}
	w.timer.Stop()
	delete(h.byID, id)
	return w
}

// Close gives up the calls that wait for their clients.
func (e *Elicitation) Close() {
	e.holds.mu.Lock()
	defer e.holds.mu.Unlock()
	for id, w := range e.holds.byID {
		w.timer.Stop()
		w.cancel()
		delete(e.holds.byID, id)
	}
}

// principal is whom the transport authenticated, "" for nobody in particular.
func principal(req *mcp.CallToolRequest) string {
	if x := req.GetExtra(); x != nil && x.TokenInfo != nil {
		return x.TokenInfo.UserID
	}
	return ""
}

// runner runs one call to its result, reporting progress when it is not nil.
type runner func(ctx context.Context, progress func(tool.Progress)) (mcp.Result, error)

// serve runs a call so that it can ask the client. progress reports to the
// request at hand. A nil Elicitation only runs it.
func (e *Elicitation) serve(ctx context.Context, req *mcp.CallToolRequest, progress func(tool.Progress), run runner) (mcp.Result, error) {
	if e == nil {
		return run(ctx, progress)
	}
	f := &flight{req: req}
	if !modern(req.ProtocolVersion()) || !showsForms(req.ClientCapabilities()) {
		return run(context.WithValue(ctx, flightKey{}, f), progress)
	}
	digest, err := approval.DigestOf(orEmpty(req.Params.Arguments))
	if err != nil { // the surface says what is wrong with them
		return run(ctx, progress)
	}
	if req.Params.RequestState != "" || len(req.Params.InputResponses) > 0 {
		f.resumes = true
		if f.state, f.bad = e.sealer.Open(req.Params.RequestState); f.bad == nil {
			w := e.holds.take(f.state.ID, func(h *hold) bool {
				return h.principal == principal(req) && h.name == req.Params.Name && h.digest == digest
			})
			if w != nil {
				w.progress.Store(&progress)
				res, _ := req.Params.InputResponses[approvalKey].(*mcp.ElicitResult)
				w.question.answer <- readForm(res) // never blocks: one place, one answer
				return e.follow(ctx, w.hold, req)
			}
			ctx = approval.Resume(ctx, f.state.ID) // after a restart
		}
	}
	if !e.holds.reserve() {
		return e.serveStateless(ctx, f, progress, run)
	}
	h := &hold{
		principal: principal(req), name: req.Params.Name, digest: digest,
		questions: make(chan question), done: make(chan struct{}),
	}
	f.hold = h
	h.progress.Store(&progress)
	report := func(p tool.Progress) {
		if f := h.progress.Load(); f != nil && *f != nil {
			(*f)(p)
		}
	}
	if progress == nil {
		report = nil
	}
	var held context.Context
	held, h.cancel = context.WithCancel(context.WithValue(context.WithoutCancel(ctx), flightKey{}, f))
	go func() {
		defer e.holds.release()
		defer close(h.done)
		h.result, h.err = run(held, report)
	}()
	return e.follow(ctx, h, req)
}

// follow waits until the call is done or asks, or the request is cancelled.
func (e *Elicitation) follow(ctx context.Context, h *hold, req *mcp.CallToolRequest) (mcp.Result, error) {
	select {
	case <-h.done:
		h.cancel()
		return h.result, h.err
	case q := <-h.questions:
		h.progress.Store(nil)
		e.holds.put(h, q)
		return newRawResult(q.required, req.ProtocolVersion()), nil
	case <-ctx.Done():
		h.cancel()
		<-h.done // as without a hold: the request ends when its call has
		return h.result, h.err
	}
}

// serveStateless runs a call that is begun anew when the answer comes.
func (e *Elicitation) serveStateless(ctx context.Context, f *flight, progress func(tool.Progress), run runner) (mcp.Result, error) {
	res, err := run(context.WithValue(ctx, flightKey{}, f), progress)
	if err == nil && f.required != nil {
		return newRawResult(f.required, f.req.ProtocolVersion()), nil
	}
	return res, err
}

func orEmpty(args json.RawMessage) json.RawMessage {
	if len(args) == 0 {
		return json.RawMessage("{}")
	}
	return args
}
