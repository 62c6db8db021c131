package server_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/toolsearch/toolsearch"
)

// A batch is one request to whoever counts requests: it must not stand for
// thousands. One of a few messages is what revision 2025-03-26 allows.
func TestBatchesAreBounded(t *testing.T) {
	client := newHTTPClient(t, toolsearch.Options{})
	session := ""
	ask := func(body string) (int, string) {
		a := client.must(t, httpRequest{session: session, body: body})
		if a.session != "" {
			session = a.session
		}
		return a.status, a.body
	}
	ask(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	ask(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	pings := func(n int) string {
		messages := make([]string, n)
		for i := range messages {
			messages[i] = fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"ping"}`, i+10)
		}
		return strings.Join(messages, ",")
	}
	for _, c := range []struct {
		name, body      string
		status, answers int
	}{
		{"one message", "\n " + pings(1), 200, 1},
		{"a batch", " [" + pings(16) + "]", 200, 16},
		{"a long batch", "\t[" + pings(17) + "]", 400, 0},
		{"a batch of thousands", "[" + pings(20000) + "]", 400, 0},
		{"a batch that ends within", "[" + pings(3), 400, 0},
		{"an empty batch", "[]", 400, 0},
		{"nothing", "", 400, 0},
	} {
		status, got := ask(c.body)
		if n := strings.Count(got, `"result"`); status != c.status || n != c.answers {
			t.Errorf("%s: %d with %d answers, want %d with %d: %.200s", c.name, status, n, c.status, c.answers, got)
		}
	}
}

// A batch is looked through no further than a request may be long.
func TestBatchesAreReadWithinTheBody(t *testing.T) {
	const most, sent = 1 << 20, 64 << 20
	h := httpHandler(t, toolsearch.Options{}, most)
	rest := &io.LimitedReader{R: endless{}, N: sent}
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1/", io.MultiReader(strings.NewReader(`["`), rest))
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, req)
	if read := sent - rest.N; w.Code != http.StatusRequestEntityTooLarge || read > 2*most {
		t.Errorf("%d after %d bytes, want 413 after some %d: %s", w.Code, read, most, w.Body)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}
