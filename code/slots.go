package code

import (
	"container/list"
	"context"
	"errors"
	"sync"
)

var errQueueFull = errors.New("too many runs wait already")

// slots lets a number of runs go on at once and queues the rest in order.
type slots struct {
	mu      sync.Mutex
	free    int // negative while resumed runs exceed the number
	waiting list.List
}

// acquire takes a place, waiting in order.
func (s *slots) acquire(ctx context.Context) error {
	s.mu.Lock()
	if s.free > 0 && s.waiting.Len() == 0 {
		s.free--
		s.mu.Unlock()
		return nil
	}
	if s.waiting.Len() >= maxWaiting {
		s.mu.Unlock()
		return errQueueFull
	}
	granted := make(chan struct{})
	place := s.waiting.PushBack(granted)
	s.mu.Unlock()
	select {
	case <-granted:
		return nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-granted: // granted while giving up: pass it on
		s.put()
	default:
		s.waiting.Remove(place)
	}
	return context.Cause(ctx)
}

// force takes a place whether there is one or not.
func (s *slots) force() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free--
}

// release gives a place back.
func (s *slots) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put()
}

func (s *slots) put() {
	s.free++
	if s.free <= 0 {
		return
	}
	if first := s.waiting.Front(); first != nil {
		s.waiting.Remove(first)
		s.free--
		close(first.Value.(chan struct{}))
	}
}
