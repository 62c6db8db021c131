package openai

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/tool"
)

// EncodeRequest writes a request's body. A stream asks for its usage, unless
// the request has stream_options of its own.
func (chat) EncodeRequest(r *provider.Request) ([]byte, error) {
	o := tool.Object{{Name: "model", Value: quote(r.Model)}}
	o = append(o, tool.Member{Name: "messages", Value: tool.JoinArray(encodeChatMessages(r.Messages))})
	if len(r.Tools) > 0 {
		tools := make([]json.RawMessage, len(r.Tools))
		n := 0
		for _, t := range r.Tools {
			if raw := encodeChatTool(t); raw != nil {
				tools[n] = raw
				n++
			}
		}
		if n > 0 {
			o = append(o, tool.Member{Name: "tools", Value: tool.JoinArray(tools[:n])})
		}
	}
	rest := r.Fields
	if r.API == provider.Chat {
		rest = addChoice(rest, r.Params, chatChooser())
	} else {
		rest = writeParams(r.Params, "max_completion_tokens", chatChooser())
		if stop, err := tool.Encode(r.Params.Stop); err == nil && len(r.Params.Stop) > 0 {
			rest = append(rest, tool.Member{Name: "stop", Value: stop})
		}
	}
	if !r.Stream {
		return marshal(append(o, without(rest, "stream_options")...)), nil
	}
	o = append(append(o, tool.Member{Name: "stream", Value: json.RawMessage("true")}), rest...)
	if tool.Absent(o.Get("stream_options")) {
		o = o.Set("stream_options", json.RawMessage(`{"include_usage":true}`))
	}
	return marshal(o), nil
}

func chatChooser() chooser {
	return chooser{
		one: func(name string) json.RawMessage {
			return object(tool.Member{Name: "type", Value: quote("function")},
				tool.Member{Name: "function", Value: object(tool.Member{Name: "name", Value: quote(name)})})
		},
		some: func(mode string, tools json.RawMessage) tool.Object {
			return tool.Object{{Name: "allowed_tools", Value: object(tool.Member{Name: "mode", Value: quote(mode)}, tool.Member{Name: "tools", Value: tools})}}
		},
	}
}

// encodeChatTool writes a tool, or nil for one that only another API has.
// defer_loading is no word of Chat's: it goes out only as it came.
func encodeChatTool(t provider.Tool) json.RawMessage {
	if raw := t.For(provider.Chat); raw != nil {
		return undefer(raw, t.Defer || t.Hosted != "")
	}
	if t.Hosted != "" {
		return nil
	}
	f := tool.Object{{Name: "name", Value: quote(t.FullName())}}
	return object(tool.Member{Name: "type", Value: quote("function")},
		tool.Member{Name: "function", Value: marshal(append(f, functionFields(t)...))})
}

// undefer drops defer_loading from a function that its caller took it off.
func undefer(raw json.RawMessage, deferred bool) json.RawMessage {
	if deferred || !bytes.Contains(raw, []byte(`"defer_loading"`)) {
		return raw
	}
	o, err := tool.SplitObject(raw)
	if err != nil || string(o.Get("defer_loading")) != "true" {
		return raw
	}
	return marshal(without(o, "defer_loading"))
}

// functionFields are a function's members behind its name.
func functionFields(t provider.Tool) tool.Object {
	var o tool.Object
	if t.Description != "" {
		o = append(o, tool.Member{Name: "description", Value: quote(t.Description)})
	}
	params := t.Parameters
	if tool.Absent(params) {
		params = json.RawMessage(`{"type":"object","properties":{}}`)
	}
	o = append(o, tool.Member{Name: "parameters", Value: params})
	if t.Strict {
		o = append(o, tool.Member{Name: "strict", Value: json.RawMessage("true")})
	}
	return o
}

// chatWriter writes messages in Chat's order: what tools answered stands right
// behind the calls, so pictures that they answered follow as the user's.
type chatWriter struct {
	out   []json.RawMessage
	later []json.RawMessage // user messages behind the tool messages
	merge []provider.Block  // of neighbouring assistant messages
}

func encodeChatMessages(messages []provider.Message) []json.RawMessage {
	w := &chatWriter{}
	for _, m := range messages {
		w.message(m)
	}
	w.flush()
	return w.out
}

func (w *chatWriter) message(m provider.Message) {
	if raw := m.For(provider.Chat); raw != nil {
		if isToolMessage(m) {
			w.assistant()
		} else {
			w.flush()
		}
		w.out = append(w.out, raw)
		return
	}
	switch m.Role {
	case provider.Assistant:
		w.users()
		w.join(m.Blocks)
	case provider.System:
		w.flush()
		if content := encodeChatContent(m.Blocks, "\n"); content != nil {
			w.out = append(w.out, roleMessage("system", content))
		}
	default:
		w.assistant()
		w.user(m.Blocks)
	}
}

// join adds an assistant's message to the one before it, its text as a new
// paragraph.
func (w *chatWriter) join(blocks []provider.Block) {
	isText := func(b provider.Block) bool { return b.Kind == provider.Text }
	next := slices.Clone(blocks)
	if i := slices.IndexFunc(next, isText); i >= 0 && slices.ContainsFunc(w.merge, isText) && next[i].For(provider.Chat) == nil {
		next[i].Text = "\n\n" + next[i].Text
	}
	w.merge = append(w.merge, next...)
}

func isToolMessage(m provider.Message) bool {
	return len(m.Blocks) > 0 && m.Blocks[0].Kind == provider.ToolAnswer
}

func (w *chatWriter) flush() {
	w.assistant()
	w.users()
}

