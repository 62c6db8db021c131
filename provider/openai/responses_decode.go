package openai

import (
	"encoding/json"
	"fmt"

	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/tool"
)

// DecodeRequest reads a request's body.
func (responses) DecodeRequest(body []byte) (*provider.Request, error) {
	o, perr := readBody(body)
	if perr != nil {
		return nil, perr
	}
	f := &fields{o: o}
	r := &provider.Request{
		API:      provider.Responses,
		Model:    f.text("model"),
		Previous: f.text("previous_response_id"),
		Params:   f.params("max_output_tokens"),
		Fields:   without(o, "model", "input", "instructions", "tools", "stream", "previous_response_id"),
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
	messages, err := decodeInput(o)
	if err != nil {
		return nil, err
	}
	r.Messages = messages
	tools, err := ResponsesTools(o.Get("tools"))
	if err != nil {
		return nil, err
	}
	r.Tools = tools
	return r, nil
}

// decodeInput reads instructions and input.
func decodeInput(o tool.Object) ([]provider.Message, error) {
	var out []provider.Message
	if raw := o.Get("instructions"); !tool.Absent(raw) {
		s, ok := tool.ReadString(raw)
		if !ok {
			return nil, refuse("instructions", "the field instructions must be a string")
		}
		out = append(out, stringMessage(provider.System, raw, s))
	}
	raw := o.Get("input")
	if tool.Absent(raw) {
		for _, name := range []string{"previous_response_id", "conversation", "prompt"} {
			if !tool.Absent(o.Get(name)) {
				return out, nil // the rest is known to the API
			}
		}
		return nil, refuse("input", "the field input is missing: send a string or a list of items")
	}
	if s, ok := tool.ReadString(raw); ok {
		return append(out, stringMessage(provider.User, raw, s)), nil
	}
	items, ok := tool.SplitArray(raw)
	if !ok {
		return nil, refuse("input", "the field input must be a string or a list of items")
	}
	for i, item := range items {
		m, err := decodeItem(item, fmt.Sprintf("input[%d]", i))
		if err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	return out, nil
}

// stringMessage is a message that came as a bare string.
func stringMessage(role provider.Role, raw json.RawMessage, s string) provider.Message {
	return provider.Message{Role: role, Blocks: []provider.Block{{Kind: provider.Text, Text: s}},
		Native: provider.Native{API: provider.Responses, Raw: raw}}
}

// ResponsesTools reads a list of tools as Responses has it: that of a request, or
// of an item that brings further ones. A wrong one is a *provider.Error with
// status 400 whose Param begins with "tools". Missing or null is none.
func ResponsesTools(raw json.RawMessage) ([]provider.Tool, error) {
	return decodeTools(raw, decodeResponsesTool)
}

// decodeResponsesTool reads a function, the tools of a namespace, or one of the
// API's own.
func decodeResponsesTool(raw json.RawMessage, at string) ([]provider.Tool, *provider.Error) {
	o, err := tool.SplitObject(raw)
	if err != nil {
		return nil, refuse(at, "a tool must be an object")
	}
	t := provider.Tool{Native: provider.Native{API: provider.Responses, Raw: raw}}
	switch kind := textOf(o, "type"); kind {
	case "function":
		f := &fields{o: o}
		readFunction(&t, f)
		if f.err != nil {
			f.err.Param = at + "." + f.err.Param
			return nil, f.err
		}
		if t.Name == "" {
			return nil, refuse(at+".name", "a tool must have a name")
		}
	case "namespace":
		return decodeNamespace(o, t, at)
	case "":
		return nil, refuse(at+".type", "a tool must have a type")
	default:
		t.Hosted = kind
	}
	return []provider.Tool{t}, nil
}

func decodeNamespace(o tool.Object, whole provider.Tool, at string) ([]provider.Tool, *provider.Error) {
	name := textOf(o, "name")
	if name == "" {
		return nil, refuse(at+".name", "a namespace must have a name")
	}
	items, ok := tool.SplitArray(o.Get("tools"))
	if !ok && !tool.Absent(o.Get("tools")) {
		return nil, refuse(at+".tools", "the tools of a namespace must be a list")
	}
	if len(items) == 0 {
		whole.Hosted = "namespace" // nothing to call; it passes through
		return []provider.Tool{whole}, nil
	}
	group := marshal(with(o, "tools", json.RawMessage(null)))
	var out []provider.Tool
	for i, item := range items {
		inner := fmt.Sprintf("%s.tools[%d]", at, i)
		if one, err := tool.SplitObject(item); err == nil && textOf(one, "type") == "namespace" {
			return nil, refuse(inner+".type", "a namespace cannot stand in a namespace")
		}
		tools, err := decodeResponsesTool(item, inner)
		if err != nil {
			return nil, err
		}
		for _, t := range tools {
			t.Namespace, t.Group = name, group
			out = append(out, t)
		}
	}
	return out, nil
}

// decodeItem reads one item of an input or of an output.
func decodeItem(raw json.RawMessage, at string) (provider.Message, error) {
	o, err := tool.SplitObject(raw)
	if err != nil {
		return provider.Message{}, refuse(at, "an item must be an object")
	}
	native := provider.Native{API: provider.Responses, Raw: raw}
	m := provider.Message{Role: provider.Assistant, Native: native}
	switch kind := textOf(o, "type"); kind {
	case "message", "":
		if kind == "" && tool.Absent(o.Get("role")) && textOf(o, "id") != "" {
			m.Blocks = []provider.Block{{Kind: provider.Opaque, Type: "item_reference", Native: native}} // which need not say so
			return m, nil
		}
		return decodeMessageItem(o, m, at)
	case "function_call":
		c := provider.Call{ID: textOf(o, "call_id"), Name: textOf(o, "name"), Namespace: textOf(o, "namespace"), Args: readArgs(o.Get("arguments"))}
		if c.ID == "" {
			return m, refuse(at+".call_id", "a function_call must have a call_id")
		}
		m.Blocks = []provider.Block{{Kind: provider.ToolCall, Call: c, Native: native}}
		return m, nil
	case "function_call_output":
		m.Role = provider.User
		blocks, ok := responsesContent(o.Get("output"))
		if !ok {
			return m, refuse(at+".output", "the output must be a string or a list of parts")
		}
		a := provider.Answer{CallID: textOf(o, "call_id"), Content: blocks}
		if a.CallID == "" {
			return m, refuse(at+".call_id", "a function_call_output must say which call it answers")
		}
		m.Blocks = []provider.Block{{Kind: provider.ToolAnswer, Answer: a, Native: native}}
		return m, nil
	case "reasoning":
		m.Blocks = []provider.Block{{Kind: provider.Thinking, Text: reasoningText(o), Native: native}}
		return m, nil
	case "tool_search_output", "mcp_approval_response", "computer_call_output", "custom_tool_call_output",
		"local_shell_call_output", "shell_call_output", "apply_patch_call_output":
		m.Role = provider.User
	case "additional_tools":
		m.Role = provider.System
	}
	m.Blocks = []provider.Block{{Kind: provider.Opaque, Type: textOf(o, "type"), Native: native}}
	return m, nil
}

func decodeMessageItem(o tool.Object, m provider.Message, at string) (provider.Message, error) {
	switch textOf(o, "role") {
	case "user":
		m.Role = provider.User
	case "system", "developer":
		m.Role = provider.System
	case "assistant":
		m.Role = provider.Assistant
	default:
		return m, refuse(at+".role", "the role must be user, assistant, system or developer")
	}
	blocks, ok := responsesContent(o.Get("content"))
	if !ok || tool.Absent(o.Get("content")) {
		return m, refuse(at+".content", "the content must be a string or a list of parts")
	}
	m.Blocks = blocks
	return m, nil
}

// responsesContent reads nothing, a string, or a list of parts.
func responsesContent(raw json.RawMessage) ([]provider.Block, bool) {
	return readContent(raw, provider.Responses, func(b *provider.Block, kind string, o tool.Object) {
		switch kind {
		case "input_text", "output_text", "text":
			b.Kind, b.Text = provider.Text, textOf(o, "text")
		case "refusal":
			b.Kind, b.Text = provider.Text, textOf(o, "refusal")
		case "input_image":
			if url := textOf(o, "image_url"); url != "" {
				b.Kind, b.Image = provider.Image, readImageURL(url)
			}
		}
	})
}

// reasoningText joins what a reasoning item shows: its summary, or else its
// content.
func reasoningText(o tool.Object) string {
	for _, name := range []string{"summary", "content"} {
		parts, _ := tool.SplitArray(o.Get(name))
		var out string
		for _, part := range parts {
			p, err := tool.SplitObject(part)
			if err != nil {
				continue
			}
			if s := textOf(p, "text"); s != "" {
				if out != "" {
					out += "\n\n"
				}
				out += s
			}
		}
		if out != "" {
			return out
		}
	}
	return ""
}
