package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/tool"
)

// chatDecoder reads a stream of chunks. It keeps the slices of the frames it
// reads. Of models' slips it mends these: a call without an index or an id,
// several calls at one index, a name that comes with every fragment, arguments
// that come as an object, and a reason to stop that does not tell of the calls.
type chatDecoder struct {
	head     tool.Object // of the first chunk
	id       string
	model    string
	content  strings.Builder
	refusal  strings.Builder
	thoughts [len(thoughts)]gathered
	extra    []*gathered // members of deltas that only the model's vendor knows
	calls    []*chatCallParts
	open     map[int]*chatCallParts // by index
	ids      map[string]bool        // of calls told of
	finish   string
	usage    json.RawMessage
	done     bool
	size     int
	failed   error
	emitted  int // calls told of
}

// Bounds of one stream, far above what models do.
const (
	maxCalls    = 4096
	maxExtra    = 64       // unknown members of deltas; more are left out
	maxSameName = 64 << 10 // bytes of arguments in which a second call is looked for
)

// gathered is one member of the deltas: texts and lists grow, and the last of
// anything else counts.
type gathered struct {
	name  string
	text  strings.Builder
	items []json.RawMessage
	other json.RawMessage
}

func (g *gathered) add(raw json.RawMessage) {
	if s, ok := tool.ReadString(raw); ok {
		g.text.WriteString(s)
	} else if items, ok := tool.SplitArray(raw); ok {
		g.items = append(g.items, items...)
	} else if !tool.Absent(raw) {
		g.other = raw
	}
}

// value is the member's value, or nil when nothing was gathered.
func (g *gathered) value() json.RawMessage {
	switch {
	case g.other != nil:
		return g.other
	case len(g.items) > 0:
		return tool.JoinArray(g.items)
	case g.text.Len() > 0:
		return quote(g.text.String())
	}
	return nil
}

// chatCallParts gathers one call.
type chatCallParts struct {
	id, name string
	args     strings.Builder
	whole    bool        // the arguments came at once, as an object
	rest     tool.Object // members beside index, id, type and function
	custom   tool.Object // of a custom tool's call, with its input in args
	block    provider.Block
}

func newChatDecoder() *chatDecoder {
	return &chatDecoder{open: map[int]*chatCallParts{}, ids: map[string]bool{}}
}

// Frame reads one chunk. After an error every further frame returns it again.
func (d *chatDecoder) Frame(f provider.Frame) ([]provider.Event, error) {
	if d.failed != nil {
		return nil, d.failed
	}
	events, err := d.frame(f)
	d.failed = err
	return events, err
}

// chatChunk is what is read of a chunk.
type chatChunk struct {
	ID      string
	Model   string
	Choices []struct {
		Index  int
		Delta  json.RawMessage
		Finish *string `json:"finish_reason"`
	}
	Usage json.RawMessage
	Error json.RawMessage
}

func (d *chatDecoder) frame(f provider.Frame) ([]provider.Event, error) {
	data := bytes.TrimSpace(f.Data)
	switch {
	case len(data) == 0 || d.done:
		return nil, nil
	case string(data) == "[DONE]":
		d.done = true
		return d.settle(), nil
	case f.Event == "error":
		return nil, streamError(provider.Chat, data)
	}
	var c chatChunk
	if err := json.Unmarshal(data, &c); err != nil {
		return nil, errFrame(err)
	}
	if !tool.Absent(c.Error) {
		return nil, streamError(provider.Chat, data)
	}
	if err := d.about(c, data); err != nil {
		return nil, err
	}
	var out []provider.Event
	for _, ch := range c.Choices {
		if ch.Index != 0 {
			continue
		}
		events, err := d.delta(ch.Delta)
		if err != nil {
			return nil, err
		}
		out = append(out, events...)
		if ch.Finish != nil && *ch.Finish != "" {
			d.finish = *ch.Finish
			out = append(out, d.settle()...)
		}
	}
	return out, nil
}

// about keeps what a chunk says of the whole answer: the first id and model,
// and the last usage.
func (d *chatDecoder) about(c chatChunk, data []byte) error {
	if d.head == nil {
		o, err := tool.SplitObject(data)
		if err != nil {
			return errFrame(err)
		}
		d.head = without(o, "id", "model", "object", "choices", "usage")
	}
	if d.id == "" {
		d.id = c.ID
	}
	if d.model == "" {
		d.model = c.Model
	}
	if !tool.Absent(c.Usage) {
		d.usage = c.Usage
	}
	return nil
}

// grow counts what is kept.
func (d *chatDecoder) grow(n int) error {
	if d.size += n; d.size > maxStream {
		return errTooLong()
	}
	return nil
}

