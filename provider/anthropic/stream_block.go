package anthropic

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/tool"
)

// maxMembers bounds the members that deltas may add to one object: each is looked
// up in turn.
const maxMembers = 256

// partial is a block that has begun.
type partial struct {
	index int
	slot  int // its place among the decoder's blocks
	kind  string
	block tool.Object // as it began
	grown []grown     // members that deltas made or made longer
	input bytes.Buffer
	typed bool // input was written to
}

// grown is a member that deltas write: a text that gets longer, a list that gets
// longer, or a value that is replaced.
type grown struct {
	name  string
	text  bytes.Buffer
	items []json.RawMessage
	value json.RawMessage
}

// member returns what deltas wrote to a member, from what the block began with.
func (p *partial) member(name string) (*grown, error) {
	for i := range p.grown {
		if p.grown[i].name == name {
			return &p.grown[i], nil
		}
	}
	if len(p.grown) >= maxMembers {
		return nil, fmt.Errorf("read a stream: deltas add more than %d members to a block", maxMembers)
	}
	p.grown = append(p.grown, grown{name: name})
	g := &p.grown[len(p.grown)-1]
	was := p.block.Get(name)
	if s, ok := tool.ReadString(was); ok {
		g.text.WriteString(s)
	}
	g.items, _ = tool.SplitArray(was)
	return g, nil
}

func (d *streamDecoder) blockStart(o tool.Object) ([]provider.Event, error) {
	raw := o.Get("content_block")
	block, err := readOnce(raw)
	if err != nil {
		return nil, fmt.Errorf("read event \"content_block_start\" of a stream: its block: %w", err)
	}
	return d.begin(indexOf(o), raw, block)
}

// begin opens a block. One that is open under the same index has ended, whatever
// the provider forgot to say, and so has a text or a thought: those are told as
// they come, and one after the other.
func (d *streamDecoder) begin(index int, raw json.RawMessage, block tool.Object) ([]provider.Event, error) {
	events, err := d.closeIf(func(p *partial) bool {
		return p.index == index || p.kind == "text" || p.kind == "thinking"
	})
	if err != nil {
		return nil, err
	}
	if len(block) > maxMembers {
		return nil, fmt.Errorf("read a stream: a block of it has more than %d members", maxMembers)
	}
	if err := d.keep(len(raw) + blockCost); err != nil {
		return nil, err
	}
	p := &partial{index: index, slot: len(d.done), kind: kindOf(block), block: block}
	if p.kind == "" {
		return nil, fmt.Errorf("read event \"content_block_start\" of a stream: the block has no type")
	}
	if len(d.open) >= maxMembers {
		return nil, fmt.Errorf("read a stream: more than %d blocks are open at once", maxMembers)
	}
	d.open = append(d.open, p)
	d.done = append(d.done, provider.Block{})
	event := provider.Event{Block: provider.Block{Native: native(raw)}}
	switch p.kind {
	case "text":
		event.Kind = provider.TextDelta
		event.Text, _ = tool.ReadString(block.Get("text"))
	case "thinking":
		event.Kind = provider.ThinkingDelta
		event.Text, _ = tool.ReadString(block.Get("thinking"))
	default:
		return events, nil
	}
	return append(events, event), nil
}

func (d *streamDecoder) blockDelta(o tool.Object) ([]provider.Event, error) {
	raw := o.Get("delta")
	delta, err := tool.SplitObject(raw)
	if err != nil {
		return nil, fmt.Errorf("read event \"content_block_delta\" of a stream: its delta: %w", err)
	}
	if err := d.keep(len(raw)); err != nil {
		return nil, err
	}
	kind, index := kindOf(delta), indexOf(o)
	events, p, err := d.find(index, kind)
	if err != nil {
		return nil, err
	}
	event, whole, err := p.apply(kind, delta)
	if err != nil || event.Kind == 0 {
		return events, err
	}
	if whole {
		event.Block.Native = native(raw)
	}
	return append(events, event), nil
}

// find returns the open block of an index. Lookalikes of the API forget to begin
// blocks of text: such a block begins with its first delta.
func (d *streamDecoder) find(index int, kind string) ([]provider.Event, *partial, error) {
	i := slices.IndexFunc(d.open, func(p *partial) bool { return p.index == index })
	if i >= 0 {
		return nil, d.open[i], nil
	}
	var raw json.RawMessage
	switch kind {
	case "text_delta":
		raw = json.RawMessage(`{"type":"text","text":""}`)
	case "thinking_delta":
		raw = json.RawMessage(`{"type":"thinking","thinking":"","signature":""}`)
	default:
		return nil, nil, fmt.Errorf("read event \"content_block_delta\" of a stream: block %d has not begun", index)
	}
	block, err := tool.SplitObject(raw)
	if err != nil {
		return nil, nil, err
	}
	events, err := d.begin(index, raw, block)
	if err != nil {
		return nil, nil, err
	}
	return events, d.open[len(d.open)-1], nil
}

