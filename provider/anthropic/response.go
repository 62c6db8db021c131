package anthropic

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/tool"
)

// stopOf puts the API's reason to end into neutral words. Any other one, such as
// pause_turn, is an end; its word lives on in the response's fields.
func stopOf(reason string) provider.Stop {
	switch reason {
	case "tool_use":
		return provider.StopCalls
	case "max_tokens", "model_context_window_exceeded":
		return provider.StopLength
	case "refusal":
		return provider.StopFilter
	}
	return provider.StopEnd
}

// reasonOf is stopOf the other way round.
func reasonOf(s provider.Stop) string {
	switch s {
	case provider.StopCalls:
		return "tool_use"
	case provider.StopLength:
		return "max_tokens"
	case provider.StopFilter:
		return "refusal"
	}
	return "end_turn"
}

// DecodeResponse reads a model's answer. Models' slips are mended: an id or an
// input that is missing, and a reason that says nothing of the calls. A body that
// is an error in spite of its status is an *provider.Error.
func (f format) DecodeResponse(body []byte) (*provider.Response, error) {
	if !json.Valid(body) {
		return nil, errors.New("read an answer of the Messages API: it is not valid JSON; check the provider's base URL")
	}
	body = bytes.Clone(body) // what is read shares its memory
	o, err := readOnce(body)
	if err != nil {
		return nil, fmt.Errorf("read an answer of the Messages API: %w", err)
	}
	if kindOf(o) == "error" {
		e := f.DecodeError(0, body)
		return nil, e
	}
	items, ok := tool.SplitArray(o.Get("content"))
	if !ok {
		return nil, errors.New("read an answer of the Messages API: it has no array \"content\"; check the provider's api and base URL")
	}
	raws := make([]json.RawMessage, 0, len(items))
	var blocks []provider.Block
	same := true
	for _, item := range items {
		b, made, err := mendBlock(item)
		if err != nil {
			return nil, err
		}
		if !made {
			return nil, errors.New("read an answer of the Messages API: a block of it has no type")
		}
		same = same && bytes.Equal(item, b.Raw)
		blocks, raws = append(blocks, b), append(raws, b.Raw)
	}
	content := o.Get("content")
	if !same {
		content = tool.JoinArray(raws)
	}
	return buildResponse(o, blocks, content)
}

// buildResponse makes a response from the members of a message and its content.
func buildResponse(o tool.Object, blocks []provider.Block, content json.RawMessage) (*provider.Response, error) {
	r := &provider.Response{API: provider.Messages}
	for _, m := range o {
		switch m.Name {
		case "id":
			r.ID, _ = tool.ReadString(m.Value)
		case "model":
			r.Model, _ = tool.ReadString(m.Value)
		case "content":
		default:
			r.Fields = append(r.Fields, m)
		}
	}
	if r.ID == "" {
		r.ID = provider.NewID("msg_")
	}
	reason, _ := tool.ReadString(o.Get("stop_reason"))
	r.Stop, r.Usage = stopOf(reason), readUsage(o.Get("usage"))
	if len(blocks) > 0 {
		f := &fields{}
		f.set("role", string(provider.Assistant))
		f.raw("content", content)
		raw, err := f.json()
		if err != nil {
			return nil, err
		}
		r.Output = []provider.Message{{Role: provider.Assistant, Blocks: blocks, Native: native(raw)}}
	}
	if len(r.Calls()) > 0 {
		r.Stop = provider.StopCalls
	}
	return r, nil
}

// readUsage reads token counts. This API counts what came from a cache, or went
// into one, beside input_tokens; a neutral Input counts all of it. Counts are
// brought into bounds.
func readUsage(raw json.RawMessage) provider.Usage {
	o, err := tool.SplitObject(raw)
	if err != nil {
		return provider.Usage{} // counts are told, never relied on
	}
	count := func(name string) int { return provider.ReadCount(o.Get(name)) }
	u := provider.Usage{
		Output:     count("output_tokens"),
		CacheRead:  count("cache_read_input_tokens"),
		CacheWrite: count("cache_creation_input_tokens"),
	}
	u.Input = count("input_tokens") + u.CacheRead + u.CacheWrite
	return u
}

