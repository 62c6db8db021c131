package code

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/toolsearch/toolsearch/code/internal/wire"
)

// errTimeout is the cause of a run's end at its deadline.
var errTimeout = errors.New("the deadline passed")

// Run runs one body and returns its report. What the body does wrong is in the
// report; an error means that there was no run: the runner is closed, or no
// child could be started. Cancelling ctx ends the run.
func (r *Runner) Run(ctx context.Context, body string, host Host) (*Report, error) {
	if !r.enter() {
		return nil, errClosed
	}
	defer r.runs.Done()
	began := time.Now()
	source := unfence(body)
	if len(body) > r.limits.CodeBytes {
		e := &GuestError{Kind: KindLimit, Name: "RangeError", Message: fmt.Sprintf("the code has %d bytes, at most %d are accepted", len(body), r.limits.CodeBytes),
			Hint: "send less code; data does not belong in it"}
		return &Report{Value: null, Error: e, Duration: time.Since(began)}, nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	t := &turn{runner: r, cancel: cancel}
	t.clock = newClock(r.limits.Timeout, func() { cancel(errTimeout) }, t.paused)
	defer t.clock.stop()
	ctx = context.WithValue(ctx, pauseKey{}, pauser(t.clock))
	go func() { // a closing runner ends its runs
		select {
		case <-r.closing:
			cancel(errClosed)
		case <-ctx.Done():
		}
	}()
	report, err := t.run(ctx, source, host)
	if err != nil {
		return nil, err
	}
	report.Duration = time.Since(began)
	if !t.tookCode.IsZero() {
		report.Waited = t.tookCode.Sub(began)
	}
	if report.Value == nil {
		report.Value = null
	}
	explain(report, source)
	return report, nil
}

var null = json.RawMessage("null")

// turn is one run's place in the queue and its clock.
type turn struct {
	runner   *Runner
	clock    *clock
	cancel   context.CancelCauseFunc
	tookCode time.Time

	mu    sync.Mutex
	holds bool // a place
	lent  bool // the place was given back for a pause
	done  bool
}

// run waits for a place and a child. A child that ends before it took the code
// has done nothing, so another is tried, once.
func (t *turn) run(ctx context.Context, source string, host Host) (*Report, error) {
	if err := t.runner.slots.acquire(ctx, ownerOf(host)); err != nil {
		if errors.Is(err, errQueueFull) {
			return &Report{Error: &GuestError{Kind: KindLimit, Name: "BusyError", Message: err.Error(), Hint: "try again in a moment"}}, nil
		}
		return t.ended(ctx, &Report{}, true)
	}
	t.mu.Lock()
	t.holds = true
	t.mu.Unlock()
	for attempt := 0; ; attempt++ {
		child, err := t.runner.pool.take(ctx)
		if err != nil {
			t.leave(nil)
			if ctx.Err() != nil {
				return t.ended(ctx, &Report{}, true)
			}
			return nil, fmt.Errorf("run code: %w", err)
		}
		s := newSession(ctx, host, t.runner.limits)
		s.log = t.runner.logger.Debug
		again, err := t.attend(ctx, s, child, source)
		if again && attempt == 0 {
			continue
		}
		t.leave(child)
		if again {
			return nil, fmt.Errorf("run code: the child ended before it took the code: %s", child.stderr)
		}
		if err != nil {
			return nil, err
		}
		t.tookCode = s.startedAt
		return s.settle(), t.closedError(ctx)
	}
}

// attend gives the code to a child and waits for the end. again says that the
// child never took it.
func (t *turn) attend(ctx context.Context, s *session, child *process, source string) (again bool, err error) {
	defer s.cancel()
	l := s.limits
	payload, err := json.Marshal(wire.RunMessage{Code: source, LogBytes: l.LogBytes, ResultBytes: l.ResultBytes, ArgsBytes: maxArgs, InFlight: l.InFlight, Calls: l.Calls})
	if err != nil {
		return false, fmt.Errorf("run code: %w", err)
	}
	s.child = child
	if !child.attach(s) {
		return true, nil
	}
	go func() {
		// An error means that the child is gone; its reader says so.
		_ = child.send(wire.Frame{Type: wire.Run, Payload: payload}, nil)
	}()
	select {
	case <-s.finished:
	case <-ctx.Done():
		s.stop(endOf(ctx, l, false))
	}
	child.kill()
	return s.restart, nil
}

// ended reports a run that never reached a child.
func (t *turn) ended(ctx context.Context, r *Report, queued bool) (*Report, error) {
	if err := t.closedError(ctx); err != nil {
		return nil, err
	}
	r.Error = endOf(ctx, t.runner.limits, queued)
	return r, nil
}

func (t *turn) closedError(ctx context.Context) error {
	if errors.Is(context.Cause(ctx), errClosed) {
		return errClosed
	}
	return nil
}

// endOf says why a context ended a run.
func endOf(ctx context.Context, l Limits, queued bool) *GuestError {
	if errors.Is(context.Cause(ctx), errTimeout) {
		e := &GuestError{Kind: KindTimeout, Name: "TimeoutError", Message: fmt.Sprintf("the code did not finish within %v", l.Timeout),
			Hint: "do less in one run, or run independent calls together with Promise.all; calls listed as made are not undone"}
		if queued {
			e.Message = fmt.Sprintf("no process was free to run the code within %v", l.Timeout)
			e.Hint = "nothing was run; try again"
		}
		return e
	}
	return &GuestError{Kind: KindCancelled, Name: "CancelledError", Message: "the run was cancelled"}
}

// settle waits a moment for host calls to come back, so that their outcome is
// known, and returns the report.
func (s *session) settle() *Report {
	back := make(chan struct{})
	go func() {
		s.working.Wait()
		close(back)
	}()
	grace := time.NewTimer(hostGrace)
	defer grace.Stop()
	select {
	case <-back:
	case <-grace.C:
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sealed = true
	r := s.report
	r.Calls = append([]CallRecord(nil), r.Calls...)
	r.Truncated.Content = s.handles.lost
	return &r
}

// leave gives the place back when the child is gone.
func (t *turn) leave(child *process) {
	t.clock.stop()
	t.mu.Lock()
	t.done = true
	holds := t.holds
	if t.lent { // it ends in a pause, whose end the clock will not tell of any more
		t.lent = false
		t.runner.takeBack()
	}
	t.mu.Unlock()
	if !holds {
		return
	}
	if child == nil {
		t.runner.slots.release()
		return
	}
	go func() {
		<-child.gone
		t.runner.slots.release()
	}()
}

// paused lends the place while the clock stands, and takes one again after it,
// without waiting: a run that goes on cannot be held up by newer ones.
func (t *turn) paused(standing bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.runner
	switch {
	case standing && t.holds && !t.done && r.lend():
		t.holds, t.lent = false, true
		r.slots.release()
	case !standing && t.lent:
		t.lent, t.holds = false, true
		r.takeBack()
		r.slots.force()
	}
}

// lend counts a paused run that gives up its place, as long as few enough do.
func (r *Runner) lend() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.paused >= maxPaused {
		return false
	}
	r.paused++
	return true
}

func (r *Runner) takeBack() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.paused--
}
