package transcript

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/toolsearch/toolsearch/tool"
)

type noteKey struct{}

// Bounds of what is kept of the hooks of one call.
const (
	maxReplacements = 16
	maxReplaced     = 1000 // bytes of the arguments
)

// note takes what the stages below know about a call.
type note struct {
	mu           sync.Mutex
	approval     Approval
	replacements []Replacement
}

// Replacement is what a hook put in the place of the call's arguments or result.
type Replacement struct {
	By   string          // the hook
	Args json.RawMessage // nil: it was the result
}

func (n *note) get() Approval {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.approval
}

// NoteApproval has the call that ctx belongs to recorded with what was decided
// about it. The last note counts. It does nothing outside of a Stage.
func NoteApproval(ctx context.Context, a Approval) {
	n, ok := ctx.Value(noteKey{}).(*note)
	if !ok {
		return
	}
	a.ID, a.Decision, a.By = bound(a.ID), bound(a.Decision), bound(a.By)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.approval = a
}

// NoteReplacement has the call that ctx belongs to recorded with what a hook made
// of it, in the outcome's reason. It does nothing outside of a Stage.
func NoteReplacement(ctx context.Context, r Replacement) {
	n, ok := ctx.Value(noteKey{}).(*note)
	if !ok {
		return
	}
	r.By, r.Args = bound(r.By), slices.Clone(r.Args)
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.replacements) < maxReplacements {
		n.replacements = append(n.replacements, r)
	}
}

// reason adds to the reason of an outcome what the hooks made of the call.
func (n *note) reason(t *Transcript, reason string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, r := range n.replacements {
		if reason != "" {
			reason += "; "
		}
		if r.Args == nil {
			reason += fmt.Sprintf("the hook %q put another result in place of the tool's", r.By)
			continue
		}
		args := t.body(r.Args).Text
		reason += fmt.Sprintf("the hook %q put other arguments in place: %s", r.By, tool.Clean(string(args), maxReplaced))
	}
	return tool.Clean(reason, tool.MaxErrorText)
}
