package anthropic

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/tool"
)

// streamEncoder writes one stream. It is for one goroutine.
type streamEncoder struct {
	w       io.Writer
	head    provider.Response
	started bool
	ended   bool
	next    int    // index of the next block
	open    string // type of the block that is open, or ""
	told    provider.Told
}

// NewStreamEncoder returns an encoder whose first frame is message_start, at the
// first call of any of its methods but Fail.
func (format) NewStreamEncoder(w io.Writer, head provider.Response, _ *provider.Request) provider.StreamEncoder {
	return &streamEncoder{w: w, head: head}
}

// send writes one frame.
func (s *streamEncoder) send(name string, f *fields) error {
	data, err := f.json()
	if err != nil {
		return fmt.Errorf("write event %q of a stream: %w", name, err)
	}
	if err := provider.WriteFrame(s.w, provider.Frame{Event: name, Data: data}); err != nil {
		return fmt.Errorf("write event %q: %w", name, err)
	}
	return nil
}

// start writes message_start, if it is not written yet.
func (s *streamEncoder) start() error {
	if s.ended {
		return errors.New("write to a stream: it has ended")
	}
	if s.started {
		return nil
	}
	s.started = true
	m := &fields{}
	m.set("id", responseID(s.head.ID))
	m.set("type", "message")
	m.set("role", string(provider.Assistant))
	m.set("model", s.head.Model)
	m.raw("content", json.RawMessage(`[]`))
	m.set("stop_reason", nil)
	m.set("stop_sequence", nil)
	usage, err := writeUsage(s.head.Usage, nil)
	if err != nil {
		return err
	}
	m.raw("usage", usage)
	raw, err := m.json()
	if err != nil {
		return err
	}
	f := object("message_start")
	f.raw("message", raw)
	return s.send("message_start", f)
}

// Event writes what e tells.
func (s *streamEncoder) Event(e provider.Event) error {
	if err := s.start(); err != nil {
		return err
	}
	switch e.Kind {
	case provider.TextDelta:
		s.told.Text = true
		return s.delta("text", e)
	case provider.ThinkingDelta:
		s.told.Thought = true
		return s.delta("thinking", e)
	case provider.BlockDone:
		return s.block(e.Block)
	}
	return nil
}

// delta writes a piece of a text or of a thought: what this API said itself, or
// the piece in its words.
func (s *streamEncoder) delta(kind string, e provider.Event) error {
	raw := e.Block.For(provider.Messages)
	if raw != nil {
		o, err := tool.SplitObject(raw)
		if err != nil {
			return fmt.Errorf("write a piece of a stream: %w", err)
		}
		if kindOf(o) == kind { // a block begins
			return s.begin(kind, raw)
		}
	} else if e.Text == "" {
		return nil
	}
	if s.open != kind {
		block := object(kind)
		block.set(kind, "")
		if kind == "thinking" {
			block.set("signature", "")
		}
		whole, err := block.json()
		if err != nil {
			return err
		}
		if err := s.begin(kind, whole); err != nil {
			return err
		}
	}
	if raw == nil {
		piece := object(kind + "_delta")
		piece.set(kind, e.Text)
		var err error
		if raw, err = piece.json(); err != nil {
			return err
		}
	}
	return s.blockDelta(raw)
}

// begin closes the block that is open, and opens another one.
func (s *streamEncoder) begin(kind string, block json.RawMessage) error {
	if err := s.close(); err != nil {
		return err
	}
	f := object("content_block_start")
	f.set("index", s.next)
	f.raw("content_block", block)
	s.open = kind
	return s.send("content_block_start", f)
}

func (s *streamEncoder) blockDelta(delta json.RawMessage) error {
	f := object("content_block_delta")
	f.set("index", s.next)
	f.raw("delta", delta)
	return s.send("content_block_delta", f)
}

func (s *streamEncoder) close() error {
	if s.open == "" {
		return nil
	}
	f := object("content_block_stop")
	f.set("index", s.next)
	s.open = ""
	s.next++
	return s.send("content_block_stop", f)
}

