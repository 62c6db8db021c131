package openai

import (
	"bytes"
	"encoding/json"
	"strings"
	"sync"

	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/tool"
)

// EncodeRequest writes a request's body. System messages in front become the
// instructions, unless they came as items; stop sequences are left out, since
// this API has none.
func (responses) EncodeRequest(r *provider.Request) ([]byte, error) {
	o := tool.Object{{Name: "model", Value: quote(r.Model)}}
	instructions, rest := splitInstructions(r.Messages)
	if instructions != nil {
		o = append(o, tool.Member{Name: "instructions", Value: instructions})
	}
	if len(rest) > 0 || !continues(r) {
		o = append(o, tool.Member{Name: "input", Value: encodeInput(rest)})
	}
	if r.Previous != "" {
		o = append(o, tool.Member{Name: "previous_response_id", Value: quote(r.Previous)})
	}
	if tools := encodeResponsesTools(r.Tools); len(tools) > 0 {
		o = append(o, tool.Member{Name: "tools", Value: tool.JoinArray(tools)})
	}
	if r.Stream {
		o = append(o, tool.Member{Name: "stream", Value: json.RawMessage("true")})
	}
	if r.API == provider.Responses {
		more := addChoice(r.Fields, r.Params, responsesChooser(r.Tools))
		if !r.Stream {
			more = without(more, "stream_options")
		}
		return marshal(append(o, more...)), nil
	}
	return marshal(append(o, writeParams(r.Params, "max_output_tokens", responsesChooser(r.Tools))...)), nil
}

// responsesChooser names tools without their namespace, which a choice has no word
// for.
func responsesChooser(tools []provider.Tool) chooser {
	bare := sync.OnceValue(func() map[string]string {
		out := map[string]string{}
		for _, t := range tools {
			if t.Namespace != "" {
				out[t.FullName()] = t.Name
			}
		}
		return out
	})
	return chooser{
		one: func(name string) json.RawMessage {
			if b, ok := bare()[name]; ok {
				name = b
			}
			return object(tool.Member{Name: "type", Value: quote("function")}, tool.Member{Name: "name", Value: quote(name)})
		},
		some: func(mode string, tools json.RawMessage) tool.Object {
			return tool.Object{{Name: "mode", Value: quote(mode)}, {Name: "tools", Value: tools}}
		},
	}
}

// continues says whether a request needs no input, since the API has one.
func continues(r *provider.Request) bool {
	return r.Previous != "" || r.API == provider.Responses &&
		(!tool.Absent(r.Fields.Get("prompt")) || !tool.Absent(r.Fields.Get("conversation")))
}

// bare says whether a message came as a string instead of an item.
func bare(raw json.RawMessage) bool {
	raw = bytes.TrimSpace(raw)
	return len(raw) > 0 && raw[0] == '"'
}

// splitInstructions takes the System messages in front that did not come as
// items. One that came as instructions and stands alone keeps its bytes.
func splitInstructions(messages []provider.Message) (instructions json.RawMessage, rest []provider.Message) {
	var parts []string
	n := 0
	for ; n < len(messages) && messages[n].Role == provider.System; n++ {
		raw := messages[n].For(provider.Responses)
		if raw != nil && !bare(raw) {
			break
		}
		instructions = raw
		for _, b := range messages[n].Blocks {
			if b.Kind == provider.Text {
				parts = append(parts, b.Text)
			}
		}
	}
	if n == 1 && instructions != nil {
		return instructions, messages[1:]
	}
	if len(parts) == 0 {
		return nil, messages[n:]
	}
	return quote(strings.Join(parts, "\n\n")), messages[n:]
}

func encodeInput(messages []provider.Message) json.RawMessage {
	if len(messages) == 1 {
		if raw := messages[0].For(provider.Responses); bare(raw) && messages[0].Role == provider.User {
			return raw
		}
	}
	items := []json.RawMessage{}
	for _, m := range messages {
		raw := m.For(provider.Responses)
		switch {
		case bare(raw):
			items = append(items, roleItem(m.Role, raw))
		case raw != nil:
			items = append(items, raw)
		default:
			items = append(items, encodeItems(m)...)
		}
	}
	return tool.JoinArray(items)
}

func roleItem(role provider.Role, content json.RawMessage) json.RawMessage {
	return object(tool.Member{Name: "type", Value: quote("message")},
		tool.Member{Name: "role", Value: quote(string(role))}, tool.Member{Name: "content", Value: content})
}

// encodeItems writes a message's blocks as the items of an input.
func encodeItems(m provider.Message) []json.RawMessage {
	var items []json.RawMessage
	var content []provider.Block
	flush := func() {
		if c := encodeParts(content, m.Role); c != nil {
			items = append(items, roleItem(m.Role, c))
		}
		content = nil
	}
	for _, b := range m.Blocks {
		raw := b.For(provider.Responses)
		switch {
		case raw != nil && !isPart(raw):
			flush()
			items = append(items, raw)
		case b.Kind == provider.ToolCall:
			flush()
			items = append(items, callItem(b.Call, "", "", writeArgs(b.Call.Args)))
		case b.Kind == provider.ToolAnswer:
			flush()
			items = append(items, answerItem(b.Answer))
		case raw != nil || b.Kind == provider.Text || b.Kind == provider.Image:
			content = append(content, b)
		}
	}
	flush()
	return items
}

