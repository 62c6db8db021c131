package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolsearch/toolsearch/tool"
)

// invoker calls one tool of one server, over whatever connection there is at
// the time.
type invoker struct {
	srv      *server
	name     string // as the server spells it
	shown    string // cleaned
	revision string // of the definition that the caller knows
}

// Invoke runs the tool. Waiting for a server that is still starting counts
// against the server's call timeout.
func (i *invoker) Invoke(ctx context.Context, c tool.Call) (*tool.Result, error) {
	if len(c.Args) == 0 {
		c.Args = json.RawMessage("{}")
	}
	if !json.Valid(c.Args) {
		return nil, &tool.Error{
			Code:   tool.CodeInvalidInput,
			Reason: fmt.Sprintf("call MCP tool %q: the arguments are not valid JSON", i.shown),
			Next:   "Give the arguments as a JSON object.",
		}
	}
	callCtx, cancel := context.WithTimeout(ctx, i.srv.cfg.CallTimeout)
	defer cancel()
	for attempt := 0; ; attempt++ {
		sess, err := i.srv.await(callCtx)
		if err != nil {
			return nil, i.explain(ctx, callCtx, nil, err)
		}
		if err := i.stillOffered(); err != nil {
			return nil, err
		}
		res, err := sess.call(callCtx, i, c)
		if err == nil {
			return res, nil
		}
		if attempt == 0 && callCtx.Err() == nil && neverRan(err) {
			sess.cancel()
			i.srv.awaitMove(callCtx, sess)
			continue
		}
		return nil, i.explain(ctx, callCtx, sess, err)
	}
}

// neverRan reports failures after which calling again is safe: the request was
// not sent, or the server had forgotten the session and so cannot have run it.
func neverRan(err error) bool {
	var ce *callError
	if !errors.As(err, &ce) {
		return false
	}
	forgotten := ce.status == http.StatusNotFound && ce.rpc == nil
	return forgotten || (!ce.sent && errors.Is(err, sdk.ErrConnectionClosed))
}

// explain turns a failed call into what a model may read.
func (i *invoker) explain(ctx, callCtx context.Context, sess *session, err error) error {
	var te *tool.Error
	if errors.As(err, &te) {
		return te
	}
	name := i.srv.cfg.called()
	var ce *callError
	maybe := ""
	if sess != nil && (!errors.As(err, &ce) || ce.sent) {
		maybe = "; side effects may have happened"
	}
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return &tool.Error{Code: tool.CodeCancelled, Reason: fmt.Sprintf("the call of %q on %s was cancelled%s", i.shown, name, maybe), Err: err}
	case callCtx.Err() != nil:
		what := "did not answer the call of"
		if sess == nil {
			what = "was not ready in time for the call of"
		} else if sess.stdio != nil {
			if failure := sess.stdio.failure(); failure != "" {
				maybe += "; " + i.srv.redact.text(failure)
			}
		}
		return &tool.Error{
			Code:   tool.CodeTimeout,
			Reason: fmt.Sprintf("%s %s %q within %s%s", name, what, i.shown, i.srv.cfg.CallTimeout, maybe),
			Next:   "Try again, ask for less at once, or have callTimeoutMs raised.",
			Err:    err,
		}
	}
	if rpc := RPCError(err); rpc != nil {
		return i.srv.refused(i.shown, err, rpc)
	}
	if sess != nil && sess.gone() {
		return &tool.Error{
			Code:   tool.CodeFailed,
			Reason: fmt.Sprintf("%s went away during the call of %q: %s%s", name, i.shown, sess.end().text, maybe),
			Next:   "Check whether the call took effect before you repeat it.",
			Err:    err,
		}
	}
	why := i.srv.redact.text(withoutURL(err).Error())
	if ce != nil && ce.status >= 400 {
		why = fmt.Sprintf("HTTP %d %s", ce.status, http.StatusText(ce.status))
	}
	return &tool.Error{
		Code:   tool.CodeFailed,
		Reason: fmt.Sprintf("the call of %q on %s failed: %s%s", i.shown, name, why, maybe),
		Err:    err,
	}
}

// gone reports whether the session has ended or is about to.
func (sess *session) gone() bool {
	select {
	case <-sess.ended:
		return true
	case <-sess.ctx.Done():
		return true
	default:
	}
	if sess.stdio == nil {
		return false
	}
	select {
	case <-sess.stdio.readDone:
		return true
	case <-sess.stdio.proc.exited:
		return true
	default:
		return false
	}
}

// stillOffered refuses a call that was made, and judged, by a definition that
// the server no longer has: while a stale list is shown, or between a change
// and the swap of the catalog, another tool would run than the one approved.
func (i *invoker) stillOffered() error {
	i.srv.mu.Lock()
	revision, ok := i.srv.offered[i.shown]
	i.srv.mu.Unlock()
	what := "no longer offers the tool"
	if ok && revision == i.revision {
		return nil
	}
	if ok {
		what = "has changed the definition of the tool"
	}
	return &tool.Error{
		Code:   tool.CodeUnavailable,
		Reason: fmt.Sprintf("%s %s %q: it was not called", i.srv.cfg.called(), what, i.shown),
		Next:   "Search again, and describe it before you call it.",
	}
}

// await returns the ready session, waiting while the server starts. A server
// that is down is refused, unless its pause has passed: then it is started.
func (s *server) await(ctx context.Context) (*session, error) {
	kicked := -1 // the start after which it was asked for another one
	for {
		s.mu.Lock()
		sess, moved, status, retryAt, starts := s.sess, s.moved, s.status, s.retryAt, s.starts
		s.mu.Unlock()
		switch status.State {
		case Ready:
			if sess != nil && !sess.gone() {
				return sess, nil
			}
		case Disabled:
			return nil, s.unavailable("it is disabled in the configuration", "Enable it, or use another tool.")
		case Closed:
			return nil, s.unavailable("the connection was closed", "")
		case Idle:
			return nil, s.unavailable("it was not started", "")
		case Failed:
			if s.cfg.Unusable != "" {
				return nil, s.unavailable(status.LastError, "Use another tool; the configuration must be mended first.")
			}
			if wait := time.Until(retryAt); wait > 0 || kicked >= 0 && kicked != starts {
				return nil, s.unavailable(status.LastError, fmt.Sprintf("Use another tool, or try again in %s.", max(wait, time.Second).Round(time.Second)))
			}
			if kicked < 0 {
				kicked = starts
				select {
				case s.kick <- struct{}{}:
				default:
				}
			}
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// awaitMove waits until sess is no longer the server's session.
func (s *server) awaitMove(ctx context.Context, sess *session) {
	for {
		s.mu.Lock()
		current, moved := s.sess, s.moved
		s.mu.Unlock()
		if current != sess {
			return
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return
		}
	}
}
