package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/tool"
)

// DecodeResponse reads a whole answer.
func (responses) DecodeResponse(body []byte) (*provider.Response, error) {
	o, err := readAnswer(provider.Responses, body)
	if err != nil {
		return nil, err
	}
	items, ok := tool.SplitArray(o.Get("output"))
	if !ok {
		return nil, errors.New("read the model's answer: it has no output")
	}
	var output []provider.Message
	for i, raw := range items {
		m, err := decodeOutputItem(raw)
		if err != nil {
			return nil, fmt.Errorf("read the model's answer: output[%d]: %w", i, err)
		}
		output = append(output, m)
	}
	return readResponse(o, output)
}

// readResponse puts a response object and its items together.
func readResponse(o tool.Object, output []provider.Message) (*provider.Response, error) {
	if textOf(o, "status") == "failed" {
		return nil, streamError(provider.Responses, marshal(o))
	}
	uniqueItems(output)
	return &provider.Response{
		ID: textOf(o, "id"), Model: textOf(o, "model"),
		Output: output, Stop: readStatus(o, output), Usage: readUsage(o.Get("usage")),
		API: provider.Responses, Fields: without(o, "id", "model"),
	}, nil
}

// decodeOutputItem reads an item that a model wrote, and mends it. Its role is
// always Assistant.
func decodeOutputItem(raw json.RawMessage) (provider.Message, error) {
	if o, err := tool.SplitObject(raw); err == nil && textOf(o, "type") == "function_call" {
		if textOf(o, "call_id") == "" {
			o = o.Set("call_id", quote(provider.NewID("call_")))
			raw = marshal(o)
		}
		if args := mendArgs(o.Get("arguments")); args != nil {
			raw = marshal(o.Set("arguments", args))
		}
	}
	m, err := decodeItem(raw, "the item")
	m.Role = provider.Assistant
	return m, err
}

// uniqueItems gives a new call_id to a call whose call_id an earlier one has.
func uniqueItems(output []provider.Message) {
	seen := map[string]bool{}
	for i := range output {
		for j := range output[i].Blocks {
			b := &output[i].Blocks[j]
			if b.Kind != provider.ToolCall {
				continue
			}
			if seen[b.Call.ID] {
				rename(&output[i], b)
			}
			seen[b.Call.ID] = true
		}
	}
}

func rename(m *provider.Message, b *provider.Block) {
	b.Call.ID = provider.NewID("call_")
	if o, err := tool.SplitObject(b.Raw); err == nil {
		b.Raw = marshal(o.Set("call_id", quote(b.Call.ID)))
		m.Raw = b.Raw
	}
}

// readStatus is the stop reason; calls count more than the status.
func readStatus(o tool.Object, output []provider.Message) provider.Stop {
	refused := false
	for _, m := range output {
		for _, b := range m.Blocks {
			if b.Kind == provider.ToolCall {
				return provider.StopCalls
			}
			if part, err := tool.SplitObject(b.For(provider.Responses)); err == nil && textOf(part, "type") == "refusal" {
				refused = true
			}
		}
	}
	if textOf(o, "status") == "incomplete" {
		details, err := tool.SplitObject(o.Get("incomplete_details"))
		if err == nil && textOf(details, "reason") == "content_filter" {
			return provider.StopFilter
		}
		return provider.StopLength
	}
	if refused {
		return provider.StopFilter
	}
	return provider.StopEnd
}

// statusOf is readStatus the other way: status and incomplete_details.
func statusOf(s provider.Stop) (status string, details json.RawMessage) {
	switch s {
	case provider.StopLength:
		return "incomplete", json.RawMessage(`{"reason":"max_output_tokens"}`)
	case provider.StopFilter:
		return "incomplete", json.RawMessage(`{"reason":"content_filter"}`)
	}
	return "completed", json.RawMessage(null)
}

// EncodeResponse writes a whole answer. What came from this API is kept;
// members that its clients' types require are added where they are missing.
func (responses) EncodeResponse(r *provider.Response) ([]byte, error) {
	id := r.ID
	if id == "" {
		id = provider.NewID("resp_")
	}
	var came tool.Object
	if r.API == provider.Responses {
		came = r.Fields
	}
	o := tool.Object{{Name: "id", Value: quote(id)}, {Name: "object", Value: quote("response")}, {Name: "model", Value: quote(r.Model)}}
	for _, m := range came {
		o = o.Set(m.Name, m.Value)
	}
	o = o.Set("output", encodeOutput(r.Output, came.Get("output")))
	o = o.Set("usage", encodeResponsesUsage(r.Usage, came.Get("usage")))
	if textOf(came, "status") == "" || readStatus(came, r.Output) != r.Stop {
		status, details := statusOf(r.Stop)
		o = o.Set("status", quote(status)).Set("incomplete_details", details)
	}
	return marshal(complete(o)), nil
}

