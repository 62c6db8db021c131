package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/tool"
)

// responsesDecoder reads a stream of Responses events. It keeps the slices of
// the frames it reads. Items are told of once they are done; an item that the
// stream began and never finished is put together from its pieces, or taken
// from the response at the end.
type responsesDecoder struct {
	items  []*itemParts
	byID   map[string]*itemParts
	calls  map[string]bool // call_ids told of
	final  tool.Object
	size   int
	failed error
}

// itemParts gathers one item of the output.
type itemParts struct {
	index int
	added tool.Object
	head  json.RawMessage // the bytes of added
	text  strings.Builder
	args  strings.Builder
	done  *provider.Message
}

func newResponsesDecoder() *responsesDecoder {
	return &responsesDecoder{byID: map[string]*itemParts{}, calls: map[string]bool{}}
}

// responsesEvent is what the events that are read have.
type responsesEvent struct {
	Type      string
	Index     *int   `json:"output_index"`
	ItemID    string `json:"item_id"`
	Delta     json.RawMessage
	Arguments json.RawMessage
	Item      json.RawMessage
	Response  json.RawMessage
	Error     json.RawMessage
}

// Frame reads one event. After an error every further frame returns it again.
func (d *responsesDecoder) Frame(f provider.Frame) ([]provider.Event, error) {
	if d.failed != nil {
		return nil, d.failed
	}
	events, err := d.frame(f)
	d.failed = err
	return events, err
}

func (d *responsesDecoder) frame(f provider.Frame) ([]provider.Event, error) {
	data := bytes.TrimSpace(f.Data)
	if len(data) == 0 || d.final != nil || string(data) == "[DONE]" {
		return nil, nil
	}
	var e responsesEvent
	if err := json.Unmarshal(data, &e); err != nil {
		return nil, errFrame(err)
	}
	if e.Type == "" {
		e.Type = f.Event
	}
	if e.Type == "error" || e.Type == "" && !tool.Absent(e.Error) {
		return nil, streamError(provider.Responses, data)
	}
	switch e.Type {
	case "response.failed":
		return nil, streamError(provider.Responses, e.Response)
	case "response.completed", "response.incomplete":
		o, err := tool.SplitObject(e.Response)
		if err != nil {
			return nil, errFrame(err)
		}
		d.final = o
		return nil, d.grow(len(data))
	}
	return d.itemEvent(e)
}

func (d *responsesDecoder) itemEvent(e responsesEvent) ([]provider.Event, error) {
	switch e.Type {
	case "response.output_item.added":
		o, err := tool.SplitObject(e.Item)
		if err != nil {
			return nil, errFrame(err)
		}
		p, err := d.find(e, o)
		if err != nil {
			return nil, err
		}
		p.added, p.head = o, e.Item
		return nil, d.grow(len(e.Item))
	case "response.output_item.done":
		return d.itemDone(e)
	case "response.output_text.delta", "response.refusal.delta":
		return d.delta(e, provider.TextDelta)
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		return d.delta(e, provider.ThinkingDelta)
	case "response.function_call_arguments.delta", "response.function_call_arguments.done":
		p, err := d.find(e, nil)
		if err != nil {
			return nil, err
		}
		if s, ok := tool.ReadString(e.Delta); ok {
			p.args.WriteString(s)
		}
		if s, ok := tool.ReadString(e.Arguments); ok {
			p.args.Reset()
			p.args.WriteString(s)
		}
		return nil, d.grow(len(e.Delta) + len(e.Arguments))
	}
	return nil, nil // what the other events tell stands in their items too
}

// grow counts what is kept.
func (d *responsesDecoder) grow(n int) error {
	if d.size += n; d.size > maxStream {
		return errTooLong()
	}
	return nil
}

// find returns the item that an event is about, or a new one.
func (d *responsesDecoder) find(e responsesEvent, item tool.Object) (*itemParts, error) {
	id := e.ItemID
	if id == "" {
		id = textOf(item, "id")
	}
	var p *itemParts
	switch {
	case e.Index != nil:
		// Events are nearly always about the newest items.
		for i := len(d.items) - 1; i >= 0 && p == nil; i-- {
			if d.items[i].index == *e.Index {
				p = d.items[i]
			}
		}
	case id != "":
		p = d.byID[id]
	case item == nil && len(d.items) > 0:
		p = d.items[len(d.items)-1]
	}
	if p == nil {
		if len(d.items) == maxCalls {
			return nil, errTooLong()
		}
		p = &itemParts{index: len(d.items)}
		if e.Index != nil {
			p.index = *e.Index
		}
		d.items = append(d.items, p)
	}
	if id != "" && d.byID[id] != p {
		d.byID[id] = p
		return p, d.grow(len(id))
	}
	return p, nil
}

