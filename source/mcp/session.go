package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolsearch/toolsearch/tool"
)

// legacyVersion is what is offered to a server that cannot bear the probe of
// the newer era.
const legacyVersion = "2025-11-25"

// closePatience bounds the polite end of an HTTP session.
const closePatience = 2 * time.Second

// session is one live connection to a server.
type session struct {
	srv     *server
	cs      *sdk.ClientSession
	traffic *traffic
	changed chan struct{} // the server's tools changed; holds one

	stdio *stdioConn // one of these two is set
	link  *httpLink

	ctx    context.Context // ends when the session does
	cancel context.CancelFunc
	ended  chan struct{} // closed when the SDK's connection is gone

	closeOnce sync.Once
}

// connect makes a session. legacy skips the probe of the newer era.
func (s *server) connect(ctx context.Context, legacy bool) (*session, error) {
	sess := &session{srv: s, changed: make(chan struct{}, 1), ended: make(chan struct{})}
	sess.traffic = newTraffic(func() {
		select {
		case sess.changed <- struct{}{}:
		default: // one re-list sees all changes so far
		}
	})
	sess.ctx, sess.cancel = context.WithCancel(context.Background())
	transport, err := sess.transport()
	if err != nil {
		sess.cancel()
		return nil, err
	}
	x := &exchange{method: "connect"} // keeps the HTTP status
	stop := context.AfterFunc(ctx, func() { sess.cut(transport) })
	var opts *sdk.ClientSessionOptions
	if legacy {
		opts = &sdk.ClientSessionOptions{ProtocolVersion: legacyVersion}
	}
	cs, err := s.m.newClient().Connect(withExchange(ctx, x), transport, opts)
	if st, ok := transport.(*stdioTransport); ok {
		sess.stdio = st.started()
	}
	if !stop() && err == nil {
		err = ctx.Err() // the cut is under way
	}
	if err != nil {
		if ctx.Err() != nil {
			sess.cut(transport) // so that all of its stderr has been read
		}
		err = sess.connectError(ctx, err, x)
		sess.cut(transport)
		if cs != nil {
			_ = cs.Close()
		}
		return nil, err
	}
	sess.cs = cs
	go func() {
		defer close(sess.ended)
		_ = cs.Wait() // the reason is asked for in end
	}()
	return sess, nil
}

func (sess *session) transport() (sdk.Transport, error) {
	s := sess.srv
	if s.cfg.URL == "" {
		return &stdioTransport{cfg: &s.cfg, opt: &s.m.opt, traffic: sess.traffic}, nil
	}
	link, err := newHTTPLink(&s.cfg, sess.traffic, &s.m.opt)
	if err != nil {
		return nil, err
	}
	sess.link = link
	return link.transport(), nil
}

// newClient is an SDK client that offers a server nothing.
func (m *Manager) newClient() *sdk.Client {
	client := sdk.NewClient(
		&sdk.Implementation{Name: m.opt.ClientName, Version: m.opt.ClientVersion},
		&sdk.ClientOptions{
			Logger:         m.sdkLogger,
			Capabilities:   &sdk.ClientCapabilities{},
			MultiRoundTrip: &sdk.MultiRoundTripOptions{Disabled: true},
			// Its presence makes the SDK subscribe; the traffic takes the notices.
			ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) {},
		})
	client.AddReceivingMiddleware(decline)
	return client
}

// decline refuses whatever a server asks of us, except a ping.
func decline(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		switch method {
		case "roots/list", "sampling/createMessage", "elicitation/create":
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "this client does not offer " + method}
		}
		return next(ctx, method, req)
	}
}

// cut ends the connection under the SDK at once.
func (sess *session) cut(transport sdk.Transport) {
	sess.cancel()
	if sess.link != nil {
		sess.link.close()
	}
	if st, ok := transport.(*stdioTransport); ok && st.started() != nil {
		st.started().shut(0)
	}
}

// close ends the session in good order, within bounds: calls in flight are
// cancelled first, since the SDK would wait for them.
func (sess *session) close() {
	sess.closeOnce.Do(func() {
		sess.cancel()
		if sess.stdio != nil {
			_ = sess.stdio.Close()
			_ = sess.cs.Close()
			<-sess.ended
			return
		}
		timer := time.AfterFunc(closePatience, sess.link.close)
		_ = sess.cs.Close()
		timer.Stop()
		sess.link.close()
		<-sess.ended
	})
	<-sess.ended
}

// connectError says why no session came about.
func (sess *session) connectError(ctx context.Context, err error, x *exchange) error {
	if c := sess.stdio; c != nil {
		return c.story(ctx, err, sess.srv)
	}
	if rpc := x.refusal(); rpc != nil {
		return &startError{text: "it refused the handshake: " + sess.srv.redact.text(rpc.Message), cause: err}
	}
	if _, lost := x.result(); lost != nil && ctx.Err() == nil {
		return &startError{text: sess.srv.redact.text(lost.Error()), cause: err}
	}
	if status := x.httpStatus(); status >= 400 {
		text := fmt.Sprintf("it answered HTTP %d %s", status, http.StatusText(status))
		if status == http.StatusUnauthorized || status == http.StatusForbidden {
			text += "; check the credentials in its headers"
		}
		return &startError{text: text, cause: err}
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return &startError{text: "it did not answer within " + sess.srv.cfg.StartTimeout.String(), slow: true, cause: err}
	}
	return &startError{text: sess.srv.redact.text(withoutURL(err).Error()), cause: err}
}

