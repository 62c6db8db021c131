package anthropic_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/provider/anthropic"
	"github.com/toolsearch/toolsearch/tool"
)

const answered = `{"id":"msg_01","type":"message","role":"assistant","model":"claude-sonnet-4-5",` +
	`"content":[{"type":"thinking","thinking":"hm","signature":"Eq=="}, {"type":"text","text":"See <b>","citations":null},` +
	`{"type":"tool_use","id":"toolu_1","name":"w","input":{ "n" : 1.0 },"caller":{"type":"direct"}}],` +
	`"stop_reason":"tool_use","stop_sequence":null,"stop_details":null,"container":{"id":"c","expires_at":"2026-01-01T00:00:00Z"},"x_new":{ "a":1 },` +
	`"usage":{"input_tokens":10,"cache_creation_input_tokens":3,"cache_read_input_tokens":100,"output_tokens":5,"service_tier":"standard","server_tool_use":{"web_search_requests":1}}}`

func decodeResponse(t *testing.T, body string) *provider.Response {
	t.Helper()
	r, err := anthropic.Messages().DecodeResponse([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func encodeResponse(t *testing.T, r *provider.Response) string {
	t.Helper()
	out, err := anthropic.Messages().EncodeResponse(r)
	if err != nil {
		t.Fatal(err)
	}
	if !json.Valid(out) {
		t.Fatalf("not valid JSON: %s", out)
	}
	return string(out)
}

func TestResponseRoundTrip(t *testing.T) {
	r := decodeResponse(t, answered)
	if diff := cmp.Diff(answered, encodeResponse(t, r)); diff != "" {
		t.Errorf("the response changed (-want +got):\n%s", diff)
	}
	want := []string{`assistant: thinking(hm) text(See <b>) call(toolu_1 w { "n" : 1.0 })`}
	if diff := cmp.Diff(want, tell(r.Output)); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
	if r.ID != "msg_01" || r.Model != "claude-sonnet-4-5" || r.Stop != provider.StopCalls ||
		r.Usage != (provider.Usage{Input: 113, Output: 5, CacheRead: 100, CacheWrite: 3}) {
		t.Errorf("head: %+v", r)
	}
	// The next request says it as the model did, signature and all.
	next := encode(t, &provider.Request{Model: "m", Messages: append([]provider.Message{say(provider.User, text("q"))}, r.Output...)})
	content, _, _ := strings.Cut(answered[strings.Index(answered, `"content":`):], `,"stop_reason"`)
	if !strings.Contains(next, `{"role":"assistant",`+content+`}`) {
		t.Errorf("the answer changed on its way back:\n%s", next)
	}
}

// What the caller sets wins over the bytes that came.
func TestResponseChanged(t *testing.T) {
	r := decodeResponse(t, answered)
	r.Usage.Output, r.Stop = 50, provider.StopEnd
	o, err := tool.ReadObject(json.RawMessage(encodeResponse(t, r)))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(o.Get("stop_reason")); got != `"end_turn"` {
		t.Errorf("stop_reason %s", got)
	}
	want := `{"input_tokens":10,"cache_creation_input_tokens":3,"cache_read_input_tokens":100,"output_tokens":50,"service_tier":"standard","server_tool_use":{"web_search_requests":1}}`
	if got := string(o.Get("usage")); got != want {
		t.Errorf("usage %s\nwant  %s", got, want)
	}
}

func TestStopReasons(t *testing.T) {
	const callIn = `{"type":"tool_use","id":"a","name":"b","input":{}}`
	for _, c := range []struct {
		reason, content string
		stop            provider.Stop
		back            string
	}{
		{`"end_turn"`, "", provider.StopEnd, `"end_turn"`},
		{`"stop_sequence"`, "", provider.StopEnd, `"stop_sequence"`},
		{`"pause_turn"`, "", provider.StopEnd, `"pause_turn"`},
		{`"max_tokens"`, "", provider.StopLength, `"max_tokens"`},
		{`"model_context_window_exceeded"`, "", provider.StopLength, `"model_context_window_exceeded"`},
		{`"refusal"`, "", provider.StopFilter, `"refusal"`},
		{`"tool_use"`, callIn, provider.StopCalls, `"tool_use"`},
		{`"end_turn"`, callIn, provider.StopCalls, `"tool_use"`},
		{`"brand_new"`, "", provider.StopEnd, `"brand_new"`},
		{`null`, "", provider.StopEnd, `"end_turn"`},
	} {
		r := decodeResponse(t, `{"id":"m","type":"message","role":"assistant","model":"x","content":[`+c.content+`],"stop_reason":`+c.reason+`,"stop_sequence":"E","usage":{"input_tokens":1,"output_tokens":1}}`)
		o, err := tool.ReadObject(json.RawMessage(encodeResponse(t, r)))
		if err != nil {
			t.Fatal(err)
		}
		if r.Stop != c.stop || string(o.Get("stop_reason")) != c.back {
			t.Errorf("%s with [%s]: %s and back %s, want %s and %s", c.reason, c.content, r.Stop, o.Get("stop_reason"), c.stop, c.back)
		}
		wantSequence := `null`
		if c.reason == `"stop_sequence"` {
			wantSequence = `"E"`
		}
		if got := string(o.Get("stop_sequence")); got != wantSequence {
			t.Errorf("%s: stop_sequence %s, want %s", c.reason, got, wantSequence)
		}
	}
}

func TestResponseMends(t *testing.T) {
	for _, c := range []struct{ input, args, input2 string }{
		{`"input":{"a":1}`, `{"a":1}`, `{"a":1}`},
		{`"input":"{\"a\":1}"`, `{"a":1}`, `{"a":1}`},
		{`"input":"\"{\\\"a\\\":1}\""`, `{"a":1}`, `{"a":1}`},
		{`"input":null`, `{}`, `{}`},
		{`"input":""`, `{}`, `{}`},
		{`"x":0`, `{}`, `{}`},
		{`"input":"{\"a\":"`, `"{\"a\":"`, `{"INVALID_JSON":"{\"a\":"}`},
		{`"input":[1]`, `"[1]"`, `{"INVALID_JSON":"[1]"}`},
	} {
		r := decodeResponse(t, `{"content":[{"type":"tool_use","name":"b",`+c.input+`}]}`)
		calls := r.Calls()
		if len(calls) != 1 || string(calls[0].Args) != c.args || !strings.HasPrefix(calls[0].ID, "toolu_") || r.ID == "" {
			t.Fatalf("%s: %+v", c.input, r)
		}
		// The id that was made up and the input stand in the bytes too.
		again := decodeResponse(t, encodeResponse(t, r))
		if got := again.Calls()[0]; got.ID != calls[0].ID {
			t.Errorf("%s: the id changes from %s to %s", c.input, calls[0].ID, got.ID)
		}
		if !strings.Contains(string(again.Output[0].Raw), `"input":`+c.input2) {
			t.Errorf("%s: written as %s", c.input, again.Output[0].Raw)
		}
	}
}

func TestDecodeResponseRefuses(t *testing.T) {
	for _, body := range []string{``, `<html>`, `{}`, `{"content":"x"}`, `{"content":[1]}`, `{"content":[{}]}`, `{"content":[]} x`,
		`{"content":[],"content":[]}`, `{"content":[{"type":"tool_use","id":"a","name":"b","name":"c","input":{}}]}`} {
		if r, err := anthropic.Messages().DecodeResponse([]byte(body)); err == nil {
			t.Errorf("%q: %+v", body, r)
		}
	}
	_, err := anthropic.Messages().DecodeResponse([]byte(`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`))
	var e *provider.Error
	if !errors.As(err, &e) || e.Type != "overloaded_error" || e.Message != "Overloaded" {
		t.Errorf("an error with status 200: %v", err)
	}
}

func TestEncodeResponseFromNeutral(t *testing.T) {
	found, err := anthropic.SearchResult("srvtoolu_1", []string{"a"})
	if err != nil {
		t.Fatal(err)
	}
	r := &provider.Response{ID: "chatcmpl-1", Model: "gpt", API: provider.Chat, Fields: tool.Object{{Name: "object", Value: json.RawMessage(`"x"`)}},
		Stop: provider.StopCalls, Usage: provider.Usage{Input: 12, Output: 3, CacheRead: 2},
		Output: []provider.Message{
			say(provider.Assistant, provider.Block{Kind: provider.Thinking, Text: "hm"}, text("")),
			say(provider.Assistant, found, of(provider.Chat, provider.Block{Kind: provider.Opaque}, `{"x":1}`),
				of(provider.Chat, text("Hi"), `"Hi"`), call("functions.a:0", "a", `{"x":1.0}`), call("c", "a", `"{"`)),
		}}
	want := `{"id":"chatcmpl-1","type":"message","role":"assistant","model":"gpt","content":[{"type":"thinking","thinking":"hm","signature":""},` +
		`{"type":"tool_search_tool_result","tool_use_id":"srvtoolu_1","content":{"type":"tool_search_tool_search_result","tool_references":[{"type":"tool_reference","tool_name":"a"}]}},` +
		`{"type":"text","text":"Hi"},{"type":"tool_use","id":"functions.a:0","name":"a","input":{"x":1.0}},{"type":"tool_use","id":"c","name":"a","input":{"INVALID_JSON":"{"}}],` +
		`"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":10,"cache_creation_input_tokens":0,"cache_read_input_tokens":2,"output_tokens":3}}`
	if diff := cmp.Diff(want, encodeResponse(t, r)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for stop, reason := range map[provider.Stop]string{provider.StopEnd: "end_turn", provider.StopLength: "max_tokens", provider.StopFilter: "refusal"} {
		if got := encodeResponse(t, &provider.Response{Stop: stop}); !strings.Contains(got, `"stop_reason":"`+reason+`"`) || !strings.Contains(got, `"id":"msg_`) || !strings.Contains(got, `"content":[]`) {
			t.Errorf("%s: %s", stop, got)
		}
	}
}

// The types are those of the vendor's page on errors.
func TestErrors(t *testing.T) {
	f := anthropic.Messages()
	for status, kind := range map[int]string{
		400: "invalid_request_error", 401: "authentication_error", 402: "billing_error", 403: "permission_error", 404: "not_found_error",
		405: "invalid_request_error", 409: "conflict_error", 413: "request_too_large", 422: "invalid_request_error", 429: "rate_limit_error",
		500: "api_error", 502: "api_error", 504: "timeout_error", 529: "overloaded_error",
	} {
		want := `{"type":"error","error":{"type":"` + kind + `","message":"a <b>"}}`
		if got := string(f.EncodeError(&provider.Error{Status: status, Type: "server_error", API: provider.Chat, Message: "a <b>"})); got != want {
			t.Errorf("%d: %s, want %s", status, got, want)
		}
		if e := f.DecodeError(status, []byte(want)); e.Status != status || e.Type != kind || e.Message != "a <b>" || string(e.Body) != want || e.API != provider.Messages {
			t.Errorf("%d: decoded to %+v", status, e)
		}
	}
	body := `{"type":"error","error":{"type":"invalid_request_error","message":"no", "details":{"error_code":"tool_reference_unresolved"}},"request_id":"req_1"}`
	e := f.DecodeError(400, []byte(body))
	if e.Code != "tool_reference_unresolved" {
		t.Errorf("code %q", e.Code)
	}
	if got := string(f.EncodeError(e)); got != body {
		t.Errorf("an error of the same API changed: %s", got)
	}
	for body, want := range map[string]string{
		"<h1>Bad Gateway</h1>\n": "<h1>Bad Gateway</h1>", `{"error":"no such model"}`: "no such model", `{"message":"m"}`: "m", `{"error":{"message":"n"}}`: "n", "": "",
	} {
		if e := f.DecodeError(502, []byte(body)); e.Message != want || e.Type != "api_error" {
			t.Errorf("%q: %+v", body, e)
		}
	}
	big := f.DecodeError(500, []byte(strings.Repeat("é", 100_000)))
	if len(big.Body) != 64<<10 || tool.Chars(big.Message) > 1000 {
		t.Errorf("a large body: %d bytes and %d characters are kept", len(big.Body), tool.Chars(big.Message))
	}
	if got := string(f.EncodeError(&provider.Error{Type: "overloaded_error", Message: "m"})); !strings.Contains(got, `"overloaded_error"`) {
		t.Errorf("inside a stream: %s", got)
	}
	if got := string(f.EncodeError(&provider.Error{Status: 503})); !strings.Contains(got, "503") {
		t.Errorf("without a message: %s", got)
	}
}

func TestHead(t *testing.T) {
	f := anthropic.Messages()
	h := http.Header{}
	f.Authorize(h, "k")
	if f.Path() != "/v1/messages" || f.API() != provider.Messages || h.Get("x-api-key") != "k" || h.Get("anthropic-version") != "2023-06-01" {
		t.Errorf("%s %s %v", f.Path(), f.API(), h)
	}
	h = http.Header{"Anthropic-Version": {"2030-01-01"}}
	f.Authorize(h, "")
	if h.Get("anthropic-version") != "2030-01-01" || h.Get("x-api-key") != "" {
		t.Errorf("%v", h)
	}
}

func TestSearchOf(t *testing.T) {
	for hosted, want := range map[string]anthropic.SearchKind{
		"tool_search_tool_bm25_20251119": anthropic.SearchBM25, "tool_search_tool_bm25": anthropic.SearchBM25,
		"tool_search_tool_regex_20251119": anthropic.SearchRegex, "tool_search_tool_regex": anthropic.SearchRegex,
		"tool_search_tool_regex_2025": "", "tool_search_tool_regexp": "", "tool_search_tool_bm25_2025111x": "", "tool_search": "", "": "", "bash_20250124": "",
	} {
		if got, ok := anthropic.SearchOf(hosted); got != want || ok != (want != "") {
			t.Errorf("%q: %q %v, want %q", hosted, got, ok, want)
		}
	}
}
