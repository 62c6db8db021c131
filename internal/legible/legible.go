// Package legible says which characters a reader sees for what they are, for texts
// from outside that a person is to judge.
package legible

import (
	"unicode"
	"unicode/utf8"
)

// Rune reports whether r has a shape of its own, or is the ASCII space. Controls,
// formats, private and unassigned characters and unusual spaces have none
// (unicode.IsPrint), nor have the letters and marks that Unicode's
// DerivedCoreProperties.txt lists as Default_Ignorable, and the blank Braille cell.
func Rune(r rune) bool {
	if r < utf8.RuneSelf {
		return r >= ' ' && r < 0x7F
	}
	return unicode.IsPrint(r) && r != 0x2800 &&
		!unicode.In(r, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}
