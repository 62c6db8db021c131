package turn_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/toolsearch/toolsearch/call"
	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/surface"
	"github.com/toolsearch/toolsearch/tool"
	"github.com/toolsearch/toolsearch/turn"
)

// What a model gets wrong is told to it, with what to do.
func TestModelsMistakes(t *testing.T) {
	tests := []struct {
		name string
		mode surface.Mode
		call provider.Block
		want []string
	}{
		{"cut arguments", surface.Tools, calls("c", "tool_search", `"{\"query\": \"a"`), []string{"invalid_input", "tool_search was not called", "not a JSON object", "in 12 bytes", "one complete JSON object"}},
		{"an array", surface.Tools, calls("c", "tool_search", `[1]`), []string{"invalid_input", "another kind of value"}},
		{"a hidden tool's name, misspelt", surface.Tools, calls("c", "forecats", `{}`), []string{"unknown_tool", `forecats`, "Did you mean mcp:srv:forecast?"}},
		{"a visible tool's name, misspelt", surface.Off, calls("c", "srv_forecats", `{}`), []string{"unknown_tool", `srv_forecats`, `Did you mean \"srv__forecast\"?`}},
		{"nothing like it", surface.Off, calls("c", "rm", `{}`), []string{"unknown_tool", "Call only the tools you were given"}},
		{"a control of another mode", surface.Off, calls("c", "tool_call", `{}`), []string{"unknown_tool"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			model := scripted(says(tt.call), says(text("Done.")))
			next(t, start(t, turn.Options{Model: model, Tools: box(t, tt.mode, echoing("forecast"), echoing("unlike"))}), turn.Input{})
			got := lastAnswers(t, model.request(t, 1))[0]
			for _, want := range append(tt.want, " (error)") {
				if !strings.Contains(got, want) {
					t.Errorf("the answer %s lacks %q", got, want)
				}
			}
			if strings.Contains(got, "unlike") {
				t.Errorf("the answer %s suggests what is not near", got)
			}
		})
	}
}

// Empty arguments are an empty object.
func TestEmptyArguments(t *testing.T) {
	for _, args := range []string{``, ` `, `null`, `{}`} {
		model := scripted(says(calls("c", "srv__x", args)), says(text("Done.")))
		next(t, start(t, turn.Options{Model: model, Tools: box(t, surface.Off, echoing("x"))}), turn.Input{})
		if got := lastAnswers(t, model.request(t, 1))[0]; got != "c: x got {}" {
			t.Errorf("%q: %q", args, got)
		}
	}
}

