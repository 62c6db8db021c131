package provider

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"
)

// NewHTTPClient returns an HTTP client for model APIs: it bounds the time to
// connect (10 s), to agree on TLS (10 s), and to the first byte of an answer
// (10 minutes: one that is not streamed begins when the model is done), but not
// the whole request, since a stream may last. It uses the proxy that the usual
// environment variables name.
func NewHTTPClient() *http.Client {
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Client{Transport: &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            dialer.DialContext,
		TLSHandshakeTimeout:    10 * time.Second,
		ResponseHeaderTimeout:  10 * time.Minute,
		ExpectContinueTimeout:  time.Second,
		IdleConnTimeout:        90 * time.Second,
		MaxIdleConns:           256,
		MaxIdleConnsPerHost:    256, // one for each turn that may run at once
		MaxConnsPerHost:        1024,
		MaxResponseHeaderBytes: 256 << 10,
		ForceAttemptHTTP2:      true,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second},
	}}
}

// sameHost is the redirect policy of Client. Go drops Authorization on the way
// to another host, but not x-api-key.
func sameHost(req *http.Request, via []*http.Request) error {
	first := via[0].URL
	status := req.Response.StatusCode
	same := req.URL.Scheme == first.Scheme && req.URL.Host == first.Host
	if !same || len(via) > 3 || status != http.StatusTemporaryRedirect && status != http.StatusPermanentRedirect {
		return http.ErrUseLastResponse
	}
	return nil
}

// withoutURL takes the address out of an error of net/http: it may hold a
// secret in its query.
func withoutURL(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

var (
	errQuiet    = errors.New("the stream fell silent")
	errTooLarge = errors.New("the answer is too large")
)

// watch ends the request when nothing comes from its body for a while.
type watch struct {
	body  io.ReadCloser
	idle  time.Duration
	timer *time.Timer
}

func newWatch(body io.ReadCloser, idle time.Duration, cancel func(error)) *watch {
	return &watch{body, idle, time.AfterFunc(idle, func() { cancel(errQuiet) })}
}

// Read reads on. The time that the reader's own work takes does not count.
func (w *watch) Read(p []byte) (int, error) {
	w.timer.Reset(w.idle)
	n, err := w.body.Read(p)
	w.timer.Stop()
	return n, err
}

// Close stops the watch and closes the body.
func (w *watch) Close() error {
	w.timer.Stop()
	return w.body.Close()
}

// linger reads to the end of a body whose content is complete, for a moment.
func (w *watch) linger() {
	w.idle = lingerTimeout
	_, _ = io.Copy(io.Discard, io.LimitReader(w, 4<<10)) // what comes no longer matters
}

// bounded reads at most left bytes, and fails when there are more.
type bounded struct {
	r    io.Reader
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.r.Read(p)
	if int64(n) > b.left {
		return int(b.left), fmt.Errorf("%w: it goes beyond its bound of bytes", errTooLarge)
	}
	b.left -= int64(n)
	return n, err
}
