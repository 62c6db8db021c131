package openai

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/tool"
)

// readArgs returns the arguments that a model meant: an object where raw is
// one, holds one in a string (both formats' way), or in a string of a string;
// {} where there is nothing; and otherwise the text itself as a JSON string.
func readArgs(raw json.RawMessage) json.RawMessage {
	s, ok := tool.ReadString(raw)
	if !ok {
		s = string(raw)
	}
	return provider.ArgsOf(s)
}

// writeArgs is the text of the arguments, for the formats' string: that of the
// object, or what the model wrote in its place.
func writeArgs(args json.RawMessage) string {
	if s, ok := tool.ReadString(args); ok {
		return s
	}
	if args = bytes.TrimSpace(args); len(args) == 0 {
		return "{}"
	}
	return string(args)
}

// mendArgs returns the arguments member as clients can read it: a string, and
// one of an object where that is what the model meant. It is nil when raw
// needs no mending.
func mendArgs(raw json.RawMessage) json.RawMessage {
	s, ok := tool.ReadString(raw)
	meant := writeArgs(readArgs(raw))
	if ok && meant == strings.TrimSpace(s) {
		return nil
	}
	return quote(meant)
}
