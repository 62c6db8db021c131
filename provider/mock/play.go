package mock

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

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
	r, body := s.response(p.exchange), s.Fault.Body
	switch {
	case body != nil:
	case s.malformed() && p.format.API() == provider.Messages:
		body = messageBody(r)
	default:
		var err error
		if body, err = p.format.EncodeResponse(r); err != nil {
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
	switch {
	case frames != nil:
	case s.Fault.SameIndex && p.format.API() == provider.Chat:
		frames = sameIndex(r)
	case s.malformed() && p.format.API() == provider.Messages:
		frames = messageFrames(r)
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
