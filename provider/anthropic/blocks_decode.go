package anthropic

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/tool"
)

// at is the path of a field, as the vendor's errors print it.
func at(path string, more any) string { return fmt.Sprintf("%s.%v", path, more) }

// readStrict reads an object of a request. A member that stands twice is
// refused: two readers might each take another one.
func readStrict(path string, raw json.RawMessage) (tool.Object, error) {
	o, err := tool.SplitObject(raw)
	if err != nil {
		return nil, wrong(path, "Input should be an object")
	}
	if name, twice := o.Repeated(); twice {
		return nil, wrong(at(path, name), "The member stands twice; send it once")
	}
	return o, nil
}

// native is a piece in this API's bytes.
func native(raw json.RawMessage) provider.Native {
	return provider.Native{API: provider.Messages, Raw: raw}
}

// textBlock is a text that stands as a plain string.
func textBlock(s string) provider.Block { return provider.Block{Kind: provider.Text, Text: s} }

// decodeMessage reads one entry of messages.
func decodeMessage(path string, raw json.RawMessage) (provider.Message, error) {
	m := provider.Message{Native: native(raw)}
	o, err := readStrict(path, raw)
	if err != nil {
		return m, err
	}
	role, _ := tool.ReadString(o.Get("role"))
	switch m.Role = provider.Role(role); m.Role {
	case provider.User, provider.Assistant, provider.System:
	default:
		return m, wrong(at(path, "role"), "Input should be 'user', 'assistant' or 'system'")
	}
	m.Blocks, err = decodeContent(at(path, "content"), o.Get("content"))
	if err != nil {
		return m, err
	}
	for i, b := range m.Blocks {
		where := at(at(path, "content"), i)
		if b.Kind == provider.ToolCall && m.Role != provider.Assistant {
			return m, wrong(where, "`tool_use` blocks can only be in `assistant` messages")
		}
		if b.Kind == provider.ToolAnswer && m.Role != provider.User {
			return m, wrong(where, "`tool_result` blocks can only be in `user` messages")
		}
	}
	return m, nil
}

// decodeContent reads what may be a string or an array of blocks.
func decodeContent(path string, raw json.RawMessage) ([]provider.Block, error) {
	if tool.Absent(raw) {
		return nil, wrong(path, "Field required")
	}
	if s, ok := tool.ReadString(raw); ok {
		return []provider.Block{textBlock(s)}, nil
	}
	items, ok := tool.SplitArray(raw)
	if !ok {
		return nil, wrong(path, "Input should be a string or an array of blocks")
	}
	blocks := make([]provider.Block, 0, len(items))
	for i, item := range items {
		b, err := decodeBlock(path+"."+strconv.Itoa(i), item)
		if err != nil {
			return nil, err
		}
		blocks = append(blocks, b)
	}
	return blocks, nil
}

// decodeBlock reads a block of a request. One that other APIs have no word for
// is Opaque.
func decodeBlock(path string, raw json.RawMessage) (provider.Block, error) {
	b := provider.Block{Kind: provider.Opaque, Native: native(raw)}
	o, err := readStrict(path, raw)
	if err != nil {
		return b, err
	}
	switch kind := kindOf(o); kind {
	case "":
		return b, wrong(at(path, "type"), "Field required")
	case "text":
		b.Kind = provider.Text
		b.Text, err = needString(path, o, "text")
	case "thinking":
		b.Kind = provider.Thinking
		b.Text, err = needString(path, o, "thinking")
	case "image":
		readImage(&b, o)
	case "tool_use":
		b.Kind = provider.ToolCall
		b.Call, err = decodeCall(path, o)
	case "tool_result":
		b.Kind = provider.ToolAnswer
		b.Answer, err = decodeAnswer(path, o)
	default:
		b.Type = kind
	}
	return b, err
}

// needString reads a member that must be a string.
func needString(path string, o tool.Object, name string) (string, error) {
	raw := o.Get(name)
	if tool.Absent(raw) {
		return "", wrong(at(path, name), "Field required")
	}
	s, ok := tool.ReadString(raw)
	if !ok {
		return "", wrong(at(path, name), "Input should be a string")
	}
	return s, nil
}

// needName is needString for what must not be empty.
func needName(path string, o tool.Object, name string) (string, error) {
	s, err := needString(path, o, name)
	if err == nil && s == "" {
		err = wrong(at(path, name), "String should have at least 1 character")
	}
	return s, err
}

