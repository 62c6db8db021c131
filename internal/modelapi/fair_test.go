package modelapi_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/toolsearch/toolsearch/internal/modelapi"
	"github.com/toolsearch/toolsearch/provider/mock"
)

// Who asks as much as it can leaves a quarter to the others: of the requests at
// one time, and of their bytes.
func TestOneCallerLeavesRoomForOthers(t *testing.T) {
	for _, c := range []struct {
		name  string
		bound func(*modelapi.Options)
		body  string
		holds int // requests of one caller that go on
	}{
		{"requests", func(o *modelapi.Options) { o.MaxRequests = 4 }, "x", 3},
		{"bytes", func(o *modelapi.Options) { o.MaxBody, o.MaxBodies = 1000, 4000 }, strings.Repeat("x", 900), 3},
		{"a single request", func(o *modelapi.Options) { o.MaxRequests = 1 }, "x", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			began, end := make(chan struct{}), make(chan struct{})
			w := start(t, mock.Script{}, func(o *modelapi.Options) {
				c.bound(o)
				o.MCP = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
					if _, err := io.Copy(io.Discard, r.Body); err == nil && r.Header.Get("X-Wait") != "" {
						began <- struct{}{}
						<-end
					}
				})
			})
			ask := func(key, wait string) int {
				rec := httptest.NewRecorder()
				req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1/mcp", strings.NewReader(c.body))
				req.Header.Set("Authorization", "Bearer "+key)
				req.Header.Set("X-Wait", wait)
				w.server.ServeHTTP(rec, req)
				return rec.Code
			}
			var going sync.WaitGroup
			for range c.holds {
				going.Go(func() {
					if status := ask(aliceKey, "yes"); status != 200 {
						t.Errorf("a request that was let in: %d", status)
					}
				})
				<-began
			}
			if status := ask(aliceKey, ""); status != http.StatusTooManyRequests {
				t.Errorf("one more of the same caller: %d", status)
			}
			want := http.StatusOK
			if c.holds == 1 { // there is nothing to share
				want = http.StatusTooManyRequests
			}
			if status := ask(bobKey, ""); status != want {
				t.Errorf("one of another caller: %d, want %d", status, want)
			}
			close(end)
			going.Wait()
			if status := ask(aliceKey, ""); status != 200 {
				t.Errorf("once they have ended: %d", status)
			}
		})
	}
}

// Where there is one caller, all is its own.
func TestOneCallerAloneHasAll(t *testing.T) {
	began, end := make(chan struct{}), make(chan struct{})
	w := start(t, mock.Script{}, func(o *modelapi.Options) {
		o.Keys, o.MaxRequests = keys()[:1], 4
		o.MCP = http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			began <- struct{}{}
			<-end
		})
	})
	var going sync.WaitGroup
	for range 4 {
		going.Go(func() {
			req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1/mcp", http.NoBody)
			req.Header.Set("Authorization", "Bearer "+aliceKey)
			rec := httptest.NewRecorder()
			if w.server.ServeHTTP(rec, req); rec.Code != 200 {
				t.Errorf("a request within the bound: %d", rec.Code)
				began <- struct{}{}
			}
		})
		<-began
	}
	close(end)
	going.Wait()
}

// What is no text is refused here, and not by whatever model API is behind.
func TestInvalidUTF8(t *testing.T) {
	w := start(t, mock.Script{}, nil)
	resp, got := w.do(t, "POST", "/v1/chat/completions", chat("", `{"role":"user","content":"`+"\xff\xfe"+`"}`))
	if resp.StatusCode != http.StatusBadRequest || !strings.Contains(got, "UTF-8") || len(w.started()) != 0 {
		t.Errorf("%d %s, and %d runs began", resp.StatusCode, got, len(w.started()))
	}
}
