package openai

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/tool"
)

// DecodeRequest reads a request's body.
func (chat) DecodeRequest(body []byte) (*provider.Request, error) {
	o, perr := readBody(body)
	if perr != nil {
		return nil, perr
	}
	f := &fields{o: o}
	r := &provider.Request{
		API:    provider.Chat,
		Model:  f.text("model"),
		Params: f.params("max_completion_tokens", "max_tokens"),
		Fields: without(o, "model", "messages", "tools", "stream"),
	}
	if b := f.boolean("stream"); b != nil {
		r.Stream = *b
	}
	if f.err != nil {
		return nil, f.err
	}
	if r.Model == "" {
		return nil, refuse("model", "the field model is missing: name a model")
	}
	items, ok := tool.SplitArray(o.Get("messages"))
	if !ok || len(items) == 0 {
		return nil, refuse("messages", "the field messages must be a list of at least one message")
	}
	for i, raw := range items {
		m, err := decodeChatMessage(raw, fmt.Sprintf("messages[%d]", i))
		if err != nil {
			return nil, err
		}
		r.Messages = append(r.Messages, m)
	}
	tools, err := decodeTools(o.Get("tools"), decodeChatTool)
	if err != nil {
		return nil, err
	}
	r.Tools = tools
	return r, nil
}

// decodeTools reads the list of tools with one's function.
func decodeTools(raw json.RawMessage, one func(json.RawMessage, string) ([]provider.Tool, *provider.Error)) ([]provider.Tool, error) {
	if tool.Absent(raw) {
		return nil, nil
	}
	items, ok := tool.SplitArray(raw)
	if !ok {
		return nil, refuse("tools", "the field tools must be a list")
	}
	var out []provider.Tool
	for i, item := range items {
		tools, err := one(item, fmt.Sprintf("tools[%d]", i))
		if err != nil {
			return nil, err
		}
		out = append(out, tools...)
	}
	return out, nil
}

func decodeChatTool(raw json.RawMessage, at string) ([]provider.Tool, *provider.Error) {
	o, err := tool.SplitObject(raw)
	if err != nil {
		return nil, refuse(at, "a tool must be an object")
	}
	t := provider.Tool{Native: provider.Native{API: provider.Chat, Raw: raw}}
	if kind := textOf(o, "type"); kind != "function" && (kind != "" || tool.Absent(o.Get("function"))) {
		if kind == "" {
			return nil, refuse(at+".type", "a tool must have a type")
		}
		t.Hosted = kind
		return []provider.Tool{t}, nil
	}
	inner, err := tool.SplitObject(o.Get("function"))
	if err != nil {
		return nil, refuse(at+".function", "a tool of type function must have the object function")
	}
	f := &fields{o: inner}
	readFunction(&t, f)
	outer := &fields{o: o}
	if b := outer.boolean("defer_loading"); b != nil {
		t.Defer = *b
	}
	if f.err != nil {
		f.err.Param = at + ".function." + f.err.Param
		return nil, f.err
	}
	if outer.err != nil {
		outer.err.Param = at + "." + outer.err.Param
		return nil, outer.err
	}
	if t.Name == "" {
		return nil, refuse(at+".function.name", "a tool must have a name")
	}
	return []provider.Tool{t}, nil
}

// readFunction reads what a function has in both formats.
func readFunction(t *provider.Tool, f *fields) {
	t.Name = f.text("name")
	t.Description = f.text("description")
	if p := f.o.Get("parameters"); !tool.Absent(p) {
		if p[0] != '{' && f.err == nil {
			f.err = refuse("parameters", "the field parameters must be a JSON Schema object")
		}
		t.Parameters = p
	}
	if b := f.boolean("strict"); b != nil {
		t.Strict = *b
	}
	if b := f.boolean("defer_loading"); b != nil {
		t.Defer = *b
	}
}