// Results become what model APIs take; what they do not take is named.
func TestResultsBecomeAnswers(t *testing.T) {
	png := "iVBORw0KGgoAAAANSUhEUgAAAAEAAAAB" // the signature of PNG, 5.2, and the start of IHDR
	content := func(raw string) tool.Content {
		var c tool.Content
		if err := json.Unmarshal([]byte(raw), &c); err != nil {
			t.Fatal(err)
		}
		return c
	}
	none := func(n int) provider.Block {
		return text(fmt.Sprintf("[an image, image/png, %d bytes: not of a kind that can be shown here]", n/4*3))
	}
	picture := provider.Block{Kind: provider.Image, Image: provider.ImageData{MIMEType: "image/png", Data: png}}
	tests := []struct {
		name string
		res  *tool.Result
		want []provider.Block
	}{
		{"text", tool.TextResult("a<b"), []provider.Block{text("a<b")}},
		{"nothing", &tool.Result{}, []provider.Block{text("(The tool answered nothing.)")}},
		{"details alone", &tool.Result{Details: json.RawMessage(`{"n":9007199254740993}`)}, []provider.Block{text(`{"n":9007199254740993}`)}},
		{"details beside an image", &tool.Result{Content: []tool.Content{content(`{"type":"image","data":"` + png + `","mimeType":"image/png"}`)}, Details: json.RawMessage(`{"n":1}`)}, []provider.Block{text(`{"n":1}`), picture}},
		{"details and text", &tool.Result{Content: []tool.Content{tool.Text("one")}, Details: json.RawMessage(`{"n":1}`)}, []provider.Block{text("one")}},
		{"an image under a wrong type", &tool.Result{Content: []tool.Content{content(`{"type":"image","data":"` + png + `","mimeType":"image/gif"}`)}}, []provider.Block{picture}},
		{"an image that is none", &tool.Result{Content: []tool.Content{content(`{"type":"image","data":"PHN2Zz4=","mimeType":"image/svg+xml"}`)}}, []provider.Block{text("[an image, image/svg+xml, 6 bytes: not of a kind that can be shown here]")}},
		{"audio", &tool.Result{Content: []tool.Content{content(`{"type":"audio","data":"AAAA","mimeType":"audio/wav"}`)}}, []provider.Block{text("[audio, audio/wav, 3 bytes: it cannot be shown here]")}},
		{"a resource's text", &tool.Result{Content: []tool.Content{content(`{"type":"resource","resource":{"uri":"file:///a","text":"inside"}}`)}}, []provider.Block{text("inside")}},
		{"an image that ends as none", &tool.Result{Content: []tool.Content{content(`{"type":"image","data":"` + png + `!!!!","mimeType":"image/png"}`)}}, []provider.Block{none(len(png) + 4)}},
		{"an image without its padding", &tool.Result{Content: []tool.Content{content(`{"type":"image","data":"` + png + `AA","mimeType":"image/png"}`)}}, []provider.Block{none(len(png) + 2)}},
		{"an image with padding inside", &tool.Result{Content: []tool.Content{content(`{"type":"image","data":"` + png + `A===","mimeType":"image/png"}`)}}, []provider.Block{none(len(png) + 4)}},
		{"an image in lines", &tool.Result{Content: []tool.Content{content(`{"type":"image","data":"` + png[:8] + `\r\n` + png[8:] + `\n","mimeType":"image/png"}`)}}, []provider.Block{picture}},
		{"a resource's image", &tool.Result{Content: []tool.Content{content(`{"type":"resource","resource":{"uri":"file:///a","mimeType":"image/png","blob":"` + png + `"}}`)}}, []provider.Block{picture}},
		{"a file", &tool.Result{Content: []tool.Content{content(`{"type":"resource","resource":{"uri":"file:///a.zip","mimeType":"application/zip","blob":"AAAA"}}`)}}, []provider.Block{text("[file file:///a.zip, application/zip, 3 bytes: it cannot be shown here]")}},
		{"a link to an image", &tool.Result{Content: []tool.Content{content(`{"type":"resource_link","uri":"https://example.org/a.png","name":"a","mimeType":"image/png"}`)}}, []provider.Block{text("[link to a: https://example.org/a.png]")}},
		{"a type nobody knows", &tool.Result{Content: []tool.Content{content(`{"type":"hologram","x":1}`)}}, []provider.Block{text(`[a content block of type "hologram": {"type":"hologram","x":1}]`)}},
	}
	for _, tt := range tests {
		target := answering("x", func(context.Context, json.RawMessage) (*tool.Result, error) { return tt.res, nil })
		model := scripted(says(calls("c", "srv__x", `{}`)), says(text("Done.")))
		next(t, start(t, turn.Options{Model: model, Tools: box(t, surface.Off, target)}), turn.Input{})
		r := model.request(t, 1)
		if diff := cmp.Diff(tt.want, r.Messages[len(r.Messages)-1].Blocks[0].Answer.Content, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
}

// The model sees the caller's own definitions as the caller wrote them, an API's
// own tools, and what was added, in this order; nothing of what is hidden.
func TestOffer(t *testing.T) {
	raw := provider.Native{API: provider.Messages, Raw: json.RawMessage(`{"name":"pick","cache_control":{}}`)}
	request := provider.Request{Tools: []provider.Tool{
		{Hosted: "web_search_preview", Native: raw},
		{Name: "pick", Description: "Mine", Parameters: json.RawMessage(`{"a":1}`), Native: raw},
		{Name: "later", Description: "Mine too", Defer: true, Native: raw},
		{Name: "hidden", Description: "Behind search"},
	}}
	tools := append(clientTools(t, true, "pick", "later"), clientTools(t, false, "hidden")...)
	local := turn.Local{Tool: provider.Tool{Name: "native_search"}, Call: func(context.Context, provider.Call) (turn.LocalAnswer, error) {
		return turn.LocalAnswer{}, nil
	}}
	tests := []struct {
		name   string
		mode   surface.Mode
		change func(o *turn.Options)
		want   string
	}{
		{"tools", surface.Tools, func(*turn.Options) {}, "tool_search tool_describe tool_call later pick+raw web_search_preview+raw"},
		{"deferred tools of an API that can", surface.Off, func(o *turn.Options) { o.Defer = true }, "hidden later+defer+raw pick+raw srv__x+defer web_search_preview+raw"},
		{"local and added", surface.Tools, func(o *turn.Options) {
			o.Local = []turn.Local{local}
			o.Added = []provider.Tool{{Name: "earlier"}, {Name: "pick"}, {Name: "earlier"}}
		}, "tool_search tool_describe tool_call later pick+raw native_search web_search_preview+raw earlier"},
		{"one that the caller demands", surface.Tools, func(o *turn.Options) { o.Request.Params.Choice = provider.ChooseTool("hidden") }, "tool_search tool_describe tool_call later pick+raw web_search_preview+raw hidden"},
	}
	for _, tt := range tests {
		model := scripted(says(text("Done.")))
		o := turn.Options{Model: model, Request: request, Tools: box(t, tt.mode, append(tools, echoing("x"))...)}
		tt.change(&o)
		next(t, start(t, o), turn.Input{})
		var got []string
		for _, t := range model.request(t, 0).Tools {
			s := t.Name + t.Hosted
			if t.Defer {
				s += "+defer"
			}
			if t.Raw != nil {
				s += "+raw"
			}
			got = append(got, s)
		}
		if s := strings.Join(got, " "); s != tt.want {
			t.Errorf("%s: %s\nwant %s", tt.name, s, tt.want)
		}
	}
	o := turn.Options{Model: scripted(), Request: request, Tools: box(t, surface.Tools, tools...), Local: []turn.Local{{Tool: provider.Tool{Name: "pick"}, Call: local.Call}}}
	if _, err := turn.Start(t.Context(), o); err == nil || !strings.Contains(err.Error(), `"pick"`) {
		t.Errorf("two tools of one name: %v", err)
	}
}

// A demand that a tool be called holds for the first round, not for all.
func TestToolChoice(t *testing.T) {
	for _, tt := range []struct{ choice, later provider.ToolChoice }{
		{provider.ChooseAny, provider.ChooseAuto}, {provider.ChooseTool("tool_search"), provider.ChooseAuto}, {provider.ChooseNone, provider.ChooseNone},
	} {
		model := scripted(append(searches(2, 1), says(text("Done.")))...)
		request := provider.Request{Params: provider.Params{Choice: tt.choice}, API: provider.Chat,
			Fields: tool.Object{{Name: "user", Value: json.RawMessage(`"u"`)}, {Name: "tool_choice", Value: json.RawMessage(`"required"`)}}}
		next(t, start(t, turn.Options{Model: model, Tools: box(t, surface.Tools, echoing("x")), Request: request}), turn.Input{})
		for n, want := range []provider.ToolChoice{tt.choice, tt.later, tt.later} {
			r := model.request(t, n)
			if r.Params.Choice != want || (r.Fields.Get("tool_choice") != nil) != (want == tt.choice) || string(r.Fields.Get("user")) != `"u"` {
				t.Errorf("%s, round %d: %q with %s", tt.choice, n, r.Params.Choice, asJSON(t, r.Fields))
			}
		}
	}
}

// A choice that forces nothing, such as one of allowed tools, holds in every
// round.
func TestToolChoiceThatForcesNothing(t *testing.T) {
	const choice = `{"type":"auto","disable_parallel_tool_use":true}`
	model := scripted(append(searches(2, 1), says(text("Done.")))...)
	request := provider.Request{API: provider.Messages, Fields: tool.Object{{Name: "tool_choice", Value: json.RawMessage(choice)}}}
	next(t, start(t, turn.Options{Model: model, Tools: box(t, surface.Tools, echoing("x")), Request: request}), turn.Input{})
	for n := range 3 {
		if got := string(model.request(t, n).Fields.Get("tool_choice")); got != choice {
			t.Errorf("round %d: tool_choice is %s", n, got)
		}
	}
}

// A Local tool is answered inside the loop: its blocks reach the caller, its
// tools the model.
func TestLocalTools(t *testing.T) {
	local := turn.Local{Tool: provider.Tool{Name: "native_search"}, Call: func(_ context.Context, c provider.Call) (turn.LocalAnswer, error) {
		if string(c.Args) == "{}" {
			return turn.LocalAnswer{}, &tool.Error{Code: tool.CodeInvalidInput, Reason: "query is missing"}
		}
		return turn.LocalAnswer{
			Answer: provider.Answer{Content: []provider.Block{text("x")}, References: []string{"x"}},
			Emit:   []provider.Block{opaque(`{"type":"server_tool_use"}`), opaque(`{"type":"tool_search_tool_result"}`)},
			Add:    []provider.Tool{{Name: "x"}},
		}, nil
	}}
	model := scripted(says(text("Hm."), calls("c1", "native_search", `{"query":"x"}`), calls("c2", "native_search", `{}`)), says(calls("c3", "x", `{"n":1}`)), says(text("Done.")))
	r := start(t, turn.Options{Model: model, Tools: box(t, surface.Tools, echoing("x")), Local: []turn.Local{local}, Request: provider.Request{Stream: true}})
	var streamed []string
	step, err := r.Next(t.Context(), turn.Input{}, func(e provider.Event) error {
		if e.Kind == provider.BlockDone {
			streamed = append(streamed, string(e.Block.Raw))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{`{"type":"server_tool_use"}`, `{"type":"tool_search_tool_result"}`}; !cmp.Equal(streamed, want) {
		t.Errorf("streamed %q, want %q", streamed, want)
	}
	var kinds []provider.BlockKind
	for _, m := range step.Response.Output {
		for _, b := range m.Blocks {
			kinds = append(kinds, b.Kind)
		}
	}
	if want := []provider.BlockKind{provider.Text, provider.Opaque, provider.Opaque, provider.Text}; !cmp.Equal(kinds, want) {
		t.Errorf("the answer holds %v, want %v", kinds, want)
	}
	answers := lastAnswers(t, model.request(t, 1))
	if answers[0] != "c1: x" || !strings.Contains(answers[1], "query is missing") {
		t.Errorf("the model got %q", answers)
	}
	if tools := model.request(t, 1).Tools; len(tools) != 5 || tools[4].Name != "x" {
		t.Errorf("afterwards the model sees %d tools", len(tools))
	}
	if got := lastAnswers(t, model.request(t, 2)); got[0] != `c3: x got {"n":1}` {
		t.Errorf("the tool that was found answered %q", got)
	}
}

// Whoever watches is told of each call, how long it took and how it ended.
func TestObserve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := answering("slow", func(context.Context, json.RawMessage) (*tool.Result, error) {
			time.Sleep(3 * time.Second)
			return tool.TextResult("ok"), nil
		})
		var seen []string
		model := scripted(says(calls("c1", "slow", `{"n":1}`)), says(calls("c1", "nothing", `{}`)), says(text("Done.")))
		r := begin(t, turn.Options{Model: model, Tools: box(t, surface.Tools, slow), Observe: func(a turn.Activity) {
			seen = append(seen, fmt.Sprint(a.Kind, a.ID, a.Name, string(a.Args), a.Duration, a.Outcome))
		}})
		defer r.Close()
		next(t, r, turn.Input{})
		want := []string{
			fmt.Sprint(turn.CallStarted, "c1", "slow", `{"n":1}`, time.Duration(0), ""), fmt.Sprint(turn.CallEnded, "c1", "slow", `{"n":1}`, 3*time.Second, "ok"),
			fmt.Sprint(turn.CallStarted, "c1_2", "nothing", `{}`, time.Duration(0), ""), fmt.Sprint(turn.CallEnded, "c1_2", "nothing", `{}`, time.Duration(0), "error"),
		}
		if diff := cmp.Diff(want, seen); diff != "" {
			t.Error(diff)
		}
	})
}

// Targets are called for the run's caller, each under an id of its own.
func TestOriginOfCalls(t *testing.T) {
	var seen []call.Origin
	look := func(next call.Handler) call.Handler {
		return func(ctx context.Context, r call.Request) (*tool.Result, error) {
			seen = append(seen, r.Origin)
			return next(ctx, r)
		}
	}
	model := scripted(says(calls("same", "x", `{}`)), says(calls("same", "tool_call", `{"id":"x"}`)), says(text("Done.")))
	tools := boxOf(t, surface.Tools, surface.Config{Pipeline: call.New(look)}, echoing("x"))
	next(t, start(t, turn.Options{Model: model, Tools: tools, Origin: call.Origin{Session: "s", Run: "r", Agent: "a", Caller: "me"}}), turn.Input{})
	want := []call.Origin{
		{Session: "s", Run: "r", Agent: "a", Caller: "me", CallID: "same"},
		{Session: "s", Run: "r", Agent: "a", Caller: "me", Control: "tool_call", Parent: "same_2"},
	}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Error(diff)
	}
	for n, want := range []string{"", "same: x got {}", "same: "} {
		if n > 0 && !strings.HasPrefix(lastAnswers(t, model.request(t, n))[0], want) {
			t.Errorf("request %d answers %q", n, lastAnswers(t, model.request(t, n)))
		}
	}
}

// What the model's API refuses, and a caller that cannot be written to, end the
// run with their own errors.
func TestErrorsEndTheRun(t *testing.T) {
	refused := func(context.Context, *provider.Request, func(provider.Event) error) (*provider.Response, error) {
		return nil, &provider.Error{Status: 429, Message: "slow down"}
	}
	r := start(t, turn.Options{Model: scripted(append(searches(1, 1), refused)...), Tools: box(t, surface.Tools, echoing("x"))})
	var apiError *provider.Error
	if _, err := r.Next(t.Context(), turn.Input{}, nil); !errors.As(err, &apiError) || apiError.Status != 429 {
		t.Errorf("got %v, want the API's error", err)
	}
	if _, err := r.Next(t.Context(), turn.Input{}, nil); !errors.Is(err, turn.ErrOver) {
		t.Errorf("afterwards: %v", err)
	}
	gone := errors.New("broken pipe")
	r = start(t, turn.Options{Model: scripted(searches(2, 1)...), Tools: box(t, surface.Tools, echoing("x")), Request: provider.Request{Stream: true}})
	if _, err := r.Next(t.Context(), turn.Input{}, func(provider.Event) error { return gone }); !errors.Is(err, gone) {
		t.Errorf("got %v, want %v", err, gone)
	}
	if _, err := turn.Start(t.Context(), turn.Options{}); err == nil {
		t.Error("a run without a model was started")
	}
}

// Code that panics fails its call, and nothing else.
func TestPanicsFailTheCall(t *testing.T) {
	local := turn.Local{Tool: provider.Tool{Name: "broken"}, Call: func(context.Context, provider.Call) (turn.LocalAnswer, error) { panic("secret") }}
	var ended turn.Activity
	model := scripted(says(calls("c1", "broken", `{}`)), says(text("Done.")))
	next(t, start(t, turn.Options{Model: model, Tools: box(t, surface.Tools, echoing("x")), Local: []turn.Local{local}, Observe: func(a turn.Activity) { ended = a }}), turn.Input{})
	got := lastAnswers(t, model.request(t, 1))[0]
	if !strings.Contains(got, "it panicked") || strings.Contains(got, "secret") || !strings.HasSuffix(got, "(error)") {
		t.Errorf("the model got %q", got)
	}
	if cause := errors.Unwrap(ended.Err); ended.Outcome != turn.Failed || cause == nil || !strings.Contains(cause.Error(), "secret") {
		t.Errorf("whoever watches got %+v", ended)
	}
}
