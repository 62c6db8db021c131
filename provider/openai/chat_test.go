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

// member returns a member of a JSON object, to the byte.
func member(t *testing.T, body []byte, name string) string {
	t.Helper()
	o, err := tool.ReadObject(body)
	if err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	return string(o.Get(name))
}

// sameJSON compares two texts as JSON.
func sameJSON(t *testing.T, what, got, want string) {
	t.Helper()
	var g, w any
	if err := json.Unmarshal([]byte(got), &g); err != nil {
		t.Fatalf("%s: %v in %s", what, err, got)
	}
	if err := json.Unmarshal([]byte(want), &w); err != nil {
		t.Fatalf("%s, the expected value: %v", what, err)
	}
	if d := cmp.Diff(w, g); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

const chatRequest = `{
  "model": "gpt-5",
  "messages": [
    {"role": "developer", "content": "You are a helpful assistant.", "name":"ops"},
    {"role": "user", "content": [{"type":"text","text":"What is in this image? <b>&"},{"type":"image_url","image_url":{"url":"https://example.com/a.png","detail":"low"}},{"type":"input_audio","input_audio":{"data":"AA==","format":"wav"}}]},
    {"role": "assistant", "content": null, "refusal":null, "tool_calls": [{"id":"call_abc123","type":"function","extra_content":{"google":{"thought_signature":"c2ln"}},"function":{"name":"get_current_weather","arguments":"{\n\"location\": \"Boston, MA\"\n}"}}]},
    {"role": "tool", "tool_call_id": "call_abc123", "content": "22\u00b0C"},
    {"role": "assistant", "content": "Warm.", "reasoning_content": "It is 22.", "vendor": 12345678901234567890}
  ],
  "tools": [
    {"type":"function","function":{"name":"get_current_weather","description":"Get the current weather in a given location","parameters":{"type":"object","properties":{"location":{"type":"string"},"b":{"const":1e400}},"required":["location"]},"strict":true},"defer_loading":true,"x":1},
    {"type":"custom","custom":{"name":"sql","format":{"type":"text"}}}
  ],
  "tool_choice": {"type":"function","function":{"name":"get_current_weather"}},
  "max_completion_tokens": 300, "temperature": 0.2, "top_p": 1, "stop": ["END"], "parallel_tool_calls": false,
  "stream": true, "stream_options": {"include_usage": true, "include_obfuscation": false},
  "metadata": {"a":"b"}, "provider": {"order":["x"]}
}`

func TestChatRequestGoesOutAsItCame(t *testing.T) {
	f := openai.Chat()
	r, err := f.DecodeRequest([]byte(chatRequest))
	if err != nil {
		t.Fatal(err)
	}
	out, err := f.EncodeRequest(r)
	if err != nil {
		t.Fatal(err)
	}
	in, err := tool.ReadObject([]byte(chatRequest))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range in {
		got := member(t, out, m.Name)
		switch m.Name {
		case "messages", "tools": // each item to the byte
			var want, have []json.RawMessage
			if json.Unmarshal(m.Value, &want) != nil || json.Unmarshal([]byte(got), &have) != nil {
				t.Fatalf("%s is no list: %s", m.Name, got)
			}
			if d := cmp.Diff(want, have); d != "" {
				t.Errorf("%s (-want +got):\n%s", m.Name, d)
			}
		default:
			if got != string(m.Value) {
				t.Errorf("%s: %s, want %s", m.Name, got, m.Value)
			}
		}
	}
}

func TestChatRequestInNeutralWords(t *testing.T) {
	r, err := openai.Chat().DecodeRequest([]byte(chatRequest))
	if err != nil {
		t.Fatal(err)
	}
	temperature, topP, parallel := 0.2, 1.0, false
	want := provider.Params{MaxTokens: 300, Temperature: &temperature, TopP: &topP, Stop: []string{"END"},
		Choice: provider.ChooseTool("get_current_weather"), Parallel: &parallel}
	if d := cmp.Diff(want, r.Params); d != "" {
		t.Error(d)
	}
	if !r.Stream || r.Model != "gpt-5" || r.API != provider.Chat {
		t.Errorf("stream %v, model %q, API %q", r.Stream, r.Model, r.API)
	}
	roles := make([]provider.Role, 0, len(r.Messages))
	for _, m := range r.Messages {
		roles = append(roles, m.Role)
	}
	if d := cmp.Diff([]provider.Role{provider.System, provider.User, provider.Assistant, provider.User, provider.Assistant}, roles); d != "" {
		t.Error(d)
	}
	call := r.Messages[2].Blocks[0].Call
	if call.ID != "call_abc123" || call.Name != "get_current_weather" {
		t.Errorf("call %+v", call)
	}
	sameJSON(t, "arguments", string(call.Args), `{"location":"Boston, MA"}`)
	answer := r.Messages[3].Blocks[0].Answer
	if answer.CallID != "call_abc123" || len(answer.Content) != 1 || answer.Content[0].Text != "22°C" {
		t.Errorf("answer %+v", answer)
	}
	if b := r.Messages[1].Blocks; b[1].Image.URL != "https://example.com/a.png" || b[2].Kind != provider.Opaque {
		t.Errorf("user blocks %+v", b)
	}
	tl := r.Tools[0]
	if tl.Name != "get_current_weather" || !tl.Strict || !tl.Defer || tl.Description == "" || len(tl.Parameters) == 0 {
		t.Errorf("tool %+v", tl)
	}
	if r.Tools[1].Hosted != "custom" || r.Tools[1].Name != "" {
		t.Errorf("custom tool %+v", r.Tools[1])
	}
}

func TestChatRequestRefused(t *testing.T) {
	const msgs = `"messages":[{"role":"user","content":"hi"}]`
	for _, c := range []struct{ name, body, param string }{
		{"not JSON", `{"model":`, ""},
		{"trailing text", `{"model":"m",` + msgs + `} x`, ""},
		{"a list", `[]`, ""},
		{"twice", `{"model":"m","model":"n",` + msgs + `}`, "model"},
		{"no model", `{` + msgs + `}`, "model"},
		{"model a number", `{"model":4,` + msgs + `}`, "model"},
		{"no messages", `{"model":"m"}`, "messages"},
		{"empty messages", `{"model":"m","messages":[]}`, "messages"},
		{"message a string", `{"model":"m","messages":["hi"]}`, "messages[0]"},
		{"unknown role", `{"model":"m","messages":[{"role":"robot","content":"x"}]}`, "messages[0].role"},
		{"no content", `{"model":"m","messages":[{"role":"user"}]}`, "messages[0].content"},
		{"tool without id", `{"model":"m","messages":[{"role":"tool","content":"x"}]}`, "messages[0].tool_call_id"},
		{"stream a string", `{"model":"m","stream":"yes",` + msgs + `}`, "stream"},
		{"tokens", `{"model":"m","max_tokens":"many",` + msgs + `}`, "max_tokens"},
		{"no tokens", `{"model":"m","max_completion_tokens":0,` + msgs + `}`, "max_completion_tokens"},
		{"temperature", `{"model":"m","temperature":"hot",` + msgs + `}`, "temperature"},
		{"stop", `{"model":"m","stop":5,` + msgs + `}`, "stop"},
		{"choice", `{"model":"m","tool_choice":"perhaps",` + msgs + `}`, "tool_choice"},
		{"tools an object", `{"model":"m","tools":{},` + msgs + `}`, "tools"},
		{"tool without a name", `{"model":"m","tools":[{"type":"function","function":{}}],` + msgs + `}`, "tools[0].function.name"},
		{"tool without a function", `{"model":"m","tools":[{"type":"function"}],` + msgs + `}`, "tools[0].function"},
		{"parameters", `{"model":"m","tools":[{"type":"function","function":{"name":"a","parameters":"none"}}],` + msgs + `}`, "tools[0].function.parameters"},
		{"defer_loading", `{"model":"m","tools":[{"type":"function","function":{"name":"a"},"defer_loading":"yes"}],` + msgs + `}`, "tools[0].defer_loading"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := openai.Chat().DecodeRequest([]byte(c.body))
			var e *provider.Error
			if !errors.As(err, &e) || e.Status != 400 || e.Param != c.param || e.Message == "" {
				t.Fatalf("error %#v, want a 400 for %q", err, c.param)
			}
			sameJSON(t, "param", member(t, []byte(member(t, openai.Chat().EncodeError(e), "error")), "type"), `"invalid_request_error"`)
		})
	}
}

