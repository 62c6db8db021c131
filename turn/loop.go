package turn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/toolsearch/toolsearch/call"
	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/surface"
	"github.com/toolsearch/toolsearch/tool"
)

// Toolbox is what the tools of a run are seen and called through. A
// *surface.Surface is one.
type Toolbox interface {
	// Visible lists what the model sees. A run asks once, at its start.
	Visible() []surface.Visible
	// Call runs what the model called by name. It honours ctx and is called
	// concurrently. The error says that nothing bears the name.
	Call(ctx context.Context, name string, r surface.Request) (*tool.Result, error)
	// Sequential reports whether the call must run alone in its round.
	Sequential(name string, args json.RawMessage) bool
}

// Options make a Run.
type Options struct {
	Model provider.Model
	// Request is what the caller asked: its messages, its parameters, and whether
	// it streams. Its tools are the caller's own definitions: those that the
	// model sees, and an API's own (hosted) tools, are passed on as they are.
	Request provider.Request
	Tools   Toolbox
	Origin  call.Origin // CallID, Control and Parent are set here
	Limits  Limits      // zero fields are the defaults
	// Local are tools that the loop answers by itself.
	Local []Local
	// Added are tools that earlier turns have made visible. They stand last.
	Added []provider.Tool
	// Refer, when not nil, gives the definitions of tools that an answer of the
	// caller refers to. They become visible. An error refuses the answer.
	Refer func(ctx context.Context, names []string) ([]provider.Tool, error)
	// Defer is for an API that has a tool search of its own: tools are marked as
	// deferred unless they are direct-only, and the caller's own as it marked them.
	Defer bool
	// Observe, when not nil, is told of each call, one at a time. It must not block.
	Observe func(Activity)
}

// Local is a tool that is answered inside the loop, without the pipeline: the
// tool search of an API that we stand in for.
type Local struct {
	Tool provider.Tool
	// Call answers one call. It is called concurrently. An error is what the model
	// reads.
	Call func(ctx context.Context, c provider.Call) (LocalAnswer, error)
}

// LocalAnswer is what a Local tool answers.
type LocalAnswer struct {
	Answer provider.Answer  // to the model; CallID is set by the loop
	Emit   []provider.Block // to the caller of the run
	Add    []provider.Tool  // become visible to the model from the next round on
}

// Input is what the caller gives a run to go on.
type Input struct {
	// Answers are to all the calls of the last Step, and to no others.
	Answers []provider.Answer
	// More are messages after the answers.
	More []provider.Message
}

// Step is how far a run came.
type Step struct {
	// Response is what the caller is answered: the texts and other blocks of every
	// round since the last Step, in order, without the calls that were answered
	// here; and the sum of their usage.
	Response *provider.Response
	// Calls are the calls that the caller has to answer. They are in Response too.
	// While there are some, the run is held; else it is over.
	Calls []provider.Call
	// Limit is the limit that ended the run, or nil.
	Limit *LimitError
}

// ErrOver is returned by Next when the run has ended.
var ErrOver = errors.New("go on with a run: it is over; start a new one from the messages")

// Run is one request to a model and everything that follows from it, until the
// model answers. It may be held while the caller answers calls of its own
// tools. Close must be called. Close may be called at any time; Next by one at
// a time.
type Run struct {
	opt      Options
	limits   Limits
	ctx      context.Context // of everything downstream; ends with the run
	cancel   context.CancelCauseFunc
	tools    []provider.Tool
	front    []provider.Tool // tools at the start; it never changes
	local    map[string]Local
	callers  callers
	messages []provider.Message
	repeats  repeats
	work     sync.WaitGroup // calls in progress
	used     Used
	bytes    int            // what the rounds have added to messages
	ids      map[string]int // how often the model used a call id
	watch    sync.Mutex     // one Observe at a time

	mu     sync.Mutex // held by Next
	round  *round     // the calls in progress, nil between rounds
	more   []provider.Message
	merged merged
	over   bool
}

// Used is what a run has used up of its limits.
type Used struct {
	Rounds, Calls int
	Time          time.Duration // without the time the run was held
	Usage         provider.Usage
}

