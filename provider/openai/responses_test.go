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

const responsesRequest = `{
 "model": "gpt-5.4", "instructions": "Be <brief>.", "previous_response_id": "resp_1",
 "input": [
  {"role":"developer","content":"Use metric units."},
  {"type":"message","role":"user","content":[{"type":"input_text","text":"Weather?"},{"type":"input_image","image_url":"data:image/png;base64,QUJD","detail":"low"},{"type":"input_file","file_id":"file_1"}]},
  {"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"Look it up"},{"type":"summary_text","text":"then answer"}],"encrypted_content":"gAAA"},
  {"type":"tool_search_call","execution":"server","call_id":null,"status":"completed","arguments":{"paths":["crm"]}},
  {"type":"tool_search_output","execution":"server","call_id":null,"status":"completed","tools":[{"type":"function","name":"x","parameters":{}}]},
  {"type":"additional_tools","role":"developer","tools":[]},
  {"type":"mcp_approval_request","id":"mcpr_1","arguments":"{}","name":"n","server_label":"s"},
  {"type":"mcp_approval_response","approval_request_id":"mcpr_1","approve":true},
  {"id":"fc_1","type":"function_call","call_id":"call_1","name":"get_weather","namespace":"crm","arguments":"{ \"city\": \"Boston\" }","status":"completed","big":12345678901234567890},
  {"type":"function_call_output","call_id":"call_1","output":"22"},
  {"type":"function_call_output","call_id":"call_2","output":[{"type":"input_text","text":"see"},{"type":"input_image","image_url":"https://example.com/a.png"}]},
  {"id":"msg_1","type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","text":"Warm.","annotations":[]}]},
  {"id":"msg_0"}
 ],
 "tools": [
  {"type":"function","name":"get_weather","description":"Weather.","parameters":{"type":"object","properties":{}},"strict":false,"defer_loading":true,"output_schema":null},
  {"type":"namespace","name":"crm","description":"Customers & orders","tools":[{"type":"function","name":"list","parameters":{"type":"object"},"defer_loading":true},{"type":"function","name":"get","parameters":null},{"type":"custom","name":"sql"}],"v":1.0},
  {"type":"tool_search"},
  {"type":"mcp","server_label":"s","server_url":"https://example.com","defer_loading":true},
  {"type":"web_search","filters":{"allowed_domains":["example.com"]}}
 ],
 "tool_choice": {"type":"allowed_tools","mode":"required","tools":[{"type":"function","name":"get_weather"}]},
 "max_output_tokens": 100, "temperature": 1.0, "top_p": 0.9, "parallel_tool_calls": true,
 "stream": true, "store": false, "include": ["reasoning.encrypted_content"], "reasoning": {"effort":"low"}, "text":{"format":{"type":"text"}}
}`

// compact removes white space outside of strings; the rest keeps its bytes.
func compact(t *testing.T, raw string) string {
	t.Helper()
	var buf bytes.Buffer
	if err := json.Compact(&buf, []byte(raw)); err != nil {
		t.Fatal(err)
	}
	return buf.String()
}

func TestResponsesRequestGoesOutAsItCame(t *testing.T) {
	for name, body := range map[string]string{
		"a list":              responsesRequest,
		"a string":            `{"model":"m","input":"Hi <\u00e9>","metadata":{"k":"v"}}`,
		"with instructions":   `{"model":"m","instructions":"\u0042e","input":"Hi"}`,
		"a prompt of the API": `{"model":"m","prompt":{"id":"pmpt_1"}}`,
		"an empty list":       `{"model":"m","input":[]}`,
	} {
		t.Run(name, func(t *testing.T) {
			f := openai.Responses()
			r, err := f.DecodeRequest([]byte(body))
			if err != nil {
				t.Fatal(err)
			}
			out, err := f.EncodeRequest(r)
			if err != nil {
				t.Fatal(err)
			}
			in, err := tool.ReadObject([]byte(body))
			if err != nil {
				t.Fatal(err)
			}
			back, err := tool.ReadObject(out)
			if err != nil || len(back) != len(in) {
				t.Errorf("%d members, want %d: %v", len(back), len(in), err)
			}
			for _, m := range in {
				if got := string(back.Get(m.Name)); compact(t, got) != compact(t, string(m.Value)) {
					t.Errorf("%s: %s, want %s", m.Name, got, m.Value)
				}
			}
		})
	}
}

