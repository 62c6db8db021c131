package code

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/toolsearch/toolsearch/code/internal/wire"
	"github.com/toolsearch/toolsearch/tool"
)

// session is one run in one child: it checks what the child asks against the
// caps, passes it to the host, and keeps the report. The child's word counts for
// nothing here.
type session struct {
	host   Host
	limits Limits
	ctx    context.Context // of the host's work; ends with the session
	cancel context.CancelFunc
	log    func(msg string, args ...any)

	mu         sync.Mutex
	child      *process
	started    bool // the child has the code
	over       bool // the child is not listened to any more
	sealed     bool // the report has been taken
	report     Report
	logBytes   int
	detailed   int // bytes of details in call records
	logsFull   bool
	requests   int // of all kinds
	unanswered int // requests whose reply has not begun to be written
	open       int // requests whose reply has not been written
	handles    handles
	finished   chan struct{} // closed when over
	restart    bool          // the child ended before it took the code
	startedAt  time.Time
	working    sync.WaitGroup // host calls
}

func newSession(ctx context.Context, host Host, limits Limits) *session {
	s := &session{host: host, limits: limits, finished: make(chan struct{})}
	s.ctx, s.cancel = context.WithCancel(ctx)
	return s
}

// take acts on one frame. done says that it was the last.
func (s *session) take(f wire.Frame) (done bool, err error) {
	if len(f.Payload) > 0 {
		if err := wire.Check(f.Payload); err != nil && (!errors.Is(err, wire.ErrTooDeep) || f.Type == wire.Log) {
			return false, &violation{fmt.Sprintf("frame of type %d: %v", f.Type, err)}
		} else if err != nil {
			return s.tooDeep(f)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return true, nil
	}
	if f.Type == wire.Started {
		if s.started {
			return false, &violation{"it started twice"}
		}
		s.started, s.startedAt = true, time.Now()
		return false, nil
	}
	if !s.started {
		return false, &violation{"it spoke before it had the code"}
	}
	switch f.Type {
	case wire.Log:
		return false, s.addLog(f.Payload)
	case wire.Search, wire.Describe, wire.Call:
		return false, s.request(f)
	case wire.Result, wire.Failure:
		if s.unanswered > 0 {
			return false, &violation{"it finished with requests in flight"}
		}
		if f.Type == wire.Result {
			err = s.succeed(f.Payload)
		} else {
			err = s.fail(f.Payload)
		}
		if err == nil {
			s.finish()
		}
		return true, err
	}
	return false, &violation{fmt.Sprintf("unknown frame type %d", f.Type)}
}

// tooDeep answers for values that nest deeper than the bridge carries. A body
// can make them, so they are its error and not the child's.
func (s *session) tooDeep(f wire.Frame) (bool, error) {
	const text = "a value nests deeper than 1,000 levels"
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.over:
		return true, nil
	case !s.started:
		return false, &violation{"it spoke before it had the code"}
	case f.Type == wire.Search || f.Type == wire.Describe || f.Type == wire.Call:
		if err := s.count(); err != nil {
			return false, err
		}
		s.working.Go(func() {
			s.answer(f.ID, nil, &tool.Error{Code: tool.CodeInvalidArgs, Reason: text, Next: "send flatter arguments"})
		})
		return false, nil
	case f.Type == wire.Result && s.unanswered == 0:
		s.report.Error = &GuestError{Kind: KindLimit, Name: "RangeError", Message: "the returned value: " + text}
		s.finish()
		return true, nil
	}
	return false, &violation{fmt.Sprintf("frame of type %d: %s", f.Type, text)}
}

// addLog keeps a console line as far as the limit goes. The child cuts first;
// one that does not is cut here.
func (s *session) addLog(payload []byte) error {
	var m wire.LogMessage
	if err := json.Unmarshal(payload, &m); err != nil {
		return &violation{"its log line is not valid"}
	}
	if m.Level != "log" && m.Level != "warn" && m.Level != "error" {
		return &violation{"its log line has no known level"}
	}
	if s.logsFull {
		return &violation{"it logs on after it was full"}
	}
	left := s.limits.LogBytes - s.logBytes
	if left <= 0 {
		s.logsFull, s.report.Truncated.Logs = true, true
		return nil
	}
	if len(m.Text) > left {
		m.Text, m.Cut = tool.Clean(m.Text, left), true
	}
	s.logBytes += len(m.Text) + 1
	s.logsFull, s.report.Truncated.Logs = m.Cut, m.Cut
	s.report.Logs = append(s.report.Logs, Log{Level: m.Level, Text: m.Text})
	return nil
}

func (s *session) succeed(payload []byte) error {
	var m wire.ResultMessage
	if err := json.Unmarshal(payload, &m); err != nil || len(m.Value) == 0 {
		return &violation{"its result is not valid"}
	}
	if len(m.Value) > s.limits.ResultBytes {
		return &violation{fmt.Sprintf("its result has %d bytes, at most %d", len(m.Value), s.limits.ResultBytes)}
	}
	s.report.OK, s.report.Value = true, m.Value
	s.report.Truncated.ResultBytes = m.Bytes
	if m.Bytes == 0 {
		s.report.Content = s.handles.in(m.Value)
	}
	return nil
}

func (s *session) fail(payload []byte) error {
	var m wire.FailureMessage
	if err := json.Unmarshal(payload, &m); err != nil {
		return &violation{"its failure is not valid"}
	}
	e := &GuestError{Kind: KindThrown, Name: m.Name, Message: m.Message, Code: m.Code, Line: m.Line, Column: m.Column, Stack: m.Stack}
	switch {
	case m.Syntax:
		e.Kind = KindSyntax
	case m.Dead:
		e.Kind = KindStuck
	case m.Name == "InternalError" && m.Message == "out of memory": // QuickJS has no other sign
		e.Kind = KindMemory
	}
	s.report.Error = e
	return nil
}

// finish closes the report. The lock is held.
func (s *session) finish() {
	if !s.over {
		s.over = true
		s.cancel()
		close(s.finished)
	}
}

// stop ends the session with an error, unless it is over.
func (s *session) stop(e *GuestError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.over {
		s.report.Error = e
		s.finish()
	}
}

// ending is how a child ended.
type ending struct {
	code   int    // its exit code, -1 for a signal
	status string // in words, with the signal
	stderr string
}

// childGone is told that the child ended.
func (s *session) childGone(err error, end ending) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return
	}
	if breach, ok := errors.AsType[*violation](err); ok {
		s.report.Error = &GuestError{Kind: KindCrashed, Name: "RuntimeError", Message: breach.Error()}
	} else if !s.started {
		s.restart = true
	} else {
		s.report.Error = crash(end, s.limits)
	}
	s.log("a code child ended without a result", "status", end.status, "stderr", end.stderr, "error", err)
	s.finish()
}
