package cli_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/toolsearch/toolsearch/internal/mcptest"
)

// Who accepts a change by an id accepts that of this tool, and not of one whose
// name is written like the id.
func TestPinsAcceptByID(t *testing.T) {
	home := t.TempDir()
	start := func(description string) *gateway {
		g := startGateway(t, home, oneCommand(t, home, mcptest.Script{Tools: []json.RawMessage{toolDef("mcp:bank:pay", description)}}))
		g.connect(false)
		return g
	}
	g := start("Pay")
	_ = g.result("tools/call", `{"name":"tool_call","arguments":{"id":"mcp:weather:mcp:bank:pay","args":{}}}`)
	g.stop()

	g = start("Pay, and tell everybody")
	for {
		if out, _ := g.program("pins", "list"); strings.Contains(out, "mcp:weather:mcp:bank:pay") {
			break
		}
		_ = g.result("tools/call", `{"name":"tool_call","arguments":{"id":"mcp:weather:mcp:bank:pay","args":{}}}`)
	}
	if out, code := g.program("pins", "accept", "mcp:bank:pay"); code != 1 || !strings.Contains(out, `0 waiting changes fit "mcp:bank:pay"`) {
		t.Errorf("pins accept of another tool's id: exit %d, %s", code, out)
	}
	if out, code := g.program("pins", "accept", "mcp:weather:mcp:bank:pay"); code != 0 {
		t.Errorf("pins accept: exit %d, %s", code, out)
	}
}
