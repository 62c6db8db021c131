package call

import (
	"context"
	"fmt"

	"github.com/toolsearch/toolsearch/tool"
)

// Refuse blocks the targets for which why returns a refusal. It is the stage
// that policy and every other yes-or-no rule takes.
func Refuse(why func(*tool.Tool) *tool.Error) Stage {
	return func(next Handler) Handler {
		return func(ctx context.Context, r Request) (*tool.Result, error) {
			if refusal := why(r.Target); refusal != nil {
				return nil, refusal
			}
			return next(ctx, r)
		}
	}
}

// OnlyNamed refuses core tools that change the machine unless named reports
// that the configuration allows them by name.
func OnlyNamed(named func(*tool.Tool) bool) Stage {
	return Refuse(func(t *tool.Tool) *tool.Error {
		if t.Source != tool.OpenClaw || t.Owner != tool.CoreOwner || !t.Annotations.MayDestroy() || named(t) {
			return nil
		}
		return &tool.Error{
			Code:   tool.CodeBlocked,
			By:     "policy",
			Reason: fmt.Sprintf("%s was not called: it can change this machine and tools.allow does not name it", t.ID),
			Next:   fmt.Sprintf("Ask the user to add %q to tools.allow.", t.Name),
		}
	})
}

// Allowed refuses what the policy does not allow, in the words of a tool that
// does not exist.
func Allowed(allows func(*tool.Tool) bool) Stage {
	return Refuse(func(t *tool.Tool) *tool.Error {
		if allows(t) {
			return nil
		}
		return &tool.Error{
			Code:   tool.CodeUnknownTool,
			Reason: fmt.Sprintf("no tool %q in this catalog", t.ID),
			Next:   "Use tool_search to find a tool, then its exact id.",
		}
	})
}