// Start makes a run. Nothing happens before the first Next. The run keeps the
// values of ctx and outlives it.
func Start(ctx context.Context, o Options) (*Run, error) {
	if o.Model == nil || o.Tools == nil {
		return nil, errors.New("start a run: a model and a toolbox are required")
	}
	limits, err := CheckLimits(o.Limits)
	if err != nil {
		return nil, fmt.Errorf("start a run: %w", err)
	}
	r := &Run{
		opt: o, limits: limits, local: make(map[string]Local, len(o.Local)), repeats: repeats{}, ids: map[string]int{},
		messages: slices.Clone(o.Request.Messages),
	}
	for _, l := range o.Local {
		r.local[l.Tool.Name] = l
	}
	visible := o.Tools.Visible()
	r.callers = o.callers(visible)
	r.callers.calls(r.messages)
	if r.tools, err = r.offer(visible); err != nil {
		return nil, fmt.Errorf("start a run: %w", err)
	}
	r.front = slices.Clip(r.tools)
	r.ctx, r.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	return r, nil
}

// Next goes on until the model answers, a limit is reached, or nothing can go
// on without the caller. emit, when not nil, gets what streams meanwhile, in
// order and from one goroutine: texts, thoughts and opaque blocks, and no call.
//
// An *AnswerError leaves the run held. Any other error ends it, and so does the
// end of ctx: all that runs is cancelled. A run that is held outlives ctx.
func (r *Run) Next(ctx context.Context, in Input, emit func(provider.Event) error) (*Step, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return nil, ErrOver
	}
	if err := ctx.Err(); err != nil {
		r.end(err)
		return nil, fmt.Errorf("go on with a run: %w", err)
	}
	if err := r.take(ctx, in); err != nil {
		return nil, err
	}
	unlink := context.AfterFunc(ctx, func() { r.cancel(ctx.Err()) })
	began := time.Now()
	clock := time.AfterFunc(max(0, r.limits.Time-r.used.Time), func() {
		r.cancel(&LimitError{Limit: LimitTime, Max: r.limits.Time.String()})
	})
	step, err := r.drive(emit)
	clock.Stop()
	if !unlink() {
		r.cancel(ctx.Err()) // it may not have come to it yet
	}
	r.used.Time += time.Since(began)
	var limit *LimitError
	if cause := context.Cause(r.ctx); cause != nil && (err != nil || len(step.Calls) > 0) {
		if !errors.As(cause, &limit) {
			r.end(cause)
			return nil, fmt.Errorf("go on with a run: %w", cause)
		}
		step, err = r.limited(limit), nil
	}
	if err != nil {
		r.end(err)
		return nil, err
	}
	if len(step.Calls) == 0 {
		r.end(nil)
	}
	r.merged = merged{}
	return step, nil
}

// Close ends the run, cancels everything downstream, and waits until it is gone.
func (r *Run) Close() {
	r.cancel(ErrOver)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.end(nil)
}

// Messages is the conversation as the model knows it, the calls of controls
// included: what a later turn of the session begins with. It waits for Next.
func (r *Run) Messages() []provider.Message {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.messages)
}

// Tools is what the model sees, those that were added included.
func (r *Run) Tools() []provider.Tool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.tools)
}

// Used tells what the run has used up. It waits for Next.
func (r *Run) Used() Used {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.used
}

// end cancels what still runs and waits for it. The conversation is left whole:
// each call has its answer. The lock is held.
func (r *Run) end(cause error) {
	r.over = true
	r.cancel(cause)
	r.work.Wait()
	if r.round == nil {
		return
	}
	m := provider.Message{Role: provider.User}
	for _, c := range r.round.calls {
		if c.state != done {
			c.fail(&tool.Error{Code: tool.CodeCancelled, Reason: tool.Clean(c.call.FullName(), 200) + " was not called: the run was ended"})
			c.answer.CallID = c.call.ID
		}
		m.Blocks = append(m.Blocks, provider.Block{Kind: provider.ToolAnswer, Answer: c.answer})
	}
	r.messages = append(r.messages, m)
	r.round = nil
}

// refuse answers calls that a limit keeps from being made.
func (r *Run) refuse(calls []provider.Call, limit *LimitError) {
	m := provider.Message{Role: provider.User}
	for _, c := range calls {
		a := answerOf(surface.Failure(&tool.Error{Code: tool.CodeLimitExhausted, Reason: limit.Error()}))
		a.CallID = c.ID
		m.Blocks = append(m.Blocks, provider.Block{Kind: provider.ToolAnswer, Answer: a})
	}
	r.messages = append(r.messages, m)
}

