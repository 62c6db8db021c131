package modelapi_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolsearch/toolsearch/internal/modelapi"
)

// looked is a backend that is ready or not, and counts how often it had to look.
type looked struct {
	*backend
	err   error
	looks int
}

func (l *looked) Ready(context.Context) error {
	l.looks++
	return l.err
}

// Anybody may ask whether the server is ready: it looks once in a second, and
// does not say what is missing.
func TestReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &looked{err: errors.New("server x is down")}
		s, err := modelapi.New(modelapi.Options{Backend: b, Keys: keys()})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		ask := func() (int, string) {
			rec := httptest.NewRecorder()
			s.ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/readyz", http.NoBody))
			return rec.Code, rec.Body.String()
		}
		for range 3 {
			if status, body := ask(); status != 503 || strings.Contains(body, "server x") {
				t.Errorf("not ready: %d %s", status, body)
			}
		}
		b.err = nil
		if time.Sleep(999 * time.Millisecond); b.looks != 1 {
			t.Errorf("it looked %d times in a second", b.looks)
		}
		time.Sleep(time.Millisecond)
		if status, body := ask(); status != 200 || b.looks != 2 {
			t.Errorf("ready, looked at %d times: %d %s", b.looks, status, body)
		}
	})
}
