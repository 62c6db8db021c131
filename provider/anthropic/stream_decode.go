package anthropic

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/tool"
)

const (
	// maxStream bounds the bytes that one stream may add up to.
	maxStream = 16 << 20
	// blockCost is what a block counts beside its bytes, so that very many empty
	// ones are bounded too.
	blockCost = 64
)

// streamDecoder reads one stream. It is for one goroutine.
type streamDecoder struct {
	message tool.Object // the members of message_start's message, and what came after
	usage   tool.Object
	open    []*partial       // blocks that began and have not ended, in order
	done    []provider.Block // in the order in which they began; empty while open
	size    int              // bytes kept
	stopped bool
	ended   bool
	failed  error
}

// NewStreamDecoder returns a decoder that keeps at most 16 MiB of one stream.
//
// A text or thinking block is told by deltas. Its beginning, and a delta that is
// no plain piece of it, such as a citation, come as an event with no Text (or
// the little that the beginning holds) whose Block.Native is what the API said:
// an encoder of the same API writes that, and others pass it over.
func (format) NewStreamDecoder() provider.StreamDecoder { return &streamDecoder{} }

// Frame reads one event. Events that are not known are passed over, as the
// vendor asks.
func (d *streamDecoder) Frame(f provider.Frame) ([]provider.Event, error) {
	if d.failed != nil {
		return nil, d.failed
	}
	data := bytes.TrimSpace(f.Data)
	if len(data) == 0 || string(data) == "[DONE]" || d.ended {
		return nil, nil
	}
	events, err := d.frame(f.Event, data)
	if err != nil {
		d.failed = err
	}
	return events, err
}

func (d *streamDecoder) frame(name string, data []byte) ([]provider.Event, error) {
	if len(data) > maxStream {
		return nil, errTooLong()
	}
	if !json.Valid(data) {
		return nil, fmt.Errorf("read event %q of a stream: its data is not valid JSON", name)
	}
	data = bytes.Clone(data) // what is read shares its memory
	o, err := tool.SplitObject(data)
	if err != nil {
		return nil, fmt.Errorf("read event %q of a stream: %w", name, err)
	}
	kind := kindOf(o)
	if kind == "" {
		kind = name
	}
	switch kind {
	case "message_start":
		return nil, d.start(o)
	case "content_block_start":
		return d.blockStart(o)
	case "content_block_delta":
		return d.blockDelta(o)
	case "content_block_stop":
		return d.blockStop(indexOf(o))
	case "message_delta":
		events, err := d.closeAll()
		if err != nil {
			return nil, err
		}
		return events, d.messageDelta(o)
	case "message_stop":
		d.ended = true
		return d.closeAll()
	case "error":
		return nil, format{}.DecodeError(0, data)
	}
	return nil, nil
}

func errTooLong() error {
	return fmt.Errorf("read a stream: it holds more than %d MiB; ask for a shorter answer", maxStream>>20)
}

// keep counts bytes that are kept.
func (d *streamDecoder) keep(n int) error {
	if d.size += n; d.size > maxStream {
		return errTooLong()
	}
	return nil
}

func (d *streamDecoder) start(o tool.Object) error {
	raw := o.Get("message")
	message, err := readOnce(raw)
	if err != nil {
		return fmt.Errorf("read event \"message_start\" of a stream: its message: %w", err)
	}
	if d.message != nil {
		return errors.New("read event \"message_start\" of a stream: it came twice")
	}
	d.message = message
	if !tool.Absent(message.Get("usage")) {
		if d.usage, err = readOnce(message.Get("usage")); err != nil {
			return fmt.Errorf("read event \"message_start\" of a stream: its usage: %w", err)
		}
	}
	return d.keep(len(raw))
}

// messageDelta takes over how the message ended: the members of its delta, of
// its usage, and its own, such as context_management.
func (d *streamDecoder) messageDelta(o tool.Object) error {
	for _, m := range o {
		switch m.Name {
		case "type":
		case "delta":
			delta, err := tool.SplitObject(m.Value)
			if err != nil {
				return fmt.Errorf("read event \"message_delta\" of a stream: its delta: %w", err)
			}
			for _, m := range delta {
				if err := d.put(&d.message, m); err != nil {
					return err
				}
			}
			d.stopped = d.stopped || !tool.Absent(delta.Get("stop_reason"))
		case "usage":
			usage, err := tool.SplitObject(m.Value)
			if err != nil {
				continue // counts are told, never relied on
			}
			for _, m := range usage {
				// A count that a provider does not know again is no news.
				if tool.Absent(m.Value) && d.usage.Index(m.Name) >= 0 {
					continue
				}
				if err := d.put(&d.usage, m); err != nil {
					return err
				}
			}
		default:
			if err := d.put(&d.message, m); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *streamDecoder) put(o *tool.Object, m tool.Member) error {
	if len(*o) > maxMembers {
		return fmt.Errorf("read a stream: an object of it has more than %d members", maxMembers)
	}
	*o = o.Set(m.Name, m.Value)
	return d.keep(len(m.Name) + len(m.Value))
}

// Response returns the whole answer. A stream whose message_delta told why it
// ended is whole, even if message_stop is missing.
func (d *streamDecoder) Response() (*provider.Response, error) {
	switch {
	case d.failed != nil:
		return nil, d.failed
	case d.message == nil && len(d.done) == 0:
		return nil, errors.New("read a stream: it ended before \"message_start\"; the provider cut it, or it speaks another API")
	case !d.ended && !d.stopped:
		return nil, provider.ErrCut()
	}
	if _, err := d.closeAll(); err != nil { // one may have begun after the reason to end
		return nil, err
	}
	o := append(tool.Object{}, d.message...)
	if len(d.usage) > 0 {
		usage, err := d.usage.MarshalJSON()
		if err != nil {
			return nil, fmt.Errorf("read a stream: its usage: %w", err)
		}
		o = o.Set("usage", usage)
	}
	raws := make([]json.RawMessage, len(d.done))
	for i, b := range d.done {
		raws[i] = b.Raw
	}
	return buildResponse(o, d.done, tool.JoinArray(raws))
}

// indexOf returns the index of a block, or -1.
func indexOf(o tool.Object) int {
	if n, ok := readInt(o.Get("index")); ok {
		return n
	}
	return -1
}
