package mcp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os/exec"
	"slices"
	"sync"
	"time"

	"github.com/toolsearch/toolsearch/tool"
)

// server looks after one configured server: it connects, lists, watches for
// changes and restarts. Its fields below mu are what the rest of the Manager
// sees.
type server struct {
	m      *Manager
	cfg    Server
	redact redactor
	log    *slog.Logger
	kick   chan struct{} // a call asks for a restart; holds one

	mu      sync.Mutex
	status  Status
	tools   []*tool.Tool
	offered map[string]string // the revision of each tool, by name
	sess    *session          // set while ready
	moved   chan struct{}     // closed and replaced whenever the state moves
	settled bool              // was ready or failed at least once
	shown   chan struct{}     // closed once a snapshot shows that it settled

	failures int       // in a row
	retryAt  time.Time // a call before this moment is refused at once
	starts   int       // how often it was started
	legacy   bool      // the probe of the newer era broke it
}

func newServer(m *Manager, cfg Server) *server {
	cfg.StartTimeout = orDefault(cfg.StartTimeout, defaultStartTimeout)
	cfg.CallTimeout = orDefault(cfg.CallTimeout, defaultCallTimeout)
	s := &server{
		m:      m,
		cfg:    cfg,
		redact: newRedactor(&cfg),
		log:    m.opt.Logger.With("mcp_server", cfg.Name),
		kick:   make(chan struct{}, 1),
		moved:  make(chan struct{}),
		shown:  make(chan struct{}),
		status: Status{Name: cfg.Name, State: Idle, Since: time.Now()},
	}
	if cfg.Disabled {
		s.status.State, s.settled = Disabled, true
		close(s.shown)
	} else if cfg.Unusable != "" {
		s.status.State, s.status.LastError, s.settled = Failed, tool.CleanLine(cfg.Unusable, 5*maxLabel), true
		s.status.Failure = FailureConfig
		close(s.shown)
	}
	return s
}

// update changes what others see, publishes a snapshot, and then wakes who
// waits, so that they find what they waited for in the snapshot. Only the
// server's own goroutine, and Start before it, call it.
func (s *server) update(change func()) {
	s.mu.Lock()
	before, wasSettled := s.status.State, s.settled
	change()
	if s.status.State != before {
		s.status.Since = time.Now()
	}
	s.status.Tools = len(s.tools)
	settled := s.settled && !wasSettled
	s.mu.Unlock()
	s.m.publish()
	if settled {
		close(s.shown)
	}
	s.mu.Lock()
	close(s.moved)
	s.moved = make(chan struct{})
	s.mu.Unlock()
}

// setTools replaces the list, keeping tools that did not change, so that
// whoever compares sees only real changes. The caller holds mu.
func (s *server) setTools(set *toolSet) {
	old := make(map[string]*tool.Tool, len(s.tools))
	for _, t := range s.tools {
		old[t.Name] = t
	}
	s.offered = make(map[string]string, len(set.tools))
	for i, t := range set.tools {
		s.offered[t.Name] = t.Revision
		if o := old[t.Name]; o != nil && o.Revision == t.Revision && o.Mode == t.Mode {
			set.tools[i] = o
		}
	}
	if !slices.Equal(s.tools, set.tools) {
		s.tools = set.tools
	}
}

// run is the server's life. It returns when ctx ends, with nothing left behind.
func (s *server) run(ctx context.Context) {
	for ctx.Err() == nil {
		s.update(func() { s.starts++; s.status.State = Starting })
		sess, err := s.start(ctx)
		if err == nil {
			began := time.Now()
			err = s.serve(ctx, sess)
			s.update(func() { s.sess = nil; s.status.State = Starting })
			sess.close()
			if time.Since(began) >= s.m.opt.StableAfter {
				s.setFailures(0)
			}
		}
		if ctx.Err() != nil {
			break
		}
		if !s.awaitRetry(ctx, err, sess != nil) {
			break
		}
	}
	s.update(func() {
		s.sess, s.settled = nil, true
		s.status.State, s.status.Stale = Closed, len(s.tools) > 0
	})
}

// start connects and reads the first list, within the start timeout.
func (s *server) start(ctx context.Context) (*session, error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.StartTimeout)
	defer cancel()
	sess, err := s.connect(ctx, s.legacy)
	if err != nil && !s.legacy && s.cfg.URL == "" && ctx.Err() == nil && diedInHandshake(err) {
		// It may have died of the probe: try once as the older era would.
		if again, err2 := s.connect(ctx, true); err2 == nil {
			s.legacy = true
			sess, err = again, nil
		}
	}
	if err != nil {
		return nil, err
	}
	list, err := sess.list(ctx)
	if err != nil {
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			err = fmt.Errorf("its tools did not come within %s: %w", s.cfg.StartTimeout, err)
		} else if sess.gone() {
			err = fmt.Errorf("%w: %w", err, sess.end())
		}
		sess.close()
		return nil, err
	}
	s.ready(sess, list)
	return sess, nil
}

