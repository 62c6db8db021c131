package modelapi_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/toolsearch/toolsearch/internal/modelapi"
	"github.com/toolsearch/toolsearch/provider/mock"
)

// Requests that are answered at one time have so many bytes together; what is
// over gives back its own.
func TestBytesAtOneTime(t *testing.T) {
	began := make(chan struct{})
	w := start(t, mock.Script{Choose: func(*mock.Exchange) mock.Step { return mock.Text("ok") }}, func(o *modelapi.Options) {
		o.MaxBody, o.MaxBodies = 2000, 3000
		o.MCP = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if _, err := io.Copy(io.Discard, r.Body); err == nil && r.Header.Get("X-Wait") != "" {
				close(began)
				<-r.Context().Done()
			}
		})
	})
	fill := strings.Repeat("x", 1800)
	large, tooLarge := chat("", `{"role":"user","content":"`+fill+`"}`), chat("", `{"role":"user","content":"`+fill+fill+`"}`)
	invocation := func(city string) string { return `{"tool":"weather","args":{"city":"` + city + `"}}` }
	chunked := func(path, body string) int { // its length is not told before
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.url+path, struct{ io.Reader }{strings.NewReader(body)})
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+aliceKey)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		return resp.StatusCode
	}
	free := func(when string) {
		t.Helper()
		for range 3 { // more together than there is room for
			for path, body := range map[string]string{"/v1/chat/completions": large, "/tools/invoke": invocation(fill), "/mcp": fill} {
				if resp, got := w.do(t, "POST", path, body); resp.StatusCode != 200 {
					t.Errorf("%s, %s: %d %s", when, path, resp.StatusCode, got)
				}
			}
			if status := chunked("/v1/chat/completions", large); status != 200 {
				t.Errorf("%s, in chunks: %d", when, status)
			}
			if status := chunked("/v1/chat/completions", tooLarge); status != 413 {
				t.Errorf("%s, too large and in chunks: %d", when, status)
			}
		}
	}
	free("at first")
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	over := make(chan struct{})
	go func() {
		defer close(over)
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url+"/mcp", strings.NewReader(fill))
		if err != nil {
			t.Error(err)
			return
		}
		req.Header.Set("Authorization", "Bearer "+bobKey)
		req.Header.Set("X-Wait", "yes")
		if resp, err := http.DefaultClient.Do(req); err == nil { // it is broken off
			_ = resp.Body.Close()
		}
	}()
	<-began
	for path, body := range map[string]string{"/v1/chat/completions": large, "/tools/invoke": invocation(fill), "/mcp": fill} {
		if resp, got := w.do(t, "POST", path, body); resp.StatusCode != 429 || resp.Header.Get("Retry-After") == "" {
			t.Errorf("beside a large one, %s: %d %s", path, resp.StatusCode, got)
		}
	}
	if status := chunked("/v1/chat/completions", large); status != 429 {
		t.Errorf("beside a large one, in chunks: %d", status)
	}
	if resp, got := w.do(t, "POST", "/v1/chat/completions", chat("", hi)); resp.StatusCode != 200 {
		t.Errorf("a small one: %d %s", resp.StatusCode, got)
	}
	leave()
	<-over
}
