package server_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/toolsearch/toolsearch"
	"github.com/toolsearch/toolsearch/internal/server"
)

// A user that opens many sessions is stopped at 100, and stops nobody else. The
// local user has no others beside it.
func TestSessionsAreBoundedPerUser(t *testing.T) {
	set, err := toolsearch.New(t.Context(), toolsearch.Options{})
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
	ask := func(method, user, session, body string) (int, string) {
		req, err := http.NewRequestWithContext(t.Context(), method, h.URL, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		req.Header.Set("X-User", user)
		if session != "" {
			req.Header.Set("Mcp-Session-Id", session)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, resp.Header.Get("Mcp-Session-Id")
	}
	const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	begin := func(user string) (int, string) { return ask("POST", user, "", initialize) }
	var last string
	for i := range 100 {
		status, id := begin("alice")
		if status != 200 || id == "" {
			t.Fatalf("session %d: %d %q", i, status, id)
		}
		last = id
	}
	for range 2 { // what was refused does not count
		if status, _ := begin("alice"); status != 503 {
			t.Errorf("the 101st session: %d", status)
		}
	}
	if status, _ := begin("bob"); status != 200 {
		t.Errorf("another user: %d", status)
	}
	if status, _ := ask("POST", "alice", last, `{"jsonrpc":"2.0","id":2,"method":"ping"}`); status != 200 {
		t.Errorf("inside of a session: %d", status)
	}
	if status, _ := ask("DELETE", "alice", last, ""); status != 204 {
		t.Errorf("the end of a session: %d", status)
	}
	if status, _ := begin("alice"); status != 200 {
		t.Errorf("once one has ended: %d", status)
	}
	for i := range 110 {
		if status, _ := begin(""); status != 200 {
			t.Fatalf("session %d of the local user: %d", i, status)
		}
	}
}