// decodeChatMessage reads one message of a request.
func decodeChatMessage(raw json.RawMessage, at string) (provider.Message, error) {
	o, err := tool.SplitObject(raw)
	if err != nil {
		return provider.Message{}, refuse(at, "a message must be an object")
	}
	m := provider.Message{Native: provider.Native{API: provider.Chat, Raw: raw}}
	switch role := textOf(o, "role"); role {
	case "system", "developer", "user":
		m.Role = provider.User
		if role != "user" {
			m.Role = provider.System
		}
		blocks, ok := chatContent(o.Get("content"))
		if !ok || tool.Absent(o.Get("content")) {
			return m, refuse(at+".content", "the content must be a string or a list of parts")
		}
		m.Blocks = blocks
	case "assistant":
		m.Role = provider.Assistant
		blocks, ok := assistantBlocks(o)
		if !ok {
			return m, refuse(at, "the content must be a string or a list of parts, and tool_calls a list of calls")
		}
		m.Blocks = blocks
	case "tool":
		m.Role = provider.User
		blocks, ok := chatContent(o.Get("content"))
		if !ok {
			return m, refuse(at+".content", "the content must be a string or a list of parts")
		}
		answer := provider.Answer{CallID: textOf(o, "tool_call_id"), Content: blocks}
		if answer.CallID == "" {
			return m, refuse(at+".tool_call_id", "a tool message must say which call it answers")
		}
		m.Blocks = []provider.Block{{Kind: provider.ToolAnswer, Answer: answer, Native: m.Native}}
	case "function": // of the API before tool calls; it passes through to its like
		m.Role = provider.User
		m.Blocks = []provider.Block{{Kind: provider.Opaque, Native: m.Native}}
	default:
		return m, refuse(at+".role", "the role must be system, developer, user, assistant or tool")
	}
	return m, nil
}

// chatContent reads a content member: nothing, a string, or a list of parts.
func chatContent(raw json.RawMessage) ([]provider.Block, bool) {
	return readContent(raw, provider.Chat, func(b *provider.Block, kind string, o tool.Object) {
		switch kind {
		case "text":
			b.Kind, b.Text = provider.Text, textOf(o, "text")
		case "refusal":
			b.Kind, b.Text = provider.Text, textOf(o, "refusal")
		case "image_url":
			if img, err := tool.SplitObject(o.Get("image_url")); err == nil {
				b.Kind, b.Image = provider.Image, readImageURL(textOf(img, "url"))
			}
		}
	})
}

// readContent reads nothing, a string, or a list of parts. A part is opaque
// unless know makes more of it.
func readContent(raw json.RawMessage, api provider.API, know func(b *provider.Block, kind string, part tool.Object)) ([]provider.Block, bool) {
	if tool.Absent(raw) {
		return nil, true
	}
	if s, ok := tool.ReadString(raw); ok {
		return []provider.Block{{Kind: provider.Text, Text: s}}, true
	}
	parts, ok := tool.SplitArray(raw)
	if !ok {
		return nil, false
	}
	out := make([]provider.Block, 0, len(parts))
	for _, part := range parts {
		o, err := tool.SplitObject(part)
		if err != nil {
			return nil, false
		}
		b := provider.Block{Kind: provider.Opaque, Native: provider.Native{API: api, Raw: part}}
		kind := textOf(o, "type")
		if know(&b, kind, o); b.Kind == provider.Opaque {
			b.Type = kind
		}
		out = append(out, b)
	}
	return out, true
}

// readImageURL reads an address, or the picture itself in a data: address.
func readImageURL(url string) provider.ImageData {
	if rest, ok := strings.CutPrefix(url, "data:"); ok {
		if mime, data, ok := strings.Cut(rest, ";base64,"); ok {
			return provider.ImageData{MIMEType: mime, Data: data}
		}
	}
	return provider.ImageData{URL: url}
}

// imageURL is readImageURL the other way.
func imageURL(i provider.ImageData) string {
	if i.URL != "" {
		return i.URL
	}
	return "data:" + i.MIMEType + ";base64," + i.Data
}

// thoughts are the members in which compatible servers put what a model
// thinks; some of them want it back with the calls that it led to.
var thoughts = [...]string{"reasoning_content", "reasoning", "reasoning_details"}

