package anthropic_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/provider/anthropic"
	"github.com/toolsearch/toolsearch/tool"
)

func decode(t *testing.T, body string) *provider.Request {
	t.Helper()
	r, err := anthropic.Messages().DecodeRequest([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func encode(t *testing.T, r *provider.Request) string {
	t.Helper()
	out, err := anthropic.Messages().EncodeRequest(r)
	if err != nil {
		t.Fatal(err)
	}
	if !json.Valid(out) {
		t.Fatalf("not valid JSON: %s", out)
	}
	return string(out)
}

// everything holds each kind of block, in the order that the encoder has for the
// top level, with odd white space, escapes, numbers and unknown members inside.
const everything = `{"model":"claude-sonnet-4-5","max_tokens":1024,` +
	`"container":{"id":"c1","skills":[{"skill_id":"pptx"}]},"metadata":{ "user_id" : "u\u00e9" },"temperature":0.50,` +
	`"stop_sequences":["\n\nHuman:"],"thinking":{"type":"enabled","budget_tokens":1e3},` +
	`"tool_choice":{"type":"tool","name":"get_weather","disable_parallel_tool_use":true},"x_new":[1.0,12345678901234567890],` +
	`"system":[{"type":"text","text":"Be <brief>","cache_control":{"type":"ephemeral","ttl":"1h"}}],` +
	`"tools":[{"name":"get_weather","description":"d","input_schema":{"type":"object","properties":{"b":{},"a":{}}},"defer_loading":true,"cache_control":{"type":"ephemeral"},"x":1},` +
	`{"type":"tool_search_tool_bm25_20251119","name":"tool_search_tool_bm25"},{"type":"bash_20250124","name":"bash"}],` +
	`"messages":[{"role":"user","content":"Hi\u0021","x_meta":{"b":1,"a":2}},` +
	`{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"EqQBCg=="},{"type":"redacted_thinking","data":"Zm9v"},` +
	`{"type":"server_tool_use","id":"srvtoolu_1","name":"tool_search_tool_bm25","input":{"query":"weather"}},` +
	`{"type":"tool_search_tool_result","tool_use_id":"srvtoolu_1","content":{"type":"tool_search_tool_search_result","tool_references":[{"type":"tool_reference","tool_name":"get_weather"}]}},` +
	`{"type":"text","text":"Let me see.","citations":null},{"type":"tool_use","id":"toolu_1","name":"get_weather","input":{ "city" : "Paris","n":1.0 },"caller":{"type":"direct"}}]},` +
	`{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"text","text":"15"},{"type":"tool_reference","tool_name":"get_weather"}],"is_error":false},` +
	`{"type":"document","source":{"type":"text","media_type":"text/plain","data":"x"},"title":"T"},` +
	`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}},{"type":"image","source":{"type":"file","file_id":"f"}},` +
	`{"type":"unheard_of","deep":{"z":[],"a":{}}}]},` +
	`{"role":"system","content":"Now in French."},{"role":"user","content":[{"type":"text","text":"a"}]},{"role":"user","content":"b"}],"stream":true}`

func TestRequestRoundTrip(t *testing.T) {
	r := decode(t, everything)
	if diff := cmp.Diff(everything, encode(t, r)); diff != "" {
		t.Errorf("the request changed (-want +got):\n%s", diff)
	}
	// The order of the top level is the encoder's; each member keeps its bytes.
	shuffled := `{ "stream": true, "messages": [ {"content":"x" , "role":"user"} ], "y": { "b" : 1 },
		"tools": [], "system": "s", "max_tokens": 1, "model": "m" }`
	want := `{"model":"m","y":{ "b" : 1 },"max_tokens":1,"system":"s","messages":[{"content":"x" , "role":"user"}],"stream":true}`
	if got := encode(t, decode(t, shuffled)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestDecodeRequestInNeutralWords(t *testing.T) {
	r := decode(t, everything)
	if !r.Stream || r.Model != "claude-sonnet-4-5" || r.API != provider.Messages {
		t.Errorf("head: %v %q %q", r.Stream, r.Model, r.API)
	}
	p := r.Params
	if p.MaxTokens != 1024 || *p.Temperature != 0.5 || p.TopP != nil || p.Choice != provider.ChooseTool("get_weather") ||
		p.Parallel == nil || *p.Parallel || !cmp.Equal(p.Stop, []string{"\n\nHuman:"}) {
		t.Errorf("params: %+v", p)
	}
	if w := r.Tools[0]; w.Name != "get_weather" || w.Description != "d" || !w.Defer || w.Hosted != "" ||
		string(w.Parameters) != `{"type":"object","properties":{"b":{},"a":{}}}` {
		t.Errorf("function: %+v", w)
	}
	if s, b := r.Tools[1], r.Tools[2]; s.Hosted != "tool_search_tool_bm25_20251119" || s.Name != "" || b.Hosted != "bash_20250124" {
		t.Errorf("hosted: %+v %+v", s, b)
	}
	want := []string{
		"system: text(Be <brief>)",
		"user: text(Hi!)",
		`assistant: thinking(hm) opaque opaque opaque text(Let me see.) call(toolu_1 get_weather { "city" : "Paris","n":1.0 })`,
		"user: answer(toolu_1 false [text(15) opaque] [get_weather]) opaque image(image/png) opaque opaque",
		"system: text(Now in French.)", "user: text(a)", "user: text(b)",
	}
	if diff := cmp.Diff(want, tell(r.Messages)); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}

// tell puts messages into a line each.
func tell(messages []provider.Message) []string {
	var out []string
	for _, m := range messages {
		out = append(out, string(m.Role)+": "+strings.Join(tellBlocks(m.Blocks), " "))
	}
	return out
}

func tellBlocks(blocks []provider.Block) []string {
	var out []string
	for _, b := range blocks {
		switch b.Kind {
		case provider.Text:
			out = append(out, "text("+b.Text+")")
		case provider.Thinking:
			out = append(out, "thinking("+b.Text+")")
		case provider.Image:
			out = append(out, "image("+b.Image.MIMEType+b.Image.URL+")")
		case provider.ToolCall:
			out = append(out, fmt.Sprintf("call(%s %s %s)", b.Call.ID, b.Call.Name, b.Call.Args))
		case provider.ToolAnswer:
			out = append(out, fmt.Sprintf("answer(%s %v %s %s)", b.Answer.CallID, b.Answer.IsError, tellBlocks(b.Answer.Content), b.Answer.References))
		case provider.Opaque:
			out = append(out, "opaque")
		}
	}
	return out
}

func TestDecodeRequestRefuses(t *testing.T) {
	const head = `{"model":"m","max_tokens":9,`
	message := func(m string) string { return head + `"messages":[{"role":"user","content":"x"},` + m + `]}` }
	with := func(more string) string { return head + `"messages":[{"role":"user","content":"x"}],` + more + `}` }
	long := strings.Repeat("n", 65)
	many := strings.Repeat(`{"type":"computer_20250124"},`, anthropic.MaxSearchTools) + `{"type":"tool_search_tool_regex","name":"tool_search_tool_regex"}`
	for _, c := range []struct{ field, body string }{
		{"body", `{"model":`},
		{"body", `[]`},
		{"body", `{} {}`},
		{"body.model", `{"model":"a","model":"b"}`},
		{"model", `{"max_tokens":1,"messages":[]}`},
		{"model", `{"model":"","max_tokens":1,"messages":[]}`},
		{"max_tokens", `{"model":"m","messages":[{"role":"user","content":"x"}]}`},
		{"max_tokens", `{"model":"m","max_tokens":-1,"messages":[{"role":"user","content":"x"}]}`},
		{"max_tokens", `{"model":"m","max_tokens":"9","messages":[{"role":"user","content":"x"}]}`},
		{"max_tokens", `{"model":"m","max_tokens":1e300,"messages":[{"role":"user","content":"x"}]}`},
		{"max_tokens", `{"model":"m","max_tokens":1e400,"messages":[{"role":"user","content":"x"}]}`},
		{"max_tokens", `{"model":"m","max_tokens":-1e300,"messages":[{"role":"user","content":"x"}]}`},
		{"max_tokens", `{"model":"m","max_tokens":0.5,"messages":[{"role":"user","content":"x"}]}`},
		{"max_tokens", `{"model":"m","max_tokens":true,"messages":[{"role":"user","content":"x"}]}`},
		{"messages", `{"model":"m","max_tokens":1}`},
		{"messages", head + `"messages":[]}`},
		{"messages", head + `"messages":"hi"}`},
		{"messages.1", message(`"hi"`)},
		{"messages.1.role", message(`{"role":"tool","content":"x"}`)},
		{"messages.1.role", message(`{"role":"user","content":"x","role":"assistant"}`)},
		{"messages.1.content", message(`{"role":"user"}`)},
		{"messages.1.content", message(`{"role":"user","content":{}}`)},
		{"messages.1.content.0", message(`{"role":"user","content":["x"]}`)},
		{"messages.1.content.0.type", message(`{"role":"user","content":[{"text":"x"}]}`)},
		{"messages.1.content.0.text", message(`{"role":"user","content":[{"type":"text"}]}`)},
		{"messages.1.content.0.text", message(`{"role":"user","content":[{"type":"text","text":1}]}`)},
		{"messages.1.content.0", message(`{"role":"user","content":[{"type":"tool_use","id":"a","name":"b","input":{}}]}`)},
		{"messages.1.content.0", message(`{"role":"assistant","content":[{"type":"tool_result","tool_use_id":"a"}]}`)},
		{"messages.1.content.0.id", message(`{"role":"assistant","content":[{"type":"tool_use","name":"b","input":{}}]}`)},
		{"messages.1.content.0.name", message(`{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"","input":{}}]}`)},
		{"messages.1.content.0.input", message(`{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"b"}]}`)},
		{"messages.1.content.0.tool_use_id", message(`{"role":"user","content":[{"type":"tool_result","content":"x"}]}`)},
		{"messages.1.content.0.is_error", message(`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","is_error":"no"}]}`)},
		{"messages.1.content.0.content.0", message(`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"tool_result","tool_use_id":"b"}]}]}`)},
		{"messages.1.content.0.content.0.tool_name", message(`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"tool_reference"}]}]}`)},
		{"messages.1.content.0", message(`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"tool_reference","tool_name":"gone"}]}]}`)},
		{"messages.1.content.1", head + `"system":"s","messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"text","text":"t"},{"type":"tool_search_tool_result","tool_use_id":"a",` +
			`"content":{"type":"tool_search_tool_search_result","tool_references":[{"type":"tool_reference","tool_name":"gone"}]}}]}]}`},
		{"system.0", with(`"system":[{"type":"image","source":{"type":"url","url":"http://x"}}]`)},
		{"stream", with(`"stream":"yes"`)},
		{"temperature", with(`"temperature":1.5`)},
		{"top_p", with(`"top_p":"1"`)},
		{"stop_sequences", with(`"stop_sequences":"x"`)},
		{"stop_sequences.1", with(`"stop_sequences":["x",1]`)},
		{"tool_choice.type", with(`"tool_choice":{"type":"maybe"}`)},
		{"tool_choice.name", with(`"tool_choice":{"type":"tool"}`)},
		{"tool_choice.disable_parallel_tool_use", with(`"tool_choice":{"type":"any","disable_parallel_tool_use":1}`)},
		{"tools", with(`"tools":{}`)},
		{"tools.0.name", with(`"tools":[{"input_schema":{}}]`)},
		{"tools.0.input_schema", with(`"tools":[{"name":"a"}]`)},
		{"tools.0.input_schema", with(`"tools":[{"name":"a","input_schema":"x"}]`)},
		{"tools.0.defer_loading", with(`"tools":[{"name":"a","input_schema":{},"defer_loading":"yes"}]`)},
		{"tools.0.description", with(`"tools":[{"name":"a","input_schema":{},"description":[]}]`)},
		{"tools.1.name", with(`"tools":[{"name":"a","input_schema":{}},{"name":"a","input_schema":{}}]`)},
		{"tools.1.name", with(`"tools":[{"type":"tool_search_tool_regex_20251119","name":"r"},{"name":"` + long + `","input_schema":{}}]`)},
		{"tools", with(`"tools":[` + many + `]`)},
	} {
		_, err := anthropic.Messages().DecodeRequest([]byte(c.body))
		var e *provider.Error
		if !errors.As(err, &e) {
			t.Errorf("%.200s: no *provider.Error but %v", c.body, err)
			continue
		}
		if e.Status != http.StatusBadRequest || e.Type != "invalid_request_error" || e.Param != c.field || !strings.HasPrefix(e.Message, c.field+": ") {
			t.Errorf("%.200s\n got %d %s %q %q, want field %q", c.body, e.Status, e.Type, e.Param, e.Message, c.field)
		}
	}
}

func TestDecodeRequestAccepts(t *testing.T) {
	for name, more := range map[string]string{
		"long names without tool search": `"tools":[{"name":"` + strings.Repeat("n", 65) + `","input_schema":{}}]`,
		"nulls":                          `"tools":null,"system":null,"tool_choice":null,"stream":null,"temperature":null,"stop_sequences":null`,
		"type custom":                    `"tools":[{"type":"custom","name":"a","input_schema":{}}]`,
		"tools of an MCP server, unknown here": `"tools":[{"type":"mcp_toolset","mcp_server_name":"s"}],"messages":[{"role":"user","content":[
			{"type":"tool_result","tool_use_id":"a","content":[{"type":"tool_reference","tool_name":"s_any"}]}]}]`,
	} {
		if !strings.Contains(more, `"messages"`) {
			more += `,"messages":[{"role":"user","content":"x"}]`
		}
		if _, err := anthropic.Messages().DecodeRequest([]byte(`{"model":"m","max_tokens":0,` + more + `}`)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestToolChoice(t *testing.T) {
	no, yes := false, true
	tools := []provider.Tool{{Name: "a"}}
	for _, c := range []struct {
		wire     string
		choice   provider.ToolChoice
		parallel *bool
	}{
		{`{"type":"auto","disable_parallel_tool_use":true}`, provider.ChooseAuto, &no},
		{`{"type":"any"}`, provider.ChooseAny, nil},
		{`{"type":"any","disable_parallel_tool_use":true}`, provider.ChooseAny, &no},
		{`{"type":"tool","name":"a"}`, provider.ChooseTool("a"), nil},
		{`{"type":"none"}`, provider.ChooseNone, nil},
	} {
		r := decode(t, `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"x"}],"tool_choice":`+c.wire+`}`)
		if r.Params.Choice != c.choice || !cmp.Equal(r.Params.Parallel, c.parallel) {
			t.Errorf("%s decodes to %+v", c.wire, r.Params)
		}
		out, err := tool.ReadObject(json.RawMessage(encode(t, &provider.Request{Model: "m", Tools: tools, Params: provider.Params{Choice: c.choice, Parallel: c.parallel}})))
		if err != nil || string(out.Get("tool_choice")) != c.wire {
			t.Errorf("%q %v encodes to %s, want %s", c.choice, c.parallel, out.Get("tool_choice"), c.wire)
		}
	}
	// A loop takes the demand out once it is met; one call at a time stays.
	met := decode(t, `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"x"}],"tools":[{"name":"a","input_schema":{}}],"tool_choice":{"type":"any","disable_parallel_tool_use":true}}`)
	met.Params.Choice, met.Fields = provider.ChooseAuto, tool.Object{met.Fields[met.Fields.Index("max_tokens")]}
	if got, want := encode(t, met), `"tool_choice":{"type":"auto","disable_parallel_tool_use":true}`; !strings.Contains(got, want) {
		t.Errorf("a demand that is met: %s, want %s", got, want)
	}
	for name, r := range map[string]*provider.Request{
		"nothing said":         {Tools: tools, Params: provider.Params{Parallel: &yes}},
		"no tools":             {Params: provider.Params{Choice: provider.ChooseAny}},
		"only a foreign tool":  {Tools: []provider.Tool{{Hosted: "web_search_preview"}}, Params: provider.Params{Choice: provider.ChooseAny}},
		"explicitly auto only": {Tools: tools},
	} {
		if got := encode(t, r); strings.Contains(got, "tool_choice") {
			t.Errorf("%s: %s", name, got)
		}
	}
}
