package openai

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/tool"
)

// responsesEncoder writes the events of one response. One item is open at a
// time: a message or a thought.
type responsesEncoder struct {
	w        io.Writer
	shell    tool.Object // the response without its output, status and usage
	seq      int
	started  bool
	ended    bool
	items    []json.RawMessage // done
	open     string            // "message", "reasoning" or ""
	openID   string
	ownID    bool            // openID was made up here
	cut      bool            // the answer ended at a limit, and its last item with it
	text     strings.Builder // of the open item
	thinking bool            // thoughts were told that no BlockDone has closed
	told     provider.Told
	err      error // of the first write that failed
}

// echoed are the settings of a request that its response repeats.
var echoed = [...]string{"background", "max_output_tokens", "metadata", "parallel_tool_calls", "prompt_cache_key",
	"reasoning", "safety_identifier", "service_tier", "store", "temperature", "text", "tool_choice", "top_p", "truncation", "user"}

func newResponsesEncoder(w io.Writer, head provider.Response, req *provider.Request) *responsesEncoder {
	if head.ID == "" {
		head.ID = provider.NewID("resp_")
	}
	o := tool.Object{
		{Name: "id", Value: quote(head.ID)}, {Name: "object", Value: quote("response")},
		{Name: "created_at", Value: unixNow()}, {Name: "status", Value: quote("in_progress")},
		{Name: "model", Value: quote(head.Model)}}
	if req != nil && req.API == provider.Responses {
		for _, name := range echoed {
			if raw := req.Fields.Get(name); !tool.Absent(raw) {
				o = append(o, tool.Member{Name: name, Value: raw})
			}
		}
		if req.Previous != "" {
			o = append(o, tool.Member{Name: "previous_response_id", Value: quote(req.Previous)})
		}
	}
	return &responsesEncoder{w: w, shell: complete(o)}
}

// emit writes one event with the next sequence number.
func (e *responsesEncoder) emit(kind string, members ...tool.Member) error {
	if e.err != nil {
		return e.err
	}
	o := append(tool.Object{{Name: "type", Value: quote(kind)}, {Name: "sequence_number", Value: number(e.seq)}}, members...)
	e.seq++
	e.err = provider.WriteFrame(e.w, provider.Frame{Event: kind, Data: marshal(o)})
	return e.err
}

