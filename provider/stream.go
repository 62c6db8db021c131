package provider

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"maps"
)

// WriteFrame writes one server-sent event in one write. Its data is JSON: what is
// kept as it came may have line breaks between its tokens, which would end the
// frame's line, so they are taken out.
func WriteFrame(w io.Writer, f Frame) error {
	var out bytes.Buffer
	out.Grow(len(f.Event) + len(f.Data) + len("event: \ndata: \n\n"))
	if f.Event != "" {
		out.WriteString("event: " + f.Event + "\n")
	}
	out.WriteString("data: ")
	if !bytes.ContainsAny(f.Data, "\r\n") {
		out.Write(f.Data)
	} else if err := json.Compact(&out, f.Data); err != nil {
		return fmt.Errorf("write to the stream: %w", err)
	}
	out.WriteString("\n\n")
	if _, err := w.Write(out.Bytes()); err != nil {
		return fmt.Errorf("write to the stream: %w", err)
	}
	return nil
}

// Told remembers what a StreamEncoder has told of an answer, so that its Finish
// tells the rest alone. It holds one entry for each call and each opaque block of
// the answer. The zero Told has told nothing.
type Told struct {
	// Texts and thoughts are told by pieces, so one piece stands for all.
	Text, Thought bool

	calls  map[string]bool            // by id
	opaque map[[sha256.Size]byte]bool // by bytes
}

// Has reports whether a block was told.
func (t *Told) Has(b Block) bool {
	switch b.Kind {
	case Text:
		return t.Text
	case Thinking:
		return t.Thought
	case ToolCall:
		return t.calls[b.Call.ID]
	case Opaque:
		return t.opaque[sha256.Sum256(b.Raw)]
	}
	return true
}

// Add notes a block, and reports whether it was not told before.
func (t *Told) Add(b Block) (first bool) {
	switch b.Kind {
	case Text:
		first, t.Text = !t.Text, true
	case Thinking:
		first, t.Thought = !t.Thought, true
	case ToolCall:
		if t.calls == nil {
			t.calls = map[string]bool{}
		}
		first = !t.calls[b.Call.ID]
		t.calls[b.Call.ID] = true
	case Opaque:
		if t.opaque == nil {
			t.opaque = map[[sha256.Size]byte]bool{}
		}
		sum := sha256.Sum256(b.Raw)
		first = !t.opaque[sum]
		t.opaque[sum] = true
	}
	return first
}

// Clone returns a copy that does not follow t.
func (t *Told) Clone() Told {
	return Told{Text: t.Text, Thought: t.Thought, calls: maps.Clone(t.calls), opaque: maps.Clone(t.opaque)}
}
