package provider_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/provider/mock"
)

// each runs a test for every format, streamed and whole, with a client and a
// mock that follows the script.
func each(t *testing.T, script mock.Script, test func(t *testing.T, x talk)) {
	for _, f := range formats() {
		for _, stream := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/stream=%v", f.API(), stream), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					server := mock.New(script)
					client := newClient(t, provider.ClientConfig{Format: f, HTTP: serve(t, server), Key: withKey})
					test(t, talk{t, client, server, f.API(), stream})
				})
			})
		}
	}
}

type talk struct {
	t      *testing.T
	client *provider.Client
	server *mock.Server
	api    provider.API
	stream bool
}

// answer is what came of one request.
type answer struct {
	Text   string
	Calls  []string // name and arguments
	Stop   provider.Stop
	Events string // the kinds and texts of the deltas
	Waited time.Duration
	Sent   int
}

var weather = provider.Tool{Name: "get_weather", Description: "The weather of a city",
	Parameters: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}}}`)}

func (x talk) ask(ctx context.Context) (answer, *provider.Response, error) {
	start := time.Now()
	var a answer
	var pieces []string
	resp, err := x.client.Generate(ctx, &provider.Request{
		Model: "mock", Stream: x.stream, Tools: []provider.Tool{weather},
		Messages: []provider.Message{
			{Role: provider.System, Blocks: []provider.Block{{Kind: provider.Text, Text: "Be brief."}}},
			{Role: provider.User, Blocks: []provider.Block{{Kind: provider.Text, Text: "What is the weather?"}}},
		},
		Params: provider.Params{MaxTokens: 100},
	}, func(e provider.Event) error {
		if e.Kind == provider.TextDelta && e.Text != "" { // Messages tells that a block begins
			pieces = append(pieces, e.Text)
		}
		return nil
	})
	a.Waited, a.Sent, a.Events = since(start), x.server.Total(), strings.Join(pieces, "|")
	if err == nil {
		a.Text, a.Stop = resp.Text(), resp.Stop
		for _, c := range resp.Calls() {
			a.Calls = append(a.Calls, c.Name+" "+string(c.Args))
		}
	}
	return a, resp, err
}

// want asks, and compares. Events are those of a stream.
func (x talk) want(want answer) *provider.Response {
	x.t.Helper()
	got, resp, err := x.ask(x.t.Context())
	if !x.stream {
		want.Events = ""
	}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		x.t.Errorf("answer (-want +got):\n%s\nerror: %v", d, err)
	}
	return resp
}

func TestAnswers(t *testing.T) {
	script := mock.Script{Delay: 20 * time.Millisecond, Steps: []mock.Step{{
		Text: "It rains in Oslo.", Usage: provider.Usage{Input: 11, Output: 7},
		Calls: []provider.Call{{ID: "c1", Name: "get_weather", Args: json.RawMessage(`{"city":"Oslo"}`)},
			{ID: "c2", Name: "get_weather", Args: json.RawMessage(`{"city":"Ås \"2\""}`)}},
	}, mock.Text("Bye.")}}
	each(t, script, func(t *testing.T, x talk) {
		resp := x.want(answer{Text: "It rains in Oslo.", Events: "It |rains |in |Oslo.", Stop: provider.StopCalls, Waited: 80 * time.Millisecond, Sent: 1,
			Calls: []string{`get_weather {"city":"Oslo"}`, `get_weather {"city":"Ås \"2\""}`}})
		if resp == nil {
			return
		}
		// Chat Completions streams usage only where it is asked for.
		if want := (provider.Usage{Input: 11, Output: 7}); resp.Usage != want && (x.api != provider.Chat || resp.Usage != (provider.Usage{})) {
			t.Errorf("usage %+v, want %+v", resp.Usage, want)
		}
		if calls := resp.Calls(); len(calls) == 2 && (calls[0].ID != "c1" || calls[1].ID != "c2") {
			t.Errorf("the calls have the ids %q and %q", calls[0].ID, calls[1].ID)
		}
		got, err := x.server.Request(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		r := got.Request
		if r == nil || r.Model != "mock" || r.Stream != x.stream || len(r.Messages) != 2 || r.Messages[0].Role != provider.System ||
			len(r.Tools) != 1 || r.Tools[0].Name != weather.Name || string(r.Tools[0].Parameters) != string(weather.Parameters) || r.Params.MaxTokens != 100 {
			t.Errorf("the server read %+v (%v) from %s", r, got.Err, got.Body)
		}
		if outcome, err := got.Wait(t.Context()); err != nil || outcome != mock.Answered {
			t.Errorf("the answer ended as %q (%v)", outcome, err)
		}
		x.want(answer{Text: "Bye.", Events: "Bye.", Stop: provider.StopEnd, Waited: 20 * time.Millisecond, Sent: 2})
	})
}

func TestServerFaults(t *testing.T) {
	fine := mock.Text("Fine, thanks.")
	ok := answer{Text: "Fine, thanks.", Events: "Fine, |thanks.", Stop: provider.StopEnd}
	with := func(sent int, waited time.Duration) answer {
		a := ok
		a.Sent, a.Waited = sent, waited
		return a
	}
	split := fine
	split.Fault.SplitBytes = true
	for _, c := range []struct {
		name  string
		steps []mock.Step
		want  answer
	}{
		{"429 with Retry-After", []mock.Step{mock.Status(429, "7"), fine}, with(2, 7*time.Second)},
		{"500", []mock.Step{mock.Status(500, ""), fine}, with(2, 500*time.Millisecond)},
		{"529 twice", []mock.Step{mock.Status(529, ""), mock.Status(529, ""), fine}, with(3, 1500*time.Millisecond)},
		{"no answer", []mock.Step{{Fault: mock.Fault{Cut: -1}}, fine}, with(2, 500*time.Millisecond)},
		{"cut at the first byte", []mock.Step{{Text: "x", Fault: mock.Fault{Cut: 1}}, fine}, with(2, 500*time.Millisecond)},
		{"every byte alone", []mock.Step{split}, with(1, 0)},
	} {
		t.Run(c.name, func(t *testing.T) {
			each(t, mock.Script{Steps: c.steps}, func(_ *testing.T, x talk) { x.want(c.want) })
		})
	}
}

// Refusals are passed on in the API's own words.
func TestRefusalsOfEachAPI(t *testing.T) {
	each(t, mock.Script{Steps: []mock.Step{mock.Status(401, ""), mock.Status(429, "3600")}}, func(t *testing.T, x talk) {
		for _, want := range []provider.Error{
			{Status: 401, Message: "the script answers 401"},
			{Status: 429, Message: "the script answers 429", RetryAfter: time.Hour},
		} {
			_, _, err := x.ask(t.Context())
			var e *provider.Error
			if !errors.As(err, &e) || e.Status != want.Status || e.Message != want.Message || e.RetryAfter != want.RetryAfter || e.API != x.api || !json.Valid(e.Body) {
				t.Errorf("error %#v (%v), want %#v", e, err, want)
			}
		}
	})
}

// A stream that is cut anywhere is an error or is asked for again; never an
// answer that lacks something.
func TestCutStream(t *testing.T) {
	step := mock.Step{Text: "one two three four", Calls: []provider.Call{{ID: "c1", Name: "get_weather", Args: json.RawMessage(`{"city":"Oslo"}`)}}}
	for _, f := range formats() {
		t.Run(string(f.API()), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cut := 1
				server := mock.New(mock.Script{Choose: func(x *mock.Exchange) mock.Step {
					s := step
					s.Fault.Cut = cut
					return s
				}})
				client := newClient(t, provider.ClientConfig{Format: f, HTTP: serve(t, server), Retry: provider.Retry{Attempts: 1}})
				x := talk{t, client, server, f.API(), true}
				failed := 0
				for ; ; cut += 13 {
					got, _, err := x.ask(t.Context())
					n, rerr := server.Request(t.Context(), server.Total())
					if rerr != nil {
						t.Fatal(rerr)
					}
					if outcome, err := n.Wait(t.Context()); err != nil || outcome == mock.Answered {
						break // the cut is behind the end
					}
					if err != nil {
						failed++
						var broken *provider.BrokenError
						if part := errors.As(err, &broken); !part && got.Events != "" || part && !strings.Contains(err.Error(), "only a part of it") {
							t.Errorf("cut after %d bytes and the texts %q, the error is %v", cut, got.Events, err)
						}
						continue
					}
					if got.Text != step.Text || len(got.Calls) != 1 || got.Stop != provider.StopCalls {
						t.Errorf("cut after %d bytes, the answer is %+v", cut, got)
					}
				}
				if failed < 10 {
					t.Errorf("only %d cuts were errors", failed)
				}
			})
		})
	}
}

func TestModelFaults(t *testing.T) {
	flat := mock.Call("tool_call", `{"id":"mcp:w:get_weather","city":"Oslo"}`)
	both := mock.Step{Fault: mock.Fault{SameIndex: true}, Calls: []provider.Call{
		{ID: "a", Name: "get_weather", Args: json.RawMessage(`{"city":"Oslo"}`)}, {ID: "b", Name: "get_time", Args: json.RawMessage(`{"zone":"Århus"}`)}}}
	for _, c := range []struct {
		name  string
		step  mock.Step
		calls []string
	}{
		{"arguments that are not JSON", mock.BadArguments("get_weather", `{"city": "Os`), []string{`get_weather "{\"city\": \"Os"`}},
		{"arguments encoded twice", mock.BadArguments("get_weather", `"{\"city\":\"Oslo\"}"`), []string{`get_weather {"city":"Oslo"}`}},
		{"a name that there is not", mock.Call("get_wether_now", `{}`), []string{`get_wether_now {}`}},
		{"flattened arguments", flat, []string{`tool_call {"id":"mcp:w:get_weather","city":"Oslo"}`}},
		{"parallel calls of one index", both, []string{`get_weather {"city":"Oslo"}`, `get_time {"zone":"Århus"}`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			each(t, mock.Script{Steps: []mock.Step{c.step}}, func(_ *testing.T, x talk) {
				x.want(answer{Calls: c.calls, Stop: provider.StopCalls, Sent: 1})
			})
		})
	}
}

// When the caller leaves, the server's connection ends at once.
func TestCancelReachesTheServer(t *testing.T) {
	for name, step := range map[string]mock.Step{
		"silent":            {Fault: mock.Fault{Hang: true}},
		"silent after text": {Text: "one two", Fault: mock.Fault{Hang: true}},
		"slow":              {Text: strings.Repeat("word ", 100), Delay: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, mock.Script{Steps: []mock.Step{step}}, func(t *testing.T, x talk) {
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second+time.Millisecond)
				defer cancel()
				got, _, err := x.ask(ctx)
				if !errors.Is(err, context.DeadlineExceeded) || got.Waited > 11*time.Second || got.Sent != 1 {
					t.Errorf("after %v and %d requests: %v, want the deadline's error", got.Waited, got.Sent, err)
				}
				seen, err := x.server.Request(t.Context(), 1)
				if err != nil {
					t.Fatal(err)
				}
				if outcome, err := seen.Wait(t.Context()); err != nil || outcome != mock.Gone {
					t.Errorf("the answer ended as %q (%v), want %q", outcome, err, mock.Gone)
				}
				if waited := time.Since(seen.Arrived); waited > 11*time.Second {
					t.Errorf("the server saw it after %v", waited)
				}
			})
		})
	}
}

// 200 streams at once, 20 ms a token, through one client.
func TestManyStreams(t *testing.T) {
	const n = 200
	text := strings.TrimSpace(strings.Repeat("word ", 20))
	for _, f := range formats() {
		t.Run(string(f.API()), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := mock.New(mock.Script{Delay: 20 * time.Millisecond, Choose: func(*mock.Exchange) mock.Step { return mock.Text(text) }})
				client := newClient(t, provider.ClientConfig{Format: f, HTTP: serve(t, http.Handler(server))})
				var wg sync.WaitGroup
				for range n {
					wg.Go(func() {
						got, _, err := talk{t, client, server, f.API(), true}.ask(t.Context())
						if err != nil || got.Text != text || got.Waited != 400*time.Millisecond {
							t.Errorf("got %d bytes after %v: %v", len(got.Text), got.Waited, err)
						}
					})
				}
				wg.Wait()
				if total := server.Total(); total != n {
					t.Errorf("%d requests for %d streams", total, n)
				}
			})
		})
	}
}