// diedInHandshake tells a connection that broke from a command that could not
// be run and from a refusal in the server's own words.
func diedInHandshake(err error) bool {
	var pathErr *exec.Error
	return !refusedBy(err) && !errors.As(err, &pathErr) && !errors.Is(err, exec.ErrNotFound)
}

func (s *server) ready(sess *session, list *listing) {
	set, notice := s.buildTools(list)
	info := sess.cs.InitializeResult()
	s.update(func() {
		s.setTools(set)
		s.sess, s.settled = sess, true
		s.status.State, s.status.Stale, s.status.LastError = Ready, false, notice
		s.status.Failure, s.status.Stderr = "", ""
		s.status.Protocol = tool.Clean(info.ProtocolVersion, maxLabel)
		if info.ServerInfo != nil {
			s.status.ServerName = tool.CleanLine(info.ServerInfo.Name, maxLabel)
			s.status.ServerVersion = tool.CleanLine(info.ServerInfo.Version, maxLabel)
		}
	})
	s.log.Info("MCP server is ready", "tools", len(set.tools), "protocol", info.ProtocolVersion)
	s.listed(list, notice)
}

// listed logs what was left out and keeps the list for the next start.
func (s *server) listed(list *listing, notice string) {
	if notice != "" {
		s.log.Warn("MCP server's list of tools is not complete", "reason", notice)
	}
	if err := s.m.cache.save(&s.cfg, list.defs); err != nil {
		s.log.Warn("cannot keep the MCP server's list of tools", "error", err)
	}
}

// serve watches a ready session until it ends and says why it did.
func (s *server) serve(ctx context.Context, sess *session) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-sess.ended:
			return sess.end()
		case <-sess.changed:
		}
		if !sleep(ctx, s.m.opt.Debounce, sess.ended) {
			continue
		}
		select { // what came during the pause is part of this re-list
		case <-sess.changed:
		default:
		}
		s.relist(ctx, sess)
	}
}

// relist swaps the list. When that fails the old list stays.
func (s *server) relist(ctx context.Context, sess *session) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.StartTimeout)
	defer cancel()
	list, err := sess.list(ctx)
	if err != nil {
		if sess.gone() || errors.Is(ctx.Err(), context.Canceled) {
			return // reported by serve
		}
		text := "its tools changed and could not be read again: " + s.redact.text(err.Error())
		s.log.Warn("MCP server's tools changed and could not be read again", "error", s.redact.hide(err.Error()))
		s.update(func() { s.status.LastError = text })
		return
	}
	set, notice := s.buildTools(list)
	s.update(func() {
		s.setTools(set)
		s.status.LastError = notice
	})
	s.listed(list, notice)
}

// sleep waits for d. It reports false when ctx or stop ended first.
func sleep(ctx context.Context, d time.Duration, stop <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
	case <-stop:
	}
	return false
}

func (s *server) setFailures(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failures = n
}

// awaitRetry is the breaker. A connection that was ready is tried again at
// once; after that, and after a failed start, the pauses double. When MaxRetries
// attempts in a row have failed, or the command does not exist, only a call
// tries again, and not before the cool-down has passed. It reports false when
// ctx ended.
func (s *server) awaitRetry(ctx context.Context, cause error, wasReady bool) bool {
	opt := &s.m.opt
	s.mu.Lock()
	s.failures++
	n := s.failures
	s.mu.Unlock()
	open := n > opt.MaxRetries || errors.Is(cause, exec.ErrNotFound)
	pause := opt.RetryMax
	switch {
	case wasReady && n == 1:
		pause = 0
	case !open:
		pause = min(opt.RetryMin<<min(n-1, 20), opt.RetryMax)
	}
	s.log.Warn("MCP server failed", "error", s.redact.hide(cause.Error()), "failures", n, "pause", pause, "breaker_open", open)
	text := tool.CleanLine(s.redact.hide(cause.Error()), 2*maxDetail)
	if pause == 0 {
		s.update(func() { s.status.LastError, s.status.Stale = text, len(s.tools) > 0 })
		return true
	}
	select {
	case <-s.kick: // left over from an earlier failure
	default:
	}
	var told *startError
	s.update(func() {
		if s.status.Failure, s.status.Stderr = failureOf(cause), ""; errors.As(cause, &told) {
			s.status.Stderr = told.stderr
		}
		s.settled = true
		s.status.State, s.status.LastError, s.status.Stale = Failed, text, len(s.tools) > 0
		s.retryAt = time.Now().Add(pause)
	})
	var timer <-chan time.Time
	if !open {
		t := time.NewTimer(pause)
		defer t.Stop()
		timer = t.C
	}
	select {
	case <-timer:
		return true
	case <-s.kick:
		return true
	case <-ctx.Done():
		return false
	}
}