// steps runs writes until one fails.
func steps(all ...func() error) error {
	for _, step := range all {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// step is an event to emit.
func (e *responsesEncoder) step(kind string, members ...tool.Member) func() error {
	return func() error { return e.emit(kind, members...) }
}

func (e *responsesEncoder) start() error {
	if e.ended {
		return errEnded
	}
	if e.started {
		return nil
	}
	e.started = true
	response := tool.Member{Name: "response", Value: marshal(e.shell)}
	return steps(e.step("response.created", response), e.step("response.in_progress", response))
}

func (e *responsesEncoder) index() tool.Member {
	return tool.Member{Name: "output_index", Value: number(len(e.items))}
}

func (e *responsesEncoder) itemID() tool.Member {
	return tool.Member{Name: "item_id", Value: quote(e.openID)}
}

// part is the place of the open item's only part: a content or a summary.
func (e *responsesEncoder) part() tool.Member {
	name := "content_index"
	if e.open == "reasoning" {
		name = "summary_index"
	}
	return tool.Member{Name: name, Value: number(0)}
}

// Event writes the events of one event.
func (e *responsesEncoder) Event(ev provider.Event) error {
	if err := e.start(); err != nil {
		return err
	}
	switch ev.Kind {
	case provider.TextDelta:
		e.told.Text = true
		return e.delta("message", ev)
	case provider.ThinkingDelta:
		e.told.Thought, e.thinking = true, true
		return e.delta("reasoning", ev)
	case provider.BlockDone:
		return e.block(ev.Block)
	}
	return nil
}

// delta writes a piece of text, in an item of that kind.
func (e *responsesEncoder) delta(kind string, ev provider.Event) error {
	if ev.Text == "" {
		return nil
	}
	id := ""
	if o, err := tool.SplitObject(ev.Block.For(provider.Responses)); err == nil && textOf(o, "type") == kind {
		id = textOf(o, "id")
	}
	if e.open != kind || id != "" && id != e.openID {
		if err := steps(e.close, func() error { return e.begin(kind, id) }); err != nil {
			return err
		}
	}
	if e.text.Len()+len(ev.Text) > maxStream {
		return errTooLong()
	}
	e.text.WriteString(ev.Text)
	d := tool.Member{Name: "delta", Value: quote(ev.Text)}
	if kind == "reasoning" {
		return e.emit("response.reasoning_summary_text.delta", e.itemID(), e.index(), e.part(), d)
	}
	return e.emit("response.output_text.delta", e.itemID(), e.index(), e.part(), d, logprobs())
}

func logprobs() tool.Member { return tool.Member{Name: "logprobs", Value: json.RawMessage(`[]`)} }

// begin opens an item. The id is made up where there is none.
func (e *responsesEncoder) begin(kind, id string) error {
	e.open, e.openID, e.ownID = kind, id, id == ""
	e.text.Reset()
	if kind == "reasoning" {
		if id == "" {
			e.openID = provider.NewID("rs_")
		}
		return steps(
			e.step("response.output_item.added", e.index(), tool.Member{Name: "item", Value: reasoningItem(e.openID, "")}),
			e.step("response.reasoning_summary_part.added", e.itemID(), e.index(), e.part(), tool.Member{Name: "part", Value: summaryPart("")}))
	}
	if id == "" {
		e.openID = provider.NewID("msg_")
	}
	return steps(
		e.step("response.output_item.added", e.index(), tool.Member{Name: "item", Value: messageItem(e.openID, "in_progress", nil)}),
		e.step("response.content_part.added", e.itemID(), e.index(), e.part(), tool.Member{Name: "part", Value: textPart("")}))
}

// close ends the open item, if there is one, as it was told.
func (e *responsesEncoder) close() error {
	switch e.open {
	case "message":
		status := "completed"
		if e.cut {
			status = "incomplete"
		}
		return e.closeAs(messageItem(e.openID, status, []json.RawMessage{textPart(e.text.String())}))
	case "reasoning":
		return e.closeAs(reasoningItem(e.openID, e.text.String()))
	}
	return nil
}

// closeAs ends the open item as the given one.
func (e *responsesEncoder) closeAs(item json.RawMessage) error {
	said := e.text.String()
	var err error
	if e.open == "reasoning" {
		err = steps(
			e.step("response.reasoning_summary_text.done", e.itemID(), e.index(), e.part(), tool.Member{Name: "text", Value: quote(said)}),
			e.step("response.reasoning_summary_part.done", e.itemID(), e.index(), e.part(), tool.Member{Name: "part", Value: summaryPart(said)}))
	} else {
		err = steps(
			e.step("response.output_text.done", e.itemID(), e.index(), e.part(), tool.Member{Name: "text", Value: quote(said)}, logprobs()),
			e.step("response.content_part.done", e.itemID(), e.index(), e.part(), tool.Member{Name: "part", Value: textPart(said)}))
	}
	e.open = ""
	if err != nil {
		return err
	}
	return e.done(item)
}

func (e *responsesEncoder) done(item json.RawMessage) error {
	err := e.emit("response.output_item.done", e.index(), tool.Member{Name: "item", Value: item})
	e.items = append(e.items, item)
	return err
}

func (e *responsesEncoder) block(b provider.Block) error {
	switch b.Kind {
	case provider.Thinking:
		return e.thought(b)
	case provider.ToolCall:
		if !e.told.Add(b) {
			return nil
		}
		return steps(e.close, func() error { return e.call(b) })
	case provider.Opaque:
		if b.For(provider.Responses) == nil || !e.told.Add(b) {
			return nil
		}
		return e.item(b.Raw)
	}
	return nil
}

// thought ends the thought that was told, or writes one that was not.
func (e *responsesEncoder) thought(b provider.Block) error {
	told := e.thinking
	e.told.Thought, e.thinking = true, false
	if raw := b.For(provider.Responses); raw != nil {
		return e.item(raw)
	}
	if told || b.Text == "" {
		return nil
	}
	return steps(
		func() error { return e.delta("reasoning", provider.Event{Text: b.Text}) },
		e.close)
}

// item writes an item of this API: the end of the open one when it is that,
// and else an item that begins and ends at once.
func (e *responsesEncoder) item(raw json.RawMessage) error {
	o, err := tool.SplitObject(raw)
	if err != nil || isPart(raw) {
		return nil // no item, and nothing that a client could read
	}
	kind, id := textOf(o, "type"), textOf(o, "id")
	switch {
	case e.open == kind && id == e.openID:
		return e.closeAs(raw)
	case e.open == kind && (e.ownID || id == ""):
		return e.closeAs(marshal(o.Set("id", quote(e.openID))))
	}
	e.told.Text = e.told.Text || kind == "message"
	return steps(e.close,
		e.added(raw),
		func() error { return e.done(raw) })
}

func (e *responsesEncoder) added(item json.RawMessage) func() error {
	return func() error {
		return e.emit("response.output_item.added", e.index(), tool.Member{Name: "item", Value: item})
	}
}

// call writes a call; its arguments come in one piece.
func (e *responsesEncoder) call(b provider.Block) error {
	id, args := provider.NewID("fc_"), writeArgs(b.Call.Args)
	item := callItem(b.Call, id, "completed", args)
	if o, err := tool.SplitObject(b.For(provider.Responses)); err == nil {
		item = b.Raw
		if own := textOf(o, "id"); own != "" {
			id = own
		} else {
			item = marshal(o.Set("id", quote(id)))
		}
		args = textOf(o, "arguments")
	}
	o, err := tool.SplitObject(item)
	if err != nil {
		return fmt.Errorf("write a call to the stream: %w", err)
	}
	begun := marshal(with(with(o, "arguments", quote("")), "status", quote("in_progress")))
	place := []tool.Member{{Name: "item_id", Value: quote(id)}, e.index()}
	return steps(
		e.added(begun),
		e.step("response.function_call_arguments.delta", append(place, tool.Member{Name: "delta", Value: quote(args)})...),
		e.step("response.function_call_arguments.done", append(place, tool.Member{Name: "name", Value: quote(b.Call.Name)}, tool.Member{Name: "arguments", Value: quote(args)})...),
		func() error { return e.done(item) })
}

// Finish writes the rest of r and the whole response.
func (e *responsesEncoder) Finish(r *provider.Response) error {
	if err := e.start(); err != nil {
		return err
	}
	for _, ev := range rest(&e.told, r, provider.Responses) {
		if err := e.Event(ev); err != nil {
			return err
		}
	}
	e.cut = r.Stop == provider.StopLength || r.Stop == provider.StopFilter
	if err := e.close(); err != nil {
		return err
	}
	return e.end(e.whole(r))
}

// whole is the event and the response that end the stream. Of what came with r
// only members are kept that the response does not have: the others speak of
// the request that was made upstream.
func (e *responsesEncoder) whole(r *provider.Response) (kind string, o tool.Object) {
	var came tool.Object
	if r.API == provider.Responses {
		came = r.Fields
	}
	o = without(e.shell) // a copy
	for _, m := range came {
		if o.Index(m.Name) < 0 {
			o = append(o, m)
		}
	}
	status, details := statusOf(r.Stop)
	if readStatus(came, r.Output) == r.Stop && !tool.Absent(came.Get("status")) {
		status, details = textOf(came, "status"), came.Get("incomplete_details")
		if details == nil {
			details = json.RawMessage(null)
		}
	}
	o = o.Set("status", quote(status)).Set("incomplete_details", details).Set("output", tool.JoinArray(e.items)).
		Set("usage", encodeResponsesUsage(r.Usage, came.Get("usage")))
	kind = "response.completed"
	if status == "incomplete" {
		kind = "response.incomplete"
	}
	return kind, o
}

func (e *responsesEncoder) end(kind string, o tool.Object) error {
	err := e.emit(kind, tool.Member{Name: "response", Value: marshal(o)})
	e.ended = true
	return err
}

// Fail ends the stream with response.failed.
func (e *responsesEncoder) Fail(err *provider.Error) error {
	if serr := steps(e.start, e.close); serr != nil {
		return serr
	}
	code := err.Code
	switch {
	case code != "" && (spoken(err.API) || err.API == ""):
	case err.Status == http.StatusTooManyRequests:
		code = "rate_limit_exceeded"
	case err.Status >= 400 && err.Status < 500:
		code = "invalid_prompt"
	default:
		code = "server_error"
	}
	message := err.Message
	if message == "" {
		message = err.Error()
	}
	o := without(e.shell).Set("status", quote("failed")).Set("output", tool.JoinArray(e.items)).
		Set("error", object(tool.Member{Name: "code", Value: quote(code)}, tool.Member{Name: "message", Value: quote(message)}))
	return e.end("response.failed", o)
}

// Output lists the items that were written whole, as they were.
func (e *responsesEncoder) Output() []json.RawMessage { return e.items }

// KeepAlive writes a comment.
func (e *responsesEncoder) KeepAlive() error { return keepAlive(e.w) }
