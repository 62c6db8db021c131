// Package openai speaks OpenAI's two wire formats, Chat Completions and
// Responses, as a client of a provider and as a server of clients.
//
// What came in one of the two goes out byte for byte where the same one is
// spoken: every message or item, every tool, and every top-level field. The
// bytes are used only while they say what the neutral words say, so a caller
// that changes a response's stop reason or usage gets what it set. Models'
// slips are mended on the way in: see readArgs, and chatDecoder for streams.
//
// The formats follow OpenAI's API reference and the types and stream
// accumulators of its npm package openai 6.49.
package openai

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/tool"
)

// maxStream bounds what one stream may add up to: texts, thoughts, arguments
// and items, in bytes.
const maxStream = 16 << 20

// null is JSON's.
const null = "null"

// authorize sets the bearer key. An empty key sets nothing: local servers want
// none.
func authorize(h http.Header, key string) {
	if key != "" {
		h.Set("Authorization", "Bearer "+key)
	}
	h.Set("Content-Type", "application/json")
}

// quote writes a JSON string.
func quote(s string) json.RawMessage {
	return appendQuoted(make([]byte, 0, len(s)+2), s)
}

// appendQuoted is quote into a buffer. Most strings need no escapes.
func appendQuoted(dst []byte, s string) []byte {
	if isPlain(s) && !strings.ContainsAny(s, "\u2028\u2029") { // those two are escaped
		return append(append(append(dst, '"'), s...), '"')
	}
	out, err := tool.Encode(s)
	if err != nil { // not for a string; and an empty one is valid JSON
		return append(dst, `""`...)
	}
	return append(dst, out...)
}

// isPlain says whether the inside of a JSON string stands for itself, which
// most pieces of a stream do.
func isPlain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c == '"' || c == '\\' {
			return false
		}
	}
	return utf8.ValidString(s)
}

// textOf reads a member that is a string, and "" for anything else.
func textOf(o tool.Object, name string) string {
	s, _ := tool.ReadString(o.Get(name))
	return s
}

// object joins members; a nil value leaves its member out.
func object(members ...tool.Member) json.RawMessage {
	o := make(tool.Object, 0, len(members))
	for _, m := range members {
		if m.Value != nil {
			o = append(o, m)
		}
	}
	return marshal(o)
}

// marshal writes an object whose values are valid JSON.
func marshal(o tool.Object) json.RawMessage {
	size := 2
	for _, m := range o {
		size += len(m.Name) + len(m.Value) + 4
	}
	out := append(make([]byte, 0, size), '{')
	for i, m := range o {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(appendQuoted(out, m.Name), ':'), m.Value...)
	}
	return append(out, '}')
}

// optional is a JSON string, or nil when s is empty, for object.
func optional(s string) json.RawMessage {
	if s == "" {
		return nil
	}
	return quote(s)
}

// with returns a copy of o in which the member is set.
func with(o tool.Object, name string, value json.RawMessage) tool.Object {
	return slices.Clone(o).Set(name, value)
}

// without returns a copy of o that lacks the members.
func without(o tool.Object, names ...string) tool.Object {
	out := make(tool.Object, 0, len(o))
	for _, m := range o {
		if !slices.Contains(names, m.Name) {
			out = append(out, m)
		}
	}
	return out
}

// refuse is a 400 that names the field.
func refuse(param, message string) *provider.Error {
	return &provider.Error{Status: http.StatusBadRequest, Type: "invalid_request_error", Param: param, Message: message}
}
