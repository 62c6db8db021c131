package provider

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"strings"

	"github.com/toolsearch/toolsearch/tool"
)

// maxArgLayers is how many times arguments may be encoded over and over.
const maxArgLayers = 4

// ArgsOf returns the arguments that a model meant by a text, as Call.Args has
// them: an object, also when it is encoded as a string again; {} for nothing; and
// otherwise the text itself as a JSON string.
func ArgsOf(text string) json.RawMessage {
	inner := text
	for range maxArgLayers {
		inner = strings.TrimSpace(inner)
		if inner == "" || inner == "null" {
			return json.RawMessage(`{}`)
		}
		if inner[0] == '{' && json.Valid([]byte(inner)) {
			return json.RawMessage(inner)
		}
		next, ok := tool.ReadString(json.RawMessage(inner))
		if !ok {
			break
		}
		inner = next
	}
	raw, err := tool.Encode(text)
	if err != nil { // not for a string; and an empty one is valid JSON
		return json.RawMessage(`""`)
	}
	return raw
}

// NewID makes up an id that no other has: the prefix and 24 hexadecimal digits.
func NewID(prefix string) string {
	var b [12]byte
	rand.Read(b[:]) // never fails
	return prefix + hex.EncodeToString(b[:])
}