// apply folds a delta into the block. The event is of kind 0 when there is
// nothing to tell yet; whole says that it tells the delta as it is.
func (p *partial) apply(kind string, delta tool.Object) (event provider.Event, whole bool, err error) {
	switch p.kind {
	case "text":
		event.Kind = provider.TextDelta
	case "thinking":
		event.Kind = provider.ThinkingDelta
	}
	switch kind {
	case "text_delta", "thinking_delta":
		name := strings.TrimSuffix(kind, "_delta")
		event.Text, _ = tool.ReadString(delta.Get(name))
		if p.kind != name || event.Text == "" {
			event.Kind = 0
		}
		g, err := p.member(name)
		if err == nil {
			g.text.WriteString(event.Text)
		}
		return event, false, err
	case "input_json_delta":
		piece, _ := tool.ReadString(delta.Get("partial_json"))
		p.input.WriteString(piece)
		p.typed = true
		return provider.Event{}, false, nil
	case "signature_delta": // it comes whole, and is told with the end of its block
		g, err := p.member("signature")
		if err == nil {
			g.value = delta.Get("signature")
		}
		return provider.Event{}, false, err
	case "citations_delta":
		citation := delta.Get("citation")
		if tool.Absent(citation) {
			return provider.Event{}, false, nil
		}
		g, err := p.member("citations")
		if err == nil {
			g.items = append(g.items, citation)
		}
		return event, true, err
	}
	return event, true, p.fold(delta)
}

// fold joins a delta that is not known: a text makes the member of its name
// longer, anything else takes its place.
func (p *partial) fold(delta tool.Object) error {
	for _, m := range delta {
		if m.Name == "type" {
			continue
		}
		g, err := p.member(m.Name)
		if err != nil {
			return err
		}
		if s, ok := tool.ReadString(m.Value); ok && g.value == nil {
			g.text.WriteString(s)
		} else {
			g.value = m.Value
		}
	}
	return nil
}

// blockStop ends the block of an index, if one is open.
func (d *streamDecoder) blockStop(index int) ([]provider.Event, error) {
	return d.closeIf(func(p *partial) bool { return p.index == index })
}

func (d *streamDecoder) closeAll() ([]provider.Event, error) {
	return d.closeIf(func(*partial) bool { return true })
}

// closeIf ends the open blocks that which picks.
func (d *streamDecoder) closeIf(which func(*partial) bool) ([]provider.Event, error) {
	var events []provider.Event
	open := d.open[:0]
	for _, p := range d.open {
		if !which(p) {
			open = append(open, p)
			continue
		}
		b, err := p.end()
		if err != nil {
			return nil, err
		}
		d.done[p.slot] = b
		if b.Kind != provider.Text {
			events = append(events, provider.Event{Kind: provider.BlockDone, Block: b})
		}
	}
	clear(d.open[len(open):])
	d.open = open
	return events, nil
}

// end is the block as it is complete.
func (p *partial) end() (provider.Block, error) {
	raw, err := p.json()
	if err != nil {
		return provider.Block{}, fmt.Errorf("read a stream: a block of it: %w", err)
	}
	b, _, err := mendBlock(raw)
	if err != nil {
		return provider.Block{}, err
	}
	if p.typed && b.Kind == provider.ToolCall { // the bytes hold an object whatever the model wrote
		b.Call.Args = provider.ArgsOf(p.input.String())
	}
	return b, err
}

// json is the block with all that its deltas said.
func (p *partial) json() (json.RawMessage, error) {
	f := &fields{out: slices.Clone(p.block)}
	for i := range p.grown {
		g := &p.grown[i]
		value := g.value
		switch {
		case value != nil:
		case g.items != nil:
			value = tool.JoinArray(g.items)
		default:
			var err error
			if value, err = tool.Encode(g.text.String()); err != nil {
				return nil, err
			}
		}
		f.out = f.out.Set(g.name, value)
	}
	if p.typed {
		input, err := inputOf(provider.ArgsOf(p.input.String()))
		if err != nil {
			return nil, err
		}
		f.out = f.out.Set("input", input)
	}
	return f.json()
}