// conversation has everything that converts, in another API's words.
func conversation() *provider.Request {
	temperature := 0.5
	return &provider.Request{
		Model: "m", API: provider.Messages, Stream: true,
		Fields: tool.Object{{Name: "thinking", Value: json.RawMessage(`{"type":"enabled"}`)}},
		Params: provider.Params{MaxTokens: 100, Temperature: &temperature, Stop: []string{"a", "b"}, Choice: provider.ChooseAny},
		Messages: []provider.Message{
			{Role: provider.System, Blocks: []provider.Block{{Kind: provider.Text, Text: "Be brief."}}},
			{Role: provider.User, Blocks: []provider.Block{{Kind: provider.Text, Text: "Hi"}, {Kind: provider.Image, Image: provider.ImageData{MIMEType: "image/png", Data: "QUJD"}}}},
			{Role: provider.Assistant, Blocks: []provider.Block{{Kind: provider.Thinking, Text: "hm", Native: provider.Native{API: provider.Messages, Raw: json.RawMessage(`{"type":"thinking"}`)}}, {Kind: provider.Text, Text: "I look."}}},
			{Role: provider.Assistant, Blocks: []provider.Block{
				{Kind: provider.ToolCall, Call: provider.Call{ID: "c1", Name: "a", Args: json.RawMessage(`{"x":1}`)}},
				{Kind: provider.ToolCall, Call: provider.Call{ID: "c2", Name: "b", Args: json.RawMessage(`"not json"`)}}}},
			{Role: provider.User, Blocks: []provider.Block{{Kind: provider.ToolAnswer, Answer: provider.Answer{CallID: "c1", Content: []provider.Block{
				{Kind: provider.Text, Text: "one"}, {Kind: provider.Image, Image: provider.ImageData{URL: "https://example.com/p.png"}}}}}}},
			{Role: provider.User, Blocks: []provider.Block{
				{Kind: provider.ToolAnswer, Answer: provider.Answer{CallID: "c2", IsError: true, Content: []provider.Block{{Kind: provider.Text, Text: "bad"}}}},
				{Kind: provider.Text, Text: "And?"}}},
		},
		Tools: []provider.Tool{
			{Name: "a", Description: "A.", Parameters: json.RawMessage(`{"type":"object"}`), Strict: true},
			{Name: "b", Defer: true},
			{Hosted: "web_search", Native: provider.Native{API: provider.Messages, Raw: json.RawMessage(`{"type":"web_search"}`)}},
		},
	}
}

