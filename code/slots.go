package code

import (
	"container/list"
	"context"
	"errors"
	"sync"
)

var errQueueFull = errors.New("too many runs wait already")

// slots lets a number of runs go on at once and queues the rest. The owners that
// wait take turns, and the runs of each go in order: who starts many makes its own
// wait, and not those of others.
type slots struct {
	mu      sync.Mutex
	free    int       // negative while resumed runs exceed the number
	owners  list.List // of *owner, the one whose turn is next in front
	byName  map[string]*list.Element
	waiting int // of all owners
}

// owner has at least one run that waits.
type owner struct {
	name string
	runs list.List // of *place
}

// place is a run that waits.
type place struct {
	owner   *owner
	granted chan struct{} // closed when it has its place, or err says that it gets none
	err     error
}

// acquire takes a place, waiting for its owner's turn.
func (s *slots) acquire(ctx context.Context, name string) error {
	s.mu.Lock()
	if s.free > 0 && s.waiting == 0 {
		s.free--
		s.mu.Unlock()
		return nil
	}
	if s.waiting >= maxWaiting && !s.giveWay(name) {
		s.mu.Unlock()
		return errQueueFull
	}
	p := s.push(name)
	s.mu.Unlock()
	select {
	case <-p.granted:
		return p.err
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-p.granted:
		if p.err == nil { // granted while giving up: pass it on
			s.put()
		}
	default:
		for e := p.owner.runs.Front(); e != nil; e = e.Next() {
			if e.Value.(*place) == p {
				s.remove(p.owner, e)
				break
			}
		}
	}
	return context.Cause(ctx)
}

// giveWay refuses the last run of the owner that has most of them in the queue, if
// that is more than the one who comes has. The lock is held, as in what follows.
func (s *slots) giveWay(name string) bool {
	own := 0
	if e, ok := s.byName[name]; ok {
		own = e.Value.(*owner).runs.Len()
	}
	var most *owner
	for e := s.owners.Front(); e != nil; e = e.Next() {
		if o := e.Value.(*owner); most == nil || o.runs.Len() > most.runs.Len() {
			most = o
		}
	}
	if most == nil || most.runs.Len() <= own+1 {
		return false
	}
	p := s.remove(most, most.runs.Back())
	p.err = errQueueFull
	close(p.granted)
	return true
}

func (s *slots) push(name string) *place {
	e, ok := s.byName[name]
	if !ok {
		if s.byName == nil {
			s.byName = map[string]*list.Element{}
		}
		e = s.owners.PushBack(&owner{name: name})
		s.byName[name] = e
	}
	o := e.Value.(*owner)
	p := &place{owner: o, granted: make(chan struct{})}
	o.runs.PushBack(p)
	s.waiting++
	return p
}

// remove takes a run out of the queue, and its owner with the last one.
func (s *slots) remove(o *owner, e *list.Element) *place {
	p := o.runs.Remove(e).(*place)
	s.waiting--
	if o.runs.Len() == 0 {
		s.owners.Remove(s.byName[o.name])
		delete(s.byName, o.name)
	}
	return p
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
	if s.free <= 0 || s.waiting == 0 {
		return
	}
	turn := s.owners.Front()
	s.owners.MoveToBack(turn)
	o := turn.Value.(*owner)
	p := s.remove(o, o.runs.Front())
	s.free--
	close(p.granted)
}
