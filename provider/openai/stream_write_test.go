package openai_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/provider/openai"
	"github.com/toolsearch/toolsearch/tool"
)

// frames splits what an encoder wrote, and checks its form.
func frames(t *testing.T, b []byte) []provider.Frame {
	t.Helper()
	var out []provider.Frame
	r := provider.NewFrameReader(bytes.NewReader(b))
	for {
		f, err := r.Next()
		if err != nil {
			return out
		}
		out = append(out, f)
	}
}

func write(t *testing.T, f provider.Format, req *provider.Request, events []provider.Event, r *provider.Response) []provider.Frame {
	t.Helper()
	var buf bytes.Buffer
	e := f.NewStreamEncoder(&buf, provider.Response{ID: "id-1", Model: "m"}, req)
	for _, ev := range events {
		if err := e.Event(ev); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.KeepAlive(); err != nil {
		t.Fatal(err)
	}
	if err := e.Finish(r); err != nil {
		t.Fatal(err)
	}
	if err := e.Finish(r); err == nil {
		t.Error("a second Finish is no error")
	}
	return frames(t, buf.Bytes())
}

// answer has a thought, a text and two calls; the second call is told of at the
// end alone.
func answer() ([]provider.Event, *provider.Response) {
	one := provider.Block{Kind: provider.ToolCall, Call: provider.Call{ID: "c1", Name: "f", Args: json.RawMessage(`{"a":"<"}`)}}
	two := provider.Block{Kind: provider.ToolCall, Call: provider.Call{ID: "c2", Name: "g", Namespace: "crm", Args: json.RawMessage(`"{bad"`)}}
	foreign := provider.Block{Kind: provider.Opaque, Native: provider.Native{API: provider.Messages, Raw: json.RawMessage(`{"type":"x"}`)}}
	return []provider.Event{
			{Kind: provider.ThinkingDelta, Text: "h"}, {Kind: provider.ThinkingDelta, Text: "m"},
			{Kind: provider.TextDelta, Text: "Hel"}, {Kind: provider.TextDelta, Text: "lo"},
			{Kind: provider.BlockDone, Block: foreign},
			{Kind: provider.BlockDone, Block: one},
		}, &provider.Response{Stop: provider.StopCalls, Usage: provider.Usage{Input: 3, Output: 4, CacheRead: 1},
			Output: []provider.Message{{Role: provider.Assistant, Blocks: []provider.Block{
				{Kind: provider.Thinking, Text: "hm"}, {Kind: provider.Text, Text: "Hello"}, foreign, one, two}}}}
}

func TestChatStreamWritten(t *testing.T) {
	req, err := openai.Chat().DecodeRequest([]byte(`{"model":"m","messages":[{"role":"user","content":"x"}],"stream":true,"stream_options":{"include_usage":true}}`))
	if err != nil {
		t.Fatal(err)
	}
	events, r := answer()
	got := write(t, openai.Chat(), req, events, r)
	want := []string{
		`{"role":"assistant","reasoning_content":"h"}`, `{"reasoning_content":"m"}`, `{"content":"Hel"}`, `{"content":"lo"}`,
		`{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"f","arguments":""}}]}`,
		`{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\":\"<\"}"}}]}`,
		`{"tool_calls":[{"index":1,"id":"c2","type":"function","function":{"name":"crm__g","arguments":""}}]}`,
		`{"tool_calls":[{"index":1,"function":{"arguments":"{bad"}}]}`,
		`{}`,
	}
	if len(got) != len(want)+2 || string(got[len(got)-1].Data) != "[DONE]" {
		t.Fatalf("%d frames, the last %s", len(got), got[len(got)-1].Data)
	}
	for i, f := range got[:len(want)] {
		var c struct {
			ID, Object, Model string
			Created           int64
			Choices           []struct {
				Delta  json.RawMessage
				Finish *string `json:"finish_reason"`
			}
			Usage json.RawMessage
		}
		if err := json.Unmarshal(f.Data, &c); err != nil {
			t.Fatal(err)
		}
		if c.ID != "id-1" || c.Object != "chat.completion.chunk" || c.Model != "m" || c.Created == 0 || string(c.Usage) != "null" || f.Event != "" {
			t.Errorf("chunk %s", f.Data)
		}
		if string(c.Choices[0].Delta) != want[i] {
			t.Errorf("delta %d: %s, want %s", i, c.Choices[0].Delta, want[i])
		}
		if last := i == len(want)-1; (c.Choices[0].Finish != nil) != last || last && *c.Choices[0].Finish != "tool_calls" {
			t.Errorf("finish_reason of %s", f.Data)
		}
	}
	usage := got[len(want)].Data
	if member(t, usage, "choices") != "[]" {
		t.Errorf("usage chunk %s", usage)
	}
	sameJSON(t, "usage", member(t, usage, "usage"), `{"prompt_tokens":3,"completion_tokens":4,"total_tokens":7,"prompt_tokens_details":{"cached_tokens":1,"cache_write_tokens":0}}`)

	for _, f := range write(t, openai.Chat(), nil, events, r) {
		if bytes.Contains(f.Data, []byte("usage")) {
			t.Errorf("usage that was not asked for: %s", f.Data)
		}
	}
}

func TestResponsesStreamWritten(t *testing.T) {
	events, r := answer()
	got := write(t, openai.Responses(), nil, events, r)
	var kinds []string
	for i, f := range got {
		var e struct {
			Type string
			Seq  int `json:"sequence_number"`
		}
		if err := json.Unmarshal(f.Data, &e); err != nil {
			t.Fatal(err)
		}
		if e.Type != f.Event || e.Seq != i {
			t.Errorf("frame %d has event %q and data %s", i, f.Event, f.Data)
		}
		kinds = append(kinds, strings.TrimPrefix(e.Type, "response."))
	}
	call := []string{"output_item.added", "function_call_arguments.delta", "function_call_arguments.done", "output_item.done"}
	want := append([]string{"created", "in_progress",
		"output_item.added", "reasoning_summary_part.added", "reasoning_summary_text.delta", "reasoning_summary_text.delta", "reasoning_summary_text.done", "reasoning_summary_part.done", "output_item.done",
		"output_item.added", "content_part.added", "output_text.delta", "output_text.delta", "output_text.done", "content_part.done", "output_item.done"},
		append(append(call, call...), "completed")...)
	if d := cmp.Diff(want, kinds); d != "" {
		t.Fatal(d)
	}
	last := member(t, got[len(got)-1].Data, "response")
	for _, name := range []string{"id", "object", "created_at", "status", "model", "output", "error", "incomplete_details", "instructions",
		"metadata", "parallel_tool_calls", "temperature", "tool_choice", "tools", "top_p", "usage"} {
		if member(t, []byte(last), name) == "" {
			t.Errorf("the response lacks %s", name)
		}
	}
	var items []json.RawMessage
	if err := json.Unmarshal([]byte(member(t, []byte(last), "output")), &items); err != nil || len(items) != 4 {
		t.Fatalf("%d items, %v", len(items), err)
	}
	sameJSON(t, "namespace", member(t, items[3], "namespace"), `"crm"`)
	sameJSON(t, "arguments", member(t, items[3], "arguments"), `"{bad"`)
	sameJSON(t, "call_id", member(t, items[2], "call_id"), `"c1"`)
	sameJSON(t, "usage", member(t, []byte(last), "usage"), `{"input_tokens":3,"input_tokens_details":{"cached_tokens":1,"cache_write_tokens":0},"output_tokens":4,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":7}`)
	// What it wrote reads back as what was said.
	var data []string
	for _, f := range got {
		data = append(data, string(f.Data))
	}
	back, again, err := read(openai.Responses(), data...)
	if err != nil {
		t.Fatal(err)
	}
	text, thought, calls := told(back)
	if text != "Hello" || thought != "hm" || again.Stop != provider.StopCalls || again.Usage != r.Usage {
		t.Errorf("read back text %q, thought %q, %+v", text, thought, again)
	}
	if d := cmp.Diff(r.Calls(), calls); d != "" {
		t.Error(d)
	}
}

// A stream of Responses, as the API reference prints its events.
var responsesStream = []string{
	`{"type":"response.created","response":{"id":"resp_67c9","object":"response","created_at":1741290958,"status":"in_progress","model":"gpt-5","output":[]},"sequence_number":0}`,
	`{"type":"response.in_progress","response":{"id":"resp_67c9","status":"in_progress","output":[]},"sequence_number":1}`,
	`{"type":"response.output_item.added","output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[]},"sequence_number":2}`,
	`{"type":"response.output_item.done","output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":"gAAA"},"sequence_number":3}`,
	`{"type":"response.output_item.added","output_index":1,"item":{"id":"msg_67c9","type":"message","status":"in_progress","role":"assistant","content":[]},"sequence_number":4}`,
	`{"type":"response.content_part.added","item_id":"msg_67c9","output_index":1,"content_index":0,"part":{"type":"output_text","text":"","annotations":[]},"sequence_number":5}`,
	`{"type":"response.output_text.delta","item_id":"msg_67c9","output_index":1,"content_index":0,"delta":"Hi","sequence_number":6}`,
	`{"type":"response.output_text.delta","item_id":"msg_67c9","output_index":1,"content_index":0,"delta":" there","sequence_number":7}`,
	`{"type":"response.output_text.done","item_id":"msg_67c9","output_index":1,"content_index":0,"text":"Hi there","sequence_number":8}`,
	`{"type":"response.content_part.done","item_id":"msg_67c9","output_index":1,"content_index":0,"part":{"type":"output_text","text":"Hi there","annotations":[]},"sequence_number":9}`,
	`{"type":"response.output_item.done","output_index":1,"item":{"id":"msg_67c9","type":"message","status":"completed","role":"assistant","phase":"commentary","content":[{"type":"output_text","text":"Hi there","annotations":[{"type":"url_citation","url":"https://example.com"}]}]},"sequence_number":10}`,
	`{"type":"response.output_item.added","output_index":2,"item":{"id":"ts_1","type":"tool_search_call","status":"in_progress","arguments":{},"call_id":null,"execution":"server"},"sequence_number":11}`,
	`{"type":"response.output_item.done","output_index":2,"item":{"id":"ts_1","type":"tool_search_call","status":"completed","arguments":{"paths":["crm"]},"call_id":null,"execution":"server"},"sequence_number":12}`,
	`{"type":"response.output_item.added","output_index":3,"item":{"id":"fc_1","type":"function_call","status":"in_progress","arguments":"","call_id":"call_1","name":"list","namespace":"crm"},"sequence_number":13}`,
	`{"type":"response.function_call_arguments.delta","item_id":"fc_1","output_index":3,"delta":"{\"n\":1}","sequence_number":14}`,
	`{"type":"response.function_call_arguments.done","item_id":"fc_1","output_index":3,"name":"list","arguments":"{\"n\":1}","sequence_number":15}`,
	`{"type":"response.output_item.done","output_index":3,"item":{"id":"fc_1","type":"function_call","status":"completed","arguments":"{\"n\":1}","call_id":"call_1","name":"list","namespace":"crm","x":1.0},"sequence_number":16}`,
	`{"type":"response.completed","response":{"id":"resp_67c9","object":"response","created_at":1741290958,"status":"completed","error":null,"incomplete_details":null,"model":"gpt-5","output":[],"vendor":7,"usage":{"input_tokens":37,"output_tokens":11,"output_tokens_details":{"reasoning_tokens":2},"total_tokens":48}},"sequence_number":17}`,
}

// itemsDone lists the items of a stream's output_item.done events.
func itemsDone(t *testing.T, data []string) []string {
	t.Helper()
	var out []string
	for _, d := range data {
		if strings.Contains(d, `"response.output_item.done"`) {
			out = append(out, member(t, []byte(d), "item"))
		}
	}
	return out
}

func TestResponsesStreamPassesThrough(t *testing.T) {
	f := openai.Responses()
	events, r, err := read(f, responsesStream...)
	if err != nil {
		t.Fatal(err)
	}
	text, _, calls := told(events)
	if text != "Hi there" || r.Text() != text || r.Stop != provider.StopCalls || r.ID != "resp_67c9" {
		t.Errorf("text %q, response %+v", text, r)
	}
	if want := []provider.Call{{ID: "call_1", Name: "list", Namespace: "crm", Args: json.RawMessage(`{"n":1}`)}}; !cmp.Equal(want, calls) || !cmp.Equal(want, r.Calls()) {
		t.Errorf("calls %+v and %+v", calls, r.Calls())
	}
	want := itemsDone(t, responsesStream)
	for name, told := range map[string][]provider.Event{"streamed": events, "at the end": nil} {
		var got []string
		for _, frame := range write(t, f, nil, told, r) {
			got = append(got, string(frame.Data))
		}
		if d := cmp.Diff(want, itemsDone(t, got)); d != "" {
			t.Errorf("%s: items (-want +got):\n%s", name, d)
		}
		last := member(t, []byte(got[len(got)-1]), "response")
		if o := member(t, []byte(last), "output"); o != "["+strings.Join(want, ",")+"]" {
			t.Errorf("%s: output %s", name, o)
		}
		if v := member(t, []byte(last), "vendor"); v != "7" {
			t.Errorf("%s: an unknown field is %q", name, v)
		}
		sameJSON(t, "usage", member(t, []byte(last), "usage"), `{"input_tokens":37,"output_tokens":11,"output_tokens_details":{"reasoning_tokens":2},"total_tokens":48}`)
		for _, frame := range got {
			if strings.Contains(frame, `"msg_`) && !strings.Contains(frame, `"msg_67c9"`) {
				t.Errorf("%s: another id than the item's: %s", name, frame)
			}
		}
	}
}

func TestStreamFails(t *testing.T) {
	fault := &provider.Error{Status: 429, Message: "slow <down>", API: provider.Messages, Type: "rate_limit_error", Body: []byte(`{"type":"error"}`)}
	for _, f := range []provider.Format{openai.Chat(), openai.Responses()} {
		var buf bytes.Buffer
		e := f.NewStreamEncoder(&buf, provider.Response{ID: "i", Model: "m"}, nil)
		if err := e.Event(provider.Event{Kind: provider.TextDelta, Text: "x"}); err != nil {
			t.Fatal(err)
		}
		if err := e.Fail(fault); err != nil {
			t.Fatal(err)
		}
		if err := e.Event(provider.Event{Kind: provider.TextDelta, Text: "x"}); err == nil {
			t.Errorf("%s: an event after the end is no error", f.API())
		}
		d := f.NewStreamDecoder()
		var err error
		for _, frame := range frames(t, buf.Bytes()) {
			if _, err = d.Frame(frame); err != nil {
				break
			}
		}
		var got *provider.Error
		if !errors.As(err, &got) || got.Message != "slow <down>" {
			t.Errorf("%s: read back %v from %s", f.API(), err, buf.Bytes())
		}
	}
}

// broken fails at the nth write.
type broken struct{ n int }

var errBroken = errors.New("gone")

func (b *broken) Write(p []byte) (int, error) {
	if b.n--; b.n < 0 {
		return 0, errBroken
	}
	return len(p), nil
}

func TestStreamWriterFails(t *testing.T) {
	events, r := answer()
	for _, f := range []provider.Format{openai.Chat(), openai.Responses()} {
		for n := range 10 {
			e := f.NewStreamEncoder(&broken{n}, provider.Response{}, nil)
			var err error
			for _, ev := range events {
				err = errors.Join(err, e.Event(ev))
			}
			if err = errors.Join(err, e.Finish(r)); !errors.Is(err, errBroken) {
				t.Errorf("%s, write %d: %v", f.API(), n, err)
			}
		}
	}
}

func TestChatStreamKeepsUnknownDeltas(t *testing.T) {
	f := openai.Chat()
	events, r, err := read(f, append(chatFrames(
		`{"index":0,"delta":{"role":"assistant","content":"","annotations":[{"a":1}]}}`,
		`{"index":0,"delta":{"annotations":[{"b":2}],"note":"x"}}`,
		`{"index":0,"delta":{"note":"y","tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"f","arguments":"{}"},"extra_content":{"sig":"z"}}]}}`,
		`{"index":0,"delta":{},"finish_reason":"tool_calls"}`), "[DONE]")...)
	if err != nil {
		t.Fatal(err)
	}
	sameJSON(t, "message", string(r.Output[0].Raw), `{"role":"assistant","content":null,"annotations":[{"a":1},{"b":2}],"note":"xy",
	  "tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"},"extra_content":{"sig":"z"}}]}`)
	var all []byte
	for _, frame := range write(t, f, nil, events, r) {
		all = append(all, frame.Data...)
	}
	for _, want := range []string{`"annotations":[{"a":1}]`, `"annotations":[{"b":2}],"note":"x"`, `"extra_content":{"sig":"z"}`} {
		if !bytes.Contains(all, []byte(want)) {
			t.Errorf("the stream lacks %s: %s", want, all)
		}
	}
	if _, err := tool.ReadObject(r.Output[0].Raw); err != nil {
		t.Error(err)
	}
}

// What is kept as it came may have line breaks, which end a line of a frame.
func TestStreamOfPrettyJSON(t *testing.T) {
	pretty := func(s string) string {
		var buf bytes.Buffer
		if err := json.Indent(&buf, []byte(s), "", "\t"); err != nil {
			t.Fatal(err)
		}
		return strings.ReplaceAll(buf.String(), "\n", "\r\n")
	}
	var in []string
	for _, s := range responsesStream {
		in = append(in, pretty(s))
	}
	chat := append(chatFrames(`{"index":0,"delta":{"note":{"a":1},"tool_calls":[{"index":0,"id":"c","x":{"y":1},"function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}`), `{"choices":[],"usage":{"prompt_tokens":1,"vendor":[1]}}`)
	for i, s := range chat {
		chat[i] = pretty(s)
	}
	for f, data := range map[provider.Format][]string{openai.Responses(): in, openai.Chat(): chat} {
		events, r, err := read(f, data...)
		if err != nil {
			t.Fatal(err)
		}
		var again []string
		for _, frame := range write(t, f, nil, events, r) {
			again = append(again, string(frame.Data))
		}
		_, back, err := read(f, again...)
		if err != nil {
			t.Fatalf("%s: %v", f.API(), err)
		}
		if !cmp.Equal(back.Calls(), r.Calls()) || len(r.Calls()) != 1 {
			t.Errorf("%s: calls %+v became %+v", f.API(), r.Calls(), back.Calls())
		}
	}
}
