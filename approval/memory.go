package approval

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Bounds of a Memory.
const (
	MaxMemoryPending = 1000 // records that are pending
	MaxCallerPending = 250  // of them, those of one named caller: its flood keeps nobody else from asking
	maxMemory        = 4000 // records in all; the oldest answered ones make room
)

// Memory is a Store that ends with the process. Its zero value is empty and
// ready.
type Memory struct {
	mu      sync.Mutex
	records []*Record // the oldest first
}

var _ Store = (*Memory)(nil)

// Put implements Store.
func (m *Memory) Put(ctx context.Context, r Record) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	pending, own := 0, 0
	for _, old := range m.records {
		if old.ID == r.ID {
			return fmt.Errorf("keep approval %q: the id exists", r.ID)
		}
		if old.State == Pending {
			pending++
			if old.Caller == r.Caller {
				own++
			}
		}
	}
	if r.State == Pending && (pending >= MaxMemoryPending || r.Caller != "" && own >= MaxCallerPending) {
		return fmt.Errorf("keep approval %q: %w", r.ID, ErrFull)
	}
	if len(m.records) >= maxMemory && !m.makeRoom() {
		return fmt.Errorf("keep approval %q: %w", r.ID, ErrFull)
	}
	m.records = append(m.records, &r)
	return nil
}

// makeRoom forgets the oldest record that no longer counts, else the oldest
// approval: forgetting one means asking again.
func (m *Memory) makeRoom() bool {
	i := slices.IndexFunc(m.records, func(r *Record) bool { return r.State != Pending && r.State != Approved })
	if i < 0 {
		i = slices.IndexFunc(m.records, func(r *Record) bool { return r.State == Approved })
	}
	if i < 0 {
		return false
	}
	m.records = slices.Delete(m.records, i, i+1)
	return true
}

// Get implements Store.
func (m *Memory) Get(ctx context.Context, id string) (Record, error) {
	if err := ctx.Err(); err != nil {
		return Record{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if r := m.find(id); r != nil {
		return *r, nil
	}
	return Record{}, fmt.Errorf("read approval %q: %w", id, ErrNotFound)
}

func (m *Memory) find(id string) *Record {
	for _, r := range m.records {
		if r.ID == id {
			return r
		}
	}
	return nil
}

// Find implements Store.
func (m *Memory) Find(ctx context.Context, q Query) ([]Record, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []Record
	for _, r := range slices.Backward(m.records) {
		if (q.State == "" || q.State == r.State) && (q.Scope == "" || q.Scope == r.Scope) &&
			(q.Caller == "" || q.Caller == r.Caller) && (q.Tool == "" || q.Tool == r.Tool) {
			out = append(out, *r)
		}
	}
	return out, nil
}

// Change implements Store.
func (m *Memory) Change(ctx context.Context, id string, c Change) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.find(id)
	if r == nil || !c.Allows(r) {
		return false, nil
	}
	c.Apply(r)
	return true, nil
}

// Expire implements Store.
func (m *Memory) Expire(ctx context.Context, now time.Time) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0
	for _, r := range m.records {
		if r.State == Pending && !now.Before(r.Expires) {
			Change{From: Pending, To: Expired, DecidedBy: byExpiry, At: now}.Apply(r)
			n++
		}
	}
	return n, nil
}

// byExpiry is the DecidedBy of what nobody answered in time.
const byExpiry = "expiry"
