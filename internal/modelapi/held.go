package modelapi

import (
	"container/list"
	"sync"
	"time"
)

// held keeps the runs that wait for their caller to answer a call of its own
// tools. What is let go is closed: its conversation goes on from the messages
// that the caller sends.
type held struct {
	most int
	time time.Duration

	mu     sync.Mutex
	byKey  map[heldKey]*list.Element
	oldest *list.List // of *heldRun, the one that waits longest in front
	closed bool
	ending sync.WaitGroup
}

// heldKey says which conversation a run belongs to, and which calls it waits
// for; see keyOf.
type heldKey [32]byte

type heldRun struct {
	key   heldKey
	run   Run
	timer *time.Timer
}

func newHeld(most int, d time.Duration) *held {
	return &held{most: most, time: d, byKey: map[heldKey]*list.Element{}, oldest: list.New()}
}

// put keeps a run. Another one of the same key gives way: the caller has asked
// the same again, and has one answer.
func (h *held) put(key heldKey, run Run) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		h.end(run)
		return
	}
	if e, ok := h.byKey[key]; ok {
		h.end(h.remove(e))
	}
	for h.oldest.Len() >= h.most {
		h.end(h.remove(h.oldest.Front()))
	}
	r := &heldRun{key: key, run: run}
	e := h.oldest.PushBack(r)
	h.byKey[key] = e
	r.timer = time.AfterFunc(h.time, func() { h.expire(e) })
}

// take gives a run back, or nil when it is gone.
func (h *held) take(key heldKey) Run {
	h.mu.Lock()
	defer h.mu.Unlock()
	if e, ok := h.byKey[key]; ok {
		return h.remove(e)
	}
	return nil
}

// drop lets go of a run whose caller has left before it heard of the calls. It
// does nothing when somebody else has taken it.
func (h *held) drop(key heldKey, run Run) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if e, ok := h.byKey[key]; ok && e.Value.(*heldRun).run == run {
		h.end(h.remove(e))
	}
}

func (h *held) expire(e *list.Element) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if r := e.Value.(*heldRun); h.byKey[r.key] == e {
		h.end(h.remove(e))
	}
}

// remove and end are called with the lock held.
func (h *held) remove(e *list.Element) Run {
	r := h.oldest.Remove(e).(*heldRun)
	delete(h.byKey, r.key)
	r.timer.Stop()
	return r.run
}

// end closes a run aside: that waits for all that the run has begun.
func (h *held) end(run Run) { h.ending.Go(run.Close) }

// close ends every run and waits until they are gone.
func (h *held) close() {
	h.mu.Lock()
	h.closed = true
	for h.oldest.Len() > 0 {
		h.end(h.remove(h.oldest.Front()))
	}
	h.mu.Unlock()
	h.ending.Wait()
}
