package openai

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/tool"
)

// keepAlive writes a comment, which clients of server-sent events skip.
func keepAlive(w io.Writer) error {
	if _, err := io.WriteString(w, ": keep-alive\n\n"); err != nil {
		return fmt.Errorf("write to the stream: %w", err)
	}
	return nil
}

// rest lists what r has beyond what was told, as events. Texts and thoughts come
// whole when none came before; a message of the stream's own API comes as the
// item it was.
func rest(told *provider.Told, r *provider.Response, api provider.API) []provider.Event {
	var out []provider.Event
	for _, m := range r.Output {
		if item, ok := messageOf(m, api); ok {
			if !told.Text {
				out = append(out, provider.Event{Kind: provider.BlockDone, Block: item})
			}
			continue
		}
		for _, b := range m.Blocks {
			switch b.Kind {
			case provider.Text:
				if !told.Text && b.Text != "" {
					e := provider.Event{Kind: provider.TextDelta, Text: b.Text}
					e.Block.Native = b.Native
					out = append(out, e)
				}
			case provider.Thinking:
				if !told.Thought {
					out = append(out, provider.Event{Kind: provider.BlockDone, Block: b})
				}
			case provider.ToolCall, provider.Opaque:
				out = append(out, provider.Event{Kind: provider.BlockDone, Block: b})
			}
		}
	}
	return out
}

// messageOf is a message item of Responses, as a block.
func messageOf(m provider.Message, api provider.API) (provider.Block, bool) {
	raw := m.For(provider.Responses)
	if api != provider.Responses || raw == nil {
		return provider.Block{}, false
	}
	o, err := tool.SplitObject(raw)
	return provider.Block{Kind: provider.Opaque, Native: m.Native}, err == nil && textOf(o, "type") == "message"
}

// number writes a whole number.
func number(n int) json.RawMessage { return json.RawMessage(fmt.Appendf(nil, "%d", n)) }