// complete adds the members that a response must have, after the types of
// OpenAI's SDKs.
func complete(o tool.Object) tool.Object {
	members := tool.Object{
		{Name: "created_at", Value: unixNow()},
		{Name: "status", Value: json.RawMessage(`"completed"`)},
		{Name: "error", Value: json.RawMessage(null)},
		{Name: "incomplete_details", Value: json.RawMessage(null)},
		{Name: "instructions", Value: json.RawMessage(null)},
		{Name: "max_output_tokens", Value: json.RawMessage(null)},
		{Name: "output", Value: json.RawMessage(`[]`)},
		{Name: "parallel_tool_calls", Value: json.RawMessage(`true`)},
		{Name: "previous_response_id", Value: json.RawMessage(null)},
		{Name: "reasoning", Value: json.RawMessage(`{"effort":null,"summary":null}`)},
		{Name: "temperature", Value: json.RawMessage(null)},
		{Name: "text", Value: json.RawMessage(`{"format":{"type":"text"}}`)},
		{Name: "tool_choice", Value: json.RawMessage(`"auto"`)},
		{Name: "tools", Value: json.RawMessage(`[]`)},
		{Name: "top_p", Value: json.RawMessage(null)},
		{Name: "truncation", Value: json.RawMessage(`"disabled"`)},
		{Name: "usage", Value: json.RawMessage(null)},
		{Name: "metadata", Value: json.RawMessage(`{}`)},
	}
	for _, m := range members {
		if o.Index(m.Name) < 0 {
			o = append(o, m)
		}
	}
	return o
}

// encodeOutput writes a response's items: the list as it came while each of
// them still is as it came.
func encodeOutput(output []provider.Message, came json.RawMessage) json.RawMessage {
	before, _ := tool.SplitArray(came)
	same := len(before) == len(output) && len(before) > 0
	items := []json.RawMessage{}
	for i, m := range output {
		raw := m.For(provider.Responses)
		same = same && bytes.Equal(raw, before[i])
		if raw != nil && !bare(raw) {
			items = append(items, raw)
			continue
		}
		items = append(items, outputItems(m.Blocks)...)
	}
	if same {
		return came
	}
	return tool.JoinArray(items)
}

// outputItems writes blocks as items of an output, each with an id of its own.
func outputItems(blocks []provider.Block) []json.RawMessage {
	var items, parts []json.RawMessage
	flush := func() {
		if len(parts) > 0 {
			items = append(items, messageItem(provider.NewID("msg_"), "completed", parts))
		}
		parts = nil
	}
	for _, b := range blocks {
		raw := b.For(provider.Responses)
		switch {
		case raw != nil && isPart(raw):
			parts = append(parts, raw)
		case raw != nil:
			flush()
			items = append(items, raw)
		case b.Kind == provider.Text:
			parts = append(parts, textPart(b.Text))
		case b.Kind == provider.ToolCall:
			flush()
			items = append(items, callItem(b.Call, provider.NewID("fc_"), "completed", writeArgs(b.Call.Args)))
		case b.Kind == provider.Thinking && b.Text != "":
			flush()
			items = append(items, reasoningItem(provider.NewID("rs_"), b.Text))
		}
	}
	flush()
	return items
}

func messageItem(id, status string, parts []json.RawMessage) json.RawMessage {
	return object(
		tool.Member{Name: "id", Value: quote(id)},
		tool.Member{Name: "type", Value: quote("message")},
		tool.Member{Name: "status", Value: quote(status)},
		tool.Member{Name: "role", Value: quote("assistant")},
		tool.Member{Name: "content", Value: tool.JoinArray(parts)})
}

func textPart(s string) json.RawMessage {
	return object(
		tool.Member{Name: "type", Value: quote("output_text")},
		tool.Member{Name: "annotations", Value: json.RawMessage(`[]`)},
		tool.Member{Name: "logprobs", Value: json.RawMessage(`[]`)},
		tool.Member{Name: "text", Value: quote(s)})
}

func summaryPart(s string) json.RawMessage {
	return object(tool.Member{Name: "type", Value: quote("summary_text")}, tool.Member{Name: "text", Value: quote(s)})
}

// reasoningItem writes a thought; without a text its summary is empty.
func reasoningItem(id, s string) json.RawMessage {
	summary := []json.RawMessage{}
	if s != "" {
		summary = append(summary, summaryPart(s))
	}
	return object(
		tool.Member{Name: "id", Value: quote(id)},
		tool.Member{Name: "type", Value: quote("reasoning")},
		tool.Member{Name: "summary", Value: tool.JoinArray(summary)})
}

// encodeResponsesUsage writes the usage: as it came while it says the same.
func encodeResponsesUsage(u provider.Usage, came json.RawMessage) json.RawMessage {
	if !tool.Absent(came) && readUsage(came) == u {
		return came
	}
	return json.RawMessage(fmt.Appendf(nil, `{"input_tokens":%d,"input_tokens_details":{"cached_tokens":%d,"cache_write_tokens":%d},`+
		`"output_tokens":%d,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":%d}`,
		u.Input, u.CacheRead, u.CacheWrite, u.Output, u.Input+u.Output))
}