func TestChatRequestFromAnotherFormat(t *testing.T) {
	out, err := openai.Chat().EncodeRequest(conversation())
	if err != nil {
		t.Fatal(err)
	}
	sameJSON(t, "request", string(out), `{"model":"m","stream":true,"stream_options":{"include_usage":true},
	"max_completion_tokens":100,"temperature":0.5,"stop":["a","b"],"tool_choice":"required",
	"messages":[
	 {"role":"system","content":"Be brief."},
	 {"role":"user","content":[{"type":"text","text":"Hi"},{"type":"image_url","image_url":{"url":"data:image/png;base64,QUJD"}}]},
	 {"role":"assistant","content":"I look.","tool_calls":[
	  {"id":"c1","type":"function","function":{"name":"a","arguments":"{\"x\":1}"}},
	  {"id":"c2","type":"function","function":{"name":"b","arguments":"not json"}}]},
	 {"role":"tool","tool_call_id":"c1","content":"one"},
	 {"role":"tool","tool_call_id":"c2","content":"bad"},
	 {"role":"user","content":[{"type":"text","text":"Pictures that the call c1 returned:"},{"type":"image_url","image_url":{"url":"https://example.com/p.png"}}]},
	 {"role":"user","content":"And?"}],
	"tools":[
	 {"type":"function","function":{"name":"a","description":"A.","parameters":{"type":"object"},"strict":true}},
	 {"type":"function","function":{"name":"b","parameters":{"type":"object","properties":{}}}}]}`)
}

