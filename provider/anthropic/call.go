package anthropic

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"strings"

	"github.com/toolsearch/toolsearch/tool"
)

// maxArgLayers is how many times arguments may be encoded over and over.
const maxArgLayers = 4

// invalidJSON is the member that holds arguments which are no object, where the
// API takes only objects: the vendor's guide to fine-grained streaming of tool
// inputs names it for inputs that were cut.
const invalidJSON = "INVALID_JSON"

// newID makes up an id, such as "toolu_" and 24 hexadecimal digits.
func newID(prefix string) string {
	var b [12]byte
	rand.Read(b[:]) // never fails
	return prefix + hex.EncodeToString(b[:])
}

// argsOf returns the arguments that a model meant by a text, as
// provider.Call.Args says: an object, also when it is encoded as a string again;
// {} for nothing; and else the text as a JSON string.
func argsOf(text string) (json.RawMessage, error) {
	inner := text
	for range maxArgLayers {
		inner = strings.TrimSpace(inner)
		if inner == "" || inner == "null" {
			return json.RawMessage(`{}`), nil
		}
		if inner[0] == '{' && json.Valid([]byte(inner)) {
			return json.RawMessage(inner), nil
		}
		next, ok := tool.ReadString(json.RawMessage(inner))
		if !ok {
			break
		}
		inner = next
	}
	return tool.Encode(text)
}

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

// readInput is argsOf for an input member; mended is the member as the API would
// have written it, or nil when it needs no mending.
func readInput(raw json.RawMessage) (args, mended json.RawMessage, err error) {
	if first(raw) == '{' {
		return raw, nil, nil
	}
	text, ok := tool.ReadString(raw)
	if !ok {
		text = string(raw)
	}
	if args, err = argsOf(text); err != nil {
		return nil, nil, err
	}
	mended, err = inputOf(args)
	return args, mended, err
}
