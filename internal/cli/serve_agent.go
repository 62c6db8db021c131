package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/toolsearch/toolsearch/internal/agent"
	"github.com/toolsearch/toolsearch/internal/config"
	"github.com/toolsearch/toolsearch/internal/modelapi"
	"github.com/toolsearch/toolsearch/internal/store"
	"github.com/toolsearch/toolsearch/source/mcp"
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
