package legible_test

import (
	"testing"

	"github.com/toolsearch/toolsearch/internal/legible"
)

// What has a shape and what has none, by the Unicode Character Database.
func TestRune(t *testing.T) {
	for _, r := range " ~aé漢👍\u0301\uFFFD" {
		if !legible.Rune(r) {
			t.Errorf("U+%04X has a shape", r)
		}
	}
	for _, r := range []rune{
		'\n', '\t', 0x1B, 0x7F, 0x85, // controls
		0xA0, 0x2003, 0x3000, 0x2028, // spaces and separators
		0xAD, 0x200B, 0x202E, 0x2066, 0xFEFF, // formats
		0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFFA0, // fillers and ignorable marks
		0x180B, 0x180E, 0x180F, 0xFE00, 0xFE0F, 0xE0100, // variation selectors
		0xE0001, 0xE0041, 0xE0FFF, // tags and the rest of their block
		0x2800,           // blank Braille
		0xE000, 0x10FFFF, // private, not a character
	} {
		if legible.Rune(r) {
			t.Errorf("U+%04X cannot be seen", r)
		}
	}
}
