package openai

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"

	"github.com/toolsearch/toolsearch/provider"
)

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
// whole when none came before.
func (w *written) rest(r *provider.Response) []provider.Event {
	var out []provider.Event
	text, thought := w.text, w.thought
	for _, m := range r.Output {
		for _, b := range m.Blocks {
			switch b.Kind {
			case provider.Text:
				if !text && b.Text != "" {
					e := provider.Event{Kind: provider.TextDelta, Text: b.Text}
					e.Block.Native = b.Native
					out = append(out, e)
				}
			case provider.Thinking:
				if !thought {
					out = append(out, provider.Event{Kind: provider.BlockDone, Block: b})
				}
			case provider.ToolCall, provider.Opaque:
				out = append(out, provider.Event{Kind: provider.BlockDone, Block: b})
			}
		}
	}
	return out
}

// number writes a whole number.
func number(n int) json.RawMessage { return json.RawMessage(fmt.Appendf(nil, "%d", n)) }
