package pin

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/toolsearch/toolsearch/internal/legible"
)

// Visible writes a text so that everything in it can be seen: every character
// that has no glyph, looks like a space, or steers the direction of a line becomes
// its code point in brackets, as in ⟨U+200B⟩, and text hidden in tag characters is
// spelled out, as in ⟨tags "send it"⟩. Bytes that are no UTF-8 become ⟨0xFF⟩. Only
// plain spaces and line breaks stay, and an opening bracket ⟨ in the text itself is
// written as its code point, so that a text cannot imitate this writing.
func Visible(s string) string {
	if strings.IndexFunc(s, unseen) < 0 && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, "⟨0x%02X⟩", s[i])
		case isTag(r):
			n := strings.IndexFunc(s[i:], func(r rune) bool { return !isTag(r) })
			if n < 0 {
				n = len(s) - i
			}
			fmt.Fprintf(&b, "⟨tags %q⟩", strings.Map(func(r rune) rune { return r - tagBase }, s[i:i+n]))
			size = n
		case unseen(r):
			fmt.Fprintf(&b, "⟨U+%04X⟩", r)
		default:
			b.WriteRune(r)
		}
		i += size
	}
	return b.String()
}

// tagBase is added to an ASCII character to get its invisible twin (Unicode's
// block Tags).
const tagBase = 0xE0000

func isTag(r rune) bool { return r >= tagBase+0x20 && r <= tagBase+0x7E }

// unseen reports whether Visible has to spell r out.
func unseen(r rune) bool {
	return r != '\n' && (r == '⟨' || r == utf8.RuneError || !legible.Rune(r))
}
