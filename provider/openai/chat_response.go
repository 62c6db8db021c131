package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/tool"
)

// DecodeResponse reads a whole answer.
func (chat) DecodeResponse(body []byte) (*provider.Response, error) {
	o, err := readAnswer(provider.Chat, body)
	if err != nil {
		return nil, err
	}
	r := &provider.Response{
		ID: textOf(o, "id"), Model: textOf(o, "model"),
		API: provider.Chat, Fields: without(o, "id", "model"),
		Usage: readUsage(o.Get("usage")),
	}
	c, err := readChoice(o)
	if err != nil {
		return nil, err
	}
	r.Output, r.Stop = c.output, c.stop
	return r, nil
}

// readAnswer splits a response's body; an error in its place is an *Error.
func readAnswer(api provider.API, body []byte) (tool.Object, error) {
	if !json.Valid(body) {
		return nil, errors.New("read the model's answer: it is not valid JSON")
	}
	o, err := tool.SplitObject(body)
	if err != nil {
		return nil, fmt.Errorf("read the model's answer: %w", err)
	}
	if failed := o.Get("error"); !tool.Absent(failed) {
		return nil, streamError(api, body)
	}
	return o, nil
}

// choice is what the first choice of a response says.
type choice struct {
	output []provider.Message
	stop   provider.Stop
}

func readChoice(o tool.Object) (choice, error) {
	items, ok := tool.SplitArray(o.Get("choices"))
	if !ok || len(items) == 0 {
		return choice{}, errors.New("read the model's answer: it has no choices")
	}
	first, err := tool.SplitObject(items[0])
	if err != nil {
		return choice{}, fmt.Errorf("read the model's answer: choices[0]: %w", err)
	}
	return readChatOutput(first.Get("message"), textOf(first, "finish_reason"))
}

// readChatOutput reads the message of a response, and mends it.
func readChatOutput(raw json.RawMessage, finish string) (choice, error) {
	o, err := tool.SplitObject(raw)
	if err != nil {
		return choice{}, fmt.Errorf("read the model's answer: its message: %w", err)
	}
	blocks, ok := assistantBlocks(o)
	if !ok {
		return choice{}, errors.New("read the model's answer: its message has content or tool_calls of an unknown form")
	}
	ownIDs(blocks)
	mended, changed := mendChatMessage(o, blocks)
	if mended.Index("role") < 0 {
		mended, changed = append(tool.Object{{Name: "role", Value: quote("assistant")}}, mended...), true
	}
	if changed {
		raw = marshal(mended)
	}
	m := provider.Message{Role: provider.Assistant, Blocks: blocks, Native: provider.Native{API: provider.Chat, Raw: raw}}
	return choice{[]provider.Message{m}, readFinish(finish, blocks)}, nil
}

// ownIDs gives a new id to a call whose id an earlier one has.
func ownIDs(blocks []provider.Block) {
	seen := map[string]bool{}
	for i := range blocks {
		if b := &blocks[i]; b.Kind == provider.ToolCall {
			if seen[b.Call.ID] {
				b.Call.ID = provider.NewID("call_")
			}
			seen[b.Call.ID] = true
		}
	}
}

// readFinish is the stop reason; calls count more than what the model said.
func readFinish(finish string, blocks []provider.Block) provider.Stop {
	for _, b := range blocks {
		if b.Kind == provider.ToolCall {
			return provider.StopCalls
		}
	}
	switch finish {
	case "tool_calls", "function_call":
		return provider.StopCalls
	case "length":
		return provider.StopLength
	case "content_filter":
		return provider.StopFilter
	}
	for _, b := range blocks {
		if o, _ := chatMembers(b.For(provider.Chat)); o.Index("refusal") >= 0 {
			return provider.StopFilter
		}
	}
	return provider.StopEnd
}

// finishReason is readFinish the other way.
func finishReason(s provider.Stop) string {
	switch s {
	case provider.StopCalls:
		return "tool_calls"
	case provider.StopLength:
		return "length"
	case provider.StopFilter:
		return "content_filter"
	}
	return "stop"
}

// EncodeResponse writes a whole answer as one choice, or with all its choices
// when they came from Chat and nothing was changed.
func (chat) EncodeResponse(r *provider.Response) ([]byte, error) {
	id := r.ID
	if id == "" {
		id = provider.NewID("chatcmpl-")
	}
	o := tool.Object{{Name: "id", Value: quote(id)}}
	var came tool.Object
	if r.API == provider.Chat {
		came = r.Fields
	}
	o = o.Set("object", quote("chat.completion"))
	if tool.Absent(came.Get("created")) {
		o = append(o, tool.Member{Name: "created", Value: unixNow()})
	}
	o = append(o, tool.Member{Name: "model", Value: quote(r.Model)})
	for _, m := range came {
		if m.Name != "choices" && m.Name != "usage" {
			o = o.Set(m.Name, m.Value)
		}
	}
	choices, err := encodeChoices(r, came)
	if err != nil {
		return nil, err
	}
	o = append(o, tool.Member{Name: "choices", Value: choices})
	o = append(o, tool.Member{Name: "usage", Value: encodeChatUsage(r.Usage, came.Get("usage"))})
	return marshal(o), nil
}

