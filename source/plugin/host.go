package plugin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/toolsearch/toolsearch/tool"
)

// State is where a plugin's process stands.
type State string

// The states of a process.
const (
	Stopped  State = "stopped"  // no call has needed it yet, or it was idle
	Starting State = "starting" // a call waits for it
	Running  State = "running"
	Failed   State = "failed" // the last start failed; the next call after a pause tries again
	Closed   State = "closed" // the Source was closed
)

// maxNames bounds the names listed in one notice or Status.
const maxNames = 20

// Status describes one plugin's process. Its texts are cleaned and bounded.
type Status struct {
	Plugin    string `json:"plugin"`
	State     State  `json:"state"`
	LastError string `json:"lastError,omitempty"` // why the last start failed
	// Undeclared are tools that the process lists and the manifest does not
	// declare; Missing is the reverse. Both hold at most 20 names, as the last
	// start found them.
	Undeclared []string `json:"undeclared,omitempty"`
	Missing    []string `json:"missing,omitempty"`
}

// host looks after one plugin's process: it starts it for the first call, keeps
// it while there are calls, and stops it when it was idle.
type host struct {
	plugin *Plugin
	opt    Options
	idle   time.Duration
	log    *slog.Logger
	launch func(*Plugin, Options) (process, error)

	life   context.Context // ends with close; bounds a start
	end    context.CancelFunc
	starts sync.WaitGroup

	mu       sync.Mutex
	status   Status
	closed   bool
	run      *run          // nil while nothing runs
	stopping chan struct{} // closed when the process that is being stopped is gone; nil when none is
	failures int           // of starts, in a row
	retryAt  time.Time
	reported bool // what the process lists too much was logged
}

// run is one life of the process.
type run struct {
	done chan struct{} // closed once it is ready or has failed
	err  error         // why it failed; set before done is closed
	proc process       // set before done is closed, when err is nil

	// Guarded by the host's mu.
	up     bool
	active int // calls that use it or wait for it
	calls  int // calls so far
	timer  *time.Timer
}

func newHost(p *Plugin, opt Options) *host {
	h := &host{
		plugin: p, opt: opt, idle: opt.IdleTimeout, launch: launch,
		log:    opt.Logger.With("plugin", p.ID),
		status: Status{Plugin: p.ID, State: Stopped},
	}
	if p.Start.IdleTimeout > 0 {
		h.idle = p.Start.IdleTimeout
	}
	h.life, h.end = context.WithCancel(context.Background())
	return h
}

func (h *host) snapshot() Status {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.status
}

// acquire returns a run that is ready, starting one if none is, and keeps it
// from being stopped as idle until release.
func (h *host) acquire(ctx context.Context) (*run, error) {
	for {
		r, wait, err := h.join()
		switch {
		case err != nil:
			return nil, err
		case r == nil: // the last process must be gone before the next one starts
			if err := await(ctx, wait); err != nil {
				return nil, h.gaveUp(err)
			}
			continue
		}
		if err := await(ctx, r.done); err != nil {
			h.release(r)
			return nil, h.gaveUp(err)
		}
		if r.err != nil {
			h.release(r)
			return nil, r.err
		}
		return r, nil
	}
}

// join counts the caller into the current run, or into a new one. It returns a
// channel to wait for when a process is being stopped.
func (h *host) join() (*run, <-chan struct{}, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.closed:
		return nil, nil, h.unavailable("the program is stopping", "")
	case h.stopping != nil:
		return nil, h.stopping, nil
	case h.run == nil:
		if wait := time.Until(h.retryAt); wait > 0 {
			return nil, nil, h.unavailable(h.status.LastError, fmt.Sprintf("Use another tool, or try again in %s.", max(wait, time.Second).Round(time.Second)))
		}
		r := &run{done: make(chan struct{})}
		h.run, h.status.State = r, Starting
		h.starts.Go(func() { h.boot(r) })
	}
	h.run.active++
	h.run.calls++
	if h.run.timer != nil {
		h.run.timer.Stop()
	}
	return h.run, nil, nil
}

