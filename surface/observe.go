package surface

import (
	"context"
	"time"

	"github.com/toolsearch/toolsearch/call"
	"github.com/toolsearch/toolsearch/catalog"
	"github.com/toolsearch/toolsearch/transcript"
)

// Observer is told how the controls are used, whoever asks: a model, or a body
// of code. Its methods are called when the answer is ready and before it is
// given, from several goroutines, and must not block. Calls of tools are seen by
// the stages of the pipeline instead.
type Observer interface {
	Searched(ctx context.Context, s Search)
	Described(ctx context.Context, o call.Origin, took time.Duration)
}

// Search is one request to search that has ended: one query, or a batch of them.
type Search struct {
	Origin  call.Origin
	Queries int // at least 1
	Empty   int // those without a hit
	Took    time.Duration
}

// searched counts a search that has ended.
func (s *Surface) searched(ctx context.Context, done Search) {
	if s.observer != nil {
		s.observer.Searched(ctx, done)
	}
	s.count(ctx, done.Origin, transcript.Counts{Searches: done.Queries, EmptySearches: done.Empty})
}

// look describes a tool and counts that.
func (s *Surface) look(ctx context.Context, c *catalog.Catalog, o call.Origin, ref string) (catalog.Description, error) {
	began := time.Now()
	t, err := Resolve(c, ref)
	var d catalog.Description
	if err == nil {
		d = catalog.Description{Hit: c.Entry(t), Tool: t}
	}
	if s.observer != nil {
		s.observer.Described(ctx, o, time.Since(began))
	}
	s.count(ctx, o, transcript.Counts{Describes: 1})
	return d, err
}
