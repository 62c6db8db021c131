package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"

	"github.com/toolsearch/toolsearch/internal/agent"
	"github.com/toolsearch/toolsearch/internal/config"
	"github.com/toolsearch/toolsearch/internal/modelapi"
	"github.com/toolsearch/toolsearch/internal/server"
	"github.com/toolsearch/toolsearch/internal/store"
	"github.com/toolsearch/toolsearch/source/mcp"
	"github.com/toolsearch/toolsearch/surface"
	"github.com/toolsearch/toolsearch/tool"
)

// servedAgent is what stands behind the HTTP endpoints.
type servedAgent struct {
	runtime *agent.Runtime
	set     *toolset
	agent   string // of callers whose key names none
	models  []modelapi.Model
	logger  *slog.Logger
}

func newServedAgent(runtime *agent.Runtime, set *toolset, agent string, logger *slog.Logger) *servedAgent {
	s := &servedAgent{runtime: runtime, set: set, agent: agent, logger: logger}
	for _, m := range runtime.Models() {
		s.models = append(s.models, modelapi.Model{ID: m.Ref(), Name: m.Name, Provider: m.Provider.Name})
	}
	for _, a := range set.cfg.Models.Aliases {
		if m, err := runtime.Model(a.Name, ""); err == nil {
			s.models = append(s.models, modelapi.Model{ID: a.Name, Name: m.Name, Provider: m.Provider.Name})
		}
	}
	if m, ok := s.standard(); ok {
		s.models = append(s.models, m)
	}
	return s
}

// defaultModel is how a request names the model of its agent, or models.default:
// the APIs want that each names one.
const defaultModel = "default"

// standard is the default model, unless an alias bears its name.
func (s *servedAgent) standard() (modelapi.Model, bool) {
	if _, err := s.runtime.Model(defaultModel, ""); err == nil {
		return modelapi.Model{}, false
	}
	m, err := s.runtime.Model("", s.agent)
	if err != nil {
		return modelapi.Model{}, false
	}
	return modelapi.Model{ID: defaultModel, Name: m.Name, Provider: m.Provider.Name}, true
}

// Models lists the models by name, and then the aliases.
func (s *servedAgent) Models() []modelapi.Model { return s.models }

// Start begins a run for a caller.
func (s *servedAgent) Start(ctx context.Context, r modelapi.RunRequest) (modelapi.Run, error) {
	req := r.Request
	if req.Model == defaultModel {
		if _, err := s.runtime.Model(defaultModel, ""); err != nil {
			req.Model = ""
		}
	}
	run, err := s.runtime.Start(ctx, agent.Request{
		Request: req, Caller: r.Caller.Name, Who: s.who(r.Caller), Session: sessionOf(r.Caller, r.Session),
	})
	if err != nil {
		var incomplete *agent.ConfigError
		if errors.As(err, &incomplete) {
			s.logger.Error("a model API cannot be asked", "error", incomplete.Err)
		}
		return nil, err
	}
	return run, nil
}

// CallTool runs one tool for a caller.
func (s *servedAgent) CallTool(ctx context.Context, i modelapi.Invocation) (*tool.Tool, *tool.Result, error) {
	return s.runtime.CallTool(ctx, agent.ToolCall{
		Caller: i.Caller.Name, Who: s.who(i.Caller), Session: sessionOf(i.Caller, i.Session),
		Ref: i.Ref, Args: i.Args,
	})
}

// who is a caller, of the server's agent if its key names none.
func (s *servedAgent) who(c modelapi.Caller) config.Who {
	if c.Agent == "" {
		c.Agent = s.agent
	}
	return c.Who
}

// sessionOf keeps the conversations of callers apart: one must not go on in
// another's.
func sessionOf(c modelapi.Caller, session string) string {
	if session == "" || c.Name == "" {
		return session
	}
	return c.Name + ":" + session
}

// Ready reports what a request would have to wait for, or could not do without.
func (s *servedAgent) Ready(ctx context.Context) error {
	if _, err := s.set.Plan(); err != nil {
		return err
	}
	var unknown []string
	for _, st := range s.set.Status() {
		if st.State == mcp.Starting && !st.Stale {
			unknown = append(unknown, st.Name)
		}
	}
	if len(unknown) > 0 {
		return fmt.Errorf("not known yet: the tools of %s", strings.Join(unknown, ", "))
	}
	if _, err := s.set.store.Sessions(ctx, store.Page{Limit: 1}); err != nil {
		return fmt.Errorf("read the store: %w", err)
	}
	return nil
}

// servedMCP has an MCP server for each kind of caller: an agent and a sender.
type servedMCP struct {
	app *app
	set *toolset

	mu     sync.Mutex
	byKind map[agent.Kind]*server.MCP // at most one for each key
	stops  []func()
}

func (a *app) newServedMCP(set *toolset) (*servedMCP, error) {
	s := &servedMCP{app: a, set: set, byKind: map[agent.Kind]*server.MCP{}}
	srv, stop, err := a.newMCPServer(set, mcpView{surface: set.Surface(), plan: set.Plan, subscribe: set.Subscribe, agent: a.agent, mode: set.mode})
	if err != nil {
		return nil, err
	}
	s.byKind[agent.Kind{Who: config.Who{Agent: a.agent}}], s.stops = srv, append(s.stops, stop)
	return s, nil
}

// of returns the server of whoever asks, nil when its rules cannot be made.
func (s *servedMCP) of(r *http.Request) *server.MCP {
	caller := modelapi.CallerOf(r.Context())
	k := agent.Kind{Who: caller.Who}
	if k.Agent == "" {
		k.Agent = s.app.agent
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if srv, ok := s.byKind[k]; ok {
		return srv
	}
	srv, err := s.add(k)
	if err != nil {
		s.app.logger().Error("MCP cannot be served to a caller", "caller", caller.Name, "error", err)
		return nil
	}
	return srv
}

func (s *servedMCP) add(k agent.Kind) (*server.MCP, error) {
	rules, err := rulesOf(s.set.cfg, config.Rules{})(k)
	if err != nil {
		return nil, err
	}
	rules.NameLimit = surface.MCPNameLimit
	if k.NativeToolSearch {
		rules.Mode = surface.Off
	}
	scope, err := s.set.Scope(context.Background(), rules.ScopeOptions) // it ends with the toolset
	if err != nil {
		return nil, err
	}
	view, err := scope.Surface()
	if err != nil {
		scope.Close()
		return nil, err
	}
	srv, stop, err := s.app.newMCPServer(s.set, mcpView{surface: view, plan: scope.Plan, subscribe: scope.Subscribe, agent: k.Agent, mode: rules.Mode})
	if err != nil {
		scope.Close()
		return nil, err
	}
	s.byKind[k], s.stops = srv, append(s.stops, func() { stop(); scope.Close() })
	return srv, nil
}

func (s *servedMCP) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, stop := range s.stops {
		stop()
	}
}

// userOf is the identity that a session of MCP belongs to.
func userOf(r *http.Request) string { return modelapi.CallerOf(r.Context()).Name }
