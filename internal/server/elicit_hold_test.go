package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolsearch/toolsearch/approval"
	"github.com/toolsearch/toolsearch/call"
	"github.com/toolsearch/toolsearch/surface"
	"github.com/toolsearch/toolsearch/tool"
)

// A call that asks twice, since a hook replaced its arguments, is begun once,
// also for a client that must come again for each answer. So is a code body:
// what ran before the question must not run again.
func TestACallThatAsksTwiceIsBegunOnce(t *testing.T) {
	for _, control := range []string{"", surface.ToolSearchCode} {
		eras(t, func(t *testing.T, modern bool) {
			var begun, asked atomic.Int64
			b := newBenchOf(t, benchOptions{
				store: &approval.Memory{},
				outer: func(next call.Handler) call.Handler {
					return func(ctx context.Context, r call.Request) (*tool.Result, error) {
						begun.Add(1)
						r.Origin.Control = control
						return next(ctx, r)
					}
				},
				inner: func(g *approval.Gate) call.Stage {
					return func(next call.Handler) call.Handler {
						return func(ctx context.Context, r call.Request) (*tool.Result, error) {
							r.Args = json.RawMessage(`{"command":"make -n"}`)
							return next(ctx, r)
						}
					}
				},
			})
			cs := b.connect(modern, false, func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				want := map[int64]string{1: `"make"`, 2: `"make -n"`}[asked.Add(1)]
				if !strings.Contains(r.Params.Message, want) {
					t.Errorf("the form shows %q, want %s", r.Params.Message, want)
				}
				return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "allow once"}}, nil
			})
			res, err := cs.CallTool(t.Context(), callExec("make"))
			if err != nil || res.IsError {
				t.Fatalf("%v: %s", err, text(res))
			}
			if begun.Load() != 1 || asked.Load() != 2 || b.ran.Load() != 1 {
				t.Errorf("begun %d, asked %d, ran %d", begun.Load(), asked.Load(), b.ran.Load())
			}
		})
	}
}

// show is a handler of clients that answer by hand.
func show(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	return nil, errors.New("not asked this way")
}

// More calls than can stand still are given up and begun anew with the answer.
func TestMoreCallsThanCanStandStill(t *testing.T) {
	b := newBench(t, nil, &approval.Memory{})
	cs := b.connect(true, true, show)
	const calls = 80 // more than the places, less than one caller may have pending
	states := make([]string, calls)
	for i := range calls {
		res, err := cs.CallTool(t.Context(), callExec(fmt.Sprint("make ", i)))
		if err != nil || !res.NeedsInput() {
			t.Fatalf("call %d: %v %s", i, err, text(res))
		}
		states[i] = res.RequestState
	}
	for i, state := range states {
		p := callExec(fmt.Sprint("make ", i))
		p.RequestState, p.InputResponses = state, allowed()
		if res, err := cs.CallTool(t.Context(), p); err != nil || res.IsError {
			t.Fatalf("call %d: %v %s", i, err, text(res))
		}
	}
	if b.ran.Load() != calls {
		t.Errorf("ran %d of %d", b.ran.Load(), calls)
	}
}

// A call whose client never comes again ends, and what it asked is closed.
func TestAbandonedCall(t *testing.T) {
	ended := make(chan struct{})
	store := &approval.Memory{}
	b := newBenchOf(t, benchOptions{store: store, outer: func(next call.Handler) call.Handler {
		return func(ctx context.Context, r call.Request) (*tool.Result, error) {
			defer close(ended)
			return next(ctx, r)
		}
	}})
	if res, err := b.connect(true, true, show).CallTool(t.Context(), callExec("make")); err != nil || !res.NeedsInput() {
		t.Fatal(err)
	}
	b.elicit.Close()
	<-ended
	if denied, err := store.Find(t.Context(), approval.Query{State: approval.Denied}); err != nil || len(denied) != 1 {
		t.Errorf("denied: %+v, %v", denied, err)
	}
	if b.ran.Load() != 0 {
		t.Error("the tool ran")
	}
}

// A client that cancels a call while its user is asked frees everything.
func TestCancelledWhileAsked(t *testing.T) {
	ended := make(chan struct{})
	store := &approval.Memory{}
	b := newBenchOf(t, benchOptions{store: store, outer: func(next call.Handler) call.Handler {
		return func(ctx context.Context, r call.Request) (*tool.Result, error) {
			defer close(ended)
			return next(ctx, r)
		}
	}})
	ctx, cancel := context.WithCancel(t.Context())
	cs := b.connect(false, false, func(asked context.Context, _ *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		cancel()
		<-asked.Done()
		return nil, asked.Err()
	})
	if _, err := cs.CallTool(ctx, callExec("make")); err == nil {
		t.Error("a cancelled call has a result")
	}
	<-ended
	if denied, err := store.Find(t.Context(), approval.Query{State: approval.Denied}); err != nil || len(denied) != 1 || denied[0].DecidedBy != "cancellation" {
		t.Errorf("denied: %+v, %v", denied, err)
	}
	if b.ran.Load() != 0 {
		t.Error("the tool ran")
	}
}

// Over HTTP, the answer must come from whoever made the call.
func TestAnswerOfAnotherPrincipal(t *testing.T) {
	for name, restart := range map[string]bool{"while the call stands still": false, "after a restart": true} {
		t.Run(name, func(t *testing.T) {
			store, key := &approval.Memory{}, make([]byte, approval.KeySize)
			first := newBench(t, key, store)
			b := first
			if restart {
				b = newBench(t, key, store)
			}
			ann := connectHTTP(t, first, "ann")
			res, err := ann.CallTool(t.Context(), callExec("make"))
			if err != nil || !res.NeedsInput() {
				t.Fatalf("%v: %s", err, text(res))
			}
			p := callExec("make")
			p.RequestState, p.InputResponses = res.RequestState, allowed()
			if res, err = connectHTTP(t, b, "bob").CallTool(t.Context(), p); err != nil || !res.IsError || b.ran.Load() != 0 {
				t.Errorf("bob answers for ann: %v, ran %d: %s", err, b.ran.Load(), text(res))
			}
			if !strings.Contains(text(res), "another caller") {
				t.Errorf("the refusal says %s", text(res))
			}
		})
	}
}

func connectHTTP(t *testing.T, b *bench, user string) *mcp.ClientSession {
	t.Helper()
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return b.server.Server() }, &mcp.StreamableHTTPOptions{Stateless: true})
	verify := func(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
		return &auth.TokenInfo{UserID: token, Expiration: time.Now().Add(time.Hour)}, nil
	}
	srv := httptest.NewServer(auth.RequireBearerToken(verify, nil)(handler))
	t.Cleanup(srv.Close)
	c := mcp.NewClient(&mcp.Implementation{Name: user, Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: show, MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true},
	})
	cs, err := c.Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: srv.URL, HTTPClient: &http.Client{Transport: bearer(user)}, DisableStandaloneSSE: true,
	}, &mcp.ClientSessionOptions{ProtocolVersion: "2026-07-28"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cs.Close() })
	return cs
}

// bearer adds a token to each request.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}
