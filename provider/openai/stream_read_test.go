package openai_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/provider/openai"
)

// read feeds a decoder frame by frame.
func read(f provider.Format, frames ...string) ([]provider.Event, *provider.Response, error) {
	d := f.NewStreamDecoder()
	var events []provider.Event
	for _, frame := range frames {
		got, err := d.Frame(provider.Frame{Data: []byte(frame)})
		events = append(events, got...)
		if err != nil {
			return events, nil, err
		}
	}
	r, err := d.Response()
	return events, r, err
}

// told joins the texts and thoughts of events, and lists their calls.
func told(events []provider.Event) (text, thought string, calls []provider.Call) {
	for _, e := range events {
		switch {
		case e.Kind == provider.TextDelta:
			text += e.Text
		case e.Kind == provider.ThinkingDelta:
			thought += e.Text
		case e.Block.Kind == provider.ToolCall:
			calls = append(calls, e.Block.Call)
		}
	}
	return text, thought, calls
}

// callWords is calls without the ids, as text.
func callWords(calls []provider.Call) []string {
	out := []string{}
	for _, c := range calls {
		out = append(out, c.Name+string(c.Args))
	}
	return out
}

func chatFrames(deltas ...string) []string {
	var out []string
	for _, d := range deltas {
		out = append(out, `{"id":"chatcmpl-9","object":"chat.completion.chunk","created":1,"model":"m","system_fingerprint":"fp","choices":[`+d+`]}`)
	}
	return out
}

