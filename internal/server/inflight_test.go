package server_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/toolsearch/toolsearch"
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
	c := newHTTPClient(t, toolsearch.Options{Tools: []*tool.Tool{wait}, Mode: surface.Off})
	begin := func(user string) string {
		session := c.must(t, httpRequest{user: user, body: initialize20250618}).session
		c.must(t, httpRequest{user: user, session: session, body: `{"jsonrpc":"2.0","method":"notifications/initialized"}`})
		return session
	}
	id := 1
	call := func(ctx context.Context, user, session string) (string, error) {
		a, err := c.do(ctx, httpRequest{
			user: user, session: session, body: fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"stay","arguments":{}}}`, id),
		})
		return a.body, err
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
	for _, one := range []struct {
		user, session, want string
	}{{"alice", sessions[0], "512 calls of yours are going on"}, {"alice", begin("alice"), "512 calls of yours are going on"}, {"bob", bob, "stayed"}} {
		id++
		if got, err := call(t.Context(), one.user, one.session); err != nil || !strings.Contains(got, one.want) {
			t.Errorf("one more call of %s: %v %s, want %q", one.user, err, got, one.want)
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
