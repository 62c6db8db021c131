package pin

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"
)

// Pin is what is known of one tool: the definition that was accepted, and the
// changed one that the server offers now, if it does.
type Pin struct {
	Server string
	Tool   string
	// Digest identifies the accepted definition, see Definition.Digest. It is ""
	// for a tool that was never accepted: a change in disguise.
	Digest string
	// Definition is Definition.Text of the accepted definition. It is nil for one of
	// more than MaxDefinition bytes, and may be nil in what Store.List returns.
	Definition json.RawMessage
	FirstSeen  time.Time
	AcceptedAt time.Time // zero when none was

	OfferedDigest     string // "" when the server offers what was accepted
	OfferedDefinition json.RawMessage
	OfferedAt         time.Time
}

// Waiting reports whether a changed definition waits to be accepted.
func (p *Pin) Waiting() bool { return p.OfferedDigest != "" }

// Store keeps one Pin for every tool of a server. Any error of a Store blocks
// calls, so that a broken one cannot be used to slip a change through. It is safe
// for concurrent use, also by several processes where it is shared.
type Store interface {
	// Get returns one pin; ok is false for a tool that was never seen.
	Get(ctx context.Context, server, tool string) (p Pin, ok bool, err error)
	// List returns the pins of a server, or of all servers for "", ordered by
	// server and tool. It may leave the definitions out.
	List(ctx context.Context, server string) ([]Pin, error)
	// Add writes pins of tools that were seen for the first time, all or none. A pin
	// that is there already stays, which is no error: of two processes that see a
	// tool for the first time, the first decides.
	Add(ctx context.Context, pins []Pin) error
	// Put writes pins over those that are there, all or none.
	Put(ctx context.Context, pins []Pin) error
	// Accept makes the offered definition the accepted one, if it still has this
	// digest, and reports whether it did.
	Accept(ctx context.Context, server, tool, digest string, at time.Time) (bool, error)
}

// Memory is a Store that lasts as long as the process. The zero value is empty
// and ready. It is safe for concurrent use. How many pins of a server it holds is
// bounded by MaxPins, which the Pinner enforces.
type Memory struct {
	mu   sync.Mutex
	pins map[memoryKey]Pin
}

type memoryKey struct{ server, tool string }

// Get implements Store.
func (m *Memory) Get(ctx context.Context, server, tool string) (Pin, bool, error) {
	if err := ctx.Err(); err != nil {
		return Pin{}, false, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	p, ok := m.pins[memoryKey{server, tool}]
	return p, ok, nil
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
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(a, b Pin) int {
		return cmp.Or(cmp.Compare(a.Server, b.Server), cmp.Compare(a.Tool, b.Tool))
	})
	return out, nil
}

// Add implements Store.
func (m *Memory) Add(ctx context.Context, pins []Pin) error { return m.write(ctx, pins, false) }

// Put implements Store.
func (m *Memory) Put(ctx context.Context, pins []Pin) error { return m.write(ctx, pins, true) }

func (m *Memory) write(ctx context.Context, pins []Pin, over bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.pins == nil {
		m.pins = map[memoryKey]Pin{}
	}
	for _, p := range pins {
		key := memoryKey{p.Server, p.Tool}
		if _, there := m.pins[key]; over || !there {
			m.pins[key] = p
		}
	}
	return nil
}

// Accept implements Store.
func (m *Memory) Accept(ctx context.Context, server, tool, digest string, at time.Time) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	key := memoryKey{server, tool}
	p, ok := m.pins[key]
	if !ok || !p.Waiting() || p.OfferedDigest != digest {
		return false, nil
	}
	p.Digest, p.Definition, p.AcceptedAt = p.OfferedDigest, p.OfferedDefinition, at
	p.OfferedDigest, p.OfferedDefinition, p.OfferedAt = "", nil, time.Time{}
	m.pins[key] = p
	return true, nil
}
