package store

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Bounds of what is acknowledged and not in the tables yet.
const (
	maxQueued      = 4096     // records
	maxQueuedBytes = 32 << 20 // in memory
	maxJournal     = 8 << 20  // in bytes: appending waits until the file can be emptied
	smallJournal   = 256 << 10
	keptFrame      = 64 << 10 // of the memory that frames are encoded in, in bytes
)

// roomWait bounds how long an append waits for room in the queue.
const roomWait = 10 * time.Second

// queue is what was appended to the journal and waits for the tables.
type queue struct {
	mu      sync.Mutex
	journal *journal // nil until the first record
	items   []applied
	bytes   int
	frame   []byte // the last frame, whose memory the next one takes
	done    uint32 // the last record that is in the tables
	failed  error  // why the last batch could not be written
	closed  bool
	changed chan struct{} // closed and replaced whenever done, failed or closed change
	wake    chan struct{} // holds a token when there is something to write
	urgent  chan struct{} // holds a token when it must not wait for more
}

func (q *queue) init() {
	q.changed = make(chan struct{})
	q.wake, q.urgent = make(chan struct{}, 1), make(chan struct{}, 1)
}

// broadcast wakes whoever waits for a change. mu is held.
func (q *queue) broadcast() {
	close(q.changed)
	q.changed = make(chan struct{})
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// close refuses what comes. It reports whether the queue was open.
func (q *queue) close() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false
	}
	q.closed = true
	q.broadcast()
	return true
}

func (q *queue) isClosed() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.closed
}

// full reports whether an append has to wait. mu is held.
func (q *queue) full() bool {
	return len(q.items) >= maxQueued || q.bytes >= maxQueuedBytes || q.journal.size >= maxJournal
}

// take returns up to n of the queued records, which stay queued until settle.
func (q *queue) take(n int) []applied {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.items[:min(n, len(q.items)):len(q.items)]
}

// settle drops the first n records, which are in the tables, and empties the
// journal when nothing waits.
func (q *queue) settle(n int) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, a := range q.items[:n] {
		q.bytes -= a.rec.size()
	}
	q.done = q.items[n-1].seq
	clear(q.items[:n]) // for the garbage collector
	if q.items = q.items[n:]; len(q.items) == 0 {
		q.items = nil
	}
	q.failed = nil
	defer q.broadcast()
	if len(q.items) == 0 && q.journal.size >= smallJournal {
		return q.journal.reset()
	}
	return nil
}

// fail notes why a batch could not be written. Another process that holds the
// database for long is no failure: the queue waits.
func (q *queue) fail(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !errors.Is(err, ErrBusy) {
		q.failed = err
	}
	q.broadcast()
}

// append acknowledges a record: it is in the journal when append returns. With
// must it is taken even while the tables cannot be written, as long as the
// journal can: it tells what has happened already.
func (s *Store) append(ctx context.Context, r *record, must bool) (int64, error) {
	q := &s.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := s.waitForRoom(ctx, must); err != nil {
		return 0, err
	}
	// Not for each record, since it costs as much as the rest: those between reach
	// the tables, or end the recording where these have gone too.
	if len(q.items)%lookEvery == 0 && unlinked(q.journal.file) {
		return 0, s.removed("append to the journal", q.journal.file.Name())
	}
	frame := r.frame(q.frame)
	if q.frame = frame; cap(frame) > keptFrame {
		q.frame = nil
	}
	seq, err := q.journal.append(frame)
	if err != nil {
		return 0, failure("append to the journal", q.journal.file.Name(), err)
	}
	q.items = append(q.items, applied{seq, r})
	q.bytes += r.size()
	if len(q.items) == 1 {
		signal(q.wake)
	}
	if len(q.items) >= batchMost {
		signal(q.urgent)
	}
	return callID(q.journal.number, seq), nil
}

// waitForRoom waits until a record can be appended. mu is held, and let go
// while it waits.
func (s *Store) waitForRoom(ctx context.Context, must bool) error {
	q := &s.queue
	var deadline <-chan time.Time
	for {
		switch {
		case q.closed:
			return &Error{Op: "use the store", Path: s.path, Err: ErrClosed}
		case q.failed != nil && !must:
			return q.failed
		case ctx.Err() != nil:
			return failure("append to the journal", s.path, context.Cause(ctx))
		}
		if q.journal == nil {
			var err error
			if q.journal, err = s.createJournal(ctx); err != nil {
				return failure("make a journal in", s.journalFolder(), err)
			}
		}
		if !q.full() {
			return nil
		}
		if deadline == nil {
			timer := time.NewTimer(roomWait)
			defer timer.Stop()
			deadline = timer.C
		}
		changed := q.changed
		signal(q.urgent)
		q.mu.Unlock()
		late := false
		select {
		case <-changed:
		case <-ctx.Done():
		case <-deadline:
			late = true
		}
		q.mu.Lock()
		if late {
			return &Error{
				Op: "append to the journal", Path: s.path,
				Err:  fmt.Errorf("%w: %d records wait", ErrBusy, len(q.items)),
				Hint: "end the process that holds the database",
			}
		}
	}
}

// Flush waits until every record that was acknowledged before is in the
// tables, where other processes see it.
func (s *Store) Flush(ctx context.Context) error {
	q := &s.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.journal == nil {
		return nil
	}
	for want := q.journal.seq; q.done < want; {
		switch {
		case q.closed:
			return &Error{Op: "use the store", Path: s.path, Err: ErrClosed}
		case q.failed != nil:
			return q.failed
		}
		changed := q.changed
		signal(q.urgent)
		q.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
		}
		q.mu.Lock()
		if ctx.Err() != nil {
			return failure("write the transcript to", s.path, context.Cause(ctx))
		}
	}
	return nil
}
