package server_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/toolsearch/toolsearch"
	"github.com/toolsearch/toolsearch/internal/server"
	"github.com/toolsearch/toolsearch/surface"
	"github.com/toolsearch/toolsearch/tool"
)

// A call in a session goes on when its request is cut off. Who makes calls and
// leaves is stopped at 512 that go on, and stops nobody else.
func TestCallsThatGoOnAreBoundedPerUser(t *testing.T) {
	began, end := make(chan struct{}), make(chan struct{})
	var waits atomic.Bool
	wait := &tool.Tool{
		ID: tool.NewID(tool.OpenClaw, "", "stay"), Source: tool.OpenClaw, Name: "stay", Description: "Stay", Input: tool.RawSchema(`{"type":"object"}`),
		Invoker: tool.InvokerFunc(func(context.Context, tool.Call) (*tool.Result, error) {
			if waits.Load() {
				began <- struct{}{}
				<-end
			}
			return &tool.Result{Content: []tool.Content{tool.Text("stayed")}}, nil
		}),
	}
	set, err := toolsearch.New(t.Context(), toolsearch.Options{Tools: []*tool.Tool{wait}, Mode: surface.Off})
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
	ask := func(ctx context.Context, user, session, body string) (string, string, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.URL, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "X-User": user, "Mcp-Session-Id": session} {
			if value != "" {
				req.Header.Set(name, value)
			}
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return "", "", err
		}
		defer resp.Body.Close()
		got, err := io.ReadAll(resp.Body)
		return string(got), resp.Header.Get("Mcp-Session-Id"), err
	}
	begin := func(user string) string {
		_, session, err := ask(t.Context(), user, "", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := ask(t.Context(), user, session, `{"jsonrpc":"2.0","method":"notifications/initialized"}`); err != nil {
			t.Fatal(err)
		}
		return session
	}
	id := 1
	call := func(ctx context.Context, user, session string) (string, error) {
		got, _, err := ask(ctx, user, session, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"stay","arguments":{}}}`, id))
		return got, err
	}
	sessions := []string{begin("alice"), begin("alice")}
	bob := begin("bob")
	waits.Store(true)
	for i := range 512 {
		id++
		ctx, leave := context.WithCancel(t.Context())
		left := make(chan error)
		go func() {
			_, err := call(ctx, "alice", sessions[i%2])
			left <- err
		}()
		<-began
		leave()
		if <-left == nil {
			t.Fatal("the request was not cut off")
		}
	}
	waits.Store(false)
	for _, c := range []struct {
		user, session, want string
	}{{"alice", sessions[0], "512 calls of yours are going on"}, {"alice", begin("alice"), "512 calls of yours are going on"}, {"bob", bob, "stayed"}} {
		id++
		if got, err := call(t.Context(), c.user, c.session); err != nil || !strings.Contains(got, c.want) {
			t.Errorf("one more call of %s: %v %s, want %q", c.user, err, got, c.want)
		}
	}
	close(end)
	for { // the last of them may be about to end
		id++
		got, err := call(t.Context(), "alice", sessions[1])
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(got, "stayed") {
			break
		}
	}
}
