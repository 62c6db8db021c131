package provider

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"
)

const (
	// streamOverhead is how many times MaxBody a stream may have.
	streamOverhead = 8
	// lingerTimeout is how long the end of a connection is waited for once the
	// answer is complete: only a connection read to its end is used again.
	lingerTimeout = 100 * time.Millisecond
)

// attempt is one request and its answer.
type attempt struct {
	client  *Client
	body    []byte
	stream  bool
	emit    func(Event) error
	emitted bool  // an event was handed on: this attempt is the last one
	emitErr error // what emit returned
	secrets secrets
}

// run sends the request and reads the answer. A *failure is worth another
// attempt.
func (a *attempt) run(ctx context.Context) (*Response, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	req, err := a.request(ctx)
	if err != nil {
		return nil, err
	}
	httpResp, err := a.client.client.Do(req)
	if err != nil {
		return nil, a.broken(ctx, "send the request", err)
	}
	quiet := newWatch(httpResp.Body, a.client.cfg.IdleTimeout, cancel)
	defer quiet.Close()
	if httpResp.StatusCode/100 != 2 {
		return nil, a.refusal(httpResp, quiet)
	}
	return a.answer(ctx, httpResp.Header, quiet)
}

// request builds the request. Headers of the configuration come last.
func (a *attempt) request(ctx context.Context) (*http.Request, error) {
	cfg := &a.client.cfg
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.client.url, bytes.NewReader(a.body))
	if err != nil {
		return nil, fmt.Errorf("build the request: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	if a.stream {
		req.Header.Set("Accept", "text/event-stream, application/json")
	}
	req.Header.Set("User-Agent", "toolsearch")
	key := ""
	if cfg.Key != nil {
		if key, err = cfg.Key(ctx); err != nil {
			return nil, fmt.Errorf("resolve the key: %w", err)
		}
		key = strings.TrimSpace(key) // a key read from a file ends in a newline
	}
	cfg.Format.Authorize(req.Header, key)
	for name, values := range cfg.Headers {
		req.Header[http.CanonicalHeaderKey(name)] = values
	}
	a.secrets = newSecrets(key, cfg.Headers)
	return req, nil
}

// broken is the error of a connection that failed before the answer was whole.
func (a *attempt) broken(ctx context.Context, doing string, err error) error {
	if cause := context.Cause(ctx); errors.Is(cause, errQuiet) {
		err = fmt.Errorf("no byte came for %v", a.client.cfg.IdleTimeout)
	}
	err = fmt.Errorf("%s: %w", doing, a.secrets.hide(withoutURL(err)))
	var cert *tls.CertificateVerificationError
	switch {
	case errors.Is(err, errTooLarge) || errors.Is(err, ErrFrameTooLong) || errors.As(err, &cert):
		return err
	case a.emitted && (ctx.Err() == nil || errors.Is(context.Cause(ctx), errQuiet)):
		return &BrokenError{err}
	case a.emitted: // who asked has given it up
		return err
	}
	return &failure{err: err}
}

// refused turns an *Error of the API into what the caller gets.
func (a *attempt) refused(e *Error, h http.Header) error {
	a.secrets.clean(e)
	if a.emitted || !transient(e, h) {
		return e
	}
	return &failure{err: e, after: e.RetryAfter}
}

// refusal reads an answer with a status that is not 2xx.
func (a *attempt) refusal(resp *http.Response, body io.Reader) error {
	raw, _ := io.ReadAll(io.LimitReader(body, MaxErrorBody)) // a part of it tells enough
	f := a.client.cfg.Format
	e := f.DecodeError(resp.StatusCode, raw)
	if e == nil {
		e = &Error{}
	}
	e.Status, e.Body, e.API = resp.StatusCode, raw, f.API()
	if wait := retryAfter(resp.Header, time.Now()); wait > 0 {
		e.RetryAfter = wait
	}
	if resp.StatusCode/100 == 3 {
		e.Message = "it redirects elsewhere, where the key must not go: correct baseUrl"
		if to, err := resp.Location(); err == nil {
			e.Message = fmt.Sprintf("it redirects to %s://%s, where the key must not go: correct baseUrl", to.Scheme, to.Host)
		}
	}
	return a.refused(e, resp.Header)
}

