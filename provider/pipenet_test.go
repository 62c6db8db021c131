package provider_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolsearch/toolsearch/provider"
)

// pipeNet is a network inside the test: connections are net.Pipes, so that a
// whole HTTP client and server run on synctest's clock.
type pipeNet struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
	dials  atomic.Int64
}

func (n *pipeNet) Accept() (net.Conn, error) {
	select {
	case c := <-n.conns:
		return c, nil
	case <-n.closed:
		return nil, net.ErrClosed
	}
}

func (n *pipeNet) Close() error   { n.once.Do(func() { close(n.closed) }); return nil }
func (n *pipeNet) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "pipe"} }

func (n *pipeNet) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	n.dials.Add(1)
	near, far := net.Pipe()
	select {
	case n.conns <- far:
		return near, nil
	case <-n.closed:
		return nil, errors.New("connection refused")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// serve starts an HTTP server and returns a client of it, whatever the host.
func serve(t *testing.T, h http.Handler) *http.Client {
	t.Helper()
	c, _ := serveOn(t, h)
	return c
}

func serveOn(t *testing.T, h http.Handler) (*http.Client, *pipeNet) {
	t.Helper()
	n := &pipeNet{conns: make(chan net.Conn), closed: make(chan struct{})}
	srv := &http.Server{Handler: h}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = srv.Serve(n)
	}()
	transport := &http.Transport{DialContext: n.dial}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		srv.Close()
		<-done
	})
	return &http.Client{Transport: transport}, n
}

// newClient returns a client whose waits are the longest that the jitter may
// give.
func newClient(t *testing.T, cfg provider.ClientConfig) *provider.Client {
	t.Helper()
	if cfg.BaseURL == "" {
		cfg.BaseURL = "http://model.example/v1"
	}
	if cfg.Retry.Jitter == nil {
		cfg.Retry.Jitter = func() float64 { return 1 }
	}
	c, err := provider.NewClient(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// since tells how much of the test's clock went by.
func since(start time.Time) time.Duration { return time.Since(start).Round(time.Millisecond) }
