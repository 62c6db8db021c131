package code

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/toolsearch/toolsearch/code/internal/wire"
	"github.com/toolsearch/toolsearch/tool"
)

const (
	recordArgs  = 200 // bytes of arguments in a call record
	recordError = 500 // bytes of error text in a call record
	// recordDetails bounds, in bytes, the details in all call records of a run.
	recordDetails = 32 << 10
	faultText     = 8000 // bytes of error text that enters the body
	idLength      = 512  // bytes of an id or name that a record keeps
)

// count admits one more request. The lock is held.
func (s *session) count() error {
	// One more than the cap: the child may have read a reply whose writer has not
	// come back yet to say so.
	if s.open > s.limits.InFlight {
		return &violation{fmt.Sprintf("more than %d requests in flight", s.limits.InFlight)}
	}
	if s.requests >= s.limits.Calls {
		return &violation{fmt.Sprintf("more than %d requests", s.limits.Calls)}
	}
	s.requests++
	s.open++
	s.unanswered++
	return nil
}

// request starts the host's work on a request. The lock is held.
func (s *session) request(f wire.Frame) error {
	var parts []json.RawMessage
	var first string
	if err := json.Unmarshal(f.Payload, &parts); err != nil || len(parts) == 0 || len(parts) > 2 {
		return &violation{"a request's arguments are not a list of one or two"}
	}
	if err := json.Unmarshal(parts[0], &first); err != nil {
		return &violation{"a request's first argument is not a string"}
	}
	second := json.RawMessage("null")
	if len(parts) == 2 {
		second = parts[1]
	}
	if err := s.count(); err != nil {
		return err
	}
	switch f.Type {
	case wire.Search:
		s.report.Searches++
		s.working.Go(func() {
			v, err := s.host.Search(s.ctx, first, second)
			s.answer(f.ID, v, err)
		})
	case wire.Describe:
		s.report.Describes++
		s.working.Go(func() {
			v, err := s.host.Describe(s.ctx, first)
			s.answer(f.ID, v, err)
		})
	default:
		if string(second) == "null" {
			second = json.RawMessage("{}")
		}
		s.report.CallsMade++
		n := len(s.report.Calls)
		s.report.Calls = append(s.report.Calls, CallRecord{
			ID: tool.Clean(first, idLength), Args: tool.Clean(string(second), recordArgs), Outcome: Unfinished,
		})
		s.working.Go(func() { s.call(f.ID, n, first, second) })
	}
	return nil
}

// call runs one tool call and answers it.
func (s *session) call(frame uint32, record int, id string, args json.RawMessage) {
	began := time.Now()
	reply, err := s.host.Call(s.ctx, id, args)
	var value json.RawMessage
	if err == nil && reply.Result == nil {
		err = &tool.Error{Code: tool.CodeFailed, Reason: fmt.Sprintf("call %s: the tool gave no result", tool.Clean(id, idLength))}
	}
	if err == nil && reply.Result.IsError {
		err = resultError(reply.Result)
	}
	if err == nil {
		value, err = s.envelope(reply)
	}
	s.record(record, time.Since(began), err)
	s.answer(frame, value, err)
}

// record keeps a call's outcome, also of one that comes back just after the
// run's end. A call that was cancelled with the run stays unfinished.
func (s *session) record(n int, took time.Duration, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sealed || (s.ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded))) {
		return
	}
	r := &s.report.Calls[n]
	r.Outcome, r.Duration = Succeeded, took
	if err != nil {
		r.Outcome, r.Error = Failed, tool.Clean(faultOf(err).Message, recordError)
	}
	if e, ok := errors.AsType[*tool.Error](err); ok && e.Code == tool.CodeInvalidArgs {
		if d := small(e.Details); len(d) <= recordDetails-s.detailed {
			r.Details, s.detailed = d, s.detailed+len(d)
		}
	}
}

// toolFailure is a result that says of itself that it is an error.
type toolFailure struct {
	code    string
	text    string
	details json.RawMessage
}

func (e *toolFailure) Error() string { return e.text }

func resultError(r *tool.Result) error {
	e := &toolFailure{code: string(tool.CodeFailed), text: r.Text(), details: r.Details}
	var refusal struct {
		Code   tool.Code `json:"code"`
		Reason string    `json:"reason"`
		Next   string    `json:"next"`
	}
	// A refusal of the product's own is read out, not quoted.
	if json.Unmarshal(r.Details, &refusal) == nil && refusal.Code != "" && refusal.Reason != "" {
		e.code, e.text = string(refusal.Code), (&tool.Error{Reason: refusal.Reason, Next: refusal.Next}).Error()
	}
	if e.text == "" {
		e.text = "the tool reported an error without a text"
	}
	return e
}

// faultOf turns an error into what the body may know of it.
func faultOf(err error) wire.FaultMessage {
	if e, ok := errors.AsType[*toolFailure](err); ok {
		return wire.FaultMessage{Message: tool.Clean(e.text, faultText), Code: e.code, Details: small(e.details)}
	}
	if e, ok := errors.AsType[*tool.Error](err); ok {
		return wire.FaultMessage{Message: tool.Clean(e.Error(), faultText), Code: string(e.Code), Details: small(e.Details)}
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return wire.FaultMessage{Message: "the request was cancelled", Code: string(tool.CodeCancelled)}
	}
	return wire.FaultMessage{Message: "the request failed inside the program; trying again may help", Code: string(tool.CodeFailed)}
}

// small keeps details that are valid and of bounded size.
func small(details json.RawMessage) json.RawMessage {
	if len(details) == 0 || len(details) > 64<<10 || wire.Check(details) != nil {
		return nil
	}
	return details
}

// answer writes a reply. The request counts as open until that is done, so that
// a child which does not read holds back its own requests and nothing more.
func (s *session) answer(id uint32, value json.RawMessage, err error) {
	if s.ctx.Err() != nil {
		return // the run is ending, and the body must not take that for a tool's answer
	}
	f := wire.Frame{Type: wire.Reply, ID: id, Payload: value}
	if err == nil {
		err = sendable(value)
	}
	if err != nil {
		if _, ok := errors.AsType[*tool.Error](err); !ok {
			s.log("a request failed", "error", err)
		}
		f.Type = wire.Fault
		f.Payload, err = json.Marshal(faultOf(err))
		if err != nil { // only details could be malformed, and they are checked
			f.Payload = []byte(`{"message":"the request failed"}`)
		}
	}
	s.mu.Lock()
	child := s.child
	s.unanswered--
	s.mu.Unlock()
	// An error means that the child is gone, which its reader reports.
	_ = child.send(f, func() {
		s.mu.Lock()
		s.open--
		s.mu.Unlock()
	})
}

func sendable(value json.RawMessage) error {
	if len(value) > maxReply {
		return &tool.Error{
			Code:   tool.CodeLimitExhausted,
			Reason: fmt.Sprintf("the answer has %d bytes, at most %d can enter the code; the request itself was carried out", len(value), maxReply),
			Next:   "ask for less at a time",
		}
	}
	if err := wire.Check(value); err != nil {
		return &tool.Error{Code: tool.CodeFailed, Reason: "the answer cannot enter the code: " + err.Error() + "; the request itself was carried out"}
	}
	return nil
}
