package turn_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/toolsearch/toolsearch/call"
	"github.com/toolsearch/toolsearch/code"
	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/source/client"
	"github.com/toolsearch/toolsearch/surface"
	"github.com/toolsearch/toolsearch/tool"
	"github.com/toolsearch/toolsearch/turn"
)

// clientTools are tools of the caller; visible ones stand beside the controls.
func clientTools(t testing.TB, visible bool, names ...string) []*tool.Tool {
	t.Helper()
	var defs []client.Def
	for _, n := range names {
		defs = append(defs, client.Def{Name: n, Description: "Client tool " + n, Parameters: json.RawMessage(`{"type":"object"}`)})
	}
	tools, err := client.Tools(defs, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range tools {
		if visible {
			shown := *c
			shown.Mode = tool.DirectOnly
			tools[i] = &shown
		}
	}
	return tools
}

func answer(id, s string) provider.Answer {
	return provider.Answer{CallID: id, Content: []provider.Block{text(s)}}
}

// A call of a visible client tool ends the response as an ordinary call, with
// its own id and bytes, and the answer reaches the model whole.
func TestRunHandsClientCallsToTheCaller(t *testing.T) {
	call := calls("c1", "pick_file", `{"kind":"pdf"}`)
	call.Native = provider.Native{API: provider.Messages, Raw: json.RawMessage(`{"type":"tool_use","signed":1}`)}
	model := scripted(says(text("Pick one."), call), says(text("Thanks.")))
	r := start(t, turn.Options{Model: model, Tools: box(t, surface.Tools, append(clientTools(t, true, "pick_file"), echoing("x"))...)})

	step := next(t, r, turn.Input{})
	if diff := cmp.Diff([]provider.Call{call.Call}, step.Calls); diff != "" {
		t.Error(diff)
	}
	resp := step.Response
	if resp.Stop != provider.StopCalls || resp.Text() != "Pick one." || resp.Usage.Input != 10 {
		t.Errorf("the response is %+v", resp)
	}
	if diff := cmp.Diff(call, resp.Output[len(resp.Output)-1].Blocks[0], cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}

	given := answer("c1", "a.pdf")
	given.Content = append(given.Content, opaque(`{"type":"document","x":9007199254740993}`),
		provider.Block{Kind: provider.Image, Image: provider.ImageData{URL: "https://example.org/a.png"}})
	step = next(t, r, turn.Input{Answers: []provider.Answer{given}, More: []provider.Message{{Role: provider.User, Blocks: []provider.Block{text("Hurry.")}}}})
	if len(step.Calls) > 0 || step.Response.Text() != "Thanks." || step.Response.Usage.Input != 10 {
		t.Errorf("after the answer: %+v", step.Response)
	}
	messages := model.request(t, 1).Messages
	if diff := cmp.Diff(given, messages[len(messages)-2].Blocks[0].Answer, cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
	if got := messages[len(messages)-1].Blocks[0].Text; got != "Hurry." {
		t.Errorf("the last message is %q", got)
	}
}

// Tools of the caller and others in one round: these run, those wait, and the
// answers keep the model's order.
func TestRunMixesClientAndOtherCalls(t *testing.T) {
	model := scripted(
		says(calls("c1", "pick_a", `{}`), calls("c2", "tool_call", `{"id":"mcp:srv:x"}`), calls("c3", "Pick-B", `{"n":1}`)),
		says(text("Done.")),
	)
	r := start(t, turn.Options{Model: model, Tools: box(t, surface.Tools, append(clientTools(t, true, "pick_a", "pick_b"), echoing("x"))...)})
	step := next(t, r, turn.Input{})
	want := []provider.Call{{ID: "c1", Name: "pick_a", Args: json.RawMessage("{}")}, {ID: "c3", Name: "pick_b", Args: json.RawMessage(`{"n":1}`)}}
	if diff := cmp.Diff(want, step.Calls); diff != "" {
		t.Error(diff)
	}
	next(t, r, turn.Input{Answers: []provider.Answer{answer("c3", "three"), answer("c1", "one")}})
	got := lastAnswers(t, model.request(t, 1))
	if len(got) != 3 || got[0] != "c1: one" || !strings.HasPrefix(got[1], "c2: ") || !strings.Contains(got[1], "x got {}") || got[2] != "c3: three" {
		t.Errorf("the answers are %q", got)
	}
}

// A model that uses an id twice gets no call lost: the caller sees an id for
// each, whatever the model calls the others.
func TestRunTellsCallsOfOneIDApart(t *testing.T) {
	model := scripted(
		says(calls("a", "pick", `{"n":1}`), calls("a", "pick", `{"n":2}`), calls("a_2", "pick", `{"n":3}`)),
		says(text("Done.")),
	)
	r := start(t, turn.Options{Model: model, Tools: box(t, surface.Tools, clientTools(t, true, "pick")...)})
	step := next(t, r, turn.Input{})
	seen := map[string]bool{}
	var answers []provider.Answer
	for _, c := range step.Calls {
		seen[c.ID] = true
		answers = append(answers, answer(c.ID, string(c.Args)))
	}
	if len(step.Calls) != 3 || len(seen) != 3 {
		t.Fatalf("the calls are %+v", step.Calls)
	}
	next(t, r, turn.Input{Answers: answers})
	got := strings.Join(lastAnswers(t, model.request(t, 1)), ", ")
	if want := `a: {"n":1}, a: {"n":2}, a_2: {"n":3}`; got != want {
		t.Errorf("the model is answered %s, want %s", got, want)
	}
}

// A hidden client tool, called through tool_call or by its exact name, becomes
// an ordinary call too.
func TestRunReachesHiddenClientTools(t *testing.T) {
	model := scripted(
		says(calls("c1", "tool_call", `{"id":"client:client:files__pick","args":{"n":1}}`), calls("c2", "files__pick", `{"n":2}`)),
		says(text("Done.")),
	)
	r := start(t, turn.Options{Model: model, Tools: box(t, surface.Tools, append(clientTools(t, false, "files__pick"), echoing("x"))...),
		Request: provider.Request{Tools: []provider.Tool{{Name: "pick", Namespace: "files"}}}})
	step := next(t, r, turn.Input{})
	if len(step.Calls) != 2 {
		t.Fatalf("the calls are %+v", step.Calls)
	}
	first, second := step.Calls[0], step.Calls[1]
	if first.Name != "pick" || string(first.Args) != `{"n":1}` || first.ID == "c1" || len(first.ID) < 20 || first.Namespace != "files" {
		t.Errorf("through tool_call: %+v", first)
	}
	if second.ID != "c2" || second.Name != "pick" || second.Namespace != "files" || string(second.Args) != `{"n":2}` {
		t.Errorf("by name: %+v", second)
	}
	next(t, r, turn.Input{Answers: []provider.Answer{answer(first.ID, "A"), answer("c2", "B")}})
	got := lastAnswers(t, model.request(t, 1))
	if !strings.HasPrefix(got[0], "c1: ") || !strings.Contains(got[0], `"id":"client:client:files__pick"`) || !strings.Contains(got[0], `"result":"A"`) || got[1] != "c2: B" {
		t.Errorf("the answers are %q", got)
	}
}

// What a stage makes of a caller's answer is what the model gets.
func TestRunPassesClientAnswersThroughThePipeline(t *testing.T) {
	noting := func(next call.Handler) call.Handler {
		return func(ctx context.Context, r call.Request) (*tool.Result, error) {
			res, err := next(ctx, r)
			if err != nil {
				return nil, err
			}
			return call.AppendText(res, "noted for "+string(r.Target.ID)+" of "+r.Origin.CallID)
		}
	}
	model := scripted(says(calls("c1", "pick", `{}`)), says(text("Done.")))
	tools := boxOf(t, surface.Tools, surface.Config{Pipeline: call.New(noting)}, clientTools(t, true, "pick")...)
	r := start(t, turn.Options{Model: model, Tools: tools})
	next(t, r, turn.Input{})
	next(t, r, turn.Input{Answers: []provider.Answer{answer("c1", "one. ")}})
	if got := lastAnswers(t, model.request(t, 1)); got[0] != "c1: one. noted for client:client:pick of c1" {
		t.Errorf("the model got %q", got)
	}
}

// Client tools called from inside a code body: both calls reach the caller at
// once, the body waits in its process meanwhile and goes on with the answers. Its
// clock stands: it is held longer than its deadline.
func TestRunHoldsACodeBody(t *testing.T) {
	body := `const [a, b] = await Promise.all([
		openclaw.tools.call("client:client:pick", {n: 1}),
		openclaw.tools.call("client:client:pick", {n: 2}),
	]);
	const x = await openclaw.tools.call("mcp:srv:x", {});
	return [a.result.content[0].text, b.result.content[0].text, x.result.content[0].text];`
	attempt := func(deadline time.Duration) (last string) {
		model := scripted(says(text("Wait."), calls("c1", "tool_search_code", asJSON(t, map[string]string{"code": body}))), says(text("Done.")))
		r := begin(t, turn.Options{Model: model, Tools: boxOf(t, surface.Code, surface.Config{
			Code: codeRunner(t, code.Limits{Timeout: deadline}), Pipeline: call.New(together(2)),
		}, append(clientTools(t, false, "pick"), echoing("x"))...)})
		defer r.Close()
		if step := next(t, r, turn.Input{}); len(step.Calls) > 0 {
			if len(step.Calls) != 2 || string(step.Calls[0].Args) == string(step.Calls[1].Args) || step.Response.Text() != "Wait." {
				t.Fatalf("the step is %+v", step.Calls)
			}
			<-time.After(deadline + deadline/4) // the deadline that must not be enforced
			var answers []provider.Answer
			for _, c := range step.Calls {
				answers = append(answers, answer(c.ID, string(c.Args)))
			}
			next(t, r, turn.Input{Answers: answers})
		}
		return lastAnswers(t, model.request(t, 1))[0]
	}
	// A machine that is too slow for the body to make its calls, or to end, within
	// two seconds of its own has it do so within more.
	last := ""
	for deadline := 2 * time.Second; deadline < time.Minute; deadline *= 4 {
		if last = attempt(deadline); strings.Contains(last, `"value":["{\"n\":1}","{\"n\":2}","x got {}"]`) {
			return
		}
	}
	t.Errorf("the body returned %q", last)
}

// together is a stage that lets calls of the caller's tools pass once there are n
// of them.
func together(n int32) call.Stage {
	var arrived atomic.Int32
	all := make(chan struct{})
	return func(next call.Handler) call.Handler {
		return func(ctx context.Context, r call.Request) (*tool.Result, error) {
			if r.Target.Source == tool.Client {
				if arrived.Add(1) == n {
					close(all)
				}
				select {
				case <-all:
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			}
			return next(ctx, r)
		}
	}
}

// A run that is closed while a code body waits takes the body along.
func TestCloseEndsAHeldCodeBody(t *testing.T) {
	runner := codeRunner(t, code.Limits{})
	model := scripted(says(calls("c1", "tool_search_code", asJSON(t, map[string]string{"code": `await openclaw.tools.call("pick", {})`}))))
	ended := make(chan turn.Activity, 1)
	r := begin(t, turn.Options{Model: model, Tools: boxOf(t, surface.Code, surface.Config{Code: runner}, clientTools(t, false, "pick")...),
		Observe: func(a turn.Activity) {
			if a.Kind == turn.CallEnded {
				ended <- a
			}
		}})
	if step := next(t, r, turn.Input{}); len(step.Calls) != 1 {
		t.Fatalf("the calls are %+v", step.Calls)
	}
	r.Close()
	if a := <-ended; a.Outcome != turn.Cancelled {
		t.Errorf("the call ended as %+v", a)
	}
	if _, err := r.Next(t.Context(), turn.Input{}, nil); !errors.Is(err, turn.ErrOver) {
		t.Errorf("a closed run: %v", err)
	}
}

// Wrong answers name the ids, change nothing, and leave the run held.
func TestAnswersMustFit(t *testing.T) {
	model := scripted(says(calls("c1", "pick", `{}`), calls("c2", "pick", `{}`)), says(text("Done.")))
	r := start(t, turn.Options{Model: model, Tools: box(t, surface.Tools, clientTools(t, true, "pick")...),
		Refer: func(_ context.Context, names []string) ([]provider.Tool, error) {
			return nil, errors.New("no tool " + strings.Join(names, " "))
		}})
	var wrong *turn.AnswerError
	if _, err := r.Next(t.Context(), turn.Input{Answers: []provider.Answer{answer("c1", "early")}}, nil); !errors.As(err, &wrong) || wrong.Unknown[0] != "c1" {
		t.Errorf("an answer before any call: %v", err)
	}
	next(t, r, turn.Input{})
	refers := answer("c2", "")
	refers.References = []string{"nowhere"}
	tests := []struct {
		name    string
		answers []provider.Answer
		want    turn.AnswerError
		says    string
	}{
		{"none", nil, turn.AnswerError{Missing: []string{"c1", "c2"}}, `no answer to "c1", "c2"`},
		{"one missing", []provider.Answer{answer("c2", "")}, turn.AnswerError{Missing: []string{"c1"}}, `"c1"`},
		{"unknown", []provider.Answer{answer("c1", ""), answer("c2", ""), answer("c9", "")}, turn.AnswerError{Unknown: []string{"c9"}}, `no call waits for an answer to "c9"`},
		{"twice", []provider.Answer{answer("c1", ""), answer("c2", ""), answer("c1", "")}, turn.AnswerError{Twice: []string{"c1"}}, `two answers to "c1"`},
		{"a reference", []provider.Answer{answer("c1", ""), refers}, turn.AnswerError{}, "no tool nowhere"},
	}
	for _, tt := range tests {
		_, err := r.Next(t.Context(), turn.Input{Answers: tt.answers}, nil)
		if !errors.As(err, &wrong) || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: got %v, want %q", tt.name, err, tt.says)
			continue
		}
		if diff := cmp.Diff(tt.want, *wrong, cmpopts.IgnoreFields(turn.AnswerError{}, "Err")); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
	step := next(t, r, turn.Input{Answers: []provider.Answer{answer("c1", "one"), answer("c2", "two")}})
	if got := lastAnswers(t, model.request(t, 1)); step.Response.Text() != "Done." || got[0] != "c1: one" || got[1] != "c2: two" {
		t.Errorf("in the end %q and %q", step.Response.Text(), got)
	}
}

// Tools that an answer refers to become visible, at the end and once.
func TestReferencesBecomeVisible(t *testing.T) {
	found := provider.Tool{Name: "found", Description: "Found", Parameters: json.RawMessage(`{}`)}
	model := scripted(says(calls("c1", "find", `{}`)), says(calls("c2", "find", `{}`)), says(text("Done.")))
	r := start(t, turn.Options{Model: model, Tools: box(t, surface.Tools, clientTools(t, true, "find")...),
		Refer: func(context.Context, []string) ([]provider.Tool, error) { return []provider.Tool{found}, nil }})
	next(t, r, turn.Input{})
	for _, id := range []string{"c1", "c2"} {
		next(t, r, turn.Input{Answers: []provider.Answer{{CallID: id, References: []string{"found"}}}})
	}
	for n, want := range []int{4, 5, 5} {
		tools := model.request(t, n).Tools
		if len(tools) != want || asJSON(t, tools[:4]) != asJSON(t, model.request(t, 0).Tools) {
			t.Errorf("round %d has %d tools, want %d", n, len(tools), want)
		}
	}
	if got := model.request(t, 2).Messages[3].Blocks[0].Answer.References; len(got) != 1 || got[0] != "found" {
		t.Errorf("the model's answer refers to %q", got)
	}
}

// When the request ends, so does what it waits for; a run that is held does not.
func TestRunEndsWithItsRequestUnlessHeld(t *testing.T) {
	began, ended := make(chan struct{}), make(chan error, 1)
	slow := answering("slow", func(ctx context.Context, _ json.RawMessage) (*tool.Result, error) {
		close(began)
		<-ctx.Done()
		ended <- ctx.Err()
		return nil, ctx.Err()
	})
	model := scripted(says(calls("c1", "pick", `{}`)), says(calls("c2", "tool_call", `{"id":"mcp:srv:slow"}`)))
	r := start(t, turn.Options{Model: model, Tools: box(t, surface.Tools, append(clientTools(t, true, "pick"), slow)...)})

	first, cancel := context.WithCancel(t.Context())
	if _, err := r.Next(first, turn.Input{}, nil); err != nil {
		t.Fatal(err)
	}
	cancel() // the client has its response, and closes the connection
	second, cancel := context.WithCancel(t.Context())
	go func() {
		<-began
		cancel()
	}()
	_, err := r.Next(second, turn.Input{Answers: []provider.Answer{answer("c1", "one")}}, nil)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want a cancelled run", err)
	}
	select {
	case err := <-ended:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("the tool ended with %v", err)
		}
	default:
		t.Error("Next returned before the tool had ended")
	}
	if _, err := r.Next(t.Context(), turn.Input{}, nil); !errors.Is(err, turn.ErrOver) {
		t.Errorf("afterwards: %v", err)
	}
}

// The time a run is held does not count, and the rest does.
func TestHeldTimeDoesNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := answering("slow", func(ctx context.Context, _ json.RawMessage) (*tool.Result, error) {
			select {
			case <-time.After(40 * time.Second):
				return tool.TextResult("late"), nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		})
		again := calls("c2", "tool_call", `{"id":"mcp:srv:slow"}`)
		model := scripted(says(calls("c1", "pick", `{}`), again), says(text("Now."), calls("c3", "tool_call", `{"id":"mcp:srv:slow"}`)))
		r := begin(t, turn.Options{Model: model, Tools: box(t, surface.Tools, append(clientTools(t, true, "pick"), slow)...), Limits: turn.Limits{Time: time.Minute}})
		defer r.Close()
		next(t, r, turn.Input{})
		time.Sleep(time.Hour)
		step := next(t, r, turn.Input{Answers: []provider.Answer{answer("c1", "one")}})
		if step.Limit == nil || step.Limit.Limit != turn.LimitTime || step.Response.Stop != provider.StopLength || step.Response.Text() != "Now." {
			t.Errorf("the step is %+v with %+v", step, step.Response)
		}
		if got := r.Used().Time; got != time.Minute {
			t.Errorf("it used %v, want a minute", got)
		}
	})
}
