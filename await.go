package toolsearch

import (
	"context"
	"fmt"
	"strings"

	"github.com/toolsearch/toolsearch/source/mcp"
	"github.com/toolsearch/toolsearch/tool"
)

// WaitFor is Wait for whoever needs only one tool, by id or unique name: it waits
// for the servers that Awaits names, and for no others. That there is no such tool
// is not an error here; Resolve says so.
func (t *Toolset) WaitFor(ctx context.Context, ref string) error {
	for {
		snap := t.servers.Snapshot() // before the plan, so that no change is missed
		if _, err := t.main.planner.Refresh(); err != nil {
			return err
		}
		awaited := t.awaits(snap, ref)
		if len(awaited) == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the MCP servers %s: %w", strings.Join(awaited, ", "), ctx.Err())
		case <-snap.Superseded():
		}
	}
}

// Awaits names, sorted, the servers that are still starting and could change what
// ref means.
//
//   - The id of an MCP tool is decided by the server in it.
//   - A bare name is decided by the server whose last known list has it, and by
//     every server of which nothing is known yet.
//   - The id or name of a core or plugin tool is decided by none.
//   - "" stands for every tool: all servers decide.
func (t *Toolset) Awaits(ref string) []string { return t.awaits(t.servers.Snapshot(), ref) }

func (t *Toolset) awaits(snap mcp.Snapshot, ref string) []string {
	decides := t.deciders(ref)
	var out []string
	for _, st := range snap.Status {
		if !st.Settled && decides(st) {
			out = append(out, st.Name)
		}
	}
	return out
}

// deciders tells which servers decide what ref means.
func (t *Toolset) deciders(ref string) func(mcp.Status) bool {
	every := func(mcp.Status) bool { return true }
	none := func(mcp.Status) bool { return false }
	if ref == "" {
		return every
	}
	found, err := t.Resolve(context.Background(), ref) // it reads what is known, and waits for nothing
	source, rest, isID := strings.Cut(ref, ":")
	switch {
	case err == nil && found.Source != tool.MCP:
		return none
	case err == nil && string(found.ID) == ref:
		return func(st mcp.Status) bool { return st.Name == found.Owner }
	case err == nil: // another server may have one of that name
		return func(st mcp.Status) bool { return st.Name == found.Owner || !st.Stale }
	case isID && source == string(tool.MCP):
		owner, _, _ := strings.Cut(rest, ":")
		return func(st mcp.Status) bool { return st.Name == owner }
	case isID && tool.Source(source).Valid():
		return none
	}
	return every
}
