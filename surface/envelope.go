package surface

import (
	"encoding/json"
	"errors"

	"github.com/toolsearch/toolsearch/catalog"
	"github.com/toolsearch/toolsearch/tool"
)

// envelope wraps a target's result: one text block with the tool's id, name,
// source and result for the model, the target's images, audio and resources
// behind it byte for byte, and {tool, result} as details.
func envelope(target catalog.Hit, res *tool.Result) (*tool.Result, error) {
	brief := struct {
		ID     tool.ID     `json:"id"`
		Name   string      `json:"name"`
		Source tool.Source `json:"source"`
	}{target.ID, target.Name, target.Source}
	shown, err := tool.Encode(struct {
		Tool   any             `json:"tool"`
		Result json.RawMessage `json:"result"`
	}{brief, readable(res)})
	if err != nil {
		return nil, err
	}
	light := *res
	light.Content = withoutBinaries(res.Content)
	details, err := envelopeDetails(target, &light)
	if err != nil {
		return nil, err
	}
	out := &tool.Result{Content: []tool.Content{tool.Text(string(shown))}, Details: details, IsError: res.IsError}
	for _, c := range res.Content {
		if c.Type != tool.TypeText {
			out.Content = append(out.Content, c)
		}
	}
	return out, nil
}

// readable is what a model reads of a result: its details, else its text, and
// both where the text is more than a copy of the details or of a part of them.
func readable(res *tool.Result) json.RawMessage {
	text := res.Text()
	if len(res.Details) == 0 || !json.Valid(res.Details) {
		return encodeString(text)
	}
	if text == "" || json.Valid([]byte(text)) {
		return res.Details
	}
	switch copied, alone := holdsText(res.Details, text); {
	case alone:
		return encodeString(text)
	case copied:
		return res.Details
	}
	out := append(json.RawMessage(`{"text":`), encodeString(text)...)
	out = append(append(out, `,"details":`...), res.Details...)
	return append(out, '}')
}

// holdsText reports whether a member of the details is the text, and whether it
// is the only one: many servers give a text both ways.
func holdsText(details json.RawMessage, text string) (copied, alone bool) {
	members, err := tool.SplitObject(details)
	if err != nil {
		return false, false
	}
	for _, m := range members {
		if len(m.Value) < len(text) { // escapes only make it longer
			continue
		}
		if s, ok := tool.ReadString(m.Value); ok && s == text {
			return true, len(members) == 1
		}
	}
	return false, false
}

func encodeString(s string) json.RawMessage {
	raw, err := tool.Encode(s)
	if err != nil { // a string always marshals
		return json.RawMessage(`""`)
	}
	return raw
}

// withoutBinaries replaces every block that follows the text block by a note of
// its place, so that an image does not travel twice.
func withoutBinaries(blocks []tool.Content) []tool.Content {
	out := make([]tool.Content, len(blocks))
	place := 0
	for i, c := range blocks {
		out[i] = c
		if c.Type == tool.TypeText {
			continue
		}
		place++
		raw, err := tool.Encode(struct {
			Type  string `json:"type"`
			Block int    `json:"block"`
		}{c.Type, place})
		if err == nil { // a string and a number always marshal
			out[i].Raw = raw
		}
	}
	return out
}

// EnvelopeDetails returns {tool, result} with every block of the result.
func EnvelopeDetails(t *tool.Tool, res *tool.Result) (json.RawMessage, error) {
	return envelopeDetails(catalog.Entry(t), res)
}

func envelopeDetails(target catalog.Hit, res *tool.Result) (json.RawMessage, error) {
	content := res.Content
	if content == nil {
		content = []tool.Content{}
	}
	type result struct {
		Content []tool.Content  `json:"content"`
		Details json.RawMessage `json:"details,omitempty"`
		IsError bool            `json:"isError,omitempty"`
	}
	return tool.Encode(struct {
		Tool   catalog.Hit `json:"tool"`
		Result result      `json:"result"`
	}{target, result{content, res.Details, res.IsError}})
}

// Failure turns an error into a result that a model reads.
func Failure(err error) *tool.Result {
	var te *tool.Error
	if !errors.As(err, &te) {
		te = &tool.Error{Code: tool.CodeFailed, Reason: err.Error(), Err: err}
	}
	return te.Result()
}
