package server_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/toolsearch/toolsearch"
	"github.com/toolsearch/toolsearch/call"
	"github.com/toolsearch/toolsearch/internal/server"
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
	set, err := toolsearch.New(t.Context(), toolsearch.Options{Tools: []*tool.Tool{hello}, Observe: func(next call.Handler) call.Handler {
		return func(ctx context.Context, r call.Request) (*tool.Result, error) {
			origins = append(origins, r.Origin)
			return next(ctx, r)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	srv := server.NewMCP(server.Options{Surface: set.Surface(), Version: "1"})
	h := httptest.NewServer(server.NewHTTP(server.HTTPOptions{
		Server: func(*http.Request) *server.MCP { return srv }, MaxBody: 4 << 20,
		User: func(r *http.Request) string { return r.Header.Get("X-User") },
	}))
	defer h.Close()
	for _, user := range []string{"alice", "bob", "alice", ""} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.URL, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"tool_call","arguments":{"id":"hello"},`+
			`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`))
		if err != nil {
			t.Fatal(err)
		}
		for k, v := range map[string]string{
			"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "X-User": user,
			"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "tool_call",
		} {
			req.Header.Set(k, v)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != 200 || strings.Contains(string(body), `"isError":true`) {
			t.Fatalf("%q: %d %s %v", user, resp.StatusCode, body, err)
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