// drive alternates between the model and its calls.
func (r *Run) drive(emit func(provider.Event) error) (*Step, error) {
	for {
		if r.round == nil {
			resp, err := r.generate(emit)
			if err != nil {
				return nil, err
			}
			calls := resp.Calls()
			if len(calls) == 0 {
				return r.final(resp), nil
			}
			if limit := r.reached(calls); limit != nil {
				r.refuse(calls, limit)
				return r.limited(limit), nil
			}
			r.used.Calls += len(calls)
			r.round = r.newRound(resp)
		}
		held, err := r.round.proceed()
		if err != nil {
			return nil, err
		}
		if held {
			return r.hold(), nil
		}
		if err := r.answer(emit); err != nil {
			return nil, err
		}
	}
}

// generate runs one round of the model.
func (r *Run) generate(emit func(provider.Event) error) (*provider.Response, error) {
	req := r.request()
	var stream func(provider.Event) error
	var s *relay
	if req.Stream {
		s = &relay{emit: emit, apart: r.merged.unfinished()}
		stream = s.event
	}
	r.used.Rounds++
	resp, err := r.opt.Model.Generate(r.ctx, req, stream)
	if err == nil && resp == nil {
		err = errors.New("the model gave neither an answer nor an error")
	}
	if err != nil {
		if s != nil {
			partial := s.partial()
			r.merged.messages(partial)
			r.messages = append(r.messages, texts(partial)...)
		}
		return nil, fmt.Errorf("ask the model: %w", err)
	}
	r.used.Usage = r.used.Usage.Add(resp.Usage)
	r.merged.add(resp)
	r.messages = append(r.messages, resp.Output...)
	for _, m := range resp.Output {
		r.bytes += bytesOf(m.Blocks)
	}
	return resp, nil
}

// request is that of the next round. The tools and the messages so far are the
// same bytes in each: only their ends grow.
func (r *Run) request() *provider.Request {
	req := r.opt.Request
	req.Tools = slices.Clip(r.tools)
	req.Messages = slices.Clip(r.messages)
	if r.used.Rounds > 0 && req.Params.Choice != provider.ChooseNone && req.Params.Choice != provider.ChooseAuto {
		// The caller's wish that a tool be called is met by the first call; kept up,
		// the model could never answer. What only limits its choice holds on.
		req.Params.Choice = provider.ChooseAuto
		req.Fields = withoutChoice(req.Fields)
	}
	r.callers.choice(&req)
	return &req
}

// answer gives the model what its calls have brought.
func (r *Run) answer(emit func(provider.Event) error) error {
	m := provider.Message{Role: provider.User}
	for _, c := range r.round.calls {
		r.repeats.note(c)
		m.Blocks = append(m.Blocks, provider.Block{Kind: provider.ToolAnswer, Answer: c.answer})
		for _, b := range c.emit {
			if emit != nil && r.opt.Request.Stream {
				if err := emit(provider.Event{Kind: provider.BlockDone, Block: b}); err != nil {
					return fmt.Errorf("pass on what a tool showed: %w", err)
				}
			}
			r.merged.block(b)
		}
		r.show(c.add)
	}
	r.bytes += bytesOf(m.Blocks)
	r.messages = append(append(r.messages, m), r.more...)
	r.more, r.round = nil, nil
	return nil
}

// show adds tools at the end, unless the model sees them already.
func (r *Run) show(tools []provider.Tool) {
	for _, t := range tools {
		t = r.callers.renamed(t)
		if !slices.ContainsFunc(r.tools, func(o provider.Tool) bool { return t.Name != "" && o.FullName() == t.FullName() }) {
			r.tools = append(r.tools, t)
		}
	}
}

// final is the end of a run whose model has answered.
func (r *Run) final(resp *provider.Response) *Step {
	stop := resp.Stop
	if stop == "" || stop == provider.StopCalls {
		stop = provider.StopEnd // it called nothing
	}
	return &Step{Response: r.response(stop)}
}

// limited is the end of a run at a limit.
func (r *Run) limited(limit *LimitError) *Step {
	return &Step{Response: r.response(provider.StopLength), Limit: limit}
}

// hold is the Step of a run that waits for the caller.
func (r *Run) hold() *Step {
	step := &Step{Response: r.response(provider.StopCalls)}
	for _, b := range r.round.report() {
		step.Calls = append(step.Calls, b.Call)
		step.Response.Output = append(step.Response.Output, provider.Message{Role: provider.Assistant, Blocks: []provider.Block{b}})
	}
	return step
}

func (r *Run) response(stop provider.Stop) *provider.Response {
	resp := r.merged.response(stop)
	if resp.Model == "" {
		resp.Model = r.opt.Request.Model
	}
	return resp
}