func TestResponsesRequestInNeutralWords(t *testing.T) {
	r, err := openai.Responses().DecodeRequest([]byte(responsesRequest))
	if err != nil {
		t.Fatal(err)
	}
	temperature, topP, parallel := 1.0, 0.9, true
	if d := cmp.Diff(provider.Params{MaxTokens: 100, Temperature: &temperature, TopP: &topP, Choice: provider.ChooseAny, Allowed: []string{"get_weather"}, Parallel: &parallel}, r.Params); d != "" {
		t.Error(d)
	}
	if r.Previous != "resp_1" || r.Fields.Get("previous_response_id") != nil {
		t.Errorf("previous %q, fields %v", r.Previous, r.Fields)
	}
	type line struct {
		Role provider.Role
		Kind provider.BlockKind
		Text string
	}
	var got []line
	for _, m := range r.Messages {
		b := m.Blocks[0]
		l := line{m.Role, b.Kind, b.Text}
		switch b.Kind {
		case provider.ToolCall:
			l.Text = b.Call.Namespace + " " + b.Call.Name + " " + b.Call.ID
		case provider.ToolAnswer:
			l.Text = b.Answer.CallID + " " + b.Answer.Content[0].Text
		}
		got = append(got, l)
	}
	const s, u, a = provider.System, provider.User, provider.Assistant
	want := []line{{s, provider.Text, "Be <brief>."}, {s, provider.Text, "Use metric units."}, {u, provider.Text, "Weather?"},
		{a, provider.Thinking, "Look it up\n\nthen answer"}, {a, provider.Opaque, ""}, {u, provider.Opaque, ""}, {s, provider.Opaque, ""},
		{a, provider.Opaque, ""}, {u, provider.Opaque, ""}, {a, provider.ToolCall, "crm get_weather call_1"},
		{u, provider.ToolAnswer, "call_1 22"}, {u, provider.ToolAnswer, "call_2 see"}, {a, provider.Text, "Warm."}, {a, provider.Opaque, ""}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if img := r.Messages[2].Blocks[1].Image; img != (provider.ImageData{MIMEType: "image/png", Data: "QUJD"}) {
		t.Errorf("image %+v", img)
	}
	var tools []string
	for _, tl := range r.Tools {
		words := []string{tl.Namespace, tl.Name, tl.Hosted}
		if tl.Defer {
			words = append(words, "deferred")
		}
		tools = append(tools, strings.Join(words, "/"))
	}
	if d := cmp.Diff([]string{"/get_weather//deferred", "crm/list//deferred", "crm/get/", "crm//custom", "//tool_search", "//mcp", "//web_search"}, tools); d != "" {
		t.Error(d)
	}
}

// A caller leaves a tool of a namespace out: the others keep their bytes, and
// the namespace its own.
func TestResponsesNamespaceInPart(t *testing.T) {
	f := openai.Responses()
	r, err := f.DecodeRequest([]byte(responsesRequest))
	if err != nil {
		t.Fatal(err)
	}
	r.Tools = []provider.Tool{r.Tools[2], r.Tools[0], {Name: "own", Namespace: "mine", Defer: true}, {Hosted: "tool_search"}, {Hosted: "x", Native: provider.Native{API: provider.Messages}}}
	r.Tools[1].Defer = false
	out, err := f.EncodeRequest(r)
	if err != nil {
		t.Fatal(err)
	}
	sameJSON(t, "tools", member(t, out, "tools"), `[
	 {"type":"namespace","name":"crm","description":"Customers & orders","tools":[{"type":"function","name":"get","parameters":null}],"v":1.0},
	 {"type":"function","name":"get_weather","description":"Weather.","parameters":{"type":"object","properties":{}},"strict":false,"output_schema":null},
	 {"type":"namespace","name":"mine","description":"Tools of mine.","tools":[{"type":"function","name":"own","parameters":{"type":"object","properties":{}},"strict":false,"defer_loading":true}]},
	 {"type":"tool_search"}]`)
}

func TestResponsesRequestFromAnotherFormat(t *testing.T) {
	req := conversation()
	req.Params.Choice = provider.ChooseTool("a")
	out, err := openai.Responses().EncodeRequest(req)
	if err != nil {
		t.Fatal(err)
	}
	sameJSON(t, "request", string(out), `{"model":"m","stream":true,"max_output_tokens":100,"temperature":0.5,"tool_choice":{"type":"function","name":"a"},
	"instructions":"Be brief.",
	"input":[
	 {"type":"message","role":"user","content":[{"type":"input_text","text":"Hi"},{"type":"input_image","image_url":"data:image/png;base64,QUJD","detail":"auto"}]},
	 {"type":"message","role":"assistant","content":"I look."},
	 {"type":"function_call","call_id":"c1","name":"a","arguments":"{\"x\":1}"},
	 {"type":"function_call","call_id":"c2","name":"b","arguments":"not json"},
	 {"type":"function_call_output","call_id":"c1","output":[{"type":"input_text","text":"one"},{"type":"input_image","image_url":"https://example.com/p.png","detail":"auto"}]},
	 {"type":"function_call_output","call_id":"c2","output":"bad"},
	 {"type":"message","role":"user","content":"And?"}],
	"tools":[
	 {"type":"function","name":"a","description":"A.","parameters":{"type":"object"},"strict":true},
	 {"type":"function","name":"b","parameters":{"type":"object","properties":{}},"strict":false,"defer_loading":true}]}`)
}

// Between OpenAI's two formats.
func TestResponsesRequestToChat(t *testing.T) {
	r, err := openai.Responses().DecodeRequest([]byte(responsesRequest))
	if err != nil {
		t.Fatal(err)
	}
	out, err := openai.Chat().EncodeRequest(r)
	if err != nil {
		t.Fatal(err)
	}
	sameJSON(t, "messages", member(t, out, "messages"), `[
	 {"role":"system","content":"Be <brief>."},{"role":"system","content":"Use metric units."},
	 {"role":"user","content":[{"type":"text","text":"Weather?"},{"type":"image_url","image_url":{"url":"data:image/png;base64,QUJD"}}]},
	 {"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"crm__get_weather","arguments":"{ \"city\": \"Boston\" }"}}]},
	 {"role":"tool","tool_call_id":"call_1","content":"22"},{"role":"tool","tool_call_id":"call_2","content":"see"},
	 {"role":"user","content":[{"type":"text","text":"Pictures that the call call_2 returned:"},{"type":"image_url","image_url":{"url":"https://example.com/a.png"}}]},
	 {"role":"assistant","content":"Warm."}]`)
	if p := member(t, out, "previous_response_id"); p != "" {
		t.Errorf("Chat got previous_response_id %s", p)
	}
	sameJSON(t, "tool_choice", member(t, out, "tool_choice"), `"required"`)

	r, err = openai.Chat().DecodeRequest([]byte(chatRequest))
	if err != nil {
		t.Fatal(err)
	}
	if out, err = openai.Responses().EncodeRequest(r); err != nil {
		t.Fatal(err)
	}
	sameJSON(t, "instructions", member(t, out, "instructions"), `"You are a helpful assistant."`)
	sameJSON(t, "input", member(t, out, "input"), `[
	 {"type":"message","role":"user","content":[{"type":"input_text","text":"What is in this image? <b>&"},{"type":"input_image","image_url":"https://example.com/a.png","detail":"auto"}]},
	 {"type":"function_call","call_id":"call_abc123","name":"get_current_weather","arguments":"{\n\"location\": \"Boston, MA\"\n}"},
	 {"type":"function_call_output","call_id":"call_abc123","output":"22°C"},
	 {"type":"message","role":"assistant","content":"Warm."}]`)
	for _, name := range []string{"stop", "stream_options", "max_completion_tokens", "provider"} {
		if v := member(t, out, name); v != "" {
			t.Errorf("Responses got Chat's %s: %s", name, v)
		}
	}
}

func TestResponsesRequestRefused(t *testing.T) {
	const in = `"input":"x"`
	for _, c := range []struct{ name, body, param string }{
		{"no model", `{` + in + `}`, "model"},
		{"no input", `{"model":"m"}`, "input"},
		{"input a number", `{"model":"m","input":1}`, "input"},
		{"instructions a list", `{"model":"m","instructions":[],` + in + `}`, "instructions"},
		{"item a string", `{"model":"m","input":["x"]}`, "input[0]"},
		{"no role", `{"model":"m","input":[{"type":"message","content":"x"}]}`, "input[0].role"},
		{"no content", `{"model":"m","input":[{"role":"user"}]}`, "input[0].content"},
		{"call without an id", `{"model":"m","input":[{"type":"function_call","name":"a","arguments":"{}"}]}`, "input[0].call_id"},
		{"answer without an id", `{"model":"m","input":[{"type":"function_call_output","output":"x"}]}`, "input[0].call_id"},
		{"answer a number", `{"model":"m","input":[{"type":"function_call_output","call_id":"c","output":5}]}`, "input[0].output"},
		{"tool without a name", `{"model":"m",` + in + `,"tools":[{"type":"function"}]}`, "tools[0].name"},
		{"tool without a type", `{"model":"m",` + in + `,"tools":[{"name":"a"}]}`, "tools[0].type"},
		{"namespace without a name", `{"model":"m",` + in + `,"tools":[{"type":"namespace","tools":[]}]}`, "tools[0].name"},
		{"tool in a namespace", `{"model":"m",` + in + `,"tools":[{"type":"namespace","name":"n","tools":[{"type":"function"}]}]}`, "tools[0].tools[0].name"},
		{"namespace in a namespace", `{"model":"m",` + in + `,"tools":[{"type":"namespace","name":"n","tools":[{"type":"namespace","name":"o"}]}]}`, "tools[0].tools[0].type"},
		{"choice without a name", `{"model":"m",` + in + `,"tool_choice":{"type":"function"}}`, "tool_choice"},
		{"previous", `{"model":"m",` + in + `,"previous_response_id":5}`, "previous_response_id"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := openai.Responses().DecodeRequest([]byte(c.body))
			var e *provider.Error
			if !errors.As(err, &e) || e.Status != 400 || e.Param != c.param || e.Message == "" {
				t.Fatalf("error %#v, want a 400 for %q", err, c.param)
			}
		})
	}
}