func TestChatStreamRead(t *testing.T) {
	d := func(delta string) string { return `{"index":0,"delta":` + delta + `,"finish_reason":null}` }
	const stop, calls = `{"index":0,"delta":{},"finish_reason":"stop"}`, `{"index":0,"delta":{},"finish_reason":"tool_calls"}`
	for _, c := range []struct {
		name, text, thought string
		deltas, calls       []string
		done                bool
		stop                provider.Stop
	}{
		{name: "text", deltas: []string{d(`{"role":"assistant","content":""}`), d(`{"content":"Hel"}`), d(`{"content":"lo"}`), d(`{"content":null}`), stop}, text: "Hello", done: true, stop: provider.StopEnd},
		{name: "no DONE", deltas: []string{d(`{"content":"x"}`), stop}, text: "x", stop: provider.StopEnd},
		{name: "no finish_reason", deltas: []string{d(`{"content":"x"}`)}, text: "x", done: true, stop: provider.StopEnd},
		{name: "length", deltas: []string{d(`{"content":"x"}`), `{"delta":{},"finish_reason":"length"}`}, text: "x", stop: provider.StopLength},
		{name: "refusal", deltas: []string{d(`{"refusal":"I "}`), d(`{"refusal":"won't"}`), stop}, text: "I won't", stop: provider.StopFilter},
		{name: "reasoning", deltas: []string{d(`{"reasoning_content":"hm","content":null}`), d(`{"reasoning":"m","reasoning_content":"m"}`), d(`{"content":"x"}`), stop}, thought: "hmm", text: "x", stop: provider.StopEnd},
		{name: "openrouter's reasoning", deltas: []string{d(`{"reasoning":"hm","reasoning_details":[{"type":"reasoning.text","text":"hm"}]}`), stop}, thought: "hm", stop: provider.StopEnd},
		{name: "one call", deltas: []string{d(`{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":""}}]}`),
			d(`{"tool_calls":[{"index":0,"function":{"arguments":"{\"x\""}}]}`), d(`{"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]}`), calls},
			calls: []string{`f{"x":1}`}, done: true, stop: provider.StopCalls},
		{name: "stop with calls", deltas: []string{d(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]}`), stop}, calls: []string{`f{}`}, stop: provider.StopCalls},
		{name: "two, interleaved", deltas: []string{d(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{"}},{"index":1,"id":"b","function":{"name":"g","arguments":"{"}}]}`),
			d(`{"tool_calls":[{"index":1,"function":{"arguments":"}"}}]}`), d(`{"tool_calls":[{"index":0,"function":{"arguments":"}"}}]}`), calls}, calls: []string{"f{}", "g{}"}, stop: provider.StopCalls},
		{name: "two at one index, by id", deltas: []string{d(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"n\":1}"}}]}`),
			d(`{"tool_calls":[{"index":0,"id":"b","function":{"name":"f","arguments":"{\"n\":2}"}}]}`), calls}, calls: []string{`f{"n":1}`, `f{"n":2}`}, stop: provider.StopCalls},
		{name: "two at one index, by name", deltas: []string{d(`{"tool_calls":[{"index":0,"function":{"name":"f","arguments":"{}"}}]}`),
			d(`{"tool_calls":[{"index":0,"function":{"name":"g","arguments":"{}"}}]}`), calls}, calls: []string{"f{}", "g{}"}, stop: provider.StopCalls},
		{name: "two at one index, same name, no ids", deltas: []string{d(`{"tool_calls":[{"index":0,"function":{"name":"f","arguments":"{\"n\":1}"}}]}`),
			d(`{"tool_calls":[{"index":0,"function":{"name":"f","arguments":"{\"n\":2}"}}]}`), calls}, calls: []string{`f{"n":1}`, `f{"n":2}`}, stop: provider.StopCalls},
		{name: "head in every fragment", deltas: []string{d(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"n\""}}]}`),
			d(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":":1}"}}]}`), d(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":""}}]}`), calls}, calls: []string{`f{"n":1}`}, stop: provider.StopCalls},
		{name: "no index", deltas: []string{d(`{"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{"}}]}`), d(`{"tool_calls":[{"function":{"arguments":"}"}}]}`),
			d(`{"tool_calls":[{"id":"b","function":{"name":"f","arguments":"{}"}}]}`), calls}, calls: []string{"f{}", "f{}"}, stop: provider.StopCalls},
		{name: "one id twice", deltas: []string{d(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}},{"index":1,"id":"a","function":{"name":"g","arguments":"{}"}}]}`), calls}, calls: []string{"f{}", "g{}"}, stop: provider.StopCalls},
		{name: "arguments as an object", deltas: []string{d(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":{"n":1}}}]}`), calls}, calls: []string{`f{"n":1}`}, stop: provider.StopCalls},
		{name: "arguments missing", deltas: []string{d(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f"}}]}`), calls}, calls: []string{`f{}`}, stop: provider.StopCalls},
		{name: "malformed arguments", deltas: []string{d(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"n\":"}}]}`), calls}, calls: []string{`f"{\"n\":"`}, stop: provider.StopCalls},
		{name: "another choice", deltas: []string{`{"index":1,"delta":{"content":"no"}}`, d(`{"content":"yes"}`), stop}, text: "yes", stop: provider.StopEnd},
	} {
		t.Run(c.name, func(t *testing.T) {
			frames := append(chatFrames(c.deltas...), `{"id":"chatcmpl-9","model":"m","choices":[],"usage":{"prompt_tokens":5,"completion_tokens":7,"total_tokens":12}}`)
			if c.done {
				frames = append(frames, "[DONE]")
			}
			events, r, err := read(openai.Chat(), frames...)
			if err != nil {
				t.Fatal(err)
			}
			text, thought, calls := told(events)
			if text != c.text || thought != c.thought {
				t.Errorf("told text %q and thought %q, want %q and %q", text, thought, c.text, c.thought)
			}
			if d := cmp.Diff(append([]string{}, c.calls...), callWords(calls)); d != "" {
				t.Errorf("told calls: %s", d)
			}
			if d := cmp.Diff(calls, r.Calls()); d != "" {
				t.Errorf("the calls told are not those of the response: %s", d)
			}
			if r.Text() != c.text || r.Stop != c.stop || r.ID != "chatcmpl-9" || r.Model != "m" {
				t.Errorf("response %+v", r)
			}
			if want := (provider.Usage{Input: 5, Output: 7}); r.Usage != want {
				t.Errorf("usage %+v", r.Usage)
			}
			seen := map[string]bool{}
			for _, c := range calls {
				if c.ID == "" || seen[c.ID] {
					t.Errorf("id %q is empty or stands twice", c.ID)
				}
				seen[c.ID] = true
			}
		})
	}
}

func TestStreamFaults(t *testing.T) {
	chat, resp := openai.Chat(), openai.Responses()
	created := `{"type":"response.created","response":{"id":"r","output":[]}}`
	for _, c := range []struct {
		name   string
		f      provider.Format
		frames []string
		want   provider.Error
	}{
		{"chat cut", chat, chatFrames(`{"index":0,"delta":{"content":"x"},"finish_reason":null}`), provider.Error{Code: "stream_cut"}},
		{"chat empty", chat, nil, provider.Error{Code: "stream_cut"}},
		{"chat half a frame", chat, []string{`{"id":"1","choi`}, provider.Error{Code: "bad_stream"}},
		{"chat error", chat, []string{`{"error":{"message":"slow down","type":"rate_limit_error","code":"rate_limit_exceeded","param":null}}`},
			provider.Error{Type: "rate_limit_error", Code: "rate_limit_exceeded", Message: "slow down"}},
		{"chat error in words", chat, append(chatFrames(`{"index":0,"delta":{"content":"x"}}`), `{"error":"boom"}`), provider.Error{Message: "boom"}},
		{"chat error with a number", chat, []string{`{"error":{"message":"bad gateway","code":502}}`}, provider.Error{Code: "502", Message: "bad gateway"}},
		{"responses cut", resp, []string{created}, provider.Error{Code: "stream_cut"}},
		{"responses DONE without an end", resp, []string{created, "[DONE]"}, provider.Error{Code: "stream_cut"}},
		{"responses half a frame", resp, []string{`{"type":`}, provider.Error{Code: "bad_stream"}},
		{"responses error", resp, []string{created, `{"type":"error","code":"server_error","message":"oops","param":null,"sequence_number":1}`}, provider.Error{Code: "server_error", Message: "oops"}},
		{"responses failed", resp, []string{created, `{"type":"response.failed","response":{"id":"r","status":"failed","error":{"code":"rate_limit_exceeded","message":"slow"},"output":[]}}`},
			provider.Error{Code: "rate_limit_exceeded", Message: "slow"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, err := read(c.f, c.frames...)
			var e *provider.Error
			if !errors.As(err, &e) {
				t.Fatalf("error %v, want a *provider.Error", err)
			}
			if e.Status != 0 || e.Code != c.want.Code || c.want.Message != "" && e.Message != c.want.Message || c.want.Type != "" && e.Type != c.want.Type {
				t.Errorf("error %+v, want %+v", *e, c.want)
			}
		})
	}
}

func TestStreamIsBounded(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	for name, f := range map[string]func(int) string{
		"chat arguments": func(int) string {
			return chatFrames(`{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"` + long + `"}}]}}`)[0]
		},
		"responses items": func(i int) string {
			return fmt.Sprintf(`{"type":"response.output_item.done","output_index":%d,"item":{"type":"x","v":"%s"}}`, i, long)
		},
	} {
		t.Run(name, func(t *testing.T) {
			format := openai.Chat()
			if strings.HasPrefix(name, "responses") {
				format = openai.Responses()
			}
			d := format.NewStreamDecoder()
			var err error
			n := 0
			for ; n < 40 && err == nil; n++ {
				_, err = d.Frame(provider.Frame{Data: []byte(f(n))})
			}
			var e *provider.Error
			if !errors.As(err, &e) || e.Code != "stream_too_long" || n < 15 || n > 17 {
				t.Errorf("after %d MiB: %v", n, err)
			}
		})
	}
}

// Servers that leave events out.
func TestResponsesStreamSparse(t *testing.T) {
	whole := `{"type":"response.completed","response":{"id":"r","status":"completed","output":[{"type":"message","id":"m","role":"assistant","content":[{"type":"output_text","text":"Hi"}]},{"type":"function_call","name":"f","arguments":""}]}}`
	for name, data := range map[string][]string{
		"the end alone": {whole},
		"deltas without items": {`{"type":"response.output_text.delta","item_id":"m","output_index":0,"delta":"Hi"}`,
			`{"type":"response.output_item.done","output_index":1,"item":{"type":"function_call","name":"f","arguments":{}}}`,
			`{"type":"response.completed","response":{"id":"r","status":"completed","output":[]}}`},
		"items that are never done": {`{"type":"response.output_item.added","item":{"id":"m","type":"message","role":"assistant","content":[]}}`,
			`{"type":"response.output_text.delta","item_id":"m","delta":"Hi"}`,
			`{"type":"response.output_item.added","item":{"id":"fc","type":"function_call","call_id":"c","name":"f","arguments":""}}`,
			`{"type":"response.function_call_arguments.delta","item_id":"fc","delta":"{}"}`,
			`{"type":"response.completed","response":{"id":"r","status":"completed","output":[]}}`},
	} {
		t.Run(name, func(t *testing.T) {
			_, r, err := read(openai.Responses(), data...)
			if err != nil {
				t.Fatal(err)
			}
			if r.Text() != "Hi" || r.Stop != provider.StopCalls || !cmp.Equal(callWords(r.Calls()), []string{"f{}"}) || r.Calls()[0].ID == "" {
				t.Errorf("response %+v", r)
			}
		})
	}
}
