package mock

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/toolsearch/toolsearch/provider"
)

// player answers one request. It is the writer of the answer's body, where the
// faults of a connection happen.
type player struct {
	w        http.ResponseWriter
	flush    *http.ResponseController
	request  *http.Request
	format   provider.Format
	exchange *Exchange
	fault    Fault
	written  int
	err      error // of the first write or wait that failed
}

var (
	errCut  = errors.New("the script breaks the connection")
	errGone = errors.New("the client is gone")
)

func (p *player) outcome() Outcome {
	switch {
	case errors.Is(p.err, errCut):
		return Broken
	case p.err != nil:
		return Gone
	}
	return Answered
}

// Write writes a part of the body as the fault says.
func (p *player) Write(b []byte) (int, error) {
	if p.err != nil {
		return 0, p.err
	}
	cut := false
	if left := p.fault.Cut - p.written; p.fault.Cut > 0 && len(b) >= left {
		b, cut = b[:left], true
	}
	size := max(1, len(b))
	if p.fault.SplitBytes {
		size = 1
	}
	done := 0
	for ; done < len(b) && p.err == nil; done += size {
		if _, err := p.w.Write(b[done:min(done+size, len(b))]); err != nil {
			p.err = fmt.Errorf("%w: %w", errGone, err)
		} else if p.fault.SplitBytes {
			p.send()
		}
	}
	p.written += len(b)
	if cut && p.err == nil {
		p.send()
		p.err = errCut
	}
	return len(b), p.err
}

// send flushes what was written.
func (p *player) send() {
	if p.err != nil {
		return
	}
	if err := p.flush.Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		p.err = fmt.Errorf("%w: %w", errGone, err)
	}
}

// pause waits, and reports whether the client is still there.
func (p *player) pause(d time.Duration) bool {
	if d > 0 && p.err == nil {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-p.request.Context().Done():
		}
	}
	if p.err == nil && p.request.Context().Err() != nil {
		p.err = errGone
	}
	return p.err == nil
}

// hang waits until the client is gone.
func (p *player) hang() {
	<-p.request.Context().Done()
	p.err = errGone
}

// play answers as the step says.
func (p *player) play(s Step) {
	p.fault = s.Fault
	stream := p.exchange.Request.Stream
	switch {
	case s.Fault.Cut < 0:
		p.err = errCut
	case s.Fault.Status != 0:
		if s.Fault.RetryAfter != "" {
			p.w.Header().Set("Retry-After", s.Fault.RetryAfter)
		}
		p.refuse(&provider.Error{Status: s.Fault.Status, Type: errorType(s.Fault.Status), Message: s.Fault.Message})
	case s.Fault.Hang && (!stream || s.Text+s.Thinking == ""):
		p.hang()
	case stream:
		p.stream(s)
	default:
		p.whole(s)
	}
}

// errorType is the word that both vendors have for a status.
func errorType(status int) string {
	switch status {
	case http.StatusTooManyRequests:
		return "rate_limit_error"
	case 529:
		return "overloaded_error"
	case http.StatusUnauthorized:
		return "authentication_error"
	}
	if status >= 500 {
		return "api_error"
	}
	return "invalid_request_error"
}

func (p *player) refuse(e *provider.Error) {
	p.w.Header().Set("Content-Type", "application/json")
	p.w.WriteHeader(e.Status)
	_, _ = p.Write(p.format.EncodeError(e)) // kept in p.err
}

func (p *player) whole(s Step) {
	n := len(tokens(s.Thinking)) + len(tokens(s.Text))
	if !p.pause(time.Duration(n) * s.Delay) {
		return
	}
	body := s.Fault.Body
	if body == nil {
		var err error
		if body, err = p.format.EncodeResponse(s.response(p.exchange)); err != nil {
			p.refuse(&provider.Error{Status: http.StatusInternalServerError, Type: "api_error", Message: "the script's step cannot be written: " + err.Error()})
			return
		}
	}
	p.w.Header().Set("Content-Type", "application/json")
	_, _ = p.Write(body) // kept in p.err
}

