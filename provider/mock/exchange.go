package mock

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/toolsearch/toolsearch/provider"
)

// Exchange is one request as it came, and how its answer went.
type Exchange struct {
	N       int // from 1, in the order of arrival
	Arrived time.Time
	Method  string
	Path    string
	Header  http.Header
	Body    []byte
	API     provider.API
	// Request is the body as the format reads it; nil when Err says why it cannot.
	Request *provider.Request
	Err     error

	done    chan struct{}
	outcome Outcome // once done is closed
}

// Outcome says how an answer ended.
type Outcome string

// Outcomes.
const (
	Answered Outcome = "answered"
	Broken   Outcome = "broken" // by the script
	Gone     Outcome = "gone"   // the client had disconnected
)

// Wait waits until the answer has ended.
func (x *Exchange) Wait(ctx context.Context) (Outcome, error) {
	select {
	case <-x.done:
		return x.outcome, nil
	case <-ctx.Done():
		return "", fmt.Errorf("wait for the answer to request %d: %w", x.N, ctx.Err())
	}
}

// keep numbers the exchange and keeps it, within the bounds.
func (s *Server) keep(x *Exchange) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.arrived++
	x.N = s.arrived
	s.kept = append(s.kept, x)
	s.bytes += len(x.Body)
	for len(s.kept) > s.script.MaxKept || s.bytes > s.script.MaxKeptBytes {
		s.bytes -= len(s.kept[0].Body)
		s.kept[0] = nil
		s.kept = s.kept[1:]
	}
	close(s.news)
	s.news = make(chan struct{})
}

// Requests returns the requests that are kept, oldest first.
func (s *Server) Requests() []*Exchange {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.kept)
}

// Total is how many requests have arrived, those that are kept no more
// included.
func (s *Server) Total() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.arrived
}

// Request waits until request n (from 1) has arrived.
func (s *Server) Request(ctx context.Context, n int) (*Exchange, error) {
	for {
		s.mu.Lock()
		first := s.arrived - len(s.kept) + 1
		news, arrived := s.news, s.arrived
		var x *Exchange
		if n >= first && n <= arrived {
			x = s.kept[n-first]
		}
		s.mu.Unlock()
		switch {
		case x != nil:
			return x, nil
		case n < first:
			return nil, fmt.Errorf("look up request %d: the oldest that is kept is %d", n, first)
		}
		select {
		case <-news:
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for request %d, after %d: %w", n, arrived, ctx.Err())
		}
	}
}
