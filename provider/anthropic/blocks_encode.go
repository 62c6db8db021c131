package anthropic

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"strings"

	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/tool"
)

// writer writes blocks of one side: what a client's request may say, or what a
// model's answer may.
type writer struct {
	// answer is set for what a model says.
	answer bool
	// defined tells whether a request offers a tool; a reference to any other one
	// would be refused.
	defined func(name string) bool
}

// blocks writes the blocks that this API can say, each as it came or in its words.
func (w writer) blocks(role provider.Role, in []provider.Block) ([]json.RawMessage, error) {
	out := make([]json.RawMessage, 0, len(in))
	for _, b := range in {
		raw := b.For(provider.Messages)
		if raw == nil {
			var err error
			if raw, err = w.block(role, b); err != nil {
				return nil, err
			}
		}
		if raw != nil {
			out = append(out, raw)
		}
	}
	return out, nil
}

// block puts one block into this API's words; nil when there are none, or when
// the API would refuse them, such as an empty text.
func (w writer) block(role provider.Role, b provider.Block) (json.RawMessage, error) {
	switch b.Kind {
	case provider.Text:
		if strings.TrimSpace(b.Text) == "" {
			return nil, nil
		}
		f := object("text")
		f.set("text", b.Text)
		return f.json()
	case provider.Image:
		if role != provider.User {
			return nil, nil
		}
		return writeImage(b.Image)
	case provider.Thinking:
		if !w.answer { // a thought without a signature of this API's is refused
			return nil, nil
		}
		f := object("thinking")
		f.set("thinking", b.Text)
		f.set("signature", "")
		return f.json()
	case provider.ToolCall:
		return w.call(b.Call)
	case provider.ToolAnswer:
		return w.toolResult(b.Answer)
	}
	return nil, nil
}

func (w writer) call(c provider.Call) (json.RawMessage, error) {
	input, err := inputOf(c.Args)
	if err != nil {
		return nil, err
	}
	f := object("tool_use")
	f.set("id", w.id(c.ID))
	f.set("name", c.FullName())
	f.raw("input", input)
	return f.json()
}

// id returns an id that the API takes: it wants A-Za-z0-9_- alone. Other ids are
// cut to that and get a hash of what they were, so that a call and its answer
// still agree, and two calls still differ. Clients get ids as they are.
func (w writer) id(id string) string {
	if id == "" {
		return provider.NewID("toolu_")
	}
	plain := func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}
	cut := strings.Map(plain, id)
	if w.answer || cut == id {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return cut + "_" + hex.EncodeToString(sum[:4])
}

func (w writer) toolResult(a provider.Answer) (json.RawMessage, error) {
	content, err := w.blocks(provider.User, a.Content)
	if err != nil {
		return nil, err
	}
	referred := map[string]bool{}
	for _, b := range a.Content {
		if raw := b.For(provider.Messages); raw != nil && b.Kind == provider.Opaque {
			name, err := readReference("content", raw)
			if err != nil {
				return nil, err
			}
			referred[name] = true
		}
	}
	for _, name := range a.References {
		if referred[name] || w.defined == nil || !w.defined(name) {
			continue
		}
		ref, err := reference(name)
		if err != nil {
			return nil, err
		}
		content = append(content, ref)
	}
	if a.IsError && len(content) == 0 { // the API wants to be told something
		f := object("text")
		f.set("text", "The tool failed and gave no reason.")
		text, err := f.json()
		if err != nil {
			return nil, err
		}
		content = append(content, text)
	}
	f := object("tool_result")
	f.set("tool_use_id", w.id(a.CallID))
	if len(content) > 0 {
		f.raw("content", tool.JoinArray(content))
	}
	if a.IsError {
		f.set("is_error", true)
	}
	return f.json()
}

func reference(name string) (json.RawMessage, error) {
	f := object("tool_reference")
	f.set("tool_name", name)
	return f.json()
}

func writeImage(i provider.ImageData) (json.RawMessage, error) {
	var source *fields
	switch {
	case i.Data != "":
		source = object("base64")
		source.set("media_type", imageType(i))
		source.set("data", i.Data)
	case i.URL != "":
		source = object("url")
		source.set("url", i.URL)
	default:
		return nil, nil
	}
	raw, err := source.json()
	if err != nil {
		return nil, err
	}
	f := object("image")
	f.raw("source", raw)
	return f.json()
}

// imageType is the type that is said or, where none is, the one that the first
// bytes show: the API requires it.
func imageType(i provider.ImageData) string {
	if i.MIMEType != "" {
		return i.MIMEType
	}
	const enough = 16 // of base64: 12 bytes, all that ImageType looks at
	if len(i.Data) >= enough {
		if head, err := base64.StdEncoding.DecodeString(i.Data[:enough]); err == nil {
			return tool.ImageType(head)
		}
	}
	return ""
}
