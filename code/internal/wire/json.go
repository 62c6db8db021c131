package wire

import (
	"encoding/json"
	"errors"
)

// MaxDepth bounds the nesting of JSON that crosses the bridge. It lies far
// below the depth at which Go's own decoder gives up.
const MaxDepth = 1000

// Errors of Check.
var (
	ErrTooDeep = errors.New("JSON nests too deep")
	ErrInvalid = errors.New("not valid JSON")
)

// Check reports whether b is one valid JSON value of bounded depth. Depth is
// counted first, without recursion, because a hostile text may be all brackets.
func Check(b []byte) error {
	depth, inString := 0, false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case inString:
			if c == '\\' {
				i++
			} else if c == '"' {
				inString = false
			}
		case c == '"':
			inString = true
		case c == '[' || c == '{':
			if depth++; depth > MaxDepth {
				return ErrTooDeep
			}
		case c == ']' || c == '}':
			depth--
		}
	}
	if !json.Valid(b) {
		return ErrInvalid
	}
	return nil
}