const responsesAnswer = `{"id":"resp_67","object":"response","created_at":1741476542,"status":"completed","error":null,"incomplete_details":null,"instructions":null,
"max_output_tokens":null,"model":"gpt-5","output":[
 {"type":"message","id":"msg_67","status":"completed","role":"assistant","content":[{"type":"output_text","text":"In a peaceful <grove>","annotations":[]}]},
 {"type":"web_search_call","id":"ws_1","status":"completed"}],
"parallel_tool_calls":true,"previous_response_id":null,"reasoning":{"effort":null,"summary":null},"store":true,"temperature":1.0,"text":{"format":{"type":"text"}},
"tool_choice":"auto","tools":[],"top_p":1.0,"truncation":"disabled","usage":{"input_tokens":36,"input_tokens_details":{"cached_tokens":6},"output_tokens":87,"output_tokens_details":{"reasoning_tokens":3},"total_tokens":123},"user":null,"metadata":{},"new":[1.50]}`

func TestResponsesAnswerGoesOutAsItCame(t *testing.T) {
	f := openai.Responses()
	r, err := f.DecodeResponse([]byte(responsesAnswer))
	if err != nil {
		t.Fatal(err)
	}
	if want := (provider.Usage{Input: 36, Output: 87, CacheRead: 6}); r.Usage != want || r.Stop != provider.StopEnd || r.Text() != "In a peaceful <grove>" {
		t.Errorf("%+v", r)
	}
	out, err := f.EncodeResponse(r)
	if err != nil {
		t.Fatal(err)
	}
	in, _ := tool.ReadObject([]byte(responsesAnswer))
	back, err := tool.ReadObject(out)
	if err != nil || len(back) != len(in) {
		t.Errorf("%d members, want %d: %v", len(back), len(in), err)
	}
	for _, m := range in {
		if got := string(back.Get(m.Name)); got != string(m.Value) {
			t.Errorf("%s: %s, want %s", m.Name, got, m.Value)
		}
	}
}

