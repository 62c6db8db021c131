package modelapi

import (
	"container/list"
	"slices"
	"sync"
	"time"
)

// maxHeldBytes bounds the conversations of the runs that are held, as sizeOf
// and the requests' bodies count them.
const maxHeldBytes = 256 << 20

// held keeps the runs that wait for their caller to answer a call of its own
// tools. What is let go is closed: its conversation goes on from the messages
// that the caller sends.
type held struct {
	most int
	time time.Duration

	mu     sync.Mutex
	byKey  map[heldKey]*list.Element
	oldest *list.List // of *heldRun, the one that waits longest in front
	bytes  int
	closed bool
	ending sync.WaitGroup
}

// heldKey says which conversation a run belongs to, and which calls it waits
// for; see exchange.key.
type heldKey [32]byte

type heldRun struct {
	key    heldKey
	caller string
	calls  []string // ids of the calls that it waits for
	bytes  int
	run    Run
	timer  *time.Timer
	until  time.Time // the timer may be late
}

func newHeld(most int, d time.Duration) *held {
	return &held{most: most, time: d, byKey: map[heldKey]*list.Element{}, oldest: list.New()}
}

// put keeps a run. Another one of the same key gives way: the caller has asked
// the same again, and has one answer.
func (h *held) put(r *heldRun) {
	if !h.keep(r) {
		r.run.Close() // here: close may have ceased to wait for others
	}
}

// keep reports whether there was room at all.
func (h *held) keep(r *heldRun) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed || r.bytes > maxHeldBytes {
		return false
	}
	if e, ok := h.byKey[r.key]; ok {
		h.end(h.remove(e))
	}
	for h.oldest.Len() >= h.most || h.bytes+r.bytes > maxHeldBytes {
		h.end(h.remove(greediest(h.oldest, h.weigh)))
	}
	e := h.oldest.PushBack(r)
	h.byKey[r.key] = e
	h.bytes += r.bytes
	r.until = time.Now().Add(h.time)
	r.timer = time.AfterFunc(h.time, func() { h.expire(e) })
	return true
}

// weigh tells what a run takes up of both bounds, in parts that can be added.
func (h *held) weigh(e *list.Element) (caller string, weight int) {
	r := e.Value.(*heldRun)
	return r.caller, maxHeldBytes/h.most + r.bytes
}

// greediest is the first element of the caller whose elements weigh most together,
// so that nobody pushes out those of others. There is one element at least.
func greediest(l *list.List, weigh func(*list.Element) (caller string, weight int)) *list.Element {
	share, most := map[string]int{}, 0
	for e := l.Front(); e != nil; e = e.Next() {
		caller, weight := weigh(e)
		share[caller] += weight
		most = max(most, share[caller])
	}
	for e := l.Front(); ; e = e.Next() {
		if caller, _ := weigh(e); share[caller] == most {
			return e
		}
	}
}

// maxAsked bounds how many held runs of a caller a request is compared with: some
// models count the ids of calls up in each of them.
const maxAsked = 8

// asked lists which calls the caller's runs wait for that wait for this one, the
// latest first, each list once.
func (h *held) asked(caller, id string) [][]string {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	var out [][]string
	for e := h.oldest.Back(); e != nil && len(out) < maxAsked; e = e.Prev() {
		r := e.Value.(*heldRun)
		if r.caller != caller || !now.Before(r.until) || !slices.Contains(r.calls, id) {
			continue
		}
		if !slices.ContainsFunc(out, func(calls []string) bool { return slices.Equal(calls, r.calls) }) {
			out = append(out, r.calls)
		}
	}
	return out
}

// take gives a run back, or nil when it is gone.
func (h *held) take(key heldKey) *heldRun {
	h.mu.Lock()
	defer h.mu.Unlock()
	if e, ok := h.byKey[key]; ok {
		r := e.Value.(*heldRun)
		h.remove(e)
		return r
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
	h.bytes -= r.bytes
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
