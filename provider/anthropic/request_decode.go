package anthropic

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/tool"
)

// DecodeRequest reads a client's request. The system prompt becomes the first
// message; its Native is the value of system, a string or an array. Everything
// that decides what a request means is checked: the rest is the provider's to
// judge.
func (format) DecodeRequest(body []byte) (*provider.Request, error) {
	if !json.Valid(body) {
		return nil, wrong("body", "The request is not valid JSON")
	}
	body = bytes.Clone(body) // what is read shares its memory
	o, err := readStrict("body", body)
	if err != nil {
		return nil, err
	}
	r := &provider.Request{API: provider.Messages}
	for _, m := range o {
		switch m.Name {
		case "model", "messages", "system", "tools", "stream":
		default:
			r.Fields = append(r.Fields, m)
		}
	}
	if r.Model, err = readModel(o); err != nil {
		return nil, err
	}
	if raw := o.Get("stream"); !tool.Absent(raw) {
		var ok bool
		if r.Stream, ok = readBool(raw); !ok {
			return nil, wrong("stream", "Input should be true or false")
		}
	}
	if r.Params, err = decodeParams(o); err != nil {
		return nil, err
	}
	tools, err := decodeTools(o.Get("tools"))
	if err != nil {
		return nil, err
	}
	r.Tools = tools.list
	if err := decodeMessages(r, o); err != nil {
		return nil, err
	}
	return r, checkReferences(r.Messages, tools)
}

func readModel(o tool.Object) (string, error) {
	raw := o.Get("model")
	if tool.Absent(raw) {
		return "", wrong("model", "Field required")
	}
	model, ok := tool.ReadString(raw)
	if !ok || model == "" {
		return "", wrong("model", "Input should be the name of a model")
	}
	return model, nil
}

func decodeMessages(r *provider.Request, o tool.Object) error {
	if raw := o.Get("system"); !tool.Absent(raw) {
		blocks, err := decodeContent("system", raw)
		if err != nil {
			return err
		}
		for i, b := range blocks {
			if b.Kind != provider.Text {
				return wrong(at("system", i), "Only text blocks can be in `system`")
			}
		}
		r.Messages = append(r.Messages, provider.Message{Role: provider.System, Blocks: blocks, Native: native(raw)})
	}
	raw := o.Get("messages")
	if tool.Absent(raw) {
		return wrong("messages", "Field required")
	}
	items, ok := tool.SplitArray(raw)
	if !ok {
		return wrong("messages", "Input should be an array")
	}
	if len(items) == 0 {
		return wrong("messages", "at least one message is required")
	}
	for i, item := range items {
		m, err := decodeMessage(at("messages", i), item)
		if err != nil {
			return err
		}
		r.Messages = append(r.Messages, m)
	}
	return nil
}

// offered are the tools of a request.
type offered struct {
	list  []provider.Tool
	names map[string]bool // also hosted tools'
	// open is set when the provider adds tools whose names the request does not say.
	open bool
}

// decodeTools reads the tools, and checks that names are there and differ.
func decodeTools(raw json.RawMessage) (offered, error) {
	out := offered{names: map[string]bool{}}
	if tool.Absent(raw) {
		return out, nil
	}
	items, ok := tool.SplitArray(raw)
	if !ok {
		return out, wrong("tools", "Input should be an array")
	}
	search := false
	for i, item := range items {
		path := "tools." + strconv.Itoa(i)
		t, name, err := decodeTool(path, item)
		if err != nil {
			return out, err
		}
		if name != "" && out.names[name] {
			return out, wrong(at(path, "name"), "Tool names must be unique; %q stands twice", name)
		}
		out.list = append(out.list, t)
		out.names[name] = true
		out.open = out.open || t.Hosted == "mcp_toolset"
		if _, ok := SearchOf(t.Hosted); ok {
			search = true
		}
	}
	if search {
		return out, checkSearch(out.list)
	}
	return out, nil
}

// decodeTool reads one tool and its name, which a hosted tool has as well.
func decodeTool(path string, raw json.RawMessage) (t provider.Tool, name string, err error) {
	t.Native = native(raw)
	o, err := readStrict(path, raw)
	if err != nil {
		return t, "", err
	}
	if raw := o.Get("defer_loading"); !tool.Absent(raw) {
		var ok bool
		if t.Defer, ok = readBool(raw); !ok {
			return t, "", wrong(at(path, "defer_loading"), "Input should be true or false")
		}
	}
	if raw := o.Get("type"); !tool.Absent(raw) {
		kind, ok := tool.ReadString(raw)
		if !ok || kind == "" {
			return t, "", wrong(at(path, "type"), "Input should be a string")
		}
		if kind != "custom" {
			t.Hosted = kind
			name, _ = tool.ReadString(o.Get("name"))
			return t, name, nil
		}
	}
	if t.Name, err = needName(path, o, "name"); err != nil {
		return t, "", err
	}
	if raw := o.Get("description"); !tool.Absent(raw) {
		if t.Description, err = needString(path, o, "description"); err != nil {
			return t, "", err
		}
	}
	t.Strict, _ = readBool(o.Get("strict"))
	t.Parameters = o.Get("input_schema")
	switch first(t.Parameters) {
	case '{':
	case 0:
		return t, "", wrong(at(path, "input_schema"), "Field required")
	default:
		return t, "", wrong(at(path, "input_schema"), "Input should be an object")
	}
	return t, t.Name, nil
}

// checkSearch holds a request with native tool search to its limits.
func checkSearch(tools []provider.Tool) error {
	if len(tools) > MaxSearchTools {
		return wrong("tools", "At most %d tools can be searched; the request has %d", MaxSearchTools, len(tools))
	}
	for i, t := range tools {
		if tool.Chars(t.Name) > MaxSearchName {
			return wrong(at(at("tools", i), "name"), "With tool search a name has at most %d characters", MaxSearchName)
		}
	}
	return nil
}

// checkReferences refuses a reference to a tool that the request does not define.
func checkReferences(messages []provider.Message, tools offered) error {
	if tools.open {
		return nil
	}
	system := len(messages) > 0 && first(messages[0].Raw) != '{'
	for i, m := range messages {
		for j, b := range m.Blocks {
			names := b.Answer.References
			if b.Type == "tool_search_tool_result" {
				names = Searched(b.Raw)
			}
			for _, name := range names {
				if tools.names[name] {
					continue
				}
				if system {
					i--
				}
				return wrong(at(at(at("messages", i), "content"), j),
					"Tool reference %q has no corresponding tool definition in `tools`", name)
			}
		}
	}
	return nil
}
