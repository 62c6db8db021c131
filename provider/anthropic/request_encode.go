package anthropic

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/tool"
)

// EncodeRequest writes a request: model, settings, system, tools, messages and
// stream, in that order.
//
// System messages of other APIs join the system prompt, wherever they stood:
// not every model takes them in between. Neighbours of one role are joined
// unless both came as Messages, so that all answers to a message's calls stand
// first in the one user message that follows it, as the API demands.
func (format) EncodeRequest(r *provider.Request) ([]byte, error) {
	f := &fields{}
	f.set("model", r.Model)
	if err := writeSettings(f, r); err != nil {
		return nil, fmt.Errorf("write a request's settings: %w", err)
	}
	w := writer{defined: definedIn(r)}
	system, rest := split(r.Messages)
	raw, err := w.system(system)
	if err != nil {
		return nil, fmt.Errorf("write a request's system prompt: %w", err)
	}
	if raw != nil {
		f.raw("system", raw)
	}
	if raw, err = writeTools(r.Tools); err != nil {
		return nil, fmt.Errorf("write a request's tools: %w", err)
	}
	if raw != nil {
		f.raw("tools", raw)
	}
	if raw, err = w.messages(rest); err != nil {
		return nil, fmt.Errorf("write a request's messages: %w", err)
	}
	f.raw("messages", raw)
	if r.Stream {
		f.set("stream", true)
	}
	return f.json()
}

// writeSettings writes the fields as they came in Messages, or else the settings.
func writeSettings(f *fields, r *provider.Request) error {
	if r.API != provider.Messages {
		return writeParams(f, r)
	}
	f.all(r.Fields)
	if r.Fields.Index("max_tokens") < 0 {
		f.set("max_tokens", defaultMaxTokens)
	}
	if r.Fields.Index("tool_choice") < 0 { // whoever took it out leaves what it said of parallel calls
		return addChoice(f, r)
	}
	return nil
}

// definedIn tells which tools a request offers.
func definedIn(r *provider.Request) func(string) bool {
	var names map[string]bool // made at the first question: most requests refer to nothing
	return func(name string) bool {
		if names == nil {
			names = make(map[string]bool, len(r.Tools))
			for _, t := range r.Tools {
				names[t.FullName()] = true
			}
		}
		return name != "" && names[name]
	}
}

// split parts the system prompt from the messages. A system message that stood
// among Messages' messages stays there.
func split(in []provider.Message) (system, rest []provider.Message) {
	for _, m := range in {
		if m.Role == provider.System && first(m.For(provider.Messages)) != '{' {
			system = append(system, m)
		} else {
			rest = append(rest, m)
		}
	}
	return system, rest
}

// system joins system prompts; a single one that came as Messages stays as it was.
func (w writer) system(in []provider.Message) (json.RawMessage, error) {
	if len(in) == 1 && in[0].For(provider.Messages) != nil {
		return in[0].Raw, nil
	}
	var out []json.RawMessage
	for _, m := range in {
		blocks, err := w.parts(m)
		if err != nil {
			return nil, err
		}
		out = append(out, blocks...)
	}
	if len(out) == 0 {
		return nil, nil
	}
	return tool.JoinArray(out), nil
}

// parts writes a message's blocks. A block which came with it keeps its bytes.
func (w writer) parts(m provider.Message) ([]json.RawMessage, error) {
	if m.Role == provider.System {
		m.Blocks = slices.DeleteFunc(slices.Clone(m.Blocks), func(b provider.Block) bool { return b.Kind != provider.Text })
	}
	return w.blocks(m.Role, m.Blocks)
}

// run is a run of messages that become one.
type run struct {
	provider.Message
	joined bool // then Native holds only the first one's members
}

// messages joins neighbours and writes them.
func (w writer) messages(in []provider.Message) (json.RawMessage, error) {
	var runs []run
	for _, m := range in {
		last := len(runs) - 1
		ours := m.For(provider.Messages) != nil
		if last < 0 || runs[last].Role != m.Role ||
			ours && !runs[last].joined && runs[last].For(provider.Messages) != nil {
			runs = append(runs, run{Message: m})
			continue
		}
		prev := &runs[last]
		prev.Blocks = slices.Concat(prev.Blocks, m.Blocks)
		prev.joined = true
		if prev.For(provider.Messages) == nil {
			prev.Native = m.Native
		}
	}
	out := make([]json.RawMessage, 0, len(runs))
	for _, m := range runs {
		raw, err := w.message(m)
		if err != nil {
			return nil, err
		}
		if raw != nil {
			out = append(out, raw)
		}
	}
	return tool.JoinArray(out), nil
}

// message writes one message; nil when nothing of it can be said.
func (w writer) message(m run) (json.RawMessage, error) {
	ours := m.For(provider.Messages)
	if ours != nil && !m.joined {
		return ours, nil
	}
	// Answers must come first. The sort is stable: all else keeps its place.
	m.Blocks = slices.Clone(m.Blocks)
	slices.SortStableFunc(m.Blocks, func(a, b provider.Block) int { return rank(a) - rank(b) })
	blocks, err := w.parts(m.Message)
	if err != nil || len(blocks) == 0 {
		return nil, err
	}
	f := &fields{}
	if ours != nil { // members of the message that stands in the bytes live on
		o, err := tool.SplitObject(ours)
		if err != nil {
			return nil, fmt.Errorf("read a message of its own API: %w", err)
		}
		f.out = o.Set("content", tool.JoinArray(blocks))
		return f.json()
	}
	f.set("role", string(m.Role))
	f.raw("content", tool.JoinArray(blocks))
	return f.json()
}

func rank(b provider.Block) int {
	if b.Kind == provider.ToolAnswer {
		return 0
	}
	return 1
}

// writeTools writes the tools; nil when there are none. Other APIs' hosted tools
// are left out.
func writeTools(tools []provider.Tool) (json.RawMessage, error) {
	out := make([]json.RawMessage, 0, len(tools))
	for _, t := range tools {
		if !sayable(t) {
			continue
		}
		raw := t.For(provider.Messages)
		if raw == nil {
			var err error
			if raw, err = writeTool(t); err != nil {
				return nil, fmt.Errorf("tool %q: %w", t.Name, err)
			}
		}
		out = append(out, raw)
	}
	if len(out) == 0 {
		return nil, nil
	}
	return tool.JoinArray(out), nil
}

// sayable tells whether this API has words for a tool.
func sayable(t provider.Tool) bool { return t.Hosted == "" || t.For(provider.Messages) != nil }

// writeTool writes a function of another API. Its strictness is left out: this
// API's rules for strict schemas are others, and who calls the tool validates.
func writeTool(t provider.Tool) (json.RawMessage, error) {
	schema := t.Parameters
	if tool.Absent(schema) {
		schema = json.RawMessage(`{"type":"object","properties":{}}`)
	}
	o, err := tool.ReadObject(schema)
	if err != nil {
		return nil, fmt.Errorf("read the schema of its parameters: %w", err)
	}
	if tool.Absent(o.Get("type")) { // the API requires it
		kind := tool.Object{{Name: "type", Value: json.RawMessage(`"object"`)}}
		o = append(kind, slices.DeleteFunc(o, func(m tool.Member) bool { return m.Name == "type" })...)
		if schema, err = o.MarshalJSON(); err != nil {
			return nil, err
		}
	}
	f := &fields{}
	f.set("name", t.FullName())
	if t.Description != "" {
		f.set("description", t.Description)
	}
	f.raw("input_schema", schema)
	if t.Defer {
		f.set("defer_loading", true)
	}
	return f.json()
}
