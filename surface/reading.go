package surface

import (
	"encoding/json"

	"github.com/toolsearch/toolsearch/call"
	"github.com/toolsearch/toolsearch/tool"
)

// reader says how the model of a mode reads on in a result of what it called.
func reader(m Mode, name string, o call.Origin, whole *tool.Result) call.Reader {
	r := call.Reader{Origin: o, Reading: call.ReadNever}
	switch m {
	case Tools, Directory:
		r.Reading = call.ReadByCall
	case Code:
		r.Reading = call.ReadByCode
	}
	if name == ToolCall && r.Reading == call.ReadByCall {
		r.Amend = func(c *call.Cut, shown *tool.Result) { pageTarget(c, whole, shown) }
	}
	return r
}

// pageTarget has a cut tool_call read on in what the target answered, where
// that is all there is to read, and not in the envelope around it.
func pageTarget(c *call.Cut, whole, shown *tool.Result) {
	full, ok := enveloped(whole)
	if !ok {
		return
	}
	for _, b := range whole.Content[1:] {
		if b.Type != tool.TypeImage && b.Type != tool.TypeAudio {
			return
		}
	}
	next := 0
	if begun, _ := enveloped(shown); !json.Valid([]byte(full)) { // JSON is cut everywhere
		for next < len(full) && next < len(begun) && full[next] == begun[next] {
			next++
		}
	}
	if next < len(full) { // else it is the details that were cut
		c.Full, c.Next = full, next
	}
}

// enveloped reads the result in the text block of an envelope: a text as such,
// anything else as JSON.
func enveloped(res *tool.Result) (string, bool) {
	if len(res.Content) == 0 || res.Content[0].Type != tool.TypeText {
		return "", false
	}
	var e struct {
		Result json.RawMessage `json:"result"`
	}
	if json.Unmarshal([]byte(res.Content[0].Text()), &e) != nil || len(e.Result) == 0 {
		return "", false
	}
	var text string
	if json.Unmarshal(e.Result, &text) == nil {
		return text, true
	}
	return string(e.Result), true
}