func (d *chatDecoder) delta(raw json.RawMessage) ([]provider.Event, error) {
	if tool.Absent(raw) {
		return nil, nil
	}
	o, err := tool.SplitObject(raw)
	if err != nil {
		return nil, errFrame(err)
	}
	if err := d.grow(len(raw)); err != nil {
		return nil, err
	}
	var out []provider.Event
	var rest tool.Object
	for _, m := range o {
		switch m.Name {
		case "role":
		case "content":
			s := deltaText(m.Value)
			d.content.WriteString(s)
			out = appendDelta(out, provider.TextDelta, s, nil)
		case "refusal":
			s, _ := tool.ReadString(m.Value)
			d.refusal.WriteString(s)
			out = appendDelta(out, provider.TextDelta, s, object(m))
		case "tool_calls":
			if err := d.toolCalls(m.Value); err != nil {
				return nil, err
			}
		default:
			if i := slices.Index(thoughts[:], m.Name); i >= 0 {
				out = d.think(out, i, m.Value, o)
			} else if !tool.Absent(m.Value) {
				rest = append(rest, m)
			}
		}
	}
	if len(rest) > 0 {
		d.keep(rest)
		native := provider.Native{API: provider.Chat, Raw: marshal(rest)}
		out = append(out, provider.Event{Kind: provider.BlockDone, Block: provider.Block{Kind: provider.Opaque, Native: native}})
	}
	return out, nil
}

// appendDelta adds an event for a piece that is not empty; raw is set for one
// that Chat writes in a member of its own.
func appendDelta(out []provider.Event, kind provider.EventKind, s string, raw json.RawMessage) []provider.Event {
	if s == "" {
		return out
	}
	e := provider.Event{Kind: kind, Text: s}
	if raw != nil {
		e.Block.Native = provider.Native{API: provider.Chat, Raw: raw}
	}
	return append(out, e)
}

// deltaText reads a piece of content: a string, or a list of parts, as some
// compatible servers write it.
func deltaText(raw json.RawMessage) string {
	blocks, _ := chatContent(raw)
	var out string
	for _, b := range blocks {
		if b.Kind == provider.Text {
			out += b.Text
		}
	}
	return out
}

// think adds a piece of a thought. Where a delta has it in two members, only the
// first is told of.
func (d *chatDecoder) think(out []provider.Event, i int, raw json.RawMessage, o tool.Object) []provider.Event {
	d.thoughts[i].add(raw)
	for _, earlier := range thoughts[:i] {
		if textOf(o, earlier) != "" {
			return out
		}
	}
	s, _ := tool.ReadString(raw)
	return appendDelta(out, provider.ThinkingDelta, s, nil)
}

// keep gathers unknown members.
func (d *chatDecoder) keep(rest tool.Object) {
	for _, m := range rest {
		i := slices.IndexFunc(d.extra, func(g *gathered) bool { return g.name == m.Name })
		if i < 0 {
			if i = len(d.extra); i == maxExtra {
				continue
			}
			d.extra = append(d.extra, &gathered{name: m.Name})
		}
		d.extra[i].add(m.Value)
	}
}

// chatCallDelta is a fragment of a call.
type chatCallDelta struct {
	index    *int
	id, name string
	args     json.RawMessage
	custom   tool.Object
	rest     tool.Object
}

func readCallDelta(raw json.RawMessage) (chatCallDelta, error) {
	o, err := tool.SplitObject(raw)
	if err != nil {
		return chatCallDelta{}, err
	}
	var c chatCallDelta
	var index int
	if i := o.Get("index"); !tool.Absent(i) && json.Unmarshal(i, &index) == nil {
		c.index = &index
	}
	c.id = textOf(o, "id")
	c.rest = without(o, "index", "id", "type", "function", "custom")
	if fn, err := tool.SplitObject(o.Get("function")); err == nil {
		c.name, c.args = textOf(fn, "name"), fn.Get("arguments")
	} else if custom, err := tool.SplitObject(o.Get("custom")); err == nil {
		c.name, c.args = textOf(custom, "name"), custom.Get("input")
		c.custom = without(custom, "input")
	}
	return c, nil
}

func (d *chatDecoder) toolCalls(raw json.RawMessage) error {
	if tool.Absent(raw) {
		return nil
	}
	items, ok := tool.SplitArray(raw)
	if !ok {
		return errFrame(errors.New("tool_calls is not a list"))
	}
	for _, item := range items {
		c, err := readCallDelta(item)
		if err != nil {
			return errFrame(err)
		}
		p := d.find(c)
		if len(d.calls) > maxCalls {
			return errTooLong()
		}
		if p.id == "" {
			p.id = c.id
		}
		if p.name == "" {
			p.name = c.name
		}
		for _, m := range c.rest {
			p.rest = p.rest.Set(m.Name, m.Value)
		}
		if c.custom != nil && p.custom == nil {
			p.custom = c.custom
		}
		if s, ok := tool.ReadString(c.args); ok {
			p.args.WriteString(s)
		} else if !tool.Absent(c.args) {
			p.args.Reset()
			p.args.Write(c.args)
			p.whole = true
		}
	}
	return nil
}

