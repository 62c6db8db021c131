package turn

import (
	"github.com/toolsearch/toolsearch/catalog"
	"github.com/toolsearch/toolsearch/source/mcp"
)

// Servers makes a Source of the MCP servers of m.
func Servers(m *mcp.Manager) Source { return servers{m} }

type servers struct{ manager *mcp.Manager }

// Snapshot returns the servers' tools, and who is down or not confirmed yet.
func (s servers) Snapshot() Snapshot {
	snap := s.manager.Snapshot()
	out := Snapshot{Tools: snap.Tools, Superseded: snap.Superseded()}
	for _, st := range snap.Status {
		out.Starting = out.Starting || !st.Settled
		switch st.State {
		case mcp.Starting, mcp.Idle:
			out.Pending = out.Pending || !st.Stale
			out.Outages = append(out.Outages, catalog.Outage{Owner: st.Name, Reason: "it is still starting", Stale: st.Stale})
		case mcp.Failed, mcp.Closed:
			out.Outages = append(out.Outages, catalog.Outage{Owner: st.Name, Reason: st.LastError, Stale: st.Stale})
		}
	}
	return out
}
