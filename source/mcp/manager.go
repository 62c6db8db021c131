package mcp

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolsearch/toolsearch/tool"
)

// State is where a server stands.
type State string

// The states of a server.
const (
	Idle     State = "idle"     // Start was not called yet
	Starting State = "starting" // connecting, or reading its first list
	Ready    State = "ready"    // connected, its list is current
	Failed   State = "failed"   // down; LastError says why
	Disabled State = "disabled" // switched off in the configuration
	Closed   State = "closed"   // the Manager was closed
)

// Status describes one server. Its texts are cleaned and bounded, and bear no
// secret of the configuration.
type Status struct {
	Name          string    `json:"name"`
	State         State     `json:"state"`
	Tools         int       `json:"tools"`
	Stale         bool      `json:"stale,omitempty"` // the tools are the last known ones, not confirmed by a live server
	Protocol      string    `json:"protocol,omitempty"`
	ServerName    string    `json:"serverName,omitempty"`
	ServerVersion string    `json:"serverVersion,omitempty"`
	LastError     string    `json:"lastError,omitempty"` // why it is down, or what is wrong with its list
	Failure       Failure   `json:"failure,omitempty"`   // the kind of LastError, of a server that is Failed
	Stderr        string    `json:"-"`                   // of one that is Failed: what its process printed last, at most 4 KiB
	Since         time.Time `json:"since"`               // when State began
	Settled       bool      `json:"-"`                   // it has been ready or has failed since Start, or never starts
}

// Snapshot is what all servers offer at one moment. It never changes.
type Snapshot struct {
	// Tools are sorted by server name, then in the server's own order.
	Tools []*tool.Tool
	// Generation grows whenever Tools differs from the snapshot before.
	Generation uint64
	// Status has one entry for each configured server, sorted by name.
	Status []Status

	next chan struct{}
}

// Superseded is closed once a newer snapshot exists, be it for a tool or for a
// status.
func (s Snapshot) Superseded() <-chan struct{} { return s.next }

// Manager keeps the connections to all configured servers. It is safe for
// concurrent use.
type Manager struct {
	opt       Options
	servers   []*server // sorted by name
	cache     *cache
	sdkLogger *slog.Logger

	current atomic.Pointer[Snapshot]
	mu      sync.Mutex // orders publish, Start and Close
	started bool
	cancel  context.CancelFunc
	running sync.WaitGroup
}

// NewManager checks the configuration. It starts nothing and reads nothing.
func NewManager(servers []Server, opt Options) (*Manager, error) {
	m := &Manager{opt: opt.withDefaults()}
	m.cache = &cache{dir: m.opt.CacheDir, limit: m.opt.MaxListBytes}
	m.sdkLogger = slog.New(slog.DiscardHandler)
	names := map[string]bool{}
	for _, cfg := range servers {
		if err := cfg.validate(); err != nil {
			return nil, err
		}
		if names[cfg.Name] {
			return nil, fmt.Errorf("%s is configured twice; give each a name of its own", cfg.called())
		}
		names[cfg.Name] = true
		m.servers = append(m.servers, newServer(m, cfg))
	}
	slices.SortFunc(m.servers, func(a, b *server) int { return strings.Compare(a.cfg.Name, b.cfg.Name) })
	m.publish()
	return m, nil
}

// Start publishes the last known lists and starts all servers in parallel. It
// returns at once. The end of ctx stops the servers as Close does. Only the
// first call has an effect.
func (m *Manager) Start(ctx context.Context) {
	m.mu.Lock()
	if m.started {
		m.mu.Unlock()
		return
	}
	m.started = true
	ctx, m.cancel = context.WithCancel(ctx)
	m.mu.Unlock()
	for _, s := range m.servers {
		if s.cfg.Disabled || s.cfg.Unusable != "" {
			continue
		}
		s.recall()
	}
	for _, s := range m.servers {
		if !s.cfg.Disabled && s.cfg.Unusable == "" {
			m.running.Go(func() { s.run(ctx) })
		}
	}
}

// recall publishes the last known list, marked stale.
func (s *server) recall() {
	defs, err := s.m.cache.load(&s.cfg)
	if err != nil {
		s.log.Warn("the last known list of the MCP server's tools is ignored", "error", err)
	}
	set, _ := s.buildTools(&listing{defs: defs})
	s.update(func() {
		s.status.State = Starting
		s.setTools(set)
		s.status.Stale = len(defs) > 0
	})
}

// Snapshot returns the current snapshot. It costs nothing and never blocks.
func (m *Manager) Snapshot() Snapshot { return *m.current.Load() }

// publish swaps the snapshot for one of the servers' present state.
func (m *Manager) publish() {
	m.mu.Lock()
	defer m.mu.Unlock()
	next := &Snapshot{next: make(chan struct{}), Status: make([]Status, 0, len(m.servers))}
	for _, s := range m.servers {
		s.mu.Lock()
		next.Tools = append(next.Tools, s.tools...)
		status := s.status
		status.Settled = s.settled
		next.Status = append(next.Status, status)
		s.mu.Unlock()
	}
	old := m.current.Load()
	switch {
	case old == nil:
	case slices.Equal(old.Tools, next.Tools):
		next.Tools, next.Generation = old.Tools, old.Generation
	default:
		next.Generation = old.Generation + 1
	}
	m.current.Store(next)
	if old != nil {
		close(old.next)
	}
}

// Wait returns once every server has been ready or has failed, or with ctx's
// error when that ends first.
func (m *Manager) Wait(ctx context.Context) error {
	for _, s := range m.servers {
		select {
		case <-s.shown:
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w", s.cfg.called(), ctx.Err())
		}
	}
	return nil
}

// Close stops all servers, kills what they started, and returns when nothing
// is left. Calls in flight fail.
func (m *Manager) Close() error {
	m.mu.Lock()
	m.started = true // a later Start does nothing
	cancel := m.cancel
	m.mu.Unlock()
	if cancel != nil {
		cancel()
	}
	m.running.Wait()
	return nil
}
