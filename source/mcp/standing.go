package mcp

import (
	"context"
	"io"
	"net/http"
	"time"
)

// standing is a stream that the server keeps open to send notifications: the
// GET stream of the older era, subscriptions/listen of the newer. The SDK waits
// for its headers before it goes on, which some servers send only with the
// first event, and gives up the connection after a few idle cuts by a proxy. So
// it is given a body at once, and the real stream is opened, and reopened,
// behind it.
type standing struct {
	link   *httpLink
	req    *http.Request
	ctx    context.Context
	cancel context.CancelFunc
	stop   func() bool

	cur    io.ReadCloser
	opened bool
	pause  time.Duration
}

func (l *httpLink) standing(req *http.Request) *http.Response {
	s := &standing{link: l, req: req}
	s.ctx, s.cancel = context.WithCancel(req.Context())
	s.stop = context.AfterFunc(l.life, s.cancel)
	return synthetic(req, http.StatusOK, "text/event-stream", s)
}

func (s *standing) Close() error {
	s.stop()
	s.cancel()
	if s.cur != nil {
		return s.cur.Close()
	}
	return nil
}

func (s *standing) Read(p []byte) (int, error) {
	for {
		if s.cur == nil && !s.open() {
			<-s.ctx.Done() // the server offers no such stream
		}
		if err := s.ctx.Err(); err != nil {
			return 0, err
		}
		if s.cur == nil {
			continue
		}
		n, err := s.cur.Read(p)
		if n > 0 {
			s.pause = s.link.reopen[0]
			return n, nil
		}
		if err != nil {
			_ = s.cur.Close()
			s.cur = nil
		}
	}
}

// open tries to open the stream, after a pause if it is not the first time.
// It reports false when trying again is pointless.
func (s *standing) open() bool {
	if !s.sleep() {
		return true
	}
	req := s.req.Clone(s.ctx)
	if s.req.GetBody != nil {
		body, err := s.req.GetBody()
		if err != nil {
			return false
		}
		req.Body = body
	}
	resp, err := s.link.direct.Do(req)
	if err != nil {
		return true
	}
	switch {
	case resp.StatusCode >= 500 || resp.StatusCode == http.StatusTooManyRequests:
		_ = resp.Body.Close()
		return true
	case resp.StatusCode != http.StatusOK || mediaType(resp.Header) != "text/event-stream":
		_ = resp.Body.Close()
		return false
	}
	if s.opened {
		s.link.traffic.changed() // what was announced meanwhile is lost
	}
	s.opened = true
	s.cur = s.link.filterEvents(resp.Body, nil)
	return true
}

// sleep waits for the pause that is due. It reports false when the stream was
// closed meanwhile.
func (s *standing) sleep() bool {
	if s.pause == 0 {
		s.pause = s.link.reopen[0]
		return true
	}
	timer := time.NewTimer(s.pause)
	defer timer.Stop()
	s.pause = min(2*s.pause, s.link.reopen[1])
	select {
	case <-timer.C:
		return true
	case <-s.ctx.Done():
		return false
	}
}
