package child

import (
	"encoding/json"
	"strings"
)

// sourceMap maps lines of generated code to the source, by the "mappings" of
// a version 3 source map (ECMA-426). Index 0 is line 1.
type sourceMap [][]segment

type segment struct{ generated, line, column int } // columns and lines from 0

// prefixLength is what precedes the body on line 1 of the source that Strip
// gets: "async function $b(){".
const prefixLength = len("async function $b(){")

// parseSourceMap reads a map of one source. A map that cannot be read is nil,
// which maps every position to itself.
func parseSourceMap(raw []byte) sourceMap {
	var file struct {
		Mappings string `json:"mappings"`
	}
	if json.Unmarshal(raw, &file) != nil {
		return nil
	}
	var m sourceMap
	line, column := 0, 0
	for group := range strings.SplitSeq(file.Mappings, ";") {
		var segments []segment
		generated := 0
		for text := range strings.SplitSeq(group, ",") {
			fields, ok := decodeVLQ(text)
			if !ok || len(fields) < 4 {
				continue
			}
			generated += fields[0]
			line += fields[2]
			column += fields[3]
			segments = append(segments, segment{generated, line, column})
		}
		m = append(m, segments)
	}
	return m
}

// decodeVLQ reads base64 variable-length quantities.
func decodeVLQ(text string) ([]int, bool) {
	const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	var out []int
	value, shift := 0, 0
	for i := range len(text) {
		d := strings.IndexByte(digits, text[i])
		if d < 0 || shift > 30 {
			return nil, false
		}
		value |= (d & 31) << shift
		shift += 5
		if d&32 != 0 {
			continue
		}
		if value&1 != 0 {
			out = append(out, -(value >> 1))
		} else {
			out = append(out, value>>1)
		}
		value, shift = 0, 0
	}
	return out, shift == 0
}

// original maps a position, counted from 1, to the source.
func (m sourceMap) original(line, column int) (int, int) {
	if line < 1 || line > len(m) || len(m[line-1]) == 0 {
		return line, column
	}
	best := m[line-1][0]
	for _, s := range m[line-1] {
		if s.generated > column-1 {
			break
		}
		best = s
	}
	if best.line == 0 {
		best.column = max(best.column-prefixLength, 0)
	}
	return best.line + 1, best.column + 1
}