// delta tells of a piece of text, with the item it belongs to as it began.
func (d *responsesDecoder) delta(e responsesEvent, kind provider.EventKind) ([]provider.Event, error) {
	p, err := d.find(e, nil)
	if err != nil {
		return nil, err
	}
	s, _ := tool.ReadString(e.Delta)
	if s == "" {
		return nil, nil
	}
	if kind == provider.TextDelta {
		p.text.WriteString(s)
	}
	out := provider.Event{Kind: kind, Text: s}
	if p.head != nil {
		out.Block.Native = provider.Native{API: provider.Responses, Raw: p.head}
	}
	return []provider.Event{out}, d.grow(len(s))
}

func (d *responsesDecoder) itemDone(e responsesEvent) ([]provider.Event, error) {
	o, err := tool.SplitObject(e.Item)
	if err != nil {
		return nil, errFrame(err)
	}
	p, err := d.find(e, o)
	if err != nil {
		return nil, err
	}
	if p.done != nil {
		return nil, nil
	}
	if err := d.settle(p, e.Item); err != nil {
		return nil, errFrame(err)
	}
	return []provider.Event{blockDone(*p.done)}, d.grow(len(e.Item))
}

// settle reads an item that is complete.
func (d *responsesDecoder) settle(p *itemParts, raw json.RawMessage) error {
	m, err := decodeOutputItem(raw)
	if err != nil {
		return err
	}
	for i := range m.Blocks {
		if b := &m.Blocks[i]; b.Kind == provider.ToolCall {
			if d.calls[b.Call.ID] {
				rename(&m, b)
			}
			d.calls[b.Call.ID] = true
		}
	}
	p.done = &m
	return nil
}

// blockDone tells of an item. A message's texts were told before, so the event
// carries the item for encoders of the same format alone.
func blockDone(m provider.Message) provider.Event {
	b := provider.Block{Kind: provider.Opaque, Native: m.Native}
	if len(m.Blocks) == 1 && !isPart(m.Blocks[0].Raw) && m.Blocks[0].Kind != provider.Text {
		b = m.Blocks[0]
	}
	return provider.Event{Kind: provider.BlockDone, Block: b}
}

// Response returns the whole answer.
func (d *responsesDecoder) Response() (*provider.Response, error) {
	if d.failed != nil {
		return nil, d.failed
	}
	if d.final == nil {
		return nil, provider.ErrCut()
	}
	last, _ := tool.SplitArray(d.final.Get("output"))
	slices.SortStableFunc(d.items, func(a, b *itemParts) int { return cmp.Compare(a.index, b.index) })
	if len(d.items) == 0 { // a server that tells of the end alone
		for i := range last {
			d.items = append(d.items, &itemParts{index: i})
		}
	}
	var output []provider.Message
	for i, p := range d.items {
		if p.done == nil {
			raw := p.build()
			if i < len(last) && len(last) == len(d.items) {
				raw = last[i]
			}
			if err := d.settle(p, raw); err != nil {
				return nil, errFrame(errors.Join(errors.New("an item was never finished"), err))
			}
		}
		output = append(output, *p.done)
	}
	return readResponse(d.final, output)
}

// build puts an item together from its pieces.
func (p *itemParts) build() json.RawMessage {
	o := slices.Clone(p.added)
	if o == nil {
		return messageItem(provider.NewID("msg_"), "completed", []json.RawMessage{textPart(p.text.String())})
	}
	switch textOf(o, "type") {
	case "function_call":
		if p.args.Len() > 0 {
			o = o.Set("arguments", quote(p.args.String()))
		}
	case "message":
		if p.text.Len() > 0 {
			o = o.Set("content", tool.JoinArray([]json.RawMessage{textPart(p.text.String())}))
		}
	}
	if o.Index("status") >= 0 {
		o = o.Set("status", quote("completed"))
	}
	return marshal(o)
}
