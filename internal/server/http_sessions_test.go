package server_test

import (
	"net/http"
	"testing"

	"github.com/toolsearch/toolsearch"
)

// A user that opens many sessions is stopped at 100, and stops nobody else. The
// local user has no others beside it.
func TestSessionsAreBoundedPerUser(t *testing.T) {
	c := newHTTPClient(t, toolsearch.Options{})
	begin := func(user string) httpAnswer { return c.must(t, httpRequest{user: user, body: initialize20250618}) }
	var last string
	for i := range 100 {
		a := begin("alice")
		if a.status != 200 || a.session == "" {
			t.Fatalf("session %d: %d %q", i, a.status, a.session)
		}
		last = a.session
	}
	for range 2 { // what was refused does not count
		if a := begin("alice"); a.status != 503 {
			t.Errorf("the 101st session: %d", a.status)
		}
	}
	if a := begin("bob"); a.status != 200 {
		t.Errorf("another user: %d", a.status)
	}
	if a := c.must(t, httpRequest{user: "alice", session: last, body: `{"jsonrpc":"2.0","id":2,"method":"ping"}`}); a.status != 200 {
		t.Errorf("inside of a session: %d", a.status)
	}
	if a := c.must(t, httpRequest{method: http.MethodDelete, user: "alice", session: last}); a.status != 204 {
		t.Errorf("the end of a session: %d", a.status)
	}
	if a := begin("alice"); a.status != 200 {
		t.Errorf("once one has ended: %d", a.status)
	}
	for i := range 110 {
		if a := begin(""); a.status != 200 {
			t.Fatalf("session %d of the local user: %d", i, a.status)
		}
	}
}
