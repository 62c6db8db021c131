package anthropic

import (
	"encoding/json"

	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/tool"
)

// invalidJSON is the member that holds arguments which are no object, where the
// API takes only objects: the vendor's guide to fine-grained streaming of tool
// inputs names it for inputs that were cut.
const invalidJSON = "INVALID_JSON"

// inputOf writes arguments as the API's input, which must be an object.
func inputOf(args json.RawMessage) (json.RawMessage, error) {
	switch first(args) {
	case '{':
		return args, nil
	case 0, 'n':
		return json.RawMessage(`{}`), nil
	}
	f := &fields{}
	f.raw(invalidJSON, args)
	return f.json()
}

// readInput is provider.ArgsOf for an input member; mended is the member as the API would
// have written it, or nil when it needs no mending.
func readInput(raw json.RawMessage) (args, mended json.RawMessage, err error) {
	if first(raw) == '{' {
		return raw, nil, nil
	}
	text, ok := tool.ReadString(raw)
	if !ok {
		text = string(raw)
	}
	args = provider.ArgsOf(text)
	mended, err = inputOf(args)
	return args, mended, err
}