// block writes a block that is complete.
func (s *streamEncoder) block(b provider.Block) error {
	s.told.Add(b)
	raws, err := writer{answer: true}.blocks(provider.Assistant, []provider.Block{b})
	if err != nil || len(raws) == 0 {
		return err
	}
	o, err := tool.SplitObject(raws[0])
	if err != nil {
		return fmt.Errorf("write a block to a stream: %w", err)
	}
	if b.Kind == provider.Thinking && s.open == "thinking" { // its deltas are out
		return s.sign(o)
	}
	return s.whole(raws[0], o)
}

// sign ends an open thought with its signature.
func (s *streamEncoder) sign(o tool.Object) error {
	if signature, _ := tool.ReadString(o.Get("signature")); signature != "" {
		delta := object("signature_delta")
		delta.raw("signature", o.Get("signature"))
		raw, err := delta.json()
		if err != nil {
			return err
		}
		if err := s.blockDelta(raw); err != nil {
			return err
		}
	}
	return s.close()
}

// whole writes a block from its start to its stop. Texts and the inputs of calls
// come as deltas, as the API sends them: clients add those up, and some pass over
// what the start holds. Any other block stands in its start.
func (s *streamEncoder) whole(raw json.RawMessage, o tool.Object) error {
	kind := kindOf(o)
	var delta *fields
	var emptied string
	empty := json.RawMessage(`""`)
	switch input := o.Get("input"); {
	case kind == "text", kind == "thinking":
		emptied, delta = kind, object(kind+"_delta")
		delta.raw(kind, o.Get(kind))
	case strings.HasSuffix(kind, "tool_use") && first(input) == '{':
		emptied, empty, delta = "input", json.RawMessage(`{}`), object("input_json_delta")
		delta.set("partial_json", string(input))
	}
	signature := kind == "thinking" && o.Get("signature") != nil
	if delta != nil {
		begun := append(tool.Object{}, o...).Set(emptied, empty)
		if signature {
			begun = begun.Set("signature", json.RawMessage(`""`))
		}
		var err error
		if raw, err = begun.MarshalJSON(); err != nil {
			return err
		}
	}
	if err := s.begin(kind, raw); err != nil {
		return err
	}
	if delta != nil {
		piece, err := delta.json()
		if err != nil {
			return err
		}
		if err := s.blockDelta(piece); err != nil {
			return err
		}
	}
	if signature {
		return s.sign(o)
	}
	return s.close()
}

// rest writes the blocks of r that the events before did not tell.
func (s *streamEncoder) rest(r *provider.Response) error {
	before := s.told.Clone()
	for _, m := range r.Output {
		for _, b := range m.Blocks {
			if before.Has(b) {
				continue
			}
			if err := s.block(b); err != nil {
				return err
			}
		}
	}
	return nil
}

// Finish writes the blocks not told yet, message_delta and message_stop.
func (s *streamEncoder) Finish(r *provider.Response) error {
	if err := s.start(); err != nil {
		return err
	}
	if err := s.rest(r); err != nil {
		return err
	}
	if err := s.close(); err != nil {
		return err
	}
	s.ended = true
	end, err := ending(r)
	if err != nil {
		return err
	}
	delta, err := end.MarshalJSON()
	if err != nil {
		return err
	}
	usage, err := writeUsage(r.Usage, cameUsage(r))
	if err != nil {
		return err
	}
	f := object("message_delta")
	f.raw("delta", delta)
	f.raw("usage", usage)
	f.all(others(r))
	if err := s.send("message_delta", f); err != nil {
		return err
	}
	return s.send("message_stop", object("message_stop"))
}

// Fail writes an error event, which ends the stream.
func (s *streamEncoder) Fail(e *provider.Error) error {
	if s.ended {
		return errors.New("write to a stream: it has ended")
	}
	s.ended = true
	o, err := tool.SplitObject(format{}.EncodeError(e))
	if err != nil {
		return fmt.Errorf("write an error to a stream: %w", err)
	}
	return s.send("error", &fields{out: o})
}

// KeepAlive writes a ping.
func (s *streamEncoder) KeepAlive() error {
	if err := s.start(); err != nil {
		return err
	}
	return s.send("ping", object("ping"))
}