func TestResponsesAnswerStops(t *testing.T) {
	const msg = `{"type":"message","id":"m","role":"assistant","content":[{"type":"output_text","text":"x"}]}`
	for _, c := range []struct {
		name, body string
		want       provider.Stop
	}{
		{"completed", `{"status":"completed","output":[` + msg + `]}`, provider.StopEnd},
		{"no status", `{"output":[` + msg + `]}`, provider.StopEnd},
		{"too long", `{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[` + msg + `]}`, provider.StopLength},
		{"filtered", `{"status":"incomplete","incomplete_details":{"reason":"content_filter"},"output":[]}`, provider.StopFilter},
		{"refused", `{"status":"completed","output":[{"type":"message","role":"assistant","content":[{"type":"refusal","refusal":"no"}]}]}`, provider.StopFilter},
		{"calls", `{"status":"completed","output":[` + msg + `,{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}]}`, provider.StopCalls},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := openai.Responses()
			r, err := f.DecodeResponse([]byte(c.body))
			if err != nil {
				t.Fatal(err)
			}
			if r.Stop != c.want {
				t.Errorf("stop %q, want %q", r.Stop, c.want)
			}
			// The same, said in Chat and read back.
			out, err := openai.Chat().EncodeResponse(r)
			if err != nil {
				t.Fatal(err)
			}
			back, err := openai.Chat().DecodeResponse(out)
			if err != nil {
				t.Fatalf("%v in %s", err, out)
			}
			if back.Stop != r.Stop || back.Text() != r.Text() || !cmp.Equal(back.Calls(), r.Calls()) {
				t.Errorf("in Chat %+v, want %+v", back, r)
			}
		})
	}
	_, err := openai.Responses().DecodeResponse([]byte(`{"status":"failed","error":{"code":"server_error","message":"oops"},"output":[]}`))
	var e *provider.Error
	if !errors.As(err, &e) || e.Code != "server_error" || e.Message != "oops" {
		t.Errorf("a failed response: %v", err)
	}
}