// A caller takes a call out of a message, and a deferral off a tool: what is
// left keeps its bytes.
func TestChatRequestChangedByTheCaller(t *testing.T) {
	f := openai.Chat()
	r, err := f.DecodeRequest([]byte(chatRequest))
	if err != nil {
		t.Fatal(err)
	}
	r.Messages[2].Native = provider.Native{}
	r.Tools[0].Defer = false
	r.Messages = append(r.Messages, provider.Message{Role: provider.Assistant, Blocks: []provider.Block{{Kind: provider.Text, Text: "One."}}},
		provider.Message{Role: provider.Assistant, Blocks: []provider.Block{{Kind: provider.Text, Text: "Two."}}})
	out, err := f.EncodeRequest(r)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Messages []json.RawMessage
		Tools    []json.RawMessage
	}
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	if want := `"extra_content":{"google":{"thought_signature":"c2ln"}}`; !bytes.Contains(got.Messages[2], []byte(want)) {
		t.Errorf("the call lost %s: %s", want, got.Messages[2])
	}
	if bytes.Contains(got.Tools[0], []byte("defer_loading")) || !bytes.Contains(got.Tools[0], []byte(`"b":{"const":1e400}`)) {
		t.Errorf("tool %s", got.Tools[0])
	}
	if len(got.Messages) != 6 {
		t.Fatalf("%d messages, want 6: neighbours are joined", len(got.Messages))
	}
	sameJSON(t, "joined", string(got.Messages[5]), `{"role":"assistant","content":"One.\n\nTwo."}`)
}

const chatAnswer = `{"id":"chatcmpl-123","object":"chat.completion","created":1741569952,"model":"gpt-5",
"choices":[{"index":0,"message":{"role":"assistant","content":"Hello <you>!","refusal":null,"annotations":[]},"logprobs":null,"finish_reason":"stop"}],
"usage":{"prompt_tokens":19,"completion_tokens":10,"total_tokens":29,"prompt_tokens_details":{"cached_tokens":4,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":2}},
"service_tier":"default","system_fingerprint":"fp_1"}`

