package modelapi_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/toolsearch/toolsearch/internal/modelapi"
	"github.com/toolsearch/toolsearch/provider/mock"
)

// A caller that listens to many streams of MCP is stopped at 32, and stops
// nobody else.
func TestListeningIsBoundedPerCaller(t *testing.T) {
	began := make(chan struct{}, 100)
	w := start(t, mock.Script{}, func(o *modelapi.Options) {
		o.MCP = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			began <- struct{}{}
			<-r.Context().Done()
		})
	})
	listen := func(ctx context.Context, key string) int {
		rec := httptest.NewRecorder()
		req := httptest.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1/mcp", http.NoBody)
		req.Header.Set("Authorization", "Bearer "+key)
		w.server.ServeHTTP(rec, req)
		return rec.Code
	}
	open, end := context.WithCancel(t.Context())
	defer end()
	var streams sync.WaitGroup
	for range 32 {
		streams.Go(func() { listen(open, aliceKey) })
		<-began
	}
	over, leave := context.WithCancel(t.Context())
	leave() // a stream that is let in ends at once
	if status := listen(over, aliceKey); status != http.StatusTooManyRequests {
		t.Errorf("the 33rd stream: %d", status)
	}
	if status := listen(over, bobKey); status != http.StatusOK {
		t.Errorf("another caller: %d", status)
	}
	end()
	streams.Wait()
	if status := listen(over, aliceKey); status != http.StatusOK {
		t.Errorf("once the others have ended: %d", status)
	}
}
