package turn_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"github.com/toolsearch/toolsearch/call"
	"github.com/toolsearch/toolsearch/catalog"
	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/schema"
	"github.com/toolsearch/toolsearch/surface"
	"github.com/toolsearch/toolsearch/tool"
	"github.com/toolsearch/toolsearch/turn"
)

// round is one answer of a scripted model.
type round func(ctx context.Context, r *provider.Request, emit func(provider.Event) error) (*provider.Response, error)

// script is a Model that follows a script, and keeps what it was asked.
type script struct {
	mu     sync.Mutex
	rounds []round
	asked  []*provider.Request
}

func scripted(rounds ...round) *script { return &script{rounds: rounds} }

func (s *script) Generate(ctx context.Context, r *provider.Request, emit func(provider.Event) error) (*provider.Response, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	n := len(s.asked)
	s.asked = append(s.asked, r)
	s.mu.Unlock()
	if n >= len(s.rounds) {
		return nil, fmt.Errorf("the script has %d rounds, and was asked once more", len(s.rounds))
	}
	return s.rounds[n](ctx, r, emit)
}

// request is the nth one, from 0.
func (s *script) request(t *testing.T, n int) *provider.Request {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if n >= len(s.asked) {
		t.Fatalf("the model was asked %d times, want request %d", len(s.asked), n)
	}
	return s.asked[n]
}

func text(s string) provider.Block { return provider.Block{Kind: provider.Text, Text: s} }

func calls(id, name, args string) provider.Block {
	return provider.Block{Kind: provider.ToolCall, Call: provider.Call{ID: id, Name: name, Args: json.RawMessage(args)}}
}

func opaque(raw string) provider.Block {
	return provider.Block{Kind: provider.Opaque, Native: provider.Native{API: provider.Messages, Raw: json.RawMessage(raw)}}
}

// says answers with the blocks; when it streams, as a real model does: texts in
// pieces, everything else when it is complete.
func says(blocks ...provider.Block) round {
	return func(_ context.Context, r *provider.Request, emit func(provider.Event) error) (*provider.Response, error) {
		resp := &provider.Response{
			ID: "resp", Model: r.Model, Stop: provider.StopEnd, Usage: provider.Usage{Input: 10, Output: 1},
			Output: []provider.Message{{Role: provider.Assistant, Blocks: blocks}},
		}
		for _, b := range blocks {
			if b.Kind == provider.ToolCall {
				resp.Stop = provider.StopCalls
			}
			if emit == nil {
				continue
			}
			events := []provider.Event{{Kind: provider.BlockDone, Block: b}}
			if b.Kind == provider.Text {
				events = nil
				for _, c := range b.Text {
					events = append(events, provider.Event{Kind: provider.TextDelta, Text: string(c)})
				}
			}
			for _, e := range events {
				if err := emit(e); err != nil {
					return nil, err
				}
			}
		}
		return resp, nil
	}
}

// box is a real surface with its pipeline over some tools.
func box(t testing.TB, mode surface.Mode, tools ...*tool.Tool) *surface.Surface {
	return boxOf(t, mode, surface.Config{}, tools...)
}

