package child

import (
	"slices"
	"testing"
)

func TestDecodeVLQ(t *testing.T) {
	// Values of ECMA-426: a digit holds five bits, the lowest of the first is the sign.
	for text, want := range map[string][]int{"A": {0}, "C": {1}, "D": {-1}, "2H": {123}, "AAgBC": {0, 0, 16, 1}, "": nil} {
		got, ok := decodeVLQ(text)
		if !ok || !slices.Equal(got, want) {
			t.Errorf("%q: %v %v, want %v", text, got, ok, want)
		}
	}
	for _, text := range []string{"g", "!", "gggggggggA"} {
		if got, ok := decodeVLQ(text); ok {
			t.Errorf("%q: %v, want a refusal", text, got)
		}
	}
}

func FuzzSourceMap(f *testing.F) {
	f.Add(`{"mappings":"AAAA;AACA,CAAC"}`, 1, 1)
	f.Add(`{"mappings":"AAAD;;gD"}`, 3, 9)
	f.Fuzz(func(t *testing.T, raw string, line, column int) {
		parseSourceMap([]byte(raw)).original(line, column) // must not panic
	})
}
