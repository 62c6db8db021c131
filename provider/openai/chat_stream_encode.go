package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/tool"
)

// chatEncoder writes chunks of one choice.
type chatEncoder struct {
	w      io.Writer
	prefix []byte // of every chunk, up to its choices
	usage  bool   // asked for by stream_options.include_usage
	role   bool   // written
	ended  bool
	calls  int
	told   provider.Told
	err    error // of the first write that failed
}

var errEnded = errors.New("write to a stream that has ended")

func newChatEncoder(w io.Writer, head provider.Response, req *provider.Request) *chatEncoder {
	if head.ID == "" {
		head.ID = provider.NewID("chatcmpl-")
	}
	e := &chatEncoder{w: w}
	e.prefix = fmt.Appendf(nil, `{"id":%s,"object":"chat.completion.chunk","created":%s,"model":%s,"choices":`,
		quote(head.ID), unixNow(), quote(head.Model))
	if req != nil && req.API == provider.Chat {
		if o, err := tool.SplitObject(req.Fields.Get("stream_options")); err == nil {
			e.usage = string(o.Get("include_usage")) == "true"
		}
	}
	return e
}

// write writes one chunk. While usage is asked for, chunks before it say null.
func (e *chatEncoder) write(choices, usage json.RawMessage) error {
	if e.err != nil {
		return e.err
	}
	if e.ended {
		return errEnded
	}
	out := append(slices.Clone(e.prefix), choices...)
	if usage == nil && e.usage {
		usage = json.RawMessage(null)
	}
	if usage != nil {
		out = append(append(out, `,"usage":`...), usage...)
	}
	return e.data(append(out, '}'))
}

func (e *chatEncoder) data(b []byte) error {
	if e.err == nil {
		e.err = provider.WriteFrame(e.w, provider.Frame{Data: b})
	}
	return e.err
}

// delta writes a chunk with one delta; the first one has the role.
func (e *chatEncoder) delta(o tool.Object, finish json.RawMessage) error {
	if !e.role {
		e.role = true
		o = append(tool.Object{{Name: "role", Value: quote("assistant")}}, o...)
	}
	choice := append([]byte(`[{"index":0,"delta":`), marshal(o)...)
	choice = append(append(choice, `,"logprobs":null,"finish_reason":`...), finish...)
	return e.write(append(choice, "}]"...), nil)
}

// Event writes the chunks of one event.
func (e *chatEncoder) Event(ev provider.Event) error {
	switch ev.Kind {
	case provider.TextDelta:
		e.told.Text = true
		if o, _ := chatMembers(ev.Block.For(provider.Chat)); o != nil {
			return e.delta(o, json.RawMessage(null))
		}
		return e.delta(tool.Object{{Name: "content", Value: quote(ev.Text)}}, json.RawMessage(null))
	case provider.ThinkingDelta:
		e.told.Thought = true
		return e.delta(tool.Object{{Name: thoughts[0], Value: quote(ev.Text)}}, json.RawMessage(null))
	case provider.BlockDone:
		return e.block(ev.Block)
	}
	return nil
}

func (e *chatEncoder) block(b provider.Block) error {
	raw := b.For(provider.Chat)
	switch b.Kind {
	case provider.Thinking:
		if e.told.Thought || b.Text == "" {
			return nil
		}
		return e.Event(provider.Event{Kind: provider.ThinkingDelta, Text: b.Text})
	case provider.ToolCall:
		if !e.told.Add(b) {
			return nil
		}
		return e.call(encodeChatCall(b))
	case provider.Opaque:
		if raw == nil || !e.told.Add(b) {
			return nil
		}
		o, err := tool.SplitObject(raw)
		if err != nil {
			return nil // no delta, and nothing that a client could read
		}
		switch textOf(o, "type") {
		case "custom":
			return e.call(raw)
		case "":
			return e.delta(o, json.RawMessage(null))
		}
		return nil // a part of a content, which deltas do not have
	}
	return nil
}

// call writes a call in two fragments: its id and name, then its arguments.
func (e *chatEncoder) call(raw json.RawMessage) error {
	o, err := tool.SplitObject(raw)
	if err != nil {
		return fmt.Errorf("write a call to the stream: %w", err)
	}
	index := number(e.calls)
	e.calls++
	kind, member := "function", "arguments"
	if textOf(o, "type") == "custom" {
		kind, member = "custom", "input"
	}
	inner, err := tool.SplitObject(o.Get(kind))
	if err != nil {
		return fmt.Errorf("write a call to the stream: %w", err)
	}
	fragment := func(o tool.Object) error {
		one := marshal(append(tool.Object{{Name: "index", Value: index}}, o...))
		return e.delta(tool.Object{{Name: "tool_calls", Value: tool.JoinArray([]json.RawMessage{one})}}, json.RawMessage(null))
	}
	args := inner.Get(member)
	head := without(o, "index").Set(kind, marshal(with(inner, member, json.RawMessage(`""`))))
	if err := fragment(head); err != nil {
		return err
	}
	return fragment(tool.Object{{Name: kind, Value: object(tool.Member{Name: member, Value: args})}})
}

// Finish writes the rest of r, why it ended, its usage if asked for, and the
// end of the stream.
func (e *chatEncoder) Finish(r *provider.Response) error {
	for _, ev := range rest(&e.told, r, provider.Chat) {
		if err := e.Event(ev); err != nil {
			return err
		}
	}
	reason := r.Stop
	if e.calls > 0 && reason == provider.StopEnd {
		reason = provider.StopCalls
	}
	if err := e.delta(tool.Object{}, quote(finishReason(reason))); err != nil {
		return err
	}
	if e.usage {
		var came json.RawMessage
		if r.API == provider.Chat {
			came = r.Fields.Get("usage")
		}
		if err := e.write(json.RawMessage("[]"), encodeChatUsage(r.Usage, came)); err != nil {
			return err
		}
	}
	return e.end()
}

func (e *chatEncoder) end() error {
	if e.err == nil && e.ended {
		return errEnded
	}
	e.ended = true
	return e.data([]byte("[DONE]"))
}

// Fail ends the stream with an error, as OpenAI does: an object "error" in
// place of a chunk.
func (e *chatEncoder) Fail(err *provider.Error) error {
	if e.err != nil {
		return e.err
	}
	if e.ended {
		return errEnded
	}
	data := object(tool.Member{Name: "error", Value: errorObject(err)})
	if werr := e.data(data); werr != nil {
		return werr
	}
	return e.end()
}

// KeepAlive writes a comment.
func (e *chatEncoder) KeepAlive() error { return keepAlive(e.w) }
