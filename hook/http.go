package hook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"time"
)

// Bounds of an endpoint.
const (
	maxHTTPConns   = 16 // connections of one hook at once; further calls wait within their time
	maxHTTPHeaders = 64 << 10
	idleHTTP       = 30 * time.Second
)

// HTTPConfig makes an HTTP runner.
type HTTPConfig struct {
	URL    string      // http or https
	Header http.Header // sent with every request, such as Authorization
	// Transport carries the requests; nil is one that uses no proxy.
	Transport http.RoundTripper
}

// HTTP returns a Runner that posts the call to an endpoint. It follows no
// redirect, and takes only status 200 with a body of type application/json.
func HTTP(c HTTPConfig) (Runner, error) {
	u, err := url.Parse(c.URL)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, errors.New("set up a hook's endpoint: its url must be an http or https address")
	}
	h := &endpoint{url: u.String(), header: c.Header.Clone()}
	if h.header == nil {
		h.header = http.Header{}
	}
	h.header.Set("Content-Type", "application/json")
	h.header.Set("Accept", "application/json")
	transport := c.Transport
	if transport == nil {
		h.own = &http.Transport{
			MaxConnsPerHost:        maxHTTPConns,
			MaxIdleConnsPerHost:    maxHTTPConns,
			IdleConnTimeout:        idleHTTP,
			TLSHandshakeTimeout:    MaxTimeout,
			MaxResponseHeaderBytes: maxHTTPHeaders,
			DisableCompression:     true,
			ForceAttemptHTTP2:      true,
		}
		transport = h.own
	}
	h.client = &http.Client{
		Transport:     transport,
		Timeout:       MaxTimeout, // the context ends it earlier
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return h, nil
}

type endpoint struct {
	url    string
	header http.Header
	client *http.Client
	own    *http.Transport // nil when the caller brought one
}

// Run implements Runner.
func (e *endpoint) Run(ctx context.Context, in *Input) (Decision, error) {
	doc, err := in.encode()
	if err != nil {
		return Decision{}, &failure{what: "the call is too large to be shown to it", err: err}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, bytes.NewReader(doc))
	if err != nil {
		return Decision{}, &failure{what: "it could not be reached", err: err}
	}
	req.Header = e.header.Clone()
	resp, err := e.client.Do(req)
	if err != nil {
		return Decision{}, &failure{what: "it could not be reached or did not answer", err: withoutURL(err)}
	}
	defer func() { _ = resp.Body.Close() }() // what is left of the body does not matter
	if resp.StatusCode != http.StatusOK {
		return Decision{}, &failure{what: fmt.Sprintf("it answered with status %d", resp.StatusCode)}
	}
	if kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return Decision{}, &failure{what: "its answer is not application/json"}
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, MaxAnswer+1))
	if err != nil {
		return Decision{}, &failure{what: "its answer broke off", err: withoutURL(err)}
	}
	d, err := parseDecision(body)
	if err != nil {
		return Decision{}, &failure{what: err.Error()}
	}
	return d, nil
}

// withoutURL takes off the address, which may hold a secret.
func withoutURL(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// Close drops idle connections.
func (e *endpoint) Close() error {
	if e.own != nil {
		e.own.CloseIdleConnections()
	}
	return nil
}
