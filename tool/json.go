package tool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// Encode marshals v without escaping <, > and &, which would only cost a model
// tokens.
func Encode(v any) (json.RawMessage, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("marshal %T: %w", v, err)
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

// Chars counts s in UTF-16 code units. Every budget in "characters" counts
// this way: it is what JavaScript clients count, and it is never less than the
// number of code points.
func Chars(s string) int {
	n := 0
	for _, r := range s {
		n++
		if r > 0xFFFF {
			n++
		}
	}
	return n
}

// CutChars returns s cut to at most max characters, as Chars counts them, with
// an ellipsis where something was cut.
func CutChars(s string, max int) (cut string, truncated bool) {
	if len(s) <= max || Chars(s) <= max {
		return s, false
	}
	if max < 1 {
		return "", true
	}
	n, end := 0, 0
	for i, r := range s {
		w := 1
		if r > 0xFFFF {
			w = 2
		}
		if n+w > max-1 { // one character is the ellipsis
			break
		}
		n += w
		end = i + utf8.RuneLen(r)
		if r == utf8.RuneError {
			_, size := utf8.DecodeRuneInString(s[i:])
			end = i + size
		}
	}
	return s[:end] + "…", true
}
