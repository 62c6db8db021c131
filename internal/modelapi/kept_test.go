package modelapi_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolsearch/toolsearch/internal/modelapi"
	"github.com/toolsearch/toolsearch/provider/mock"
)

// memory is a Past that may hang or fail.
type memory struct {
	hang chan struct{} // Put waits for it to be closed; nil waits for nothing
	fail error

	mu   sync.Mutex
	kept map[string][]byte
}

func (m *memory) Put(ctx context.Context, caller, id string, body []byte, until time.Time) error {
	if m.hang != nil {
		<-m.hang
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail == nil {
		m.kept[caller+" "+id] = body
	}
	return m.fail
}

func (m *memory) Get(_ context.Context, caller, id string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.kept[caller+" "+id], m.fail
}

func askPrevious(t *testing.T, w *world, previous string) (status int, id, body string) {
	t.Helper()
	more := ""
	if previous != "" {
		more = fmt.Sprintf(`,"previous_response_id":%q`, previous)
	}
	resp, got := w.do(t, "POST", "/v1/responses", `{"model":"m","input":"x"`+more+`}`)
	var r struct{ ID string }
	decode(t, got, &r)
	return resp.StatusCode, r.ID, got
}

// An answer does not wait for where it is kept, however slow that is; what is
// queued when the server ends is written, and another server goes on from it.
func TestKeptAside(t *testing.T) {
	m := &memory{hang: make(chan struct{}), kept: map[string][]byte{}}
	with := func(o *modelapi.Options) { o.Past = m }
	script := mock.Script{Choose: func(*mock.Exchange) mock.Step { return mock.Text("ok") }}
	var last string
	t.Run("first", func(t *testing.T) {
		w := start(t, script, with)
		for range 40 { // more than are queued
			var got string
			if _, last, got = askPrevious(t, w, last); last == "" {
				t.Fatal(got)
			}
		}
		if !strings.Contains(w.log.String(), "faster than they can be written") {
			t.Error("that some are not kept is not logged")
		}
		close(m.hang)
	})
	if len(m.kept) < 16 || len(m.kept) > 17 {
		t.Errorf("%d responses are kept, want the queue and the one that was being written", len(m.kept))
	}
	kept := slices.Collect(maps.Keys(m.kept))
	w := start(t, script, with)
	for _, id := range kept {
		_, id, _ = strings.Cut(id, " ")
		if status, _, got := askPrevious(t, w, id); status != 200 {
			t.Errorf("%s: %d %s", id, status, got)
		}
	}
	if status, _, got := askPrevious(t, w, last); status != 400 || strings.Contains(got, "started again") {
		t.Errorf("one that was not kept: %d %s", status, got)
	}
}

// Where nothing is kept the refusal names the restart; a store that fails is no
// word about the response.
func TestKeptNowhere(t *testing.T) {
	script := mock.Script{Choose: func(*mock.Exchange) mock.Step { return mock.Text("ok") }}
	if status, _, got := askPrevious(t, start(t, script, nil), "resp_x"); status != 400 || !strings.Contains(got, "previous_response_not_found") || !strings.Contains(got, "the server was started again") {
		t.Errorf("%d %s", status, got)
	}
	w := start(t, script, func(o *modelapi.Options) { o.Past = &memory{fail: errors.New("the disk is gone")} })
	_, first, _ := askPrevious(t, w, "")
	if status, _, got := askPrevious(t, w, first); status != 200 {
		t.Errorf("one that is in memory: %d %s", status, got)
	}
	if status, _, got := askPrevious(t, w, "resp_x"); status != 503 || strings.Contains(got, "disk") {
		t.Errorf("a store that fails: %d %s", status, got)
	}
}
