package pin

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// Status says what a pin is good for.
type Status string

// The statuses.
const (
	Accepted Status = "accepted" // the definition that calls are held to
	Pending  Status = "pending"  // a changed definition that waits to be accepted
)

// Valid reports whether s is one of the two.
func (s Status) Valid() bool { return s == Accepted || s == Pending }

// Pin is one definition of one tool as it was seen.
type Pin struct {
	Server string
	Tool   string
	// Digest identifies the definition: 64 hex digits, see Describe.
	Digest string
	// Definition is the part of the definition that the digest covers, in
	// canonical JSON. It is nil for one of more than MaxDefinition bytes, and may be
	// nil in what Store.List returns.
	Definition json.RawMessage
	FirstSeen  time.Time
	AcceptedAt time.Time // zero while it is pending
	Status     Status
}

// Store keeps pins: for every tool of a server at most one that is Accepted and
// at most one that is Pending. Any error of a Store blocks calls, so that one that
// is broken cannot be used to slip a change through. It is safe for concurrent use,
// also by several processes where it is shared.
type Store interface {
	// Get returns the pins of one tool with their definitions, none for a tool
	// that was never seen.
	Get(ctx context.Context, server, tool string) ([]Pin, error)
	// List returns every pin of a server, or of all servers for "", ordered by
	// server, tool and status. It may leave the definitions out.
	List(ctx context.Context, server string) ([]Pin, error)
	// Put writes pins, all or none. A pending pin takes the place of the pending one
	// of the same tool. An accepted one that is there already stays, which is no
	// error: of two processes that see a tool for the first time, the first decides.
	Put(ctx context.Context, pins []Pin) error
	// Accept makes the pending pin with this digest the accepted one, in place of
	// the one before. It is ErrNotPending when no such pin waits.
	Accept(ctx context.Context, server, tool, digest string, at time.Time) error
	// Drop removes the pending pin of a tool whose accepted definition is back. That
	// there is none is no error.
	Drop(ctx context.Context, server, tool string) error
}

// Memory is a Store that lasts as long as the process. The zero value is empty
// and ready. It is safe for concurrent use. How many pins it takes is bounded by
// MaxPins per server, which the Pinner enforces.
type Memory struct {
	mu   sync.Mutex
	pins map[memoryKey]Pin
}

type memoryKey struct {
	server, tool string
	status       Status
}

// Get implements Store.
func (m *Memory) Get(ctx context.Context, server, tool string) ([]Pin, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []Pin
	for _, status := range [...]Status{Accepted, Pending} {
		if p, ok := m.pins[memoryKey{server, tool, status}]; ok {
			out = append(out, p)
		}
	}
	return out, nil
}

// List implements Store.
func (m *Memory) List(ctx context.Context, server string) ([]Pin, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []Pin
	for _, p := range m.pins {
		if server == "" || p.Server == server {
			p.Definition = nil
			out = append(out, p)
		}
	}
	slices.SortFunc(out, comparePins)
	return out, nil
}

func comparePins(a, b Pin) int {
	if c := strings.Compare(a.Server, b.Server); c != 0 {
		return c
	}
	if c := strings.Compare(a.Tool, b.Tool); c != 0 {
		return c
	}
	return strings.Compare(string(a.Status), string(b.Status))
}

// Put implements Store.
func (m *Memory) Put(ctx context.Context, pins []Pin) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.pins == nil {
		m.pins = map[memoryKey]Pin{}
	}
	for _, p := range pins {
		key := memoryKey{p.Server, p.Tool, p.Status}
		if _, there := m.pins[key]; there && p.Status == Accepted {
			continue
		}
		m.pins[key] = p
	}
	return nil
}

// Accept implements Store.
func (m *Memory) Accept(ctx context.Context, server, tool, digest string, at time.Time) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	waiting := memoryKey{server, tool, Pending}
	p, ok := m.pins[waiting]
	if !ok || p.Digest != digest {
		return fmt.Errorf("accept %s of server %q: %w", tool, server, ErrNotPending)
	}
	p.Status, p.AcceptedAt = Accepted, at
	delete(m.pins, waiting)
	m.pins[memoryKey{server, tool, Accepted}] = p
	return nil
}

// Drop implements Store.
func (m *Memory) Drop(ctx context.Context, server, tool string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.pins, memoryKey{server, tool, Pending})
	return nil
}