// startError says why a server could not be started, or why its connection
// ended, in words for Status.
type startError struct {
	text   string
	stderr string // the end of what its process printed there
	slow   bool   // it took longer than it may
	cause  error
}

func (e *startError) Error() string { return e.text }
func (e *startError) Unwrap() error { return e.cause }

// story tells what happened to a child process that did not work out.
func (c *stdioConn) story(ctx context.Context, err error, s *server) *startError {
	// The end of the process and the end of its output race; a moment's wait
	// tells which came first.
	timer := time.NewTimer(drainPatience)
	defer timer.Stop()
	var text string
	var slow bool
	failure := s.redact.text(c.failure())
	switch {
	case refusedBy(err):
		text = "it refused the handshake: " + s.redact.text(err.Error())
	case c.broken():
		text, failure = failure, ""
	case errors.Is(ctx.Err(), context.DeadlineExceeded) && !c.ended():
		text, slow = "it did not answer within "+s.cfg.StartTimeout.String(), true
	case ctx.Err() != nil && !c.ended():
		text = "the start was cancelled"
	default:
		select {
		case <-c.proc.exited:
			text = "its process ended (" + c.proc.exitText() + ")"
			select { // its last words are on the way
			case <-c.proc.drained:
			case <-timer.C:
			}
		case <-timer.C:
			text = s.redact.text(err.Error())
		}
	}
	if failure != "" {
		text += "; " + failure
	}
	all, line := s.lastWords(c.proc.tail)
	if line != "" {
		text += "; on stderr: " + line
	}
	return &startError{text: text, stderr: all, slow: slow, cause: err}
}

// end says why a session that was ready is no more.
func (sess *session) end() *startError {
	if c := sess.stdio; c != nil {
		return c.story(context.Background(), errors.New("the connection was closed"), sess.srv)
	}
	if err := sess.cs.Wait(); err != nil {
		return &startError{text: "the connection was lost: " + sess.srv.redact.text(withoutURL(err).Error()), cause: err}
	}
	return &startError{text: "the connection was closed"}
}

// call runs one tool. The deadline is in ctx.
func (sess *session) call(ctx context.Context, inv *invoker, c tool.Call) (*tool.Result, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(sess.ctx, cancel)
	defer stop()
	x := &exchange{method: methodCall}
	defer sess.traffic.forget(x)
	params := &sdk.CallToolParams{Name: inv.name, Arguments: c.Args}
	if c.Progress != nil {
		token, done := sess.traffic.watch(c.Progress)
		defer done()
		params.SetProgressToken(token)
	}
	_, err := sess.cs.CallTool(withExchange(ctx, x), params)
	raw, lost := x.result()
	switch {
	case raw != nil:
		return readResult(sess.srv, inv, raw)
	case lost != nil:
		return nil, lost
	case err == nil:
		return nil, errors.New("the answer has no result")
	}
	return nil, &callError{cause: err, rpc: x.refusal(), sent: x.wasSent(), status: x.httpStatus()}
}

// callError is a call that brought no result.
type callError struct {
	cause  error
	rpc    *jsonrpc.Error // what the server answered, nil when it was not the server
	sent   bool           // the server may have seen the request
	status int
}

func (e *callError) Error() string { return e.cause.Error() }
func (e *callError) Unwrap() error { return e.cause }

// readResult keeps the raw bytes and refuses what is no final result. It reads
// what is passed on: ParseMCPResult leaves one reading of each member.
func readResult(s *server, inv *invoker, raw json.RawMessage) (*tool.Result, error) {
	res, err := tool.ParseMCPResult(raw)
	if err != nil {
		return nil, noResult(s, inv, err)
	}
	members, err := tool.SplitObject(res.Raw)
	if err != nil {
		return nil, noResult(s, inv, err)
	}
	kind := members.Get("resultType")
	switch name, ok := tool.ReadString(kind); {
	case tool.Absent(kind), ok && name == "complete": // some write null for what they leave out
		return res, nil
	case ok && name == "input_required":
		return nil, &tool.Error{
			Code:   tool.CodeFailed,
			Reason: fmt.Sprintf("%s asks for further input from the user to run %q, which cannot be given here", s.cfg.called(), inv.shown),
			Next:   "Give the tool everything it needs in its arguments, or use another tool.",
		}
	}
	return nil, noResult(s, inv, fmt.Errorf("its resultType is %s", tool.Clean(string(kind), maxLabel)))
}

// noResult refuses an answer that is not the result of the call.
func noResult(s *server, inv *invoker, cause error) *tool.Error {
	return &tool.Error{
		Code:   tool.CodeFailed,
		Reason: fmt.Sprintf("%s answered the call of %q with something that is no result; side effects may have happened", s.cfg.called(), inv.shown),
		Err:    cause,
	}
}
