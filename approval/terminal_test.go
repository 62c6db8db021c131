package approval_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/toolsearch/toolsearch/approval"
)

// screen is what a terminal shows; text waits until something stands there.
type screen struct {
	mu   sync.Mutex
	cond *sync.Cond
	buf  bytes.Buffer
}

func newScreen() *screen {
	s := &screen{}
	s.cond = sync.NewCond(&s.mu)
	return s
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cond.Broadcast()
	return s.buf.Write(p)
}

func (s *screen) await(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for !strings.Contains(s.buf.String(), text) {
		s.cond.Wait()
	}
}

func request(id string) approval.Request {
	return approval.Request{
		Record: approval.Record{ID: id, Tool: "openclaw:core:exec"},
		Call:   json.RawMessage(`{"command":"make\u001b[2K"}`),
	}
}

func TestTerminal(t *testing.T) {
	for typed, want := range map[string]approval.Decision{
		"y\n":                                 {Answer: approval.Allow, Scope: approval.Once},
		" YES \r\n":                           {Answer: approval.Allow, Scope: approval.Once},
		"s\n":                                 {Answer: approval.Allow, Scope: approval.Session},
		"n\n":                                 {},
		"\n":                                  {AskAgain: true},
		"yes please\n":                        {AskAgain: true},
		"yy\n":                                {AskAgain: true},
		strings.Repeat("y", 9999) + "\n":      {AskAgain: true},
		"y" + strings.Repeat(" ", 300) + "\n": {AskAgain: true}, // too long to be read whole
	} {
		out := newScreen()
		in, w := io.Pipe()
		term := approval.NewTerminal(in, out, nil)
		go func() { _, _ = io.WriteString(w, typed) }()
		got, err := term.Ask(t.Context(), request("abcdefghij"))
		if err != nil || got.Answer != want.Answer || got.Scope != want.Scope || got.AskAgain != want.AskAgain {
			t.Errorf("%.20q: %+v, %v; want %+v", typed, got, err, want)
		}
		shown := out.buf.String()
		if !strings.Contains(shown, `command: "make\u001b[2K"`) || strings.Contains(shown, "\x1b") {
			t.Errorf("shown: %q", shown)
		}
		_ = w.Close()
		if _, err := term.Ask(t.Context(), request("b")); !errors.Is(err, approval.ErrNoRoute) {
			t.Errorf("at the end of input: %v", err)
		}
	}
}

// A line that was typed for a prompt which is gone answers no other one.
func TestTerminalAfterAPromptThatWasGivenUp(t *testing.T) {
	in, w := io.Pipe()
	out := newScreen()
	flushed := 0
	term := approval.NewTerminal(in, out, func() { flushed++ })
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := term.Ask(ctx, request("first"))
		done <- err
	}()
	out.await("Approval first is needed")
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Fatalf("a prompt that is given up: %v", err)
	}
	answers := make(chan approval.Decision)
	go func() {
		d, err := term.Ask(t.Context(), request("second"))
		if err != nil {
			t.Error(err)
		}
		answers <- d
	}()
	out.await("Approval second is needed")
	_, _ = io.WriteString(w, "y\n") // meant for the first
	out.await("and add second")
	_, _ = io.WriteString(w, "y second\n")
	if d := <-answers; d.Answer != approval.Allow || flushed != 2 {
		t.Errorf("%+v, flushed %d times", d, flushed)
	}
	_ = w.Close()
	if _, err := term.Ask(t.Context(), request("third")); !errors.Is(err, approval.ErrNoRoute) {
		t.Errorf("at the end of input: %v", err)
	}
}
