package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"unicode/utf8"
)

// SplitObject and SplitArray take JSON apart that json.Valid has passed as a
// whole, in one look at each byte and without a copy: a conversation is split at
// five depths, and checking it again at each would cost more than all else. Given
// something that is not JSON they return an error or a piece of it; they never
// read past it.

// errNoObject is what SplitObject has to say of anything but an object.
var errNoObject = errors.New("expected a JSON object")

// SplitObject is ReadObject for JSON that is known to be valid. The values share
// raw's memory.
func SplitObject(raw json.RawMessage) (Object, error) {
	i := skipSpace(raw, 0)
	if i == len(raw) || raw[i] != '{' {
		return nil, errNoObject
	}
	out := Object{}
	i = skipSpace(raw, i+1)
	for i < len(raw) && raw[i] == '"' {
		end := stringEnd(raw, i)
		name, ok := ReadString(raw[i:end])
		colon := skipSpace(raw, end)
		if !ok || colon == len(raw) || raw[colon] != ':' {
			return nil, errNoObject
		}
		start := skipSpace(raw, colon+1)
		end = valueEnd(raw, start)
		out = append(out, Member{Name: name, Value: raw[start:end:end]})
		if i = skipSpace(raw, end); i < len(raw) && raw[i] == ',' {
			i = skipSpace(raw, i+1)
		}
	}
	if i == len(raw) || raw[i] != '}' {
		return nil, errNoObject
	}
	return out, nil
}

// SplitArray splits a JSON array that is known to be valid JSON, and says whether
// it is an array. The items share raw's memory.
func SplitArray(raw json.RawMessage) ([]json.RawMessage, bool) {
	i := skipSpace(raw, 0)
	if i == len(raw) || raw[i] != '[' {
		return nil, false
	}
	items := []json.RawMessage{}
	i = skipSpace(raw, i+1)
	for i < len(raw) && raw[i] != ']' {
		end := valueEnd(raw, i)
		if end == i {
			return nil, false
		}
		items = append(items, raw[i:end:end])
		if i = skipSpace(raw, end); i < len(raw) && raw[i] == ',' {
			i = skipSpace(raw, i+1)
		}
	}
	return items, i < len(raw)
}

// JoinArray is SplitArray the other way. Each item is valid JSON.
func JoinArray(items []json.RawMessage) json.RawMessage {
	size := 2
	for _, item := range items {
		size += len(item) + 1
	}
	out := append(make([]byte, 0, size), '[')
	for i, item := range items {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, item...)
	}
	return append(out, ']')
}

// Absent reports whether a member is missing or null, which model APIs take for
// the same. It takes any bytes.
func Absent(raw json.RawMessage) bool {
	raw = bytes.Trim(raw, " \t\r\n")
	return len(raw) == 0 || string(raw) == "null"
}

// ReadString reads a JSON string, and says whether it is one. Unlike the others it
// takes any bytes.
func ReadString(raw json.RawMessage) (string, bool) {
	raw = bytes.Trim(raw, " \t\r\n")
	if len(raw) < 2 || raw[0] != '"' || raw[len(raw)-1] != '"' {
		return "", false
	}
	if inner := raw[1 : len(raw)-1]; isPlain(inner) {
		return string(inner), true
	}
	var s string
	return s, json.Unmarshal(raw, &s) == nil
}

// isPlain says whether the inside of a JSON string stands for itself, as that of
// most does.
func isPlain(inner []byte) bool {
	for _, c := range inner {
		if c < 0x20 || c == '"' || c == '\\' {
			return false
		}
	}
	return utf8.Valid(inner)
}

// skipSpace returns the index of the first byte from i on that is no white space.
func skipSpace(raw []byte, i int) int {
	for i < len(raw) && (raw[i] == ' ' || raw[i] == '\t' || raw[i] == '\n' || raw[i] == '\r') {
		i++
	}
	return i
}

// stringEnd returns the index after the string that begins at i.
func stringEnd(raw []byte, i int) int {
	for i++; i < len(raw); i++ {
		n := bytes.IndexByte(raw[i:], '"')
		if n < 0 {
			return len(raw)
		}
		i += n
		escapes := 0
		for raw[i-1-escapes] == '\\' { // the string's first quote ends the run at the latest
			escapes++
		}
		if escapes%2 == 0 {
			return i + 1
		}
	}
	return len(raw)
}

// valueEnd returns the index after the value that begins at i.
func valueEnd(raw []byte, i int) int {
	depth := 0
	for i < len(raw) {
		switch raw[i] {
		case '"':
			if i = stringEnd(raw, i); depth == 0 {
				return i
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
			if depth < 0 { // the end of what a bare value stands in
				return i
			}
		case ',', ' ', '\t', '\n', '\r':
			if depth == 0 {
				return i
			}
		}
		i++
	}
	return i
}