// isPart tells a part of a content from an item.
func isPart(raw json.RawMessage) bool {
	o, err := tool.SplitObject(raw)
	if err != nil {
		return false
	}
	kind := textOf(o, "type")
	return strings.HasPrefix(kind, "input_") || kind == "output_text" || kind == "refusal" || kind == "text"
}

// encodeParts writes a content: a string where it is one plain text, and else a
// list; nil when nothing is left.
func encodeParts(blocks []provider.Block, role provider.Role) json.RawMessage {
	kind := "input_text"
	if role == provider.Assistant {
		kind = "output_text"
	}
	var parts []json.RawMessage
	for _, b := range blocks {
		raw := b.For(provider.Responses)
		switch {
		case raw != nil:
			parts = append(parts, raw)
		case b.Kind == provider.Text && len(blocks) == 1:
			return quote(b.Text)
		case b.Kind == provider.Text:
			parts = append(parts, object(tool.Member{Name: "type", Value: quote(kind)}, tool.Member{Name: "text", Value: quote(b.Text)}))
		case b.Kind == provider.Image && role != provider.Assistant:
			parts = append(parts, object(tool.Member{Name: "type", Value: quote("input_image")},
				tool.Member{Name: "image_url", Value: quote(imageURL(b.Image))}, tool.Member{Name: "detail", Value: quote("auto")}))
		}
	}
	if len(parts) == 0 {
		return nil
	}
	return tool.JoinArray(parts)
}

// answerItem writes what a tool answered: a string, or parts where there is a
// picture among it.
func answerItem(a provider.Answer) json.RawMessage {
	words, pictures := splitAnswer(a)
	output := quote(words)
	if len(pictures) > 0 {
		output = encodeParts(append([]provider.Block{{Kind: provider.Text, Text: words}}, pictures...), provider.User)
	}
	return object(tool.Member{Name: "type", Value: quote("function_call_output")},
		tool.Member{Name: "call_id", Value: quote(a.CallID)}, tool.Member{Name: "output", Value: output})
}

// callItem writes a call; id and status are of items in an output.
func callItem(c provider.Call, id, status, args string) json.RawMessage {
	return object(
		tool.Member{Name: "id", Value: optional(id)},
		tool.Member{Name: "type", Value: quote("function_call")},
		tool.Member{Name: "status", Value: optional(status)},
		tool.Member{Name: "arguments", Value: quote(args)},
		tool.Member{Name: "call_id", Value: quote(c.ID)},
		tool.Member{Name: "name", Value: quote(c.Name)},
		tool.Member{Name: "namespace", Value: optional(c.Namespace)})
}

// encodeResponsesTools writes tools; neighbours in one namespace become one.
func encodeResponsesTools(tools []provider.Tool) []json.RawMessage {
	var out []json.RawMessage
	for i := 0; i < len(tools); {
		t := tools[i]
		if t.Namespace == "" {
			if raw := encodeResponsesTool(t); raw != nil {
				out = append(out, raw)
			}
			i++
			continue
		}
		var inner []json.RawMessage
		for ; i < len(tools) && tools[i].Namespace == t.Namespace && bytes.Equal(tools[i].Group, t.Group); i++ {
			if raw := encodeResponsesTool(tools[i]); raw != nil {
				inner = append(inner, raw)
			}
		}
		if len(inner) > 0 {
			out = append(out, marshal(namespaceOf(t).Set("tools", tool.JoinArray(inner))))
		}
	}
	return out
}

func namespaceOf(t provider.Tool) tool.Object {
	if o, err := tool.SplitObject(t.Group); err == nil {
		return o
	}
	return tool.Object{{Name: "type", Value: quote("namespace")},
		{Name: "name", Value: quote(t.Namespace)}, {Name: "description", Value: quote("Tools of " + t.Namespace + ".")}}
}

// encodeResponsesTool writes a tool, or nil for one that only another API has.
// strict is always said: this API takes silence for true.
func encodeResponsesTool(t provider.Tool) json.RawMessage {
	if raw := t.For(provider.Responses); raw != nil {
		return undefer(raw, t.Defer || t.Hosted != "")
	}
	if t.Hosted != "" {
		if t.API != "" {
			return nil
		}
		return object(tool.Member{Name: "type", Value: quote(t.Hosted)})
	}
	o := tool.Object{{Name: "type", Value: quote("function")}, {Name: "name", Value: quote(t.Name)}}
	o = append(o, functionFields(t)...)
	if !t.Strict {
		o = append(o, tool.Member{Name: "strict", Value: json.RawMessage("false")})
	}
	if t.Defer {
		o = append(o, tool.Member{Name: "defer_loading", Value: json.RawMessage("true")})
	}
	return marshal(o)
}
