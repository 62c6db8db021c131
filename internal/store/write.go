package store

import (
	"context"
	"time"
)

const (
	batchSize = 100                   // records of one transaction
	batchMost = 1000                  // records that are not waited beyond
	batchWait = 50 * time.Millisecond // for more records, from the first on
	lookEvery = 64                    // queued records: whether the journal is still where it was
	retryMin  = 100 * time.Millisecond
	retryMax  = 5 * time.Second
	// pruneEvery and pruneAfter say how often the bounds are looked after.
	pruneEvery = time.Hour
	pruneAfter = 5000 // records, or a twentieth of MaxBytes
)

// write is the writer goroutine: it carries the journal into the tables and
// looks after the bounds.
func (s *Store) write() {
	// A statement that runs when the store closes is finished, not broken off;
	// it is bounded by the busy timeout.
	ctx := context.Background()
	prune := time.NewTicker(pruneEvery)
	defer prune.Stop()
	retry, sincePrune := retryMin, pruneAfter // the first batch prunes
	for {
		select {
		case <-s.closing:
			s.finish(ctx, sincePrune)
			return
		case <-prune.C:
			sincePrune = pruneAfter
		case <-s.queue.wake:
		}
		s.gather()
		n, size, err := s.drain(ctx)
		sincePrune += n + int(int64(size)*20*pruneAfter/s.opt.MaxBytes)
		if err != nil {
			s.opt.Logger.Error("the transcript cannot be written; it will be tried again", "error", err, "after", retry)
			select {
			case <-s.closing:
			case <-time.After(retry):
			}
			retry = min(2*retry, retryMax)
			signal(s.queue.wake)
			continue
		}
		retry = retryMin
		if sincePrune >= pruneAfter {
			sincePrune = 0
			if err := s.prune(ctx); err != nil {
				s.opt.Logger.Error("old records cannot be deleted", "error", err)
			}
		}
	}
}

// finish writes what is queued when the store closes; what stays is in the
// journal, see Close. A process that only ever makes a few calls looks after the
// bounds here.
func (s *Store) finish(ctx context.Context, sincePrune int) {
	written := 0
	for {
		n, _, err := s.drain(ctx)
		if written += n; err != nil {
			return
		}
		if n == 0 {
			break
		}
	}
	if written > 0 && sincePrune+written >= pruneAfter {
		if err := s.prune(ctx); err != nil {
			s.opt.Logger.Error("old records cannot be deleted", "error", err)
		}
	}
}

// gather waits for more records, so that one transaction takes many.
func (s *Store) gather() {
	timer := time.NewTimer(batchWait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.queue.urgent:
	case <-s.closing:
	}
}

// drain writes until the queue is empty, or it is time to look after the
// bounds. It returns how many records it wrote and their size in bytes.
func (s *Store) drain(ctx context.Context) (n, size int, err error) {
	for {
		items := s.queue.take(batchSize)
		batch := 0
		for _, a := range items {
			batch += a.rec.size()
		}
		if len(items) == 0 {
			return n, size, nil
		}
		if err = s.applyBatch(ctx, s.queue.journal.number, items); err == nil {
			err = s.queue.settle(len(items))
		}
		if err != nil {
			err = failure("write the transcript to", s.path, err)
			s.queue.fail(err)
			return n, size, err
		}
		if n, size = n+len(items), size+batch; n >= pruneAfter {
			signal(s.queue.wake)
			return n, size, nil
		}
	}
}
