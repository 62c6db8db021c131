package toolsearch

import (
	"context"

	"github.com/toolsearch/toolsearch/call"
	"github.com/toolsearch/toolsearch/catalog"
	"github.com/toolsearch/toolsearch/surface"
	"github.com/toolsearch/toolsearch/tool"
	"github.com/toolsearch/toolsearch/turn"
)

// Resolve finds an allowed tool by id or unique name, visible or not. One that
// is not allowed is answered in the words of one that does not exist.
func (s *Scope) Resolve(ctx context.Context, ref string) (*tool.Tool, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	plan, err := s.planner.Current()
	if err != nil {
		return nil, err
	}
	if allowed, ok := plan.AllowedTool(tool.ID(ref)); ok {
		return allowed, nil
	}
	if visible, ok := plan.View.Direct.Lookup(ref); ok {
		return visible, nil
	}
	c, err := s.Catalog(ctx)
	if err != nil {
		return nil, err
	}
	return surface.Resolve(c, ref)
}

// Catalog returns the current catalog of every allowed tool that is not
// direct-only. With mode Off, in which the model needs none, it is built at the
// first call, and anew when the tools have changed.
func (s *Scope) Catalog(ctx context.Context) (*catalog.Catalog, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	plan, err := s.planner.Current()
	if err != nil {
		return nil, err
	}
	if plan.View.Catalog != nil {
		return plan.View.Catalog, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.builtOf != plan {
		built, err := catalog.Build(catalog.Input{Tools: plan.Allowed, Outages: plan.Outages})
		if err != nil {
			return nil, err
		}
		s.built, s.builtOf = built, plan
	}
	return s.built, nil
}

// Surface is what a model of the scope sees and says, outside of any run: it
// follows the sources.
func (s *Scope) Surface() (*surface.Surface, error) {
	return s.surface(surface.Config{View: s.planner.View})
}

// Subscribe has changed called when what runs of the scope can see may have
// changed.
func (s *Scope) Subscribe(changed func(*turn.Plan)) (stop func()) {
	return s.planner.Subscribe(changed)
}

// Call runs a tool that Resolve has found, through the pipeline. The error, if
// any, is a *tool.Error.
func (s *Scope) Call(ctx context.Context, r call.Request) (*tool.Result, error) {
	return s.pipeline.Call(ctx, r)
}