// boot starts the process and waits until it has listed its tools.
func (h *host) boot(r *run) {
	defer close(r.done)
	proc, err := h.launch(h.plugin, h.opt)
	if err == nil {
		if err = proc.ready(h.life); err != nil {
			err = errors.Join(err, proc.stop())
		}
	}
	if err != nil {
		h.failed(r, err)
		return
	}
	undeclared, missing := compare(h.plugin, proc.names())
	h.mu.Lock()
	r.proc, r.up = proc, true
	h.failures = 0
	if !h.closed {
		h.status.State = Running
	}
	h.status.LastError = ""
	h.status.Undeclared, h.status.Missing = shown(undeclared), shown(missing)
	report := !h.reported && len(undeclared)+len(missing) > 0
	h.reported = h.reported || report
	h.rest(r)
	h.mu.Unlock()
	if report {
		h.log.Warn("the plugin's process and its manifest disagree: only tools that both have can be called",
			"undeclared", shown(undeclared), "undeclared_count", len(undeclared),
			"missing", shown(missing), "missing_count", len(missing))
	}
}

// failed ends a run that never was ready.
func (h *host) failed(r *run, cause error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.run = nil
	if h.closed {
		r.err = h.unavailable("the program is stopping", "")
		return
	}
	h.failures++
	pause := min(h.opt.RetryMin<<min(h.failures-1, 20), h.opt.RetryMax)
	h.retryAt = time.Now().Add(pause)
	h.status.State = Failed
	h.status.LastError = tool.CleanLine("its process could not be started: "+cause.Error(), tool.MaxErrorText/2)
	h.log.Warn("the plugin's process could not be started", "error", cause, "failures", h.failures, "pause", pause)
	r.err = h.unavailable(h.status.LastError, fmt.Sprintf("Use another tool, or try again in %s.", max(pause, time.Second).Round(time.Second)))
}

// release gives a run back.
func (h *host) release(r *run) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r.active--
	h.rest(r)
}

// rest sets the clock of a run that nobody uses. The caller holds mu.
func (h *host) rest(r *run) {
	if !r.up || r.active > 0 || h.run != r {
		return
	}
	calls := r.calls
	r.timer = time.AfterFunc(h.idle, func() { h.expire(r, calls) })
}

// expire stops a run that has had no call since the clock was set. A clock that
// runs out while a call takes the run counts no more.
func (h *host) expire(r *run, calls int) {
	h.mu.Lock()
	if h.closed || h.run != r || r.calls != calls {
		h.mu.Unlock()
		return
	}
	gone := make(chan struct{})
	h.run, h.stopping = nil, gone
	h.status.State = Stopped
	h.mu.Unlock()
	h.log.Debug("the plugin's process was idle and is stopped", "idle", h.idle)
	err := r.proc.stop()
	h.mu.Lock()
	h.stopping = nil
	h.mu.Unlock()
	close(gone)
	if err != nil {
		h.log.Warn("the plugin's process did not stop well", "error", err)
	}
}

// close stops the process, and returns when nothing of it is left.
func (h *host) close() error {
	h.mu.Lock()
	h.closed, h.status.State = true, Closed
	h.mu.Unlock()
	h.end()
	h.starts.Wait()
	h.mu.Lock()
	r, stopping := h.run, h.stopping
	h.run = nil
	if r != nil && r.timer != nil {
		r.timer.Stop()
	}
	h.mu.Unlock()
	if stopping != nil {
		<-stopping
	}
	if r == nil {
		return nil
	}
	if err := r.proc.stop(); err != nil {
		return fmt.Errorf("plugin %q: %w", h.plugin.ID, err)
	}
	return nil
}

func (h *host) unavailable(why, next string) *tool.Error {
	return &tool.Error{
		Code:   tool.CodeUnavailable,
		Reason: fmt.Sprintf("plugin %q is not available: %s", h.plugin.ID, why),
		Next:   next,
	}
}

// gaveUp is the answer to a caller whose context ended before a process was
// there.
func (h *host) gaveUp(err error) *tool.Error {
	if errors.Is(err, context.Canceled) {
		return &tool.Error{Code: tool.CodeCancelled, Reason: fmt.Sprintf("the call was cancelled while plugin %q was starting", h.plugin.ID), Err: err}
	}
	return &tool.Error{
		Code:   tool.CodeTimeout,
		Reason: fmt.Sprintf("plugin %q was not ready in time; the tool did not run", h.plugin.ID),
		Next:   "Try again: its process keeps starting.",
		Err:    err,
	}
}

func await(ctx context.Context, done <-chan struct{}) error {
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// shown bounds a list of names.
func shown(names []string) []string { return names[:min(len(names), maxNames)] }
