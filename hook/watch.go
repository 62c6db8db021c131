package hook

import (
	"context"
	"encoding/json"

	"github.com/toolsearch/toolsearch/tool"
)

// Watch is told what the hooks did, for logs and transcripts. A nil function is
// told nothing. Both are called during the call, from several goroutines, and
// must not block.
type Watch struct {
	// Failed takes each hook that gave no usable answer, which blocks the call.
	Failed func(ctx context.Context, f Failure)
	// Changed takes what a hook put in the place of the arguments or the result.
	Changed func(ctx context.Context, c Change)
}

// Failure is a hook that gave no usable answer. Err is for people: it may hold
// paths, addresses and what a command printed on stderr.
type Failure struct {
	Hook string
	Tool tool.ID
	Err  error
}

// Change is one answer Replace.
type Change struct {
	Hook  string
	Event Event
	Args  json.RawMessage // Before alone: the arguments from here on
}

func (w Watch) failed(ctx context.Context, h *hook, t *tool.Tool, err error) {
	if w.Failed != nil {
		w.Failed(ctx, Failure{Hook: h.Name, Tool: t.ID, Err: err})
	}
}

func (w Watch) changed(ctx context.Context, c Change) {
	if w.Changed != nil {
		w.Changed(ctx, c)
	}
}