func unixNow() json.RawMessage {
	return json.RawMessage(fmt.Appendf(nil, "%d", time.Now().Unix()))
}

// encodeChoices returns the choices as they came while the first still says
// what r says, and else one choice of r.
func encodeChoices(r *provider.Response, came tool.Object) (json.RawMessage, error) {
	items, _ := tool.SplitArray(came.Get("choices"))
	var first tool.Object
	if len(items) > 0 && len(r.Output) == 1 {
		first, _ = tool.SplitObject(items[0])
		same := bytes.Equal(first.Get("message"), r.Output[0].For(provider.Chat))
		if same && readFinish(textOf(first, "finish_reason"), r.Output[0].Blocks) == r.Stop &&
			finishReason(r.Stop) == textOf(first, "finish_reason") {
			return came.Get("choices"), nil
		}
	}
	message, err := encodeChatOutput(r.Output)
	if err != nil {
		return nil, err
	}
	one := object(
		tool.Member{Name: "index", Value: json.RawMessage("0")},
		tool.Member{Name: "message", Value: message},
		tool.Member{Name: "logprobs", Value: json.RawMessage(null)},
		tool.Member{Name: "finish_reason", Value: quote(finishReason(r.Stop))})
	return tool.JoinArray([]json.RawMessage{one}), nil
}

// encodeChatOutput writes all messages of a response as one.
func encodeChatOutput(output []provider.Message) (json.RawMessage, error) {
	if len(output) == 1 {
		if raw := output[0].For(provider.Chat); raw != nil {
			return raw, nil
		}
	}
	var blocks []provider.Block
	for _, m := range output {
		blocks = append(blocks, m.Blocks...)
	}
	o := encodeAssistant(blocks)
	if o == nil {
		o = tool.Object{{Name: "role", Value: quote("assistant")}, {Name: "content", Value: quote("")}}
	}
	if o.Index("refusal") < 0 {
		o = append(o, tool.Member{Name: "refusal", Value: json.RawMessage(null)})
	}
	if o.Index(thoughts[0]) < 0 && o.Index(thoughts[1]) < 0 {
		if think := thinking(blocks); think != "" {
			o = append(o, tool.Member{Name: thoughts[0], Value: quote(think)})
		}
	}
	return marshal(o), nil
}

// thinking joins the thoughts of blocks.
func thinking(blocks []provider.Block) string {
	var out string
	for _, b := range blocks {
		if b.Kind == provider.Thinking {
			out += b.Text
		}
	}
	return out
}

// readUsage reads the token counts of either format. Input includes what came
// from a cache, as in OpenAI's words; CacheRead says how much of it. Counts are
// brought into bounds: limits are held against their sum.
func readUsage(raw json.RawMessage) provider.Usage {
	type details struct {
		Cached count `json:"cached_tokens"`
		Write  count `json:"cache_write_tokens"`
	}
	var u struct {
		PromptTokens     count   `json:"prompt_tokens"`
		CompletionTokens count   `json:"completion_tokens"`
		InputTokens      count   `json:"input_tokens"`
		OutputTokens     count   `json:"output_tokens"`
		Prompt           details `json:"prompt_tokens_details"`
		Input            details `json:"input_tokens_details"`
	}
	if tool.Absent(raw) || json.Unmarshal(raw, &u) != nil {
		return provider.Usage{} // counts are told, never relied on
	}
	return provider.Usage{
		Input:      int(u.PromptTokens + u.InputTokens),
		Output:     int(u.CompletionTokens + u.OutputTokens),
		CacheRead:  int(u.Prompt.Cached + u.Input.Cached),
		CacheWrite: int(u.Prompt.Write + u.Input.Write),
	}
}

// count is a number of tokens in bounds; see provider.ReadCount. What is no number
// leaves the counts beside it.
type count int64

// UnmarshalJSON reads a count.
func (c *count) UnmarshalJSON(raw []byte) error {
	*c = count(provider.ReadCount(raw))
	return nil
}

// encodeChatUsage writes the usage: as it came while it says the same.
func encodeChatUsage(u provider.Usage, came json.RawMessage) json.RawMessage {
	if !tool.Absent(came) && readUsage(came) == u {
		return came
	}
	return json.RawMessage(fmt.Appendf(nil,
		`{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d,"prompt_tokens_details":{"cached_tokens":%d,"cache_write_tokens":%d}}`,
		u.Input, u.Output, u.Input+u.Output, u.CacheRead, u.CacheWrite))
}
