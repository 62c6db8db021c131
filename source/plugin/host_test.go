package plugin

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolsearch/toolsearch/tool"
)

// Here the clock is a fake one and so is the process, since a real one knows
// only the real clock. What a host does with real processes is tested beside it.

// fake is a process that writes down when it is started and stopped.
type fake struct {
	world *world
	err   error // of ready
}

type world struct {
	mu      sync.Mutex
	began   time.Time
	events  []string
	fail    error
	booting time.Duration // until a process is ready
	dying   time.Duration // until it is gone
}

func (w *world) note(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events = append(w.events, time.Since(w.began).String()+" "+what)
}

func (w *world) launch(*Plugin, Options) (process, error) {
	w.note("start")
	return &fake{world: w, err: w.fail}, nil
}

func (f *fake) ready(ctx context.Context) error {
	select {
	case <-time.After(f.world.booting):
		return f.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (f *fake) tool(string) tool.Invoker { return nil }
func (f *fake) names() []string          { return nil }

func (f *fake) stop() error {
	time.Sleep(f.world.dying)
	f.world.note("gone")
	return nil
}

// inBubble runs a test with a host whose time is fake. Idle is one minute.
func inBubble(t *testing.T, test func(t *testing.T, w *world, h *host)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{began: time.Now(), booting: time.Second, dying: 2 * time.Second}
		p := &Plugin{ID: "p", Start: &Start{}}
		h := newHost(p, Options{IdleTimeout: time.Minute, RetryMin: time.Second, RetryMax: 4 * time.Second}.withDefaults())
		h.launch = w.launch
		test(t, w, h)
		if err := h.close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
}

func (w *world) want(t *testing.T, events ...string) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.Equal(w.events, events) {
		t.Errorf("events are %q, want %q", w.events, events)
	}
}

func acquire(t *testing.T, h *host) *run {
	t.Helper()
	r, err := h.acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestIdleCountsFromTheLastCall(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world, h *host) {
		h.release(acquire(t, h)) // at 1s
		time.Sleep(59 * time.Second)
		r := acquire(t, h)          // at 60s, one second before the end
		time.Sleep(5 * time.Minute) // a long call keeps it
		other := acquire(t, h)
		h.release(r)
		time.Sleep(5 * time.Minute) // so does one of two
		h.release(other)            // at 11m0s
		time.Sleep(59 * time.Second)
		synctest.Wait()
		w.want(t, "0s start")
		time.Sleep(4 * time.Second)
		w.want(t, "0s start", "12m2s gone")
		if st := h.snapshot(); st.State != Stopped {
			t.Errorf("status is %+v", st)
		}
	})
}

// A call that comes while the idle process is being stopped waits until it is
// gone, and gets a new one: there are never two.
func TestCallWhileStopping(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world, h *host) {
		h.release(acquire(t, h))
		time.Sleep(61 * time.Second) // at 62s; it dies from 61s to 63s
		h.release(acquire(t, h))
		w.want(t, "0s start", "1m3s gone", "1m3s start")
	})
}

func TestCloseWhileStoppingOrStarting(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world, h *host) {
		h.release(acquire(t, h))
		time.Sleep(61 * time.Second)
		if err := h.close(); err != nil {
			t.Error(err)
		}
		w.want(t, "0s start", "1m3s gone")
	})
	inBubble(t, func(t *testing.T, w *world, h *host) {
		w.booting = time.Hour
		refused := make(chan error)
		go func() {
			_, err := h.acquire(context.Background())
			refused <- err
		}()
		synctest.Wait()
		done := make(chan error)
		go func() { done <- h.close() }()
		if err := <-refused; tool.CodeOf(err) != tool.CodeUnavailable {
			t.Errorf("the waiting call gets %v", err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
		w.want(t, "0s start", "2s gone")
	})
}

// Nobody waits any more when it is ready: it is stopped like any idle one.
func TestStartThatNobodyWaitsFor(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world, h *host) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		if _, err := h.acquire(ctx); tool.CodeOf(err) != tool.CodeTimeout {
			t.Errorf("the call gets %v, want a timeout", err)
		}
		time.Sleep(2 * time.Minute)
		w.want(t, "0s start", "1m3s gone")
	})
}

// The pauses after failed starts double up to the bound; a good start forgets
// them.
func TestPausesAfterFailures(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world, h *host) {
		w.booting, w.dying, w.fail = 0, 0, errors.New("broken")
		var tries []time.Duration
		for i := range 200 { // a call every 100 ms
			if i == 160 {
				w.fail = nil
			}
			n := len(w.events)
			r, err := h.acquire(t.Context())
			if len(w.events) > n {
				tries = append(tries, time.Since(w.began))
			}
			if err == nil {
				h.release(r)
				break
			}
			if tool.CodeOf(err) != tool.CodeUnavailable {
				t.Fatalf("the call gets %v", err)
			}
			time.Sleep(100 * time.Millisecond)
		}
		want := []time.Duration{0, time.Second, 3 * time.Second, 7 * time.Second, 11 * time.Second, 15 * time.Second, 19 * time.Second}
		if !slices.Equal(tries, want) {
			t.Errorf("starts at %v, want %v", tries, want)
		}
		if h.failures != 0 || h.snapshot().State != Running || h.snapshot().LastError != "" {
			t.Errorf("after a good start: %d failures, %+v", h.failures, h.snapshot())
		}
	})
}
