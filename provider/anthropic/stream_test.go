package anthropic_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/provider/anthropic"
)

// frames parts a stream of server-sent events, as the HTML standard describes
// them, into the few that this API sends: an event and one line of data.
func frames(t testing.TB, stream string) []provider.Frame {
	t.Helper()
	var out []provider.Frame
	for part := range strings.SplitSeq(strings.TrimSuffix(stream, "\n\n"), "\n\n") {
		name, data, ok := strings.Cut(part, "\n")
		name, ok1 := strings.CutPrefix(name, "event: ")
		data, ok2 := strings.CutPrefix(data, "data: ")
		if !ok || !ok1 || !ok2 || strings.ContainsAny(data, "\r\n") || !json.Valid([]byte(data)) {
			t.Fatalf("not a frame: %q", part)
		}
		out = append(out, provider.Frame{Event: name, Data: []byte(data)})
	}
	return out
}

// sse writes frames by the type in their data.
func sse(data ...string) string {
	var out strings.Builder
	for _, d := range data {
		var head struct{ Type string }
		if json.Unmarshal([]byte(d), &head) != nil {
			panic(d)
		}
		fmt.Fprintf(&out, "event: %s\ndata: %s\n\n", head.Type, d)
	}
	return out.String()
}

// read decodes a stream, and returns what each frame told.
func read(t *testing.T, stream string) (events [][]provider.Event, r *provider.Response, err error) {
	t.Helper()
	d := anthropic.Messages().NewStreamDecoder()
	for _, f := range frames(t, stream) {
		got, err := d.Frame(f)
		if err != nil {
			return events, nil, err
		}
		events = append(events, got)
	}
	r, err = d.Response()
	return events, r, err
}

const (
	msgStart = `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":25,"cache_creation_input_tokens":0,"cache_read_input_tokens":4,"output_tokens":1,"service_tier":"standard"}}}`
	msgStop  = `{"type":"message_stop"}`
)

func blockStart(i int, block string) string {
	return fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, i, block)
}

func blockDelta(i int, delta string) string {
	return fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":%s}`, i, delta)
}

func blockStop(i int) string { return fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, i) }

func msgDelta(reason string, output int) string {
	return fmt.Sprintf(`{"type":"message_delta","delta":{"stop_reason":%q,"stop_sequence":null},"usage":{"output_tokens":%d}}`, reason, output)
}

// everyFrame has each kind of frame and of block.
var everyFrame = []string{
	msgStart,
	blockStart(0, `{"type":"thinking","thinking":"","signature":""}`),
	`{"type":"ping"}`,
	blockDelta(0, `{"type":"thinking_delta","thinking":"Let "}`),
	blockDelta(0, `{"type":"thinking_delta","thinking":"me see"}`),
	blockDelta(0, `{"type":"signature_delta","signature":"EqQB+/=="}`),
	blockStop(0),
	blockStart(1, `{"type":"redacted_thinking","data":"Zm9v"}`),
	blockStop(1),
	blockStart(2, `{"type":"text","text":""}`),
	blockDelta(2, `{"type":"text_delta","text":"Hello <b>"}`),
	blockStop(2),
	blockStart(3, `{"type":"text","text":"","citations":[]}`),
	blockDelta(3, `{"type":"citations_delta","citation":{"type":"page_location","cited_text":"x","n":1.0}}`),
	blockDelta(3, `{"type":"text_delta","text":"world"}`),
	blockStop(3),
	blockStart(4, `{"type":"server_tool_use","id":"srvtoolu_1","name":"tool_search_tool_bm25","input":{}}`),
	blockDelta(4, `{"type":"input_json_delta","partial_json":""}`),
	blockDelta(4, `{"type":"input_json_delta","partial_json":"{\"query\": \"wea"}`),
	blockDelta(4, `{"type":"input_json_delta","partial_json":"ther\"}"}`),
	blockStop(4),
	blockStart(5, `{"type":"tool_search_tool_result","tool_use_id":"srvtoolu_1","content":{"type":"tool_search_tool_search_result","tool_references":[{"type":"tool_reference","tool_name":"a"}]}}`),
	blockStop(5),
	blockStart(6, `{"type":"compaction","content":null}`),
	blockDelta(6, `{"type":"compaction_delta","content":"Sum"}`),
	blockDelta(6, `{"type":"compaction_delta","content":"mary","n":1}`),
	blockStop(6),
	blockStart(7, `{"type":"tool_use","id":"toolu_1","name":"a","input":{},"caller":{"type":"direct"}}`),
	blockDelta(7, `{"type":"input_json_delta","partial_json":"{\"x\":1.0}"}`),
	blockStop(7),
	`{"type":"brand_new_event","x":1}`,
	`{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null,"container":{"id":"c"}},"usage":{"output_tokens":15,"server_tool_use":{"web_search_requests":1}},"context_management":{"applied_edits":[]}}`,
	msgStop,
}