// answer reads a body that came with 2xx, as what its type says it is: some
// servers answer a request for a stream with a whole body.
func (a *attempt) answer(ctx context.Context, h http.Header, body *watch) (*Response, error) {
	kind, _, _ := mime.ParseMediaType(h.Get("Content-Type"))
	switch {
	case kind == "text/event-stream":
		return a.streamed(ctx, h, body)
	case kind == "text/html":
		return nil, errors.New("the answer is a web page: baseUrl is not the address of a model API")
	case a.stream && kind != "application/json":
		return a.streamed(ctx, h, body)
	}
	return a.whole(ctx, h, body)
}

func (a *attempt) whole(ctx context.Context, h http.Header, body io.Reader) (*Response, error) {
	limit := a.client.cfg.MaxBody
	raw, err := io.ReadAll(&bounded{r: body, left: limit})
	if err != nil {
		return nil, a.broken(ctx, "read the answer", err)
	}
	resp, err := a.client.cfg.Format.DecodeResponse(raw)
	if err != nil {
		return nil, a.unread(err, h)
	}
	for _, e := range events(resp) {
		if err := a.hand(e); err != nil {
			return nil, err
		}
	}
	return resp, nil
}

// events tells a whole answer as a stream would.
func events(r *Response) []Event {
	var out []Event
	for _, m := range r.Output {
		for _, b := range m.Blocks {
			switch b.Kind {
			case Text:
				if b.Text != "" {
					out = append(out, Event{Kind: TextDelta, Text: b.Text})
				}
				continue
			case Thinking:
				if b.Text != "" {
					out = append(out, Event{Kind: ThinkingDelta, Text: b.Text})
				}
			}
			out = append(out, Event{Kind: BlockDone, Block: b})
		}
	}
	return out
}

func (a *attempt) streamed(ctx context.Context, h http.Header, body *watch) (*Response, error) {
	frames := NewFrameReader(&bounded{r: body, left: a.client.cfg.MaxBody * streamOverhead})
	dec := a.client.cfg.Format.NewStreamDecoder()
	for {
		f, err := frames.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, a.broken(ctx, "read the stream", err)
		}
		if len(f.Data) == 0 {
			continue // no API says anything without data
		}
		told, err := dec.Frame(f)
		for _, e := range told {
			if err := a.hand(e); err != nil {
				return nil, err
			}
		}
		switch {
		case err != nil && frames.unfinished:
			return nil, a.broken(ctx, "read the stream", fmt.Errorf("it ends inside a frame: %w", err))
		case err != nil:
			return nil, a.unread(err, h)
		}
		if closes(f) {
			body.linger()
			break
		}
	}
	resp, err := dec.Response()
	var e *Error
	switch {
	case err == nil:
		return resp, nil
	case errors.As(err, &e) && e.Code != codeCut:
		return nil, a.refused(e, h)
	}
	return nil, a.broken(ctx, "read the stream", err)
}

// closes reports the frame behind which no API sends another one. Not every
// server closes the connection there.
func closes(f Frame) bool {
	switch f.Event {
	case "message_stop", "response.completed", "response.incomplete", "response.failed":
		return true
	}
	return string(f.Data) == "[DONE]"
}

// hand gives an event to the caller.
func (a *attempt) hand(e Event) error {
	a.emitted = true
	a.emitErr = a.emit(e)
	return a.emitErr
}

// unread is the error of an answer that the format could not read: one that the
// API reported itself, or one that is not in its words.
func (a *attempt) unread(err error, h http.Header) error {
	var e *Error
	if errors.As(err, &e) {
		return a.refused(e, h)
	}
	return fmt.Errorf("read the answer: %w", a.secrets.hide(err))
}