func (w *chatWriter) users() {
	w.out = append(w.out, w.later...)
	w.later = nil
}

func (w *chatWriter) assistant() {
	if o := encodeAssistant(w.merge); o != nil {
		w.out = append(w.out, marshal(o))
	}
	w.merge = nil
}

func (w *chatWriter) user(blocks []provider.Block) {
	var rest []provider.Block
	for _, b := range blocks {
		if b.Kind != provider.ToolAnswer {
			rest = append(rest, b)
			continue
		}
		if raw := b.For(provider.Chat); raw != nil {
			w.out = append(w.out, raw)
			continue
		}
		words, pictures := splitAnswer(b.Answer)
		w.out = append(w.out, object(
			tool.Member{Name: "role", Value: quote("tool")},
			tool.Member{Name: "tool_call_id", Value: quote(b.Answer.CallID)},
			tool.Member{Name: "content", Value: quote(words)}))
		if len(pictures) > 0 {
			said := provider.Block{Kind: provider.Text, Text: "Pictures that the call " + b.Answer.CallID + " returned:"}
			w.later = append(w.later, roleMessage("user", encodeChatContent(append([]provider.Block{said}, pictures...), "\n")))
		}
	}
	if content := encodeChatContent(rest, "\n"); content != nil {
		w.later = append(w.later, roleMessage("user", content))
	}
}

// splitAnswer parts an answer's texts from its pictures: a tool message holds
// text alone.
func splitAnswer(a provider.Answer) (words string, pictures []provider.Block) {
	var texts []string
	for _, b := range a.Content {
		switch b.Kind {
		case provider.Text:
			texts = append(texts, b.Text)
		case provider.Image:
			pictures = append(pictures, b)
		}
	}
	if len(a.References) > 0 {
		texts = append(texts, "Tools found: "+strings.Join(a.References, ", "))
	}
	return strings.Join(texts, "\n"), pictures
}

func roleMessage(role string, content json.RawMessage) json.RawMessage {
	return object(tool.Member{Name: "role", Value: quote(role)}, tool.Member{Name: "content", Value: content})
}

// encodeChatContent writes texts as one string, with sep between them, where
// each is plain, and else a list of parts; nil when nothing is left.
func encodeChatContent(blocks []provider.Block, sep string) json.RawMessage {
	var parts []json.RawMessage
	var plain []string
	for _, b := range blocks {
		raw := b.For(provider.Chat)
		switch {
		case raw != nil:
			parts = append(parts, raw)
		case b.Kind == provider.Text:
			plain = append(plain, b.Text)
			parts = append(parts, object(tool.Member{Name: "type", Value: quote("text")}, tool.Member{Name: "text", Value: quote(b.Text)}))
		case b.Kind == provider.Image:
			url := object(tool.Member{Name: "url", Value: quote(imageURL(b.Image))})
			parts = append(parts, object(tool.Member{Name: "type", Value: quote("image_url")}, tool.Member{Name: "image_url", Value: url}))
		}
	}
	switch {
	case len(parts) == 0:
		return nil
	case len(plain) == len(parts):
		return quote(strings.Join(plain, sep))
	}
	return tool.JoinArray(parts)
}

// encodeAssistant writes one assistant message of blocks, or nil when nothing
// of them can be said in Chat.
func encodeAssistant(blocks []provider.Block) tool.Object {
	var content []provider.Block
	var calls []json.RawMessage
	var extra tool.Object // members of Chat's own: thoughts, a refusal
	for _, b := range blocks {
		raw := b.For(provider.Chat)
		switch {
		case b.Kind == provider.ToolCall:
			calls = append(calls, encodeChatCall(b))
		case raw != nil:
			if o, isCall := chatMembers(raw); o != nil {
				extra = append(extra, o...)
			} else if isCall {
				calls = append(calls, raw)
			} else {
				content = append(content, b)
			}
		case b.Kind == provider.Text:
			content = append(content, b)
		}
	}
	if len(content)+len(calls)+len(extra) == 0 {
		return nil
	}
	o := tool.Object{{Name: "role", Value: quote("assistant")}}
	if said := encodeChatContent(content, ""); said != nil {
		o = append(o, tool.Member{Name: "content", Value: said})
	} else {
		o = append(o, tool.Member{Name: "content", Value: json.RawMessage(null)})
	}
	for _, m := range extra {
		o = o.Set(m.Name, m.Value)
	}
	if len(calls) > 0 {
		o = append(o, tool.Member{Name: "tool_calls", Value: tool.JoinArray(calls)})
	}
	return o
}

// chatMembers tells what a native block of an assistant is: members of the
// message (thoughts, a refusal), one of its calls, or a part of its content.
func chatMembers(raw json.RawMessage) (members tool.Object, isCall bool) {
	o, err := tool.SplitObject(raw)
	if err != nil || len(o) == 0 {
		return nil, false
	}
	for _, m := range o {
		if m.Name != "refusal" && !slices.Contains(thoughts[:], m.Name) {
			kind := textOf(o, "type")
			return nil, kind == "function" || kind == "custom"
		}
	}
	return o, false
}

func encodeChatCall(b provider.Block) json.RawMessage {
	if raw := b.For(provider.Chat); raw != nil {
		return raw
	}
	return object(
		tool.Member{Name: "id", Value: quote(b.Call.ID)},
		tool.Member{Name: "type", Value: quote("function")},
		tool.Member{Name: "function", Value: object(
			tool.Member{Name: "name", Value: quote(b.Call.FullName())},
			tool.Member{Name: "arguments", Value: quote(writeArgs(b.Call.Args))})})
}
