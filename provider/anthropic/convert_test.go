package anthropic_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsearch/toolsearch/provider"
)

func text(s string) provider.Block { return provider.Block{Kind: provider.Text, Text: s} }

func call(id, name, args string) provider.Block {
	return provider.Block{Kind: provider.ToolCall, Call: provider.Call{ID: id, Name: name, Args: json.RawMessage(args)}}
}

func answer(id string, isError bool, content ...provider.Block) provider.Block {
	return provider.Block{Kind: provider.ToolAnswer, Answer: provider.Answer{CallID: id, IsError: isError, Content: content}}
}

func say(role provider.Role, blocks ...provider.Block) provider.Message {
	return provider.Message{Role: role, Blocks: blocks}
}

// of puts a piece of another API into a block.
func of(api provider.API, b provider.Block, raw string) provider.Block {
	b.Native = provider.Native{API: api, Raw: json.RawMessage(raw)}
	return b
}

func ours(role provider.Role, raw string, blocks ...provider.Block) provider.Message {
	return provider.Message{Role: role, Blocks: blocks, Native: provider.Native{API: provider.Messages, Raw: json.RawMessage(raw)}}
}

// The suffix of an id that the API refuses is the head of its SHA-256, as sha256sum
// prints it for "functions.b:0".
func TestEncodeRequestFromNeutral(t *testing.T) {
	hot := 1.7
	image := func(i provider.ImageData) provider.Block { return provider.Block{Kind: provider.Image, Image: i} }
	const start = `{"model":"m","max_tokens":4096,`
	for _, c := range []struct {
		name string
		in   provider.Request
		want string
	}{
		{"settings", provider.Request{Params: provider.Params{MaxTokens: 7, Temperature: &hot, Stop: []string{"END", "\n"}}, Stream: true,
			API: provider.Chat, Messages: []provider.Message{say(provider.User, text("a <b> & c"))}},
			`{"model":"m","max_tokens":7,"temperature":1,"stop_sequences":["END"],"messages":[{"role":"user","content":[{"type":"text","text":"a <b> & c"}]}],"stream":true}`},

		{"system messages join the system prompt", provider.Request{Messages: []provider.Message{
			ours(provider.System, `"ours"`, text("ours")), say(provider.System, text("two")), say(provider.User, text("u")), say(provider.System, text("late"))}},
			start + `"system":[{"type":"text","text":"ours"},{"type":"text","text":"two"},{"type":"text","text":"late"}],"messages":[{"role":"user","content":[{"type":"text","text":"u"}]}]}`},

		{"answers of Chat, one message each, with a word of the user's before", provider.Request{Messages: []provider.Message{
			say(provider.User, text("q")),
			say(provider.Assistant, text(""), call("call_1", "a", `{"x":1.0}`), call("functions.b:0", "b", `"{oops"`)),
			say(provider.User, text("wait")),
			say(provider.User, answer("functions.b:0", true)),
			say(provider.User, answer("call_1", false, text("one"), text("two")))}},
			start + `"messages":[{"role":"user","content":[{"type":"text","text":"q"}]},` +
				`{"role":"assistant","content":[{"type":"tool_use","id":"call_1","name":"a","input":{"x":1.0}},` +
				`{"type":"tool_use","id":"functions_b_0_b0c2eecb","name":"b","input":{"INVALID_JSON":"{oops"}}]},` +
				`{"role":"user","content":[{"type":"tool_result","tool_use_id":"functions_b_0_b0c2eecb","content":[{"type":"text","text":"The tool failed and gave no reason."}],"is_error":true},` +
				`{"type":"tool_result","tool_use_id":"call_1","content":[{"type":"text","text":"one"},{"type":"text","text":"two"}]},{"type":"text","text":"wait"}]}]}`},

		{"ours are joined with others, each block in its bytes", provider.Request{Messages: []provider.Message{
			ours(provider.User, `{"role":"user","content":[{"type":"text", "text":"a"}],"x":1}`, of(provider.Messages, text("a"), `{"type":"text", "text":"a"}`)),
			say(provider.User, text("b")),
			ours(provider.Assistant, `{"role":"assistant","content":"c"}`, text("c"))}},
			start + `"messages":[{"role":"user","content":[{"type":"text", "text":"a"},{"type":"text","text":"b"}],"x":1},{"role":"assistant","content":"c"}]}`},

		{"what has no word here is left out", provider.Request{Messages: []provider.Message{
			say(provider.User, text(" "), image(provider.ImageData{MIMEType: "image/png", Data: "AAAA"}), image(provider.ImageData{URL: "https://e.org/i.png"}),
				image(provider.ImageData{Data: "iVBORw0KGgoAAAANSUhEUg=="})), // the first bytes of every PNG
			say(provider.Assistant, of(provider.Responses, provider.Block{Kind: provider.Thinking, Text: "hm"}, `{"type":"reasoning"}`),
				of(provider.Responses, provider.Block{Kind: provider.Opaque}, `{"type":"web_search_call"}`), image(provider.ImageData{URL: "https://e.org/j.png"})),
		}},
			start + `"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}},` +
				`{"type":"image","source":{"type":"url","url":"https://e.org/i.png"}},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgoAAAANSUhEUg=="}}]}]}`},

		{"tools", provider.Request{Tools: []provider.Tool{
			{Name: "a", Description: "A", Parameters: json.RawMessage(`{"type":"object","x":1.0}`), Strict: true, Defer: true},
			{Name: "b", Parameters: json.RawMessage(`{"properties":{},"type":null}`)},
			{Name: "c"},
			{Hosted: "web_search_preview", Native: provider.Native{API: provider.Responses, Raw: json.RawMessage(`{"type":"web_search_preview"}`)}}},
			Messages: []provider.Message{say(provider.User, provider.Block{Kind: provider.ToolAnswer,
				Answer: provider.Answer{CallID: "i", References: []string{"a", "gone"}}})}},
			start + `"tools":[{"name":"a","description":"A","input_schema":{"type":"object","x":1.0},"defer_loading":true},` +
				`{"name":"b","input_schema":{"type":"object","properties":{}}},{"name":"c","input_schema":{"type":"object","properties":{}}}],` +
				`"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"i","content":[{"type":"tool_reference","tool_name":"a"}]}]}]}`},
	} {
		c.in.Model = "m"
		if diff := cmp.Diff(c.want, encode(t, &c.in)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// The encoder works on messages that others hold as well.
func TestEncodeRequestLeavesTheRequestAlone(t *testing.T) {
	make := func() *provider.Request {
		return &provider.Request{Model: "m", Messages: []provider.Message{
			say(provider.User, text("first"), answer("a", false, text("x"))), say(provider.User, text("second"))}}
	}
	r := make()
	r2 := &provider.Request{Model: "m", Messages: r.Messages[:1]}
	encode(t, r)
	encode(t, r2)
	if diff := cmp.Diff(make(), r); diff != "" {
		t.Errorf("the request changed (-want +got):\n%s", diff)
	}
	same := decode(t, everything)
	encode(t, same)
	if diff := cmp.Diff(decode(t, everything), same); diff != "" {
		t.Errorf("the request changed (-want +got):\n%s", diff)
	}
}
