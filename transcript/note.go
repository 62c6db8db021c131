package transcript

import (
	"context"
	"sync"
)

type noteKey struct{}

// note takes what the stages below know about a call.
type note struct {
	mu       sync.Mutex
	approval Approval
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
