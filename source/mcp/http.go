package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	maxRedirects   = 5
	maxErrorBody   = 64 << 10 // bytes read of an answer that is an HTTP error
	maxHeaderBytes = 256 << 10
)

// httpLink is the network side of one streamable HTTP connection. It sits under
// the SDK as a RoundTripper, since wrapping the SDK's connection would hide one
// of its hooks: requests get the configured headers, and the messages in the
// bodies of answers pass through the traffic.
type httpLink struct {
	endpoint *url.URL
	headers  map[string]string
	traffic  *traffic
	limit    int
	patience time.Duration    // with server/discover
	reopen   [2]time.Duration // shortest and longest pause before a stream is reopened

	base   *http.Transport
	direct *http.Client    // headers and redirects, bodies untouched
	life   context.Context // ends every request
	end    context.CancelFunc
}

func newHTTPLink(cfg *Server, t *traffic, opt *Options) (*httpLink, error) {
	u, err := url.Parse(cfg.URL)
	if err != nil {
		return nil, fmt.Errorf("parse the url: %w", withoutURL(err))
	}
	l := &httpLink{endpoint: u, headers: cfg.Headers, traffic: t, limit: opt.MaxMessageBytes, patience: opt.ProbePatience, reopen: [2]time.Duration{opt.RetryMin, opt.RetryMax}}
	l.base = &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout:    10 * time.Second,
		MaxResponseHeaderBytes: maxHeaderBytes,
		IdleConnTimeout:        90 * time.Second,
		MaxIdleConnsPerHost:    8,
		ForceAttemptHTTP2:      true,
	}
	l.life, l.end = context.WithCancel(context.Background())
	l.direct = &http.Client{Transport: roundTripFunc(l.authorized), CheckRedirect: l.checkRedirect}
	return l, nil
}

// transport is the SDK's transport over this link.
func (l *httpLink) transport() sdk.Transport {
	return &sdk.StreamableClientTransport{
		Endpoint:     l.endpoint.String(),
		HTTPClient:   &http.Client{Transport: roundTripFunc(l.roundTrip), CheckRedirect: l.checkRedirect},
		MaxEventSize: l.limit + 1<<16, // the filter enforces the limit, this is the second fence
	}
}

// close ends every request and connection.
func (l *httpLink) close() {
	l.end()
	l.base.CloseIdleConnections()
}

type roundTripFunc func(*http.Request) (*http.Response, error)