// writeUsage writes token counts: the object as it came while it says the same,
// or else with its counts replaced.
func writeUsage(u provider.Usage, came json.RawMessage) (json.RawMessage, error) {
	o, err := tool.SplitObject(came)
	if err == nil && o.Index("output_tokens") >= 0 && readUsage(came) == u {
		return came, nil
	}
	f := &fields{}
	for _, count := range []struct {
		name string
		n    int
	}{
		{"input_tokens", max(0, u.Input-u.CacheRead-u.CacheWrite)},
		{"cache_creation_input_tokens", u.CacheWrite},
		{"cache_read_input_tokens", u.CacheRead},
		{"output_tokens", u.Output},
	} {
		f.set(count.name, count.n)
	}
	counts := f.out[:len(f.out):len(f.out)]
	for _, m := range o { // what else it counts, such as web searches
		if counts.Index(m.Name) < 0 {
			f.raw(m.Name, m.Value)
		}
	}
	return f.json()
}

// ending are the members of a response that tell how it ended, apart from the
// usage.
func ending(r *provider.Response) (tool.Object, error) {
	var came tool.Object
	if r.API == provider.Messages {
		came = r.Fields
	}
	f := &fields{}
	reason, _ := tool.ReadString(came.Get("stop_reason"))
	if reason != "" && stopOf(reason) == r.Stop {
		f.raw("stop_reason", came.Get("stop_reason"))
	} else {
		f.set("stop_reason", reasonOf(r.Stop))
	}
	f.raw("stop_sequence", json.RawMessage(`null`))
	if s := came.Get("stop_sequence"); s != nil && reason == "stop_sequence" && r.Stop == provider.StopEnd {
		f.out = f.out.Set("stop_sequence", s)
	}
	for _, name := range []string{"stop_details", "container"} {
		if v := came.Get(name); v != nil {
			f.raw(name, v)
		}
	}
	return f.out, f.err
}

// others are the members of a response that came from this API and that nothing
// else of this package writes.
func others(r *provider.Response) tool.Object {
	if r.API != provider.Messages {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(r.Fields), func(m tool.Member) bool {
		switch m.Name {
		case "type", "role", "id", "model", "content", "usage",
			"stop_reason", "stop_sequence", "stop_details", "container":
			return true
		}
		return false
	})
}

// cameUsage is the usage as this API wrote it, or nil.
func cameUsage(r *provider.Response) json.RawMessage {
	if r.API != provider.Messages {
		return nil
	}
	return r.Fields.Get("usage")
}

// EncodeResponse writes an answer to a client of this API. Its messages become
// one.
func (format) EncodeResponse(r *provider.Response) ([]byte, error) {
	content, err := responseContent(r)
	if err != nil {
		return nil, fmt.Errorf("write an answer's content: %w", err)
	}
	end, err := ending(r)
	if err != nil {
		return nil, fmt.Errorf("write an answer's end: %w", err)
	}
	usage, err := writeUsage(r.Usage, cameUsage(r))
	if err != nil {
		return nil, fmt.Errorf("write an answer's usage: %w", err)
	}
	f := &fields{}
	f.set("id", responseID(r.ID))
	f.set("type", "message")
	f.set("role", string(provider.Assistant))
	f.set("model", r.Model)
	f.raw("content", content)
	f.all(end)
	f.all(others(r))
	f.raw("usage", usage)
	return f.json()
}

func responseContent(r *provider.Response) (json.RawMessage, error) {
	if len(r.Output) == 1 {
		if o, err := tool.SplitObject(r.Output[0].For(provider.Messages)); err == nil && first(o.Get("content")) == '[' {
			return o.Get("content"), nil
		}
	}
	w := writer{answer: true}
	var out []json.RawMessage
	for _, m := range r.Output {
		blocks, err := w.blocks(provider.Assistant, m.Blocks)
		if err != nil {
			return nil, err
		}
		out = append(out, blocks...)
	}
	return tool.JoinArray(out), nil
}

// responseID is an answer's id, made up where there is none.
func responseID(id string) string {
	if id == "" {
		return provider.NewID("msg_")
	}
	return id
}
