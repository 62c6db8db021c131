package cli

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/toolsearch/toolsearch/internal/agent"
	"github.com/toolsearch/toolsearch/internal/config"
	"github.com/toolsearch/toolsearch/internal/modelapi"
	"github.com/toolsearch/toolsearch/internal/server"
	"github.com/toolsearch/toolsearch/surface"
)

// failedFor is how long a kind of caller whose MCP server cannot be made is
// refused before it is tried again.
const failedFor = 5 * time.Second

// servedMCP has an MCP server for each kind of caller. To make one may take a
// while: meanwhile other kinds are served.
type servedMCP struct {
	agent  string // of callers whose key names none
	logger *slog.Logger
	build  func(agent.Kind) (srv *server.MCP, stop func(), err error)

	mu     sync.Mutex
	byKind map[agent.Kind]*kindMCP // at most one for each key, and the first
	stops  []func()
	closed bool
}

// kindMCP is the server of a kind, or why there is none.
type kindMCP struct {
	made  chan struct{} // closed when the rest is written
	srv   *server.MCP
	err   error
	until time.Time // an err holds
}

var errNoMCP = errors.New("make an MCP server: it was given up")

func (a *app) newServedMCP(set *toolset) (*servedMCP, error) {
	srv, stop, err := a.newMCPServer(set, mcpView{surface: set.Surface(), plan: set.Plan, subscribe: set.Subscribe, agent: a.agent, mode: set.mode})
	if err != nil {
		return nil, err
	}
	first := &kindMCP{made: make(chan struct{}), srv: srv}
	close(first.made)
	return &servedMCP{
		agent: a.agent, logger: a.logger(), stops: []func(){stop},
		byKind: map[agent.Kind]*kindMCP{{Who: config.Who{Agent: a.agent}}: first},
		build:  func(k agent.Kind) (*server.MCP, func(), error) { return a.mcpOfKind(set, k) },
	}, nil
}

// mcpOfKind makes the MCP server of callers under other rules than the first.
func (a *app) mcpOfKind(set *toolset, k agent.Kind) (srv *server.MCP, stop func(), err error) {
	rules, err := rulesOf(set.cfg, config.Rules{})(k)
	if err != nil {
		return nil, nil, err
	}
	rules.NameLimit = surface.MCPNameLimit
	if k.NativeToolSearch {
		rules.Mode = surface.Off
	}
	scope, err := set.Scope(context.Background(), rules.ScopeOptions) // it ends with the toolset
	if err != nil {
		return nil, nil, err
	}
	view, err := scope.Surface()
	if err != nil {
		scope.Close()
		return nil, nil, err
	}
	srv, unfollow, err := a.newMCPServer(set, mcpView{surface: view, plan: scope.Plan, subscribe: scope.Subscribe, agent: k.Agent, mode: rules.Mode})
	if err != nil {
		scope.Close()
		return nil, nil, err
	}
	return srv, func() { unfollow(); scope.Close() }, nil
}

// of returns the server of whoever asks, nil when its rules cannot be made.
func (s *servedMCP) of(r *http.Request) *server.MCP {
	k := agent.Kind{Who: modelapi.CallerOf(r.Context()).Who}
	if k.Agent == "" {
		k.Agent = s.agent
	}
	s.mu.Lock()
	m, known := s.byKind[k]
	if !known || m.over() {
		known, m = false, &kindMCP{made: make(chan struct{}), err: errNoMCP}
		s.byKind[k] = m
	}
	s.mu.Unlock()
	if !known {
		s.fill(k, m)
	}
	select {
	case <-m.made:
		return m.srv
	case <-r.Context().Done():
		return nil
	}
}

// over reports a failure that has held long enough.
func (m *kindMCP) over() bool {
	select {
	case <-m.made:
		return m.err != nil && !time.Now().Before(m.until)
	default:
		return false
	}
}

// fill makes a server. A panic counts as a failure for those that wait.
func (s *servedMCP) fill(k agent.Kind, m *kindMCP) {
	var srv *server.MCP
	var stop func()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		switch {
		case m.err != nil:
			m.until = time.Now().Add(failedFor)
		case s.closed:
			stop()
		default:
			m.srv, s.stops = srv, append(s.stops, stop)
		}
		close(m.made)
	}()
	if srv, stop, m.err = s.build(k); m.err != nil {
		s.logger.Error("MCP cannot be served to a kind of caller", "agent", k.Agent, "sender", k.Sender, "error", m.err)
	}
}

func (s *servedMCP) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, stop := range s.stops {
		stop()
	}
}

// userOf is the identity that a session of MCP belongs to.
func userOf(r *http.Request) string { return modelapi.CallerOf(r.Context()).Name }