// readImage reads a picture by bytes or by address. Any other source, such as an
// uploaded file, only this API can read: the block stays Opaque.
func readImage(b *provider.Block, o tool.Object) {
	source, err := tool.SplitObject(o.Get("source"))
	if err != nil {
		return
	}
	var image provider.ImageData
	switch kindOf(source) {
	case "base64":
		image.MIMEType, _ = tool.ReadString(source.Get("media_type"))
		image.Data, _ = tool.ReadString(source.Get("data"))
	case "url":
		image.URL, _ = tool.ReadString(source.Get("url"))
	}
	if image.Data != "" || image.URL != "" {
		b.Kind, b.Image = provider.Image, image
	}
}

func decodeCall(path string, o tool.Object) (provider.Call, error) {
	var c provider.Call
	var err error
	if c.ID, err = needName(path, o, "id"); err != nil {
		return c, err
	}
	if c.Name, err = needName(path, o, "name"); err != nil {
		return c, err
	}
	if o.Get("input") == nil {
		return c, wrong(at(path, "input"), "Field required")
	}
	c.Args, _, err = readInput(o.Get("input"))
	return c, err
}

func decodeAnswer(path string, o tool.Object) (provider.Answer, error) {
	var a provider.Answer
	var err error
	if a.CallID, err = needName(path, o, "tool_use_id"); err != nil {
		return a, err
	}
	if raw := o.Get("is_error"); !tool.Absent(raw) {
		var ok bool
		if a.IsError, ok = readBool(raw); !ok {
			return a, wrong(at(path, "is_error"), "Input should be true or false")
		}
	}
	if tool.Absent(o.Get("content")) {
		return a, nil
	}
	where := at(path, "content")
	if a.Content, err = decodeContent(where, o.Get("content")); err != nil {
		return a, err
	}
	for i := range a.Content {
		b := &a.Content[i]
		switch b.Kind {
		case provider.ToolCall, provider.ToolAnswer, provider.Thinking:
			return a, wrong(at(where, i), "A tool result holds text, images, documents, search results and tool references")
		case provider.Opaque:
			if b.Type != "tool_reference" {
				continue
			}
			name, err := readReference(at(where, i), b.Raw)
			if err != nil {
				return a, err
			}
			a.References = append(a.References, name)
		}
	}
	return a, nil
}

// readReference returns the tool that a tool_reference names, or "" for another
// block.
func readReference(path string, raw json.RawMessage) (string, error) {
	o, err := tool.SplitObject(raw)
	if err != nil || kindOf(o) != "tool_reference" {
		return "", nil // decodeBlock has read it: an object it is
	}
	return needName(path, o, "tool_name")
}

// Searched lists the tools that a tool_search_tool_result block refers to, as it
// names them; none when the search failed.
func Searched(raw json.RawMessage) []string {
	o, err := tool.SplitObject(raw)
	if err != nil {
		return nil
	}
	content, err := tool.SplitObject(o.Get("content"))
	if err != nil {
		return nil
	}
	var names []string
	items, _ := tool.SplitArray(content.Get("tool_references"))
	for _, item := range items {
		if ref, err := tool.SplitObject(item); err == nil {
			if name, _ := tool.ReadString(ref.Get("tool_name")); name != "" {
				names = append(names, name)
			}
		}
	}
	return names
}

// mendBlock reads a block of a model's answer, which is taken as it is but for a
// call's slips: an id that is missing is made up, and an input that is no object
// is put into one, in the block's bytes as well. made is false for what is no
// block at all.
func mendBlock(raw json.RawMessage) (b provider.Block, made bool, err error) {
	o, err := readOnce(raw)
	if err != nil {
		return b, false, fmt.Errorf("read a block of the answer: %w", err)
	}
	b = provider.Block{Kind: provider.Opaque, Native: native(raw)}
	switch kind := kindOf(o); kind {
	case "":
		return b, false, nil
	case "text":
		b.Kind = provider.Text
		b.Text, _ = tool.ReadString(o.Get("text"))
	case "thinking":
		b.Kind = provider.Thinking
		b.Text, _ = tool.ReadString(o.Get("thinking"))
	case "tool_use":
		b.Kind = provider.ToolCall
		b, err = mendCall(b, o)
	default:
		b.Type = kind
	}
	return b, true, err
}

func mendCall(b provider.Block, o tool.Object) (provider.Block, error) {
	c := &b.Call
	c.Name, _ = tool.ReadString(o.Get("name"))
	c.ID, _ = tool.ReadString(o.Get("id"))
	mend := &fields{out: slices.Clone(o)}
	changed := false
	if c.ID == "" {
		c.ID = provider.NewID("toolu_")
		id, err := tool.Encode(c.ID)
		if err != nil {
			return b, err
		}
		mend.out, changed = mend.out.Set("id", id), true
	}
	args, input, err := readInput(o.Get("input"))
	if err != nil {
		return b, err
	}
	if c.Args = args; input != nil {
		mend.out, changed = mend.out.Set("input", input), true
	}
	if changed {
		b.Raw, err = mend.json()
	}
	return b, err
}