func TestStreamDecoder(t *testing.T) {
	events, r, err := read(t, sse(everyFrame...))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i, of := range events {
		for _, e := range of {
			what := map[provider.EventKind]string{provider.TextDelta: "text", provider.ThinkingDelta: "thinking", provider.BlockDone: "done"}[e.Kind]
			got = append(got, strings.TrimRight(fmt.Sprintf("%d %s %q %s", i, what, e.Text, strings.Join(tellBlocks([]provider.Block{e.Block}), "")), " "))
		}
	}
	want := []string{
		`1 thinking ""`, `3 thinking "Let "`, `4 thinking "me see"`, `6 done "" thinking(Let me see)`, `8 done "" opaque`,
		`9 text ""`, `10 text "Hello <b>"`, `12 text ""`, `13 text ""`, `14 text "world"`,
		`20 done "" opaque`, `22 done "" opaque`, `26 done "" opaque`, `29 done "" call(toolu_1 a {"x":1.0})`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	content := `[{"type":"thinking","thinking":"Let me see","signature":"EqQB+/=="},{"type":"redacted_thinking","data":"Zm9v"},` +
		`{"type":"text","text":"Hello <b>"},{"type":"text","text":"world","citations":[{"type":"page_location","cited_text":"x","n":1.0}]},` +
		`{"type":"server_tool_use","id":"srvtoolu_1","name":"tool_search_tool_bm25","input":{"query": "weather"}},` +
		`{"type":"tool_search_tool_result","tool_use_id":"srvtoolu_1","content":{"type":"tool_search_tool_search_result","tool_references":[{"type":"tool_reference","tool_name":"a"}]}},` +
		`{"type":"compaction","content":"Summary","n":1},` +
		`{"type":"tool_use","id":"toolu_1","name":"a","input":{"x":1.0},"caller":{"type":"direct"}}]`
	whole := `{"id":"msg_1","type":"message","role":"assistant","model":"claude","content":` + content +
		`,"stop_reason":"tool_use","stop_sequence":null,"container":{"id":"c"},"context_management":{"applied_edits":[]},` +
		`"usage":{"input_tokens":25,"cache_creation_input_tokens":0,"cache_read_input_tokens":4,"output_tokens":15,"service_tier":"standard","server_tool_use":{"web_search_requests":1}}}`
	if diff := cmp.Diff(whole, encodeResponse(t, r)); diff != "" {
		t.Errorf("response (-want +got):\n%s", diff)
	}
	if r.Usage != (provider.Usage{Input: 29, Output: 15, CacheRead: 4}) {
		t.Errorf("usage %+v", r.Usage)
	}
}

// A stream from a provider of this API reaches a client of this API as it was:
// each block with its bytes, a call's input in one piece.
func TestStreamThrough(t *testing.T) {
	events, r, err := read(t, sse(everyFrame...))
	if err != nil {
		t.Fatal(err)
	}
	var buf bytes.Buffer
	e := anthropic.Messages().NewStreamEncoder(&buf, provider.Response{ID: r.ID, Model: r.Model}, nil)
	for _, of := range events {
		for _, event := range of {
			if err := e.Event(event); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := e.Finish(r); err != nil {
		t.Fatal(err)
	}
	_, again, err := read(t, buf.String())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(encodeResponse(t, r), encodeResponse(t, again)); diff != "" {
		t.Errorf("the answer changed (-want +got):\n%s", diff)
	}
	var sent []string
	for _, f := range frames(t, buf.String()) {
		sent = append(sent, string(f.Data))
	}
	for _, line := range everyFrame[1:30] { // all but the ends, the pings and the pieces that are joined
		switch {
		case strings.Contains(line, "ping"), strings.Contains(line, `"input_json_delta"`), strings.Contains(line, "compaction"):
			continue
		}
		if !strings.Contains(strings.Join(sent, "\n"), line) {
			t.Errorf("not sent on: %s", line)
		}
	}
}

func TestStreamEncoderFromNeutral(t *testing.T) {
	var buf bytes.Buffer
	e := anthropic.Messages().NewStreamEncoder(&buf, provider.Response{ID: "r1", Model: "gpt"}, nil)
	used, err := anthropic.SearchCall("srvtoolu_1", anthropic.SearchRegex, json.RawMessage("{\"query\":\n\"a\"}"))
	if err != nil {
		t.Fatal(err)
	}
	failed, err := anthropic.SearchError("srvtoolu_1", anthropic.InvalidToolInput, "")
	if err != nil {
		t.Fatal(err)
	}
	told := call("call_1", "a", `{"x":1}`)
	for _, err := range []error{
		e.KeepAlive(),
		e.Event(provider.Event{Kind: provider.ThinkingDelta, Text: "hm"}),
		e.Event(provider.Event{Kind: provider.BlockDone, Block: of(provider.Chat, provider.Block{Kind: provider.Thinking, Text: "hm"}, `{}`)}),
		e.Event(provider.Event{Kind: provider.BlockDone, Block: used}),
		e.Event(provider.Event{Kind: provider.BlockDone, Block: failed}),
		e.Event(provider.Event{Kind: provider.TextDelta, Text: ""}),
		e.Event(provider.Event{Kind: provider.TextDelta, Text: "Hi\n"}),
		e.Event(provider.Event{Kind: provider.TextDelta, Text: " <you>"}),
		e.Event(provider.Event{Kind: provider.BlockDone, Block: told}),
		e.Event(provider.Event{Kind: provider.BlockDone, Block: of(provider.Chat, provider.Block{Kind: provider.Opaque}, `{"x":1}`)}),
		e.Finish(&provider.Response{Stop: provider.StopCalls, Usage: provider.Usage{Input: 5, Output: 2},
			Output: []provider.Message{say(provider.Assistant, text("Hi\n <you>"), told, call("call_2", "b", `"{"`), failed)}}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	zero := `"usage":{"input_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":0}`
	want := sse(
		`{"type":"message_start","message":{"id":"r1","type":"message","role":"assistant","model":"gpt","content":[],"stop_reason":null,"stop_sequence":null,`+zero+`}}`,
		`{"type":"ping"}`,
		blockStart(0, `{"type":"thinking","thinking":"","signature":""}`), blockDelta(0, `{"type":"thinking_delta","thinking":"hm"}`), blockStop(0),
		blockStart(1, `{"type":"server_tool_use","id":"srvtoolu_1","name":"tool_search_tool_regex","input":{}}`),
		blockDelta(1, `{"type":"input_json_delta","partial_json":"{\"query\":\n\"a\"}"}`), blockStop(1),
		blockStart(2, `{"type":"tool_search_tool_result","tool_use_id":"srvtoolu_1","content":{"type":"tool_search_tool_result_error","error_code":"invalid_tool_input","error_message":null}}`), blockStop(2),
		blockStart(3, `{"type":"text","text":""}`), blockDelta(3, `{"type":"text_delta","text":"Hi\n"}`), blockDelta(3, `{"type":"text_delta","text":" <you>"}`), blockStop(3),
		blockStart(4, `{"type":"tool_use","id":"call_1","name":"a","input":{}}`), blockDelta(4, `{"type":"input_json_delta","partial_json":"{\"x\":1}"}`), blockStop(4),
		blockStart(5, `{"type":"tool_use","id":"call_2","name":"b","input":{}}`), blockDelta(5, `{"type":"input_json_delta","partial_json":"{\"INVALID_JSON\":\"{\"}"}`), blockStop(5),
		`{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"input_tokens":5,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":2}}`,
		msgStop,
	)
	if diff := cmp.Diff(want, buf.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if e.Event(provider.Event{Kind: provider.TextDelta, Text: "x"}) == nil || e.Finish(&provider.Response{}) == nil || e.Fail(&provider.Error{}) == nil || e.KeepAlive() == nil {
		t.Error("the encoder writes on after the end")
	}
}

// A client that streams gets an answer that did not stream.
func TestStreamEncoderWholeAnswer(t *testing.T) {
	r := decodeResponse(t, strings.ReplaceAll(answered, `"n" : 1.0`, "\n\"n\" :\r\n1.0"))
	var buf bytes.Buffer
	e := anthropic.Messages().NewStreamEncoder(&buf, provider.Response{ID: r.ID, Model: r.Model}, nil)
	if err := e.Finish(r); err != nil {
		t.Fatal(err)
	}
	_, again, err := read(t, buf.String())
	if err != nil {
		t.Fatal(err)
	}
	// The stream's own order of members; the input's white space is the client's own
	// business once it is a text in a delta.
	want := []string{"assistant: thinking(hm) text(See <b>) call(toolu_1 w { \n\"n\" :\r\n1.0 })"}
	if diff := cmp.Diff(want, tell(again.Output)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !strings.Contains(string(again.Output[0].Raw), `"signature":"Eq=="`) || again.Usage != r.Usage || again.Stop != r.Stop {
		t.Errorf("%+v", again)
	}
	if got := string(again.Fields.Get("x_new")); got != `{ "a":1 }` {
		t.Errorf("x_new: %s", got)
	}
}

func TestStreamEncoderFail(t *testing.T) {
	var buf bytes.Buffer
	e := anthropic.Messages().NewStreamEncoder(&buf, provider.Response{}, nil)
	if err := e.Fail(&provider.Error{Status: 529, Message: "busy"}); err != nil {
		t.Fatal(err)
	}
	if want := sse(`{"type":"error","error":{"type":"overloaded_error","message":"busy"}}`); buf.String() != want {
		t.Errorf("%s", buf.String())
	}
	broken := anthropic.Messages().NewStreamEncoder(brokenPipe{}, provider.Response{}, nil)
	if err := broken.Event(provider.Event{Kind: provider.TextDelta, Text: "x"}); !errors.Is(err, errBroken) {
		t.Errorf("a write that fails: %v", err)
	}
}

var errBroken = errors.New("broken pipe")

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, errBroken }

func TestStreamDecoderIsLiberal(t *testing.T) {
	for _, c := range []struct {
		name string
		in   []string
		want string
		stop provider.Stop
	}{
		{"no message_stop", []string{msgStart, blockStart(0, `{"type":"text","text":"a"}`), msgDelta("end_turn", 1)},
			"text(a)", provider.StopEnd},
		{"no message_delta", []string{msgStart, blockStart(0, `{"type":"text","text":"a"}`), blockStop(0), msgStop}, "text(a)", provider.StopEnd},
		{"no block start", []string{msgStart, blockDelta(0, `{"type":"thinking_delta","thinking":"h"}`), blockDelta(1, `{"type":"text_delta","text":"b"}`), msgDelta("max_tokens", 1)},
			"thinking(h) text(b)", provider.StopLength},
		{"the same index twice", []string{msgStart, blockStart(0, `{"type":"tool_use","id":"a","name":"x"}`), blockDelta(0, `{"type":"input_json_delta","partial_json":"{}"}`),
			blockStart(0, `{"type":"tool_use","id":"b","name":"y"}`), blockDelta(0, `{"type":"input_json_delta","partial_json":"{\"k\":1}"}`), blockStop(0), msgDelta("end_turn", 1), msgStop},
			`call(a x {}) call(b y {"k":1})`, provider.StopCalls},
		{"interleaved blocks", []string{msgStart, blockStart(0, `{"type":"tool_use","id":"a","name":"x","input":{}}`), blockStart(1, `{"type":"tool_use","id":"b","name":"y","input":{}}`),
			blockDelta(1, `{"type":"input_json_delta","partial_json":"{\"k\":"}`), blockDelta(0, `{"type":"input_json_delta","partial_json":"{}"}`),
			blockDelta(1, `{"type":"input_json_delta","partial_json":"1}"}`), blockStop(0), blockStop(1), msgDelta("tool_use", 1), msgStop},
			`call(a x {}) call(b y {"k":1})`, provider.StopCalls},
		{"a text that nobody stopped stays first", []string{msgStart, blockStart(0, `{"type":"text","text":"a"}`), blockStart(1, `{"type":"tool_use","id":"i","name":"x","input":{}}`),
			blockDelta(0, `{"type":"text_delta","text":"b"}`), blockStart(2, `{"type":"redacted_thinking","data":""}`), msgStop}, `text(a) call(i x {}) text(b) opaque`, provider.StopCalls},
		{"input in the start", []string{msgStart, blockStart(0, `{"type":"tool_use","id":"a","name":"x","input":{"k":1}}`), blockStop(0), msgStop}, `call(a x {"k":1})`, provider.StopCalls},
		{"input cut", []string{msgStart, blockStart(0, `{"type":"tool_use","id":"a","name":"x","input":{}}`), blockDelta(0, `{"type":"input_json_delta","partial_json":"{\"k\":"}`), msgDelta("max_tokens", 1), msgStop},
			`call(a x "{\"k\":")`, provider.StopCalls},
		{"doubly encoded input", []string{msgStart, blockStart(0, `{"type":"tool_use","id":"a","name":"x","input":{}}`), blockDelta(0, `{"type":"input_json_delta","partial_json":"\"{\\\"k\\\":1}\""}`), msgStop},
			`call(a x {"k":1})`, provider.StopCalls},
		{"empty input", []string{msgStart, blockStart(0, `{"type":"tool_use","id":"a","name":"x","input":{}}`), blockDelta(0, `{"type":"input_json_delta","partial_json":""}`), msgStop}, `call(a x {})`, provider.StopCalls},
		{"stop for no block", []string{msgStart, blockStop(7), msgStop}, "", provider.StopEnd},
		{"frames after the end", []string{msgStart, msgStop, msgStart, `{"type":"error","error":{"type":"x","message":"y"}}`}, "", provider.StopEnd},
	} {
		_, r, err := read(t, sse(c.in...))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		got := ""
		if len(r.Output) > 0 {
			got = strings.Join(tellBlocks(r.Output[0].Blocks), " ")
		}
		if got != c.want || r.Stop != c.stop {
			t.Errorf("%s: %s %s, want %s %s", c.name, got, r.Stop, c.want, c.stop)
		}
		encodeResponse(t, r)
	}
	d := anthropic.Messages().NewStreamDecoder()
	for _, f := range []provider.Frame{{}, {Event: "ping"}, {Data: []byte("[DONE]")}, {Event: "message_start", Data: []byte(msgStart)}, {Data: []byte(msgStop)}} {
		if _, err := d.Frame(f); err != nil {
			t.Errorf("%q: %v", f.Data, err)
		}
	}
	if _, err := d.Response(); err != nil {
		t.Error(err)
	}
}

func TestStreamDecoderRefuses(t *testing.T) {
	text := blockStart(0, `{"type":"text","text":""}`)
	for name, in := range map[string][]string{
		"cut after the start":       {msgStart},
		"cut in a block":            {msgStart, text, blockDelta(0, `{"type":"text_delta","text":"a"}`)},
		"cut before the stop":       {msgStart, text, blockStop(0)},
		"a delta without a reason":  {msgStart, `{"type":"message_delta","delta":{"stop_reason":null},"usage":{"output_tokens":1}}`},
		"nothing":                   {`{"type":"ping"}`},
		"two starts":                {msgStart, msgStart},
		"a start without a message": {`{"type":"message_start"}`},
		"a block without a type":    {msgStart, blockStart(0, `{}`)},
		"no block":                  {msgStart, `{"type":"content_block_start","index":0}`},
		"input of no block":         {msgStart, blockDelta(0, `{"type":"input_json_delta","partial_json":"{}"}`)},
		"no delta":                  {msgStart, text, `{"type":"content_block_delta","index":0}`},
	} {
		if _, r, err := read(t, sse(in...)); err == nil {
			t.Errorf("%s: %+v", name, r)
		}
	}
	d := anthropic.Messages().NewStreamDecoder()
	if _, err := d.Frame(provider.Frame{Event: "message_start", Data: []byte(`{"type":`)}); err == nil {
		t.Error("malformed data is taken")
	}
	if _, err := d.Response(); err == nil {
		t.Error("an answer after a failure")
	}
	_, _, err := read(t, sse(msgStart, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`))
	var e *provider.Error
	if !errors.As(err, &e) || e.Status != 0 || e.Type != "overloaded_error" || e.Message != "Overloaded" || e.API != provider.Messages {
		t.Errorf("an error event: %v", err)
	}
}

// Whatever a stream adds up, all of it counts: were one kind of piece free, more
// than fifteen of 1 MiB each would be taken.
func TestStreamIsBounded(t *testing.T) {
	piece := strings.Repeat("x", 1<<20)
	kinds := frames(t, sse(
		blockStart(0, `{"type":"x","x":"`+piece+`"}`),
		blockDelta(0, `{"type":"text_delta","text":"`+piece+`"}`),
		blockDelta(0, `{"type":"input_json_delta","partial_json":"`+piece+`"}`),
		blockDelta(0, `{"type":"y_delta","y":"`+piece+`"}`),
		blockDelta(0, `{"type":"citations_delta","citation":"`+piece+`"}`),
		`{"type":"message_delta","delta":{"x":"`+piece+`"},"usage":{}}`,
	))
	d := anthropic.Messages().NewStreamDecoder()
	if _, err := d.Frame(provider.Frame{Data: []byte(msgStart)}); err != nil {
		t.Fatal(err)
	}
	n := 0
	for ; n < 20; n++ {
		if _, err := d.Frame(kinds[n%len(kinds)]); err != nil {
			break
		}
	}
	if n != 15 {
		t.Errorf("%d MiB are taken, want 15 and a refusal of the sixteenth", n)
	}
	d = anthropic.Messages().NewStreamDecoder()
	if _, err := d.Frame(provider.Frame{Event: "ping", Data: bytes.Repeat([]byte("x"), 16<<20+1)}); err == nil {
		t.Error("a frame of more than 16 MiB is taken")
	}
}
