package server_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/toolsearch/toolsearch"
	"github.com/toolsearch/toolsearch/internal/server"
)

const initialize20250618 = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`

// httpHandler serves the tools as MCP over HTTP. The header X-User names the
// user.
func httpHandler(t *testing.T, opt toolsearch.Options, maxBody int64) http.Handler {
	t.Helper()
	set, err := toolsearch.New(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := set.Close(); err != nil {
			t.Error(err)
		}
	})
	srv := server.NewMCP(server.Options{Surface: set.Surface(), Version: "1"})
	return server.NewHTTP(server.HTTPOptions{
		Server: func(*http.Request) *server.MCP { return srv }, MaxBody: maxBody,
		User: func(r *http.Request) string { return r.Header.Get("X-User") },
	})
}

// httpClient makes raw requests, also such as no SDK would make.
type httpClient struct{ url string }

func newHTTPClient(t *testing.T, opt toolsearch.Options) httpClient {
	t.Helper()
	h := httptest.NewServer(httpHandler(t, opt, 4<<20))
	t.Cleanup(h.Close)
	return httpClient{h.URL}
}

// httpRequest is one request; empty headers are left out.
type httpRequest struct {
	method              string // "" is POST
	user, session, body string
	header              map[string]string
}

// httpAnswer is what came back.
type httpAnswer struct {
	status        int
	session, body string
}

func (c httpClient) do(ctx context.Context, r httpRequest) (httpAnswer, error) {
	if r.method == "" {
		r.method = http.MethodPost
	}
	req, err := http.NewRequestWithContext(ctx, r.method, c.url, strings.NewReader(r.body))
	if err != nil {
		return httpAnswer{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for name, value := range map[string]string{"X-User": r.user, "Mcp-Session-Id": r.session} {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	for name, value := range r.header {
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return httpAnswer{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return httpAnswer{resp.StatusCode, resp.Header.Get("Mcp-Session-Id"), string(body)}, err
}

// must is do for a request that has to be answered, whatever with.
func (c httpClient) must(t *testing.T, r httpRequest) httpAnswer {
	t.Helper()
	a, err := c.do(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return a
}