// boxOf is a box with some of its configuration, and stages before all others.
func boxOf(t testing.TB, mode surface.Mode, cfg surface.Config, tools ...*tool.Tool) *surface.Surface {
	t.Helper()
	view := &surface.View{Mode: mode}
	direct := tools
	if mode != surface.Off {
		var err error
		if view.Catalog, err = catalog.Build(catalog.Input{Tools: tools}); err != nil {
			t.Fatal(err)
		}
		direct = view.Catalog.Direct()
	}
	var err error
	if view.Direct, err = surface.NewNames(direct, surface.ModelNameLimit); err != nil {
		t.Fatal(err)
	}
	schemas := schema.NewCache(64)
	cfg.Limits, cfg.View, cfg.Schemas = catalog.Limits{Default: 8, Max: 20}, func() *surface.View { return view }, schemas
	if cfg.Pipeline == nil {
		cfg.Pipeline = call.New(call.NewRepeats().Stage(), call.ValidateInput(schemas), call.ValidateOutput(schemas))
	}
	s, err := surface.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// answering is an MCP tool that answers by a function of its arguments.
func answering(name string, f func(ctx context.Context, args json.RawMessage) (*tool.Result, error)) *tool.Tool {
	t := mcpTool("srv", name)
	t.Input = tool.RawSchema(`{"type":"object"}`)
	t.Invoker = tool.InvokerFunc(func(ctx context.Context, c tool.Call) (*tool.Result, error) { return f(ctx, c.Args) })
	return t
}

func echoing(name string) *tool.Tool {
	return answering(name, func(_ context.Context, args json.RawMessage) (*tool.Result, error) {
		return tool.TextResult(name + " got " + string(args)), nil
	})
}

// start makes a run that ends with the test, which then looks for goroutines.
func start(t *testing.T, o turn.Options) *turn.Run {
	t.Helper()
	ignore := goleak.IgnoreCurrent()
	r := begin(t, o)
	t.Cleanup(func() {
		r.Close()
		goleak.VerifyNone(t, ignore)
	})
	return r
}

// begin makes a run that the test must close.
func begin(t testing.TB, o turn.Options) *turn.Run {
	t.Helper()
	if o.Request.Model == "" {
		o.Request.Model = "m"
	}
	if o.Request.Messages == nil {
		o.Request.Messages = []provider.Message{{Role: provider.System, Blocks: []provider.Block{text("Be brief.")}}, {Role: provider.User, Blocks: []provider.Block{text("Go.")}}}
	}
	r, err := turn.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func next(t *testing.T, r *turn.Run, in turn.Input) *turn.Step {
	t.Helper()
	step, err := r.Next(t.Context(), in, nil)
	if err != nil {
		t.Fatal(err)
	}
	return step
}

// lastAnswers are the texts of what the tools answered before a request.
func lastAnswers(t *testing.T, r *provider.Request) []string {
	t.Helper()
	var out []string
	for _, b := range r.Messages[len(r.Messages)-1].Blocks {
		if b.Kind != provider.ToolAnswer {
			t.Fatalf("the last message is no answer of a tool: %+v", b)
		}
		s := b.Answer.CallID + ": "
		for _, c := range b.Answer.Content {
			s += c.Text
		}
		if b.Answer.IsError {
			s += " (error)"
		}
		out = append(out, s)
	}
	return out
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// A model searches, calls and answers; the caller sees the answer alone.
func TestRunCallsToolsUntilTheAnswer(t *testing.T) {
	for _, stream := range []bool{false, true} {
		model := scripted(
			says(text("Let me look."), calls("c1", "tool_search", `{"query":"weather forecast"}`)),
			says(calls("c2", "tool_call", `{"id":"mcp:srv:forecast","city":"Oslo"}`)),
			says(text("It rains.")),
		)
		r := start(t, turn.Options{Model: model, Tools: box(t, surface.Tools, echoing("forecast")), Request: provider.Request{Stream: stream}})
		var events []provider.Event
		step, err := r.Next(t.Context(), turn.Input{}, func(e provider.Event) error { events = append(events, e); return nil })
		if err != nil {
			t.Fatal(err)
		}
		if got, want := step.Response.Text(), "Let me look.\n\nIt rains."; got != want {
			t.Errorf("the answer is %q, want %q", got, want)
		}
		if len(step.Calls) > 0 || step.Limit != nil || step.Response.Stop != provider.StopEnd || len(step.Response.Calls()) > 0 {
			t.Errorf("the step is %+v with %+v", step, step.Response)
		}
		if want := (provider.Usage{Input: 30, Output: 3}); step.Response.Usage != want {
			t.Errorf("the usage is %+v, want %+v", step.Response.Usage, want)
		}
		streamed := ""
		for _, e := range events {
			if streamed += e.Text; e.Kind != provider.TextDelta {
				t.Errorf("an event that is no text: %+v", e)
			}
		}
		if want := map[bool]string{true: step.Response.Text()}[stream]; streamed != want {
			t.Errorf("streamed %q, want %q", streamed, want)
		}
		if got := lastAnswers(t, model.request(t, 1)); !strings.Contains(got[0], `"mcp:srv:forecast"`) || !strings.HasPrefix(got[0], "c1: [") {
			t.Errorf("the search answered %q", got)
		}
		if got := lastAnswers(t, model.request(t, 2)); !strings.Contains(got[0], `forecast got {\"city\":\"Oslo\"}`) {
			t.Errorf("the call answered %q", got)
		}
		if got, want := len(r.Messages()), 2+5; got != want {
			t.Errorf("the conversation has %d messages, want %d", got, want)
		}
		if _, err := r.Next(t.Context(), turn.Input{}, nil); err == nil {
			t.Error("a run that is over went on")
		}
	}
}

// What is sent again is sent as the same bytes, in every round.
func TestRunKeepsTheFront(t *testing.T) {
	var rounds []round
	for i := range 20 {
		rounds = append(rounds, says(calls(fmt.Sprint("c", i), "tool_search", fmt.Sprintf(`{"query":"q%d"}`, i))))
	}
	model := scripted(append(rounds, says(text("Done.")))...)
	next(t, start(t, turn.Options{Model: model, Tools: box(t, surface.Tools, echoing("forecast"))}), turn.Input{})
	first := model.request(t, 0)
	if len(first.Tools) != 3 {
		t.Fatalf("the model sees %d tools", len(first.Tools))
	}
	for i := 1; i <= 20; i++ {
		r := model.request(t, i)
		if asJSON(t, r.Tools) != asJSON(t, first.Tools) {
			t.Fatalf("round %d has other tools", i)
		}
		before := model.request(t, i-1).Messages
		if asJSON(t, r.Messages[:len(before)]) != asJSON(t, before) {
			t.Fatalf("round %d does not begin like the one before", i)
		}
	}
}

// Opaque blocks and thoughts pass, in order; calls never do.
func TestRunPassesOpaqueBlocks(t *testing.T) {
	thought := provider.Block{Kind: provider.Thinking, Text: "Hm.", Native: provider.Native{API: provider.Messages, Raw: json.RawMessage(`{"signature":"x"}`)}}
	model := scripted(
		says(thought, text("One."), opaque(`{"n":1}`), calls("c1", "tool_search", `{"query":"a"}`)),
		says(opaque(`{"n":2}`), text("Two.")),
	)
	r := start(t, turn.Options{Model: model, Tools: box(t, surface.Tools, echoing("a")), Request: provider.Request{Stream: true}})
	var seen []string
	step, err := r.Next(t.Context(), turn.Input{}, func(e provider.Event) error {
		if e.Kind == provider.BlockDone {
			seen = append(seen, string(e.Block.Raw))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{`{"signature":"x"}`, `{"n":1}`, `{"n":2}`}; !cmp.Equal(seen, want) {
		t.Errorf("the caller saw %q, want %q", seen, want)
	}
	var got []provider.Block
	for _, m := range step.Response.Output {
		got = append(got, m.Blocks...)
	}
	want := []provider.Block{thought, text("One.\n\n"), opaque(`{"n":1}`), opaque(`{"n":2}`), text("Two.")}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
	if got := asJSON(t, model.request(t, 1).Messages[2].Blocks[1]); !strings.Contains(got, `"Text":"One."`) {
		t.Errorf("the conversation was changed: %s", got)
	}
}

// What one API wrote of a whole message is passed on only where nothing is left
// out of it, and of a response only what is the caller's.
func TestRunDoesNotLeakCallsInNativeBytes(t *testing.T) {
	native := func(raw string) provider.Native {
		return provider.Native{API: provider.Responses, Raw: json.RawMessage(raw)}
	}
	search := calls("c1", "tool_search", `{"query":"a"}`)
	first := func(_ context.Context, r *provider.Request, _ func(provider.Event) error) (*provider.Response, error) {
		return &provider.Response{ID: "r1", Model: "m1", Stop: provider.StopCalls, Output: []provider.Message{
			{Role: provider.Assistant, Blocks: []provider.Block{text("One. ")}, Native: native(`"whole"`)},
			{Role: provider.Assistant, Blocks: []provider.Block{text("Two. "), search}, Native: native(`"with tool_search"`)},
			{Role: provider.Assistant, Blocks: []provider.Block{search}, Native: native(`"tool_search alone"`)},
		}}, nil
	}
	last := func(_ context.Context, r *provider.Request, _ func(provider.Event) error) (*provider.Response, error) {
		resp, err := says(text("Three."))(context.Background(), r, nil)
		resp.ID, resp.Model, resp.API = "r2", "m2", provider.Responses
		for _, name := range []string{"created_at", "tools", "tool_choice", "instructions", "metadata"} {
			resp.Fields = append(resp.Fields, tool.Member{Name: name, Value: json.RawMessage(`1`)})
		}
		return resp, err
	}
	step := next(t, start(t, turn.Options{Model: scripted(first, last), Tools: box(t, surface.Tools, echoing("a"))}), turn.Input{})
	want := &provider.Response{
		ID: "r2", Model: "m2", API: provider.Responses, Stop: provider.StopEnd, Usage: provider.Usage{Input: 10, Output: 1},
		Fields: tool.Object{{Name: "created_at", Value: json.RawMessage(`1`)}, {Name: "metadata", Value: json.RawMessage(`1`)}},
		Output: []provider.Message{
			{Role: provider.Assistant, Blocks: []provider.Block{text("One. ")}, Native: native(`"whole"`)},
			{Role: provider.Assistant, Blocks: []provider.Block{text("Two. ")}},
			{Role: provider.Assistant, Blocks: []provider.Block{text("Three.")}},
		},
	}
	if diff := cmp.Diff(want, step.Response, cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
}
