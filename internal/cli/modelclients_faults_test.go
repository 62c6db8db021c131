package cli_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/toolsearch/toolsearch/provider/mock"
)

// What is refused is the error of the client's own for it, with the status, and
// nothing of it is the client's to guess.
func clientIsRefused(t *testing.T, s *stage) {
	classes := map[int]string{401: "AuthenticationError", 404: "NotFoundError", 429: "RateLimitError"}
	refused := func(name string, status int, turn clientTurn) {
		t.Helper()
		h := s.turn(t, turn)
		if h.Error == nil || h.Error.Status != status || s.spoken.script != "ai" && h.Error.Kind != classes[status] {
			t.Errorf("%s: the client makes of it %+v", name, h.Error)
		}
	}
	wrong := s.begin(t, "chat/m", "Hello.")
	wrong.Key = "wrong-0123456789abcdef"
	refused("a wrong key", 401, wrong)
	refused("an unknown model", 404, s.begin(t, "nobody/m", "Hello."))
	if n := len(s.sent()); n > 0 {
		t.Errorf("the model got %d requests", n)
	}
	for _, model := range upstreams {
		s.line.will(mock.Status(429, "60"))
		h := s.turn(t, s.begin(t, model, "Hello."))
		if h.Error == nil || h.Error.Status != 429 || h.Error.RetryAfter != "60" || !strings.Contains(h.Error.Message, "the script answers 429") {
			t.Errorf("%s: the client makes of it %+v", model, h.Error)
		}
	}
}

// An answer that is cut is an error of the client, and not a short answer.
func clientHearsHalf(t *testing.T, s *stage) {
	step := mock.Text(strings.Repeat("and so on ", 200))
	if !s.spoken.stream {
		model := upstreams[len(s.spoken.api)%len(upstreams)] // one is enough: the waits between attempts add up
		step.Fault.Cut = 1000
		s.line.will(step, step, step)
		if h := s.turn(t, s.begin(t, model, "Hello.")); h.Error == nil || h.Error.Status != 502 {
			t.Errorf("%s: the client makes of it %+v and %.100q", model, h.Error, h.Text)
		}
		return
	}
	for _, model := range upstreams {
		step.Fault.Cut = 20_000
		s.line.will(step)
		h := s.turn(t, s.begin(t, model, "Hello."))
		// OpenAI's client of Responses hands out a response that has failed.
		if h.Error == nil && h.Stop != "failed" || len(h.Deltas) == 0 {
			t.Errorf("%s: the client makes of it %+v, stop %q after %d pieces", model, h.Error, h.Stop, len(h.Deltas))
		}
	}
}

// A client that aborts a request ends the one to the model.
func clientAborts(t *testing.T, s *stage) {
	for _, model := range upstreams {
		step := mock.Text("Once upon a time ")
		step.Fault.Hang = true
		s.line.will(step)
		turn := s.begin(t, model, "Tell me a story.")
		if s.spoken.stream {
			turn.AbortAtText = true
			s.tell(t, turn)
		} else {
			s.tell(t, turn)
			if _, err := s.model.Request(t.Context(), s.before+1); err != nil {
				t.Fatal(err)
			}
			s.abort(t)
		}
		h := s.hear(t)
		if h.Error == nil || !strings.Contains(h.Error.Kind+h.Error.Name, "Abort") {
			t.Errorf("%s: the client makes of it %+v and %q", model, h.Error, h.Text)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if outcome, err := s.last().Wait(ctx); err != nil || outcome != mock.Gone {
			t.Errorf("%s: the model's answer is %q, %v; want that the client is gone", model, outcome, err)
		}
	}
}