func (f roundTripFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

var errRedirect = errors.New("redirect refused")

// checkRedirect follows redirects inside the origin only: elsewhere the headers
// and the arguments would reach a host that nobody configured.
func (l *httpLink) checkRedirect(req *http.Request, via []*http.Request) error {
	switch {
	case !sameOrigin(req.URL, l.endpoint):
		return fmt.Errorf("%w: the server redirects to another origin, %s://%s; if that is right, configure its url", errRedirect, req.URL.Scheme, req.URL.Host)
	case len(via) >= maxRedirects:
		return fmt.Errorf("%w: more than %d in a row", errRedirect, maxRedirects)
	case req.Method != via[0].Method:
		return fmt.Errorf("%w: it would turn %s into %s", errRedirect, via[0].Method, req.Method)
	}
	return nil
}

// authorized sends a request with the configured headers, for as long as the
// link lives.
func (l *httpLink) authorized(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(req.Context())
	stop := context.AfterFunc(l.life, cancel)
	req = req.Clone(ctx)
	if sameOrigin(req.URL, l.endpoint) {
		setHeaders(req.Header, l.headers)
	}
	resp, err := l.base.RoundTrip(req)
	if err != nil {
		stop()
		cancel()
		return nil, err
	}
	resp.Body = &closing{ReadCloser: resp.Body, after: func() { stop(); cancel() }}
	return resp, nil
}

// closing runs after once the body is closed.
type closing struct {
	io.ReadCloser
	after func()
}

func (c *closing) Close() error {
	err := c.ReadCloser.Close()
	c.after()
	return err
}

// pendingCall is the JSON-RPC request that an HTTP request carries, nil when
// it carries none.
type pendingCall struct {
	id       jsonrpc.ID
	method   string
	exchange *exchange
}

// failed records why the call has no result and returns an encoded JSON-RPC
// answer that says so; nil where there is no call to fail.
func (p *pendingCall) failed(cause error) []byte {
	if p == nil {
		return nil
	}
	if p.exchange != nil {
		p.exchange.fail(cause)
	}
	answer, err := jsonrpc.EncodeMessage(&jsonrpc.Response{ID: p.id, Error: &jsonrpc.Error{
		Code:    jsonrpc.CodeInternalError,
		Message: cause.Error(),
	}})
	if err != nil {
		return nil
	}
	return answer
}

// announce tells the traffic what a request carries.
func (l *httpLink) announce(req *http.Request) (*pendingCall, error) {
	if req.Method != http.MethodPost || req.GetBody == nil {
		return nil, nil
	}
	body, err := req.GetBody()
	if err != nil {
		return nil, fmt.Errorf("read own request: %w", err)
	}
	var head struct {
		ID     any    `json:"id"`
		Method string `json:"method"`
	}
	if err := json.NewDecoder(body).Decode(&head); err != nil {
		return nil, fmt.Errorf("read own request: %w", err)
	}
	id, err := jsonrpc.MakeID(head.ID)
	if err != nil {
		return nil, fmt.Errorf("read own request: %w", err)
	}
	if head.Method == "" {
		l.traffic.outbound(req.Context(), &jsonrpc.Response{ID: id})
		return nil, nil
	}
	msg := &jsonrpc.Request{ID: id, Method: head.Method}
	l.traffic.outbound(req.Context(), msg)
	if !msg.IsCall() {
		return nil, nil
	}
	return &pendingCall{id: id, method: head.Method, exchange: exchangeFrom(req.Context())}, nil
}

func (l *httpLink) roundTrip(req *http.Request) (*http.Response, error) {
	call, err := l.announce(req)
	if err != nil {
		return nil, err
	}
	switch {
	case req.Method == http.MethodGet:
		return l.standing(req), nil
	case call != nil && call.method == methodListen:
		l.traffic.mute(call.id) // it ends one stream, and the next is opened
		return l.standing(req), nil
	case call != nil && call.method == methodDiscover:
		return l.probe(req, call)
	}
	return l.exchange(req, call)
}

// probe sends server/discover. A server of the older era that leaves it hanging
// is answered for, so that the older handshake gets its turn.
func (l *httpLink) probe(req *http.Request, call *pendingCall) (*http.Response, error) {
	ctx, cancel := context.WithCancel(req.Context())
	timer := time.AfterFunc(l.patience, cancel)
	resp, err := l.exchange(req.Clone(ctx), call)
	if !timer.Stop() && req.Context().Err() == nil {
		if err == nil {
			_ = resp.Body.Close()
		}
		cancel()
		return synthetic(req, http.StatusNotFound, "text/plain", http.NoBody), nil
	}
	if err != nil {
		cancel()
		return nil, err
	}
	resp.Body = &closing{ReadCloser: resp.Body, after: cancel}
	return resp, nil
}

func synthetic(req *http.Request, status int, contentType string, body io.ReadCloser) *http.Response {
	return &http.Response{
		Status:        fmt.Sprintf("%d %s", status, http.StatusText(status)),
		StatusCode:    status,
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        http.Header{"Content-Type": {contentType}},
		ContentLength: -1,
		Body:          body,
		Request:       req,
	}
}

// exchange sends a request and puts the body of its answer behind the traffic.
func (l *httpLink) exchange(req *http.Request, call *pendingCall) (*http.Response, error) {
	resp, err := l.authorized(req)
	x := exchangeFrom(req.Context())
	if err != nil {
		var op *net.OpError
		if x != nil && errors.As(err, &op) && op.Op == "dial" {
			x.unsent()
		}
		return nil, err
	}
	if x != nil {
		x.setStatus(resp.StatusCode)
	}
	if resp.StatusCode < 200 || resp.StatusCode >= 300 {
		return refusal(resp, x), nil
	}
	switch kind := mediaType(resp.Header); kind {
	case "text/event-stream":
		resp.Body = l.filterEvents(resp.Body, call)
	case "application/json":
		resp.Body = &jsonFilter{link: l, src: resp.Body, call: call}
		resp.Header = resp.Header.Clone()
		resp.Header.Del("Content-Length")
		resp.ContentLength = -1
	default:
		if call == nil {
			break
		}
		// The SDK would drop the connection for an answer of another type.
		_ = resp.Body.Close()
		body := call.failed(fmt.Errorf("%w: an answer of content type %q", errBadMessage, sampleOf([]byte(kind))))
		return synthetic(req, http.StatusOK, "application/json", io.NopCloser(bytes.NewReader(body))), nil
	}
	return resp, nil
}

// refusal reads the bounded body of an HTTP error, where some servers put a
// JSON-RPC error.
func refusal(resp *http.Response, x *exchange) *http.Response {
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	if x != nil && err == nil {
		if msg, err := decodeMessage(body); err == nil {
			if answer, ok := msg.(*jsonrpc.Response); ok && answer.Error != nil {
				x.refuse(answer.Error)
			}
		}
	}
	resp.Body = &limited{Reader: bytes.NewReader(body), Closer: resp.Body}
	return resp
}

type limited struct {
	io.Reader
	io.Closer
}

func mediaType(h http.Header) string {
	t, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return t
}

// jsonFilter is the body of an answer of one JSON message, as the SDK sees it.
type jsonFilter struct {
	link *httpLink
	src  io.ReadCloser
	call *pendingCall
	out  *bytes.Reader
	err  error
}

func (f *jsonFilter) Close() error { return f.src.Close() }

func (f *jsonFilter) Read(p []byte) (int, error) {
	if f.out == nil && f.err == nil {
		f.load()
	}
	if f.err != nil {
		return 0, f.err
	}
	return f.out.Read(p)
}

func (f *jsonFilter) load() {
	data, err := io.ReadAll(io.LimitReader(f.src, int64(f.link.limit)+1))
	if err == nil && len(data) > f.link.limit {
		err = errMessageTooLong
	}
	var out []byte
	if err == nil {
		out, err = f.link.pass(data)
	}
	if err != nil {
		// A failed body fails its own call; the SDK would drop the connection.
		if out = f.call.failed(f.link.describe(err)); out == nil {
			f.err = err
			return
		}
	}
	f.out = bytes.NewReader(out)
}
