package cli

import (
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolsearch/toolsearch/internal/agent"
	"github.com/toolsearch/toolsearch/internal/config"
	"github.com/toolsearch/toolsearch/internal/modelapi"
	"github.com/toolsearch/toolsearch/internal/server"
)

// The MCP server of one kind of caller is made while others are served; what
// cannot be made is not tried at every request, but tried again.
func TestMCPServersAreMadeBesideEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries, stopped := 0, 0
		release := make(chan error)
		served := &servedMCP{logger: slog.New(slog.DiscardHandler), byKind: map[agent.Kind]*kindMCP{}, build: func(k agent.Kind) (*server.MCP, func(), error) {
			if k.Agent == "slow" {
				tries++
				if err := <-release; err != nil {
					return nil, nil, err
				}
			}
			return &server.MCP{}, func() { stopped++ }, nil
		}}
		var keys []modelapi.Key
		for _, name := range []string{"slow", "quick"} {
			keys = append(keys, modelapi.Key{Name: name, Sum: sha256.Sum256([]byte(name)), Who: config.Who{Agent: name}})
		}
		api, err := modelapi.New(modelapi.Options{Backend: &servedAgent{}, Keys: keys, MCP: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if served.of(r) == nil {
				w.WriteHeader(http.StatusBadRequest)
			}
		})})
		if err != nil {
			t.Fatal(err)
		}
		defer api.Close()
		ask := func(ctx context.Context, key string) int {
			req := httptest.NewRequestWithContext(ctx, http.MethodPost, "http://127.0.0.1/mcp", http.NoBody)
			req.Header.Set("Authorization", "Bearer "+key)
			rec := httptest.NewRecorder()
			api.ServeHTTP(rec, req)
			return rec.Code
		}
		check := func(what string, status, want, wantTries int) {
			t.Helper()
			if status != want || tries != wantTries {
				t.Errorf("%s: status %d after %d tries, want %d after %d", what, status, tries, want, wantTries)
			}
		}
		first := make(chan int)
		go func() { first <- ask(t.Context(), "slow") }()
		synctest.Wait()
		check("another kind meanwhile", ask(t.Context(), "quick"), 200, 1)
		gone, leave := context.WithCancel(t.Context())
		leave()
		check("who leaves", ask(gone, "slow"), 400, 1)
		release <- errors.New("no rules")
		check("what cannot be made", <-first, 400, 1)
		check("right after it", ask(t.Context(), "slow"), 400, 1)
		time.Sleep(failedFor)
		go func() { release <- nil }()
		check("some seconds later", ask(t.Context(), "slow"), 200, 2)
		check("from then on", ask(t.Context(), "slow"), 200, 2)
		if served.close(); stopped != 2 {
			t.Errorf("%d of 2 servers were stopped", stopped)
		}
	})
}