func (p *player) stream(s Step) {
	h := p.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache")
	r := s.response(p.exchange)
	frames := s.Fault.Frames
	if s.Fault.SameIndex && p.format.API() == provider.Chat {
		frames = sameIndex(r)
	}
	if frames != nil {
		for _, f := range frames {
			_, _ = p.Write(frameText(f)) // kept in p.err
			p.send()
		}
		return
	}
	enc := p.format.NewStreamEncoder(p, provider.Response{ID: r.ID, Model: r.Model}, p.exchange.Request)
	p.say(enc, s, provider.ThinkingDelta, s.Thinking)
	p.say(enc, s, provider.TextDelta, s.Text)
	if s.Fault.Hang && p.err == nil {
		p.hang()
	}
	if p.err != nil {
		return
	}
	if err := enc.Finish(r); err != nil && p.err == nil {
		// Not the connection's error: the step cannot be said in this format.
		_ = enc.Fail(&provider.Error{Type: "api_error", Message: "the script's step cannot be written: " + err.Error()})
	}
	p.send()
}

// say streams a text, token by token.
func (p *player) say(enc provider.StreamEncoder, s Step, kind provider.EventKind, text string) {
	for _, t := range tokens(text) {
		if !p.pause(s.Delay) {
			return
		}
		if err := enc.Event(provider.Event{Kind: kind, Text: t}); err != nil {
			return // kept in p.err
		}
		p.send()
	}
}

// frameText writes a frame in the event stream format.
func frameText(f provider.Frame) []byte {
	var b strings.Builder
	if f.Event != "" {
		b.WriteString("event: " + f.Event + "\n")
	}
	for line := range strings.SplitSeq(string(f.Data), "\n") {
		b.WriteString("data: " + line + "\n")
	}
	b.WriteString("\n")
	return []byte(b.String())
}

// sameIndex is a stream of Chat Completions in which every call has index 0:
// id and name come first, then the arguments in two pieces.
func sameIndex(r *provider.Response) []provider.Frame {
	type function struct {
		Name      string `json:"name,omitempty"`
		Arguments string `json:"arguments"`
	}
	type fragment struct {
		Index    int      `json:"index"`
		ID       string   `json:"id,omitempty"`
		Type     string   `json:"type,omitempty"`
		Function function `json:"function"`
	}
	type delta struct {
		Role  string     `json:"role,omitempty"`
		Text  string     `json:"content,omitempty"`
		Calls []fragment `json:"tool_calls,omitempty"`
	}
	type choice struct {
		Index  int     `json:"index"`
		Delta  delta   `json:"delta"`
		Finish *string `json:"finish_reason"`
	}
	type chunk struct {
		ID      string   `json:"id"`
		Object  string   `json:"object"`
		Model   string   `json:"model"`
		Choices []choice `json:"choices"`
	}
	var out []provider.Frame
	add := func(d delta, finish *string) {
		data, err := json.Marshal(chunk{r.ID, "chat.completion.chunk", r.Model, []choice{{0, d, finish}}})
		if err == nil { // strings and numbers always marshal
			out = append(out, provider.Frame{Data: data})
		}
	}
	add(delta{Role: "assistant", Text: r.Text()}, nil)
	for _, c := range r.Calls() {
		args := string(c.Args)
		half := len(args) / 2
		for half > 0 && !utf8.RuneStart(args[half]) {
			half--
		}
		add(delta{Calls: []fragment{{ID: c.ID, Type: "function", Function: function{Name: c.Name}}}}, nil)
		add(delta{Calls: []fragment{{Function: function{Arguments: args[:half]}}}}, nil)
		add(delta{Calls: []fragment{{Function: function{Arguments: args[half:]}}}}, nil)
	}
	finish := "tool_calls"
	add(delta{}, &finish)
	return append(out, provider.Frame{Data: []byte("[DONE]")})
}