// assistantBlocks reads what an assistant's message holds.
func assistantBlocks(o tool.Object) ([]provider.Block, bool) {
	var out []provider.Block
	var think provider.Block
	var kept tool.Object
	for _, name := range thoughts {
		raw := o.Get(name)
		if tool.Absent(raw) {
			continue
		}
		kept = append(kept, tool.Member{Name: name, Value: raw})
		if s, ok := tool.ReadString(raw); ok && think.Text == "" {
			think.Text = s
		}
	}
	if len(kept) > 0 {
		think.Kind, think.Native = provider.Thinking, provider.Native{API: provider.Chat, Raw: marshal(kept)}
		out = append(out, think)
	}
	content, ok := chatContent(o.Get("content"))
	if !ok {
		return nil, false
	}
	for _, b := range content {
		if b.Kind != provider.Text || b.Text != "" {
			out = append(out, b)
		}
	}
	if s := textOf(o, "refusal"); s != "" {
		raw := object(tool.Member{Name: "refusal", Value: o.Get("refusal")})
		out = append(out, provider.Block{Kind: provider.Text, Text: s, Native: provider.Native{API: provider.Chat, Raw: raw}})
	}
	if tool.Absent(o.Get("tool_calls")) {
		return out, true
	}
	calls, ok := tool.SplitArray(o.Get("tool_calls"))
	if !ok {
		return nil, false
	}
	for _, raw := range calls {
		b, ok := chatCall(raw)
		if !ok {
			return nil, false
		}
		out = append(out, b)
	}
	return out, true
}

// chatCall reads one tool call; its id is made up where there is none.
func chatCall(raw json.RawMessage) (provider.Block, bool) {
	b := provider.Block{Kind: provider.Opaque, Native: provider.Native{API: provider.Chat, Raw: raw}}
	o, err := tool.SplitObject(raw)
	if err != nil {
		return b, false
	}
	fn, err := tool.SplitObject(o.Get("function"))
	if err != nil {
		kind := textOf(o, "type")
		b.Type = kind
		return b, kind != "" && kind != "function" // a custom tool's call
	}
	b.Kind = provider.ToolCall
	b.Call = provider.Call{ID: textOf(o, "id"), Name: textOf(fn, "name"), Args: readArgs(fn.Get("arguments"))}
	if b.Call.ID == "" {
		b.Call.ID = provider.NewID("call_")
	}
	return b, true
}

// mendChatMessage returns an assistant's message of a response as clients can
// read it, with the ids that were made up: o itself when nothing was amiss.
func mendChatMessage(o tool.Object, blocks []provider.Block) (mended tool.Object, changed bool) {
	calls, _ := tool.SplitArray(o.Get("tool_calls"))
	first := len(blocks) - len(calls) // calls are the last blocks
	for i := range calls {
		b := &blocks[first+i]
		if b.Kind != provider.ToolCall {
			continue
		}
		if raw := mendChatCall(calls[i], b.Call); raw != nil {
			calls[i], b.Raw, changed = raw, raw, true
		}
	}
	if !changed {
		return o, false
	}
	return with(o, "tool_calls", tool.JoinArray(calls)), true
}

// mendChatCall returns the call with an id, a type and readable arguments, or
// nil when it has them.
func mendChatCall(raw json.RawMessage, c provider.Call) json.RawMessage {
	o, err := tool.SplitObject(raw)
	if err != nil {
		return nil
	}
	fn, err := tool.SplitObject(o.Get("function"))
	if err != nil {
		return nil
	}
	changed := false
	if textOf(o, "id") != c.ID {
		o, changed = o.Set("id", quote(c.ID)), true
	}
	if textOf(o, "type") == "" {
		o, changed = o.Set("type", quote("function")), true
	}
	if args := mendArgs(fn.Get("arguments")); args != nil {
		o, changed = o.Set("function", marshal(fn.Set("arguments", args))), true
	}
	if !changed {
		return nil
	}
	return marshal(o)
}
