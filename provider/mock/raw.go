package mock

import (
	"encoding/json"
	"unicode/utf8"

	"github.com/toolsearch/toolsearch/provider"
)

// Some slips of models are such that a Format, which mends them, would not write
// them. They are written here.

// sameIndex is a stream of Chat Completions in which every call has index 0:
// id and name come first, then the arguments in two pieces.
func sameIndex(r *provider.Response) []provider.Frame {
	type function struct {
		Name      string `json:"name,omitempty"`
		Arguments string `json:"arguments"`
	}
	type fragment struct {
		Index    int      `json:"index"`
		ID       string   `json:"id,omitempty"`
		Type     string   `json:"type,omitempty"`
		Function function `json:"function"`
	}
	type delta struct {
		Role  string     `json:"role,omitempty"`
		Text  string     `json:"content,omitempty"`
		Calls []fragment `json:"tool_calls,omitempty"`
	}
	type choice struct {
		Index  int     `json:"index"`
		Delta  delta   `json:"delta"`
		Finish *string `json:"finish_reason"`
	}
	type chunk struct {
		ID      string   `json:"id"`
		Object  string   `json:"object"`
		Model   string   `json:"model"`
		Choices []choice `json:"choices"`
	}
	var out []provider.Frame
	add := func(d delta, finish *string) {
		data, err := json.Marshal(chunk{r.ID, "chat.completion.chunk", r.Model, []choice{{0, d, finish}}})
		if err == nil { // strings and numbers always marshal
			out = append(out, provider.Frame{Data: data})
		}
	}
	add(delta{Role: "assistant", Text: r.Text()}, nil)
	for _, c := range r.Calls() {
		args := string(c.Args)
		half := len(args) / 2
		for half > 0 && !utf8.RuneStart(args[half]) {
			half--
		}
		add(delta{Calls: []fragment{{ID: c.ID, Type: "function", Function: function{Name: c.Name}}}}, nil)
		add(delta{Calls: []fragment{{Function: function{Arguments: args[:half]}}}}, nil)
		add(delta{Calls: []fragment{{Function: function{Arguments: args[half:]}}}}, nil)
	}
	finish := "tool_calls"
	add(delta{}, &finish)
	return append(out, provider.Frame{Data: []byte("[DONE]")})
}

// rawMessage is an answer of Anthropic's Messages.
type rawMessage struct {
	ID      string     `json:"id"`
	Type    string     `json:"type"`
	Role    string     `json:"role"`
	Model   string     `json:"model"`
	Content []rawBlock `json:"content"`
	Reason  *string    `json:"stop_reason"`
	Usage   rawUsage   `json:"usage"`
}

type rawBlock struct {
	Type  string          `json:"type"`
	Text  *string         `json:"text,omitempty"`
	ID    string          `json:"id,omitempty"`
	Name  string          `json:"name,omitempty"`
	Input json.RawMessage `json:"input,omitempty"`
}

type rawUsage struct {
	Input  int `json:"input_tokens"`
	Output int `json:"output_tokens"`
}

// asMessage is an answer whose calls have the inputs that the model wrote,
// whether they are objects or not.
func asMessage(r *provider.Response) rawMessage {
	reason := "tool_use"
	m := rawMessage{ID: r.ID, Type: "message", Role: "assistant", Model: r.Model, Reason: &reason, Usage: rawUsage{r.Usage.Input, r.Usage.Output}}
	if text := r.Text(); text != "" {
		m.Content = append(m.Content, rawBlock{Type: "text", Text: &text})
	}
	for _, c := range r.Calls() {
		m.Content = append(m.Content, rawBlock{Type: "tool_use", ID: c.ID, Name: c.Name, Input: c.Args})
	}
	return m
}

func messageBody(r *provider.Response) []byte {
	body, err := json.Marshal(asMessage(r))
	if err != nil { // only of Args that are not JSON at all
		return []byte("null")
	}
	return body
}

// messageFrames is a stream of Messages in which the pieces of an input need not
// add up to JSON.
func messageFrames(r *provider.Response) []provider.Frame {
	type delta struct {
		Type   string  `json:"type,omitempty"`
		Text   string  `json:"text,omitempty"`
		JSON   string  `json:"partial_json,omitempty"`
		Reason *string `json:"stop_reason,omitempty"`
	}
	type event struct {
		Type    string      `json:"type"`
		Message *rawMessage `json:"message,omitempty"`
		Index   *int        `json:"index,omitempty"`
		Block   *rawBlock   `json:"content_block,omitempty"`
		Delta   *delta      `json:"delta,omitempty"`
		Usage   *rawUsage   `json:"usage,omitempty"`
	}
	var out []provider.Frame
	add := func(e event) {
		data, err := json.Marshal(e)
		if err == nil { // strings and numbers always marshal
			out = append(out, provider.Frame{Event: e.Type, Data: data})
		}
	}
	whole := asMessage(r)
	head := whole
	head.Content, head.Reason = []rawBlock{}, nil
	add(event{Type: "message_start", Message: &head})
	for i, b := range whole.Content {
		d := delta{Type: "input_json_delta", JSON: string(b.Input)}
		var text string
		switch {
		case b.Text != nil:
			d = delta{Type: "text_delta", Text: *b.Text}
			b.Text = new(string)
		case json.Unmarshal(b.Input, &text) == nil:
			d.JSON = text
		}
		if b.Input != nil {
			b.Input = json.RawMessage("{}")
		}
		add(event{Type: "content_block_start", Index: &i, Block: &b})
		add(event{Type: "content_block_delta", Index: &i, Delta: &d})
		add(event{Type: "content_block_stop", Index: &i})
	}
	add(event{Type: "message_delta", Delta: &delta{Reason: whole.Reason}, Usage: &whole.Usage})
	add(event{Type: "message_stop"})
	return out
}
