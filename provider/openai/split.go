package openai

import (
	"encoding/json"
	"errors"

	"github.com/toolsearch/toolsearch/tool"
)

// A body is checked once, as a whole; taking it apart afterwards needs no more
// than to find where each value ends. The functions here do that without a
// copy. On text that is no valid JSON they return an error or a wrong split, and
// never fail otherwise.

var (
	errNoObject = errors.New("expected a JSON object")
	errBroken   = errors.New("the JSON text ends too early or is malformed")
)

// readObject splits a valid JSON object at its first level. Values are parts
// of raw.
func readObject(raw json.RawMessage) (tool.Object, error) {
	i := skipSpace(raw, 0)
	if i >= len(raw) || raw[i] != '{' {
		return nil, errNoObject
	}
	out := tool.Object{}
	for i = skipSpace(raw, i+1); i < len(raw); i = skipSpace(raw, i) {
		switch raw[i] {
		case '}':
			return out, nil
		case ',':
			i++
			continue
		}
		end := skipValue(raw, i)
		name, ok := text(raw[i:end])
		if i = skipSpace(raw, end); !ok || i >= len(raw) || raw[i] != ':' {
			return nil, errBroken
		}
		i = skipSpace(raw, i+1)
		if end = skipValue(raw, i); end == i {
			return nil, errBroken
		}
		out = append(out, tool.Member{Name: name, Value: raw[i:end:end]})
		i = end
	}
	return nil, errBroken
}

// list splits a valid JSON array; ok is false for anything else.
func list(raw json.RawMessage) (items []json.RawMessage, ok bool) {
	i := skipSpace(raw, 0)
	if i >= len(raw) || raw[i] != '[' {
		return nil, false
	}
	items = []json.RawMessage{}
	for i = skipSpace(raw, i+1); i < len(raw); i = skipSpace(raw, i) {
		switch raw[i] {
		case ']':
			return items, true
		case ',':
			i++
			continue
		}
		end := skipValue(raw, i)
		if end == i {
			return nil, false
		}
		items = append(items, raw[i:end:end])
		i = end
	}
	return nil, false
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\r' || b[i] == '\t') {
		i++
	}
	return i
}

// skipString returns the place behind the string that begins at i.
func skipString(b []byte, i int) int {
	for i++; i < len(b); i++ {
		switch b[i] {
		case '"':
			return i + 1
		case '\\':
			i++
		}
	}
	return len(b)
}

// skipValue returns the place behind the value that begins at i, or i when none
// does.
func skipValue(b []byte, i int) int {
	depth := 0
	for i < len(b) {
		switch b[i] {
		case '"':
			i = skipString(b, i)
		case '{', '[':
			depth++
			i++
		case '}', ']':
			if depth == 0 {
				return i
			}
			depth--
			i++
		case ',', ':', ' ', '\n', '\r', '\t':
			if depth == 0 {
				return i
			}
			i++
			continue
		default:
			i = skipScalar(b, i)
		}
		if depth == 0 {
			return i
		}
	}
	return len(b)
}

// skipScalar returns the place behind a number or a word.
func skipScalar(b []byte, i int) int {
	for i < len(b) {
		switch b[i] {
		case ',', ':', '}', ']', '{', '[', '"', ' ', '\n', '\r', '\t':
			return i
		}
		i++
	}
	return i
}