func TestResponsesAnswerFromAnotherFormat(t *testing.T) {
	r, err := openai.Chat().DecodeResponse([]byte(`{"id":"chatcmpl-1","model":"m","choices":[{"message":{"role":"assistant","content":"Hi","reasoning_content":"hm",
	 "tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}`))
	if err != nil {
		t.Fatal(err)
	}
	out, err := openai.Responses().EncodeResponse(r)
	if err != nil {
		t.Fatal(err)
	}
	back, err := openai.Responses().DecodeResponse(out)
	if err != nil {
		t.Fatal(err)
	}
	if back.Text() != "Hi" || back.Stop != provider.StopCalls || back.Usage != r.Usage || !cmp.Equal(back.Calls(), r.Calls()) {
		t.Errorf("%+v from %s", back, out)
	}
	var kinds []provider.BlockKind
	for _, m := range back.Output {
		kinds = append(kinds, m.Blocks[0].Kind)
	}
	if d := cmp.Diff([]provider.BlockKind{provider.Thinking, provider.Text, provider.ToolCall}, kinds); d != "" {
		t.Error(d)
	}
}

func TestErrors(t *testing.T) {
	f := openai.Chat()
	body := `{"error":{"message":"Incorrect API key","type":"invalid_request_error","param":null,"code":"invalid_api_key"},"x":1}`
	e := f.DecodeError(401, []byte(body))
	if e.Status != 401 || e.Code != "invalid_api_key" || e.Message != "Incorrect API key" || e.Type != "invalid_request_error" {
		t.Errorf("%+v", e)
	}
	if got := openai.Responses().EncodeError(e); string(got) != body {
		t.Errorf("passed on as %s", got)
	}
	for name, c := range map[string]struct{ body, message string }{
		"a list":      {`[{"error":{"code":400,"message":"bad","status":"INVALID_ARGUMENT"}}]`, "bad"},
		"a string":    {`{"error":"bad"}`, "bad"},
		"bare":        {`{"message":"bad","type":"x"}`, "bad"},
		"detail":      {`{"detail":"bad"}`, "bad"},
		"text":        {"bad\n", "bad"},
		"broken JSON": {`{"error":`, `{"error":`},
		"not UTF-8":   {"bad\xff", "bad\ufffd"},
	} {
		t.Run(name, func(t *testing.T) {
			e := f.DecodeError(500, []byte(c.body))
			if e.Message != c.message {
				t.Errorf("message %q, want %q", e.Message, c.message)
			}
			if !json.Valid(f.EncodeError(e)) {
				t.Errorf("not JSON: %s", f.EncodeError(e))
			}
		})
	}
	if e := f.DecodeError(500, bytes.Repeat([]byte("x"), 1<<20)); len(e.Body) != 64<<10 || len(e.Message) > 8<<10 {
		t.Errorf("body of %d bytes, message of %d", len(e.Body), len(e.Message))
	}
	foreign := &provider.Error{Status: 529, Type: "overloaded_error", Message: "busy", API: provider.Messages, Body: []byte(`{"type":"error"}`)}
	sameJSON(t, "foreign", string(f.EncodeError(foreign)), `{"error":{"message":"busy","type":"server_error","param":null,"code":null}}`)
}