func TestChatResponseGoesOutAsItCame(t *testing.T) {
	f := openai.Chat()
	r, err := f.DecodeResponse([]byte(chatAnswer))
	if err != nil {
		t.Fatal(err)
	}
	if r.Text() != "Hello <you>!" || r.Stop != provider.StopEnd || r.ID != "chatcmpl-123" {
		t.Errorf("%+v", r)
	}
	if want := (provider.Usage{Input: 19, Output: 10, CacheRead: 4}); r.Usage != want {
		t.Errorf("usage %+v, want %+v", r.Usage, want)
	}
	out, err := f.EncodeResponse(r)
	if err != nil {
		t.Fatal(err)
	}
	in, _ := tool.ReadObject([]byte(chatAnswer))
	for _, m := range in {
		if got := member(t, out, m.Name); got != string(m.Value) {
			t.Errorf("%s: %s, want %s", m.Name, got, m.Value)
		}
	}
	r.Usage.Output, r.Stop = 20, provider.StopLength
	if out, err = f.EncodeResponse(r); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"completion_tokens":20`, `"finish_reason":"length"`, `"annotations":[]`} {
		if !bytes.Contains(out, []byte(want)) {
			t.Errorf("a changed answer lacks %s: %s", want, out)
		}
	}
}

func TestChatResponseMended(t *testing.T) {
	for _, c := range []struct{ name, call, args, sent string }{
		{"a string", `{"id":"i","type":"function","function":{"name":"a","arguments":"{\"x\": 1}"}}`, `{"x": 1}`, `{"x": 1}`},
		{"an object", `{"id":"i","function":{"name":"a","arguments":{"x":1}}}`, `{"x":1}`, `{"x":1}`},
		{"doubly encoded", `{"id":"i","type":"function","function":{"name":"a","arguments":"\"{\\\"x\\\":1}\""}}`, `{"x":1}`, `{"x":1}`},
		{"empty", `{"id":"i","type":"function","function":{"name":"a","arguments":""}}`, `{}`, `{}`},
		{"missing", `{"id":"i","type":"function","function":{"name":"a"}}`, `{}`, `{}`},
		{"null", `{"id":"i","type":"function","function":{"name":"a","arguments":"null"}}`, `{}`, `{}`},
		{"malformed", `{"id":"i","type":"function","function":{"name":"a","arguments":"{\"x\":"}}`, `"{\"x\":"`, `{"x":`},
		{"a list", `{"id":"i","type":"function","function":{"name":"a","arguments":"[1]"}}`, `"[1]"`, `[1]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := openai.Chat()
			r, err := f.DecodeResponse([]byte(`{"id":"1","choices":[{"message":{"content":null,"tool_calls":[` + c.call + `]},"finish_reason":"stop"}]}`))
			if err != nil {
				t.Fatal(err)
			}
			calls := r.Calls()
			if len(calls) != 1 || calls[0].ID != "i" || calls[0].Name != "a" || string(calls[0].Args) != c.args {
				t.Fatalf("calls %+v, want arguments %s", calls, c.args)
			}
			if r.Stop != provider.StopCalls {
				t.Errorf("stop %q", r.Stop)
			}
			out, err := f.EncodeResponse(r)
			if err != nil {
				t.Fatal(err)
			}
			var got struct {
				Choices []struct {
					Message struct {
						Role  string
						Calls []struct {
							ID, Type string
							Function struct{ Name, Arguments string }
						} `json:"tool_calls"`
					}
					Finish string `json:"finish_reason"`
				}
			}
			if err := json.Unmarshal(out, &got); err != nil {
				t.Fatalf("%v in %s", err, out)
			}
			ch := got.Choices[0]
			if ch.Finish != "tool_calls" || ch.Message.Role != "assistant" || ch.Message.Calls[0].Type != "function" || ch.Message.Calls[0].Function.Arguments != c.sent {
				t.Errorf("sent %s", out)
			}
		})
	}
}

func TestChatResponseMakesUpIDs(t *testing.T) {
	f := openai.Chat()
	const call = `{"type":"function","function":{"name":"a","arguments":"{}"}}`
	const dup = `{"id":"d","type":"function","function":{"name":"a","arguments":"{}"}}`
	r, err := f.DecodeResponse([]byte(`{"choices":[{"message":{"role":"assistant","tool_calls":[` + strings.Join([]string{call, call, dup, dup}, ",") + `]},"finish_reason":"tool_calls"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, c := range r.Calls() {
		if c.ID == "" || seen[c.ID] {
			t.Errorf("id %q is empty or stands twice", c.ID)
		}
		seen[c.ID] = true
		if !bytes.Contains(r.Output[0].Raw, []byte(c.ID)) {
			t.Errorf("the message that goes back to the model lacks the id %s: %s", c.ID, r.Output[0].Raw)
		}
	}
}
