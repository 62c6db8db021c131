package tool

import (
	"encoding/json"
	"math"
	"strconv"
	"unicode/utf8"
)

// maxStrictDepth is the nesting that every reader takes. A common one ends at 128,
// counted from the whole message.
const maxStrictDepth = 64

// strict reports whether valid JSON is read by strict readers too, which refuse
// the whole message for what is not: it is not nested too deep, its texts are
// UTF-8 without half of a surrogate pair, and its numbers are finite.
func strict(raw json.RawMessage) bool {
	if !utf8.Valid(raw) {
		return false
	}
	depth := 0
	for i := 0; i < len(raw); {
		switch c := raw[i]; {
		case c == '"':
			end, ok := strictString(raw, i+1)
			if !ok {
				return false
			}
			i = end
			continue
		case c == '{' || c == '[':
			if depth++; depth > maxStrictDepth {
				return false
			}
		case c == '}' || c == ']':
			depth--
		case c == '-' || c >= '0' && c <= '9':
			end := i + 1
			for end < len(raw) && isNumeric(raw[end]) {
				end++
			}
			if !finite(raw[i:end]) {
				return false
			}
			i = end
			continue
		}
		i++
	}
	return true
}

// strictString returns the index behind the string whose inside begins at i.
func strictString(raw []byte, i int) (end int, ok bool) {
	for i < len(raw) && raw[i] != '"' {
		if raw[i] != '\\' {
			i++
			continue
		}
		switch unit := escapedUnit(raw, i); {
		case unit >= 0xDC00 && unit <= 0xDFFF:
			return 0, false
		case unit >= 0xD800 && unit <= 0xDBFF:
			if low := escapedUnit(raw, i+6); low < 0xDC00 || low > 0xDFFF {
				return 0, false
			}
			i += 12
		case unit >= 0:
			i += 6
		default:
			i += 2
		}
	}
	return i + 1, true
}

// escapedUnit is the UTF-16 code unit of an escape at i, a \u with four digits, -1 for none.
func escapedUnit(raw []byte, i int) int64 {
	if i+6 > len(raw) || raw[i] != '\\' || raw[i+1] != 'u' {
		return -1
	}
	unit, err := strconv.ParseInt(string(raw[i+2:i+6]), 16, 32)
	if err != nil {
		return -1
	}
	return unit
}

func isNumeric(c byte) bool {
	return c >= '0' && c <= '9' || c == '.' || c == 'e' || c == 'E' || c == '+' || c == '-'
}

// finite reports whether a number fits into 64 bits of floating point.
func finite(number []byte) bool {
	f, err := strconv.ParseFloat(string(number), 64)
	return err == nil && !math.IsInf(f, 0)
}
