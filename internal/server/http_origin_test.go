package server_test

import (
	"context"
	"strings"
	"testing"

	"github.com/toolsearch/toolsearch"
	"github.com/toolsearch/toolsearch/call"
	"github.com/toolsearch/toolsearch/tool"
)

// Requests without a session belong to the session of their user: what one has
// asked, and was allowed, is none of another's.
func TestUsersWithoutSessionsShareNone(t *testing.T) {
	hello, err := toolsearch.Func("p", "hello", "Says hello", func(context.Context, struct{}) (string, error) { return "hello", nil })
	if err != nil {
		t.Fatal(err)
	}
	var origins []call.Origin // one request at a time is made
	c := newHTTPClient(t, toolsearch.Options{Tools: []*tool.Tool{hello}, Observe: func(next call.Handler) call.Handler {
		return func(ctx context.Context, r call.Request) (*tool.Result, error) {
			origins = append(origins, r.Origin)
			return next(ctx, r)
		}
	}})
	for _, user := range []string{"alice", "bob", "alice", ""} {
		a := c.must(t, httpRequest{
			user:   user,
			header: map[string]string{"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "tool_call"},
			body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"tool_call","arguments":{"id":"hello"},` +
				`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`,
		})
		if a.status != 200 || strings.Contains(a.body, `"isError":true`) {
			t.Fatalf("%q: %d %s", user, a.status, a.body)
		}
	}
	if len(origins) != 4 {
		t.Fatalf("%d calls, want 4", len(origins))
	}
	alice, bob, again, local := origins[0], origins[1], origins[2], origins[3]
	if alice.Caller != "alice" || alice.Session != again.Session || alice.Run != again.Run {
		t.Errorf("one user's calls are of %+v and %+v", alice, again)
	}
	if alice.Session == bob.Session || alice.Session == local.Session || bob.Session == local.Session || local.Caller != "" {
		t.Errorf("sessions are shared: %q, %q and %q", alice.Session, bob.Session, local.Session)
	}
	if ids := map[string]bool{alice.Parent: true, bob.Parent: true, again.Parent: true, local.Parent: true, "": true}; len(ids) != 5 {
		t.Errorf("requests cannot be told apart: %+v", origins)
	}
}
