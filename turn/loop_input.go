package turn

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/tool"
)

// AnswerError says what is wrong with the answers that a held run was given. The
// run stays held.
type AnswerError struct {
	Unknown []string // ids of answers that no call waits for
	Twice   []string // ids that were answered twice
	Missing []string // ids of calls without an answer
	Err     error    // of Options.Refer: what the answers refer to is wrong
}

// Error lists the ids.
func (e *AnswerError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("answer the calls of a run: %v", e.Err)
	}
	var parts []string
	for _, list := range []struct {
		what string
		ids  []string
	}{{"no call waits for an answer to", e.Unknown}, {"there are two answers to", e.Twice}, {"there is no answer to", e.Missing}} {
		if len(list.ids) == 0 {
			continue
		}
		var ids []string
		for _, id := range list.ids[:min(len(list.ids), 20)] {
			ids = append(ids, fmt.Sprintf("%q", tool.Clean(id, 100)))
		}
		parts = append(parts, list.what+" "+strings.Join(ids, ", "))
	}
	return "answer the calls of a run: " + strings.Join(parts, "; ") + "; answer each call of the last response once"
}

// Unwrap returns what Options.Refer said.
func (e *AnswerError) Unwrap() error { return e.Err }

// take checks the caller's input whole before it uses any of it.
func (r *Run) take(ctx context.Context, in Input) error {
	var told map[string]*ask
	if r.round != nil {
		told = r.round.told
	}
	bad := &AnswerError{}
	seen := make(map[string]struct{}, len(in.Answers))
	var refers []string
	for _, a := range in.Answers {
		_, twice := seen[a.CallID]
		seen[a.CallID] = struct{}{}
		switch _, known := told[a.CallID]; {
		case !known:
			bad.Unknown = append(bad.Unknown, a.CallID)
		case twice:
			bad.Twice = append(bad.Twice, a.CallID)
		}
		refers = append(refers, a.References...)
	}
	for id := range told {
		if _, answered := seen[id]; !answered {
			bad.Missing = append(bad.Missing, id)
		}
	}
	if len(bad.Unknown)+len(bad.Twice)+len(bad.Missing) > 0 {
		slices.Sort(bad.Missing)
		return bad
	}
	var added []provider.Tool
	if len(refers) > 0 && r.opt.Refer != nil {
		var err error
		if added, err = r.opt.Refer(ctx, refers); err != nil {
			return &AnswerError{Err: err}
		}
	}
	r.show(added)
	if r.round == nil {
		r.messages = append(r.messages, in.More...)
		return nil
	}
	r.more = append(r.more, in.More...)
	r.round.give(in.Answers)
	return nil
}