// find returns the call that a fragment belongs to, or a new one.
func (d *chatDecoder) find(c chatCallDelta) *chatCallParts {
	var p *chatCallParts
	switch {
	case c.index != nil:
		p = d.open[*c.index]
	case c.id != "":
		if i := slices.IndexFunc(d.calls, func(p *chatCallParts) bool { return p.id == c.id }); i >= 0 {
			p = d.calls[i]
		}
	case len(d.calls) > 0:
		p = d.calls[len(d.calls)-1]
	}
	if p != nil && !p.another(c) {
		return p
	}
	p = &chatCallParts{}
	d.calls = append(d.calls, p)
	if c.index != nil {
		d.open[*c.index] = p
	}
	return p
}

// another says whether the fragment begins a call of its own, though it stands
// where p does.
func (p *chatCallParts) another(c chatCallDelta) bool {
	switch {
	case c.id != "" && p.id != "" && c.id != p.id:
		return true
	case c.name == "":
		return false
	case p.name != "" && c.name != p.name:
		return true
	}
	// The same name once more: a repeated head, or a second call of that tool by a
	// model that gives no ids. A fragment that adds to complete arguments is new.
	s, _ := tool.ReadString(c.args)
	adds := strings.TrimSpace(s) != "" || len(c.args) > 0 && c.args[0] == '{'
	if c.id != "" || !adds || p.args.Len() > maxSameName {
		return false
	}
	return p.whole || json.Valid([]byte(p.args.String()))
}

// settle tells of the calls that are complete, once the model has stopped.
func (d *chatDecoder) settle() []provider.Event {
	var out []provider.Event
	for ; d.emitted < len(d.calls); d.emitted++ {
		p := d.calls[d.emitted]
		if p.id == "" || d.ids[p.id] {
			p.id = provider.NewID("call_")
		}
		d.ids[p.id] = true
		p.block = p.build()
		out = append(out, provider.Event{Kind: provider.BlockDone, Block: p.block})
	}
	return out
}

func (p *chatCallParts) build() provider.Block {
	b := provider.Block{Kind: provider.ToolCall, Native: provider.Native{API: provider.Chat}}
	o := tool.Object{{Name: "id", Value: quote(p.id)}}
	if p.custom != nil {
		b.Kind = provider.Opaque
		o = append(o, tool.Member{Name: "type", Value: quote("custom")},
			tool.Member{Name: "custom", Value: marshal(with(p.custom, "input", quote(p.args.String())))})
	} else {
		b.Call = provider.Call{ID: p.id, Name: p.name, Args: provider.ArgsOf(p.args.String())}
		o = append(o, tool.Member{Name: "type", Value: quote("function")},
			tool.Member{Name: "function", Value: object(
				tool.Member{Name: "name", Value: quote(p.name)},
				tool.Member{Name: "arguments", Value: quote(writeArgs(b.Call.Args))})})
	}
	b.Raw = marshal(append(o, p.rest...))
	return b
}

// Response returns the whole answer.
func (d *chatDecoder) Response() (*provider.Response, error) {
	if d.failed != nil {
		return nil, d.failed
	}
	if !d.done && d.finish == "" {
		return nil, provider.ErrCut()
	}
	d.settle() // calls behind the reason to stop
	o := tool.Object{{Name: "role", Value: quote("assistant")}, {Name: "content", Value: json.RawMessage(null)}}
	if s := d.content.String(); s != "" {
		o[1].Value = quote(s)
	}
	if s := d.refusal.String(); s != "" {
		o = append(o, tool.Member{Name: "refusal", Value: quote(s)})
	}
	for i := range d.thoughts {
		if v := d.thoughts[i].value(); v != nil {
			o = append(o, tool.Member{Name: thoughts[i], Value: v})
		}
	}
	for _, g := range d.extra {
		if v := g.value(); v != nil {
			o = append(o, tool.Member{Name: g.name, Value: v})
		}
	}
	if len(d.calls) > 0 {
		calls := make([]json.RawMessage, len(d.calls))
		for i, p := range d.calls {
			calls[i] = p.block.Raw
		}
		o = append(o, tool.Member{Name: "tool_calls", Value: tool.JoinArray(calls)})
	}
	c, err := readChatOutput(marshal(o), d.finish)
	if err != nil {
		return nil, err
	}
	r := &provider.Response{ID: d.id, Model: d.model, Output: c.output, Stop: c.stop, API: provider.Chat, Usage: readUsage(d.usage)}
	r.Fields = d.head
	if d.usage != nil {
		r.Fields = append(slices.Clone(r.Fields), tool.Member{Name: "usage", Value: d.usage})
	}
	return r, nil
}
