package toolsearch_test

import (
	"encoding/json"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/toolsearch/toolsearch"
	"github.com/toolsearch/toolsearch/internal/mcptest"
	"github.com/toolsearch/toolsearch/source/mcp"
	"github.com/toolsearch/toolsearch/tool"
)

// Who needs one tool waits for the servers that decide what its name means, and for
// no other: here one never comes up.
func TestWaitFor(t *testing.T) {
	gate, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = gate.Close() }()
	server := func(name string, s mcptest.Script) mcp.Server {
		command, args, env := mcptest.Command(t, s)
		return mcp.Server{Name: name, Command: command, Args: args, Env: env, StartTimeout: time.Hour}
	}
	weather := server("weather", mcptest.Script{Tools: []json.RawMessage{json.RawMessage(`{"name":"echo","inputSchema":{"type":"object"}}`)}})
	closed := server("closed", mcptest.Script{Start: mcptest.StartGated, Gate: gate.Addr().String()})
	dir := t.TempDir()
	// The first set leaves what is known of the weather.
	newSet(t, toolsearch.Options{Servers: []mcp.Server{weather}, MCP: mcp.Options{CacheDir: dir}})

	set, err := toolsearch.New(t.Context(), toolsearch.Options{
		Tools: []*tool.Tool{failing(t, "greet", nil)}, Servers: []mcp.Server{closed, weather}, MCP: mcp.Options{CacheDir: dir},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := set.Close(); err != nil {
			t.Error(err)
		}
	}()
	for _, ref := range []string{"greet", "mcp:weather:echo", "mcp:weather:nosuch", "mcp:nobody:nosuch", "openclaw:p:greet", "client:x:y"} {
		if err := set.WaitFor(t.Context(), ref); err != nil {
			t.Errorf("%s: %v", ref, err)
		}
		if slices.Contains(set.Awaits(ref), "closed") {
			t.Errorf("%s waits for a server that it does not need", ref)
		}
	}
	if _, err := set.Resolve(t.Context(), "mcp:weather:echo"); err != nil {
		t.Error(err)
	}
	for _, st := range set.Status() {
		if st.Name == "weather" && st.State != mcp.Ready {
			t.Errorf("the server of the tool is %s, want %s", st.State, mcp.Ready)
		}
	}
	// Such a name may yet turn out to be that of two tools, or of one.
	for _, ref := range []string{"echo", "nosuch", "mcp:closed:echo", ""} {
		if got := set.Awaits(ref); !slices.Equal(got, []string{"closed"}) {
			t.Errorf("%q waits for %v, want closed", ref, got)
		}
	}
}
