package openai

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"

	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/tool"
)

// writeFrame writes one server-sent event in one write; event may be empty.
// A piece of JSON that is kept as it came may have line breaks between its
// tokens, which would end the frame's line: they are taken out.
func writeFrame(w io.Writer, event string, data []byte) error {
	var out bytes.Buffer
	out.Grow(len(event) + len(data) + 24)
	if event != "" {
		out.WriteString("event: " + event + "\n")
	}
	out.WriteString("data: ")
	if !bytes.ContainsAny(data, "\r\n") {
		out.Write(data)
	} else if err := json.Compact(&out, data); err != nil {
		return fmt.Errorf("write to the stream: %w", err)
	}
	out.WriteString("\n\n")
	if _, err := w.Write(out.Bytes()); err != nil {
		return fmt.Errorf("write to the stream: %w", err)
	}
	return nil
}

// keepAlive writes a comment, which clients of server-sent events skip.
func keepAlive(w io.Writer) error {
	if _, err := io.WriteString(w, ": keep-alive\n\n"); err != nil {
		return fmt.Errorf("write to the stream: %w", err)
	}
	return nil
}

// written remembers what a stream has told, so that its end tells the rest
// alone.
type written struct {
	text, thought bool
	calls         map[string]bool            // by id
	opaque        map[[sha256.Size]byte]bool // by bytes
}

// first says whether the block was not told before, and notes it.
func (w *written) first(b provider.Block) bool {
	switch b.Kind {
	case provider.ToolCall:
		if w.calls[b.Call.ID] {
			return false
		}
		if w.calls == nil {
			w.calls = map[string]bool{}
		}
		w.calls[b.Call.ID] = true
	case provider.Opaque:
		sum := sha256.Sum256(b.Raw)
		if w.opaque[sum] {
			return false
		}
		if w.opaque == nil {
			w.opaque = map[[sha256.Size]byte]bool{}
		}
		w.opaque[sum] = true
	}
	return true
}

// rest lists what r has beyond what was told, as events. Texts and thoughts come
// whole when none came before; a message of the stream's own API comes as the
// item it was.
func (w *written) rest(r *provider.Response, api provider.API) []provider.Event {
	var out []provider.Event
	for _, m := range r.Output {
		if item, ok := messageOf(m, api); ok {
			if !w.text {
				out = append(out, provider.Event{Kind: provider.BlockDone, Block: item})
			}
			continue
		}
		for _, b := range m.Blocks {
			switch b.Kind {
			case provider.Text:
				if !w.text && b.Text != "" {
					e := provider.Event{Kind: provider.TextDelta, Text: b.Text}
					e.Block.Native = b.Native
					out = append(out, e)
				}
			case provider.Thinking:
				if !w.thought {
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
