package store

import (
	"context"

	"github.com/toolsearch/toolsearch/transcript"
)

var (
	_ transcript.Recorder = (*Store)(nil)
	_ transcript.Counter  = (*Store)(nil)
)

// Begin records that a call is about to run. The record is acknowledged: it
// survives the end of the process.
func (s *Store) Begin(ctx context.Context, in transcript.Intent) (transcript.Ref, error) {
	id, err := s.append(ctx, &record{kind: kindIntent, intent: in}, false)
	return transcript.Ref(id), err
}

// End records how the call ended. It is acknowledged like Begin, and taken even
// while Begin refuses, as long as the journal can be written.
func (s *Store) End(ctx context.Context, ref transcript.Ref, out transcript.Outcome) error {
	_, err := s.append(ctx, &record{kind: kindOutcome, ref: ref, outcome: out, at: s.opt.Now()}, true)
	return err
}

// StartRun records a run and what its model sees up front.
func (s *Store) StartRun(ctx context.Context, r transcript.Run) error {
	_, err := s.append(ctx, &record{kind: kindRun, run: r}, false)
	return err
}

// Count adds to the counts of a run.
func (s *Store) Count(ctx context.Context, key transcript.RunKey, n transcript.Counts) error {
	_, err := s.append(ctx, &record{kind: kindCount, key: key, counts: n, at: s.opt.Now()}, false)
	return err
}
