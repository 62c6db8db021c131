package modelapi

import (
	"bytes"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"github.com/toolsearch/toolsearch/provider"
)

// stream writes the events of one answer, each flushed as it comes. The status
// goes out with the first of them: until then an error can have its own.
type stream struct {
	w     http.ResponseWriter
	late  *bytes.Buffer // what is written while it is there waits in it
	rc    *http.ResponseController
	enc   provider.StreamEncoder
	every time.Duration // silence after which the client hears a sign of life

	mu    sync.Mutex
	began bool
	told  bool // something of the answer
	ended bool
	err   error // of the first write that failed
	timer *time.Timer
}

func (s *Server) newStream(w http.ResponseWriter, f provider.Format, head provider.Response, req *provider.Request) *stream {
	t := &stream{w: w, rc: http.NewResponseController(w), every: s.opt.KeepAlive}
	t.enc = f.NewStreamEncoder(t, head, req)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.timer = time.AfterFunc(t.every, t.beat)
	return t
}

// Write is for the encoder. The lock is held.
func (t *stream) Write(b []byte) (int, error) {
	if t.late != nil {
		return t.late.Write(b)
	}
	return t.w.Write(b)
}

// teller is an encoder that knows the items that it has written.
type teller interface{ Output() []json.RawMessage }

// event is for turn.Run: an error ends the run.
func (t *stream) event(e provider.Event) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.timer.Reset(t.every)
	t.told = true
	return t.write(func() error { return t.enc.Event(e) })
}

// partial reports whether the client has a part of the answer.
func (t *stream) partial() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.told
}

func (t *stream) beat() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended || t.err != nil {
		return
	}
	if t.write(t.enc.KeepAlive) == nil { // else the next event tells the run
		t.timer.Reset(t.every)
	}
}

// write begins the answer if need be. The lock is held.
func (t *stream) write(f func() error) error {
	if t.err != nil {
		return t.err
	}
	if !t.began {
		t.began = true
		h := t.w.Header()
		h.Set("Content-Type", "text/event-stream")
		h.Set("Cache-Control", "no-cache")
		h.Set("X-Accel-Buffering", "no")
		h.Set("X-Content-Type-Options", "nosniff")
	}
	if t.err = f(); t.err == nil {
		t.err = t.rc.Flush()
	}
	return t.err
}

// finish ends the stream with the answer. keep, when the encoder knows its
// items, gets them before the client has read the end: it may refer to them at
// once.
func (t *stream) finish(r *provider.Response, keep func([]json.RawMessage)) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.end()
	told, ok := t.enc.(teller)
	if !ok {
		return t.write(func() error { return t.enc.Finish(r) })
	}
	return t.write(func() error {
		t.late = &bytes.Buffer{}
		err := t.enc.Finish(r)
		rest := t.late.Bytes()
		if t.late = nil; err != nil {
			return err
		}
		keep(told.Output())
		_, err = t.w.Write(rest)
		return err
	})
}

// fail ends the stream with an error, unless nothing was written yet: then it
// returns false.
func (t *stream) fail(e *provider.Error) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.end()
	if !t.began {
		return false
	}
	_ = t.write(func() error { return t.enc.Fail(e) }) // a client that is gone needs no answer
	return true
}

// close sees to it that nothing is written once the handler has returned.
func (t *stream) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.end()
}

func (t *stream) end() {
	t.ended = true
	t.timer.Stop()
}
