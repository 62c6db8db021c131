package schema

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// propertyName prints a name as it stands in a signature: bare when it is a
// plain ASCII identifier, else as a JSON string.
func propertyName(name string) string {
	if name == "" {
		return `""`
	}
	for i := 0; i < len(name); i++ {
		c := name[i]
		letter := c == '_' || c == '$' || c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return quote(name)
		}
	}
	return name
}

// quote prints s as a JSON string in which every character can be seen:
// controls, spaces other than the plain one, and whatever is invisible or
// reorders text is escaped.
func quote(s string) string {
	var b strings.Builder
	b.Grow(len(s) + 2)
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case visible(r):
			b.WriteRune(r)
		case r > 0xFFFF:
			hi, lo := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, hi, lo)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// visible reports whether a reader sees r for what it is. unicode.IsPrint
// leaves out controls, formats, private and unassigned characters and unusual
// spaces; the rest are Unicode's Default_Ignorable letters and marks
// (DerivedCoreProperties.txt), which print as nothing, and the blank Braille
// cell.
func visible(r rune) bool {
	if r < utf8.RuneSelf {
		return r >= 0x20 && r < 0x7F
	}
	switch {
	case r == 0x034F, r == 0x115F, r == 0x1160, r == 0x17B4, r == 0x17B5,
		r >= 0x180B && r <= 0x180F, r == 0x2800, r == 0x3164, r == 0xFFA0,
		r >= 0xFE00 && r <= 0xFE0F, r >= 0xE0000 && r <= 0xE0FFF:
		return false
	}
	return unicode.IsPrint(r)
}

// plain replaces what cannot be seen with spaces, for texts that are indexed
// or shown without quotes.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if visible(r) {
			return r
		}
		return ' '
	}, s)
}

// clip cuts s to at most n bytes at a rune boundary, the ellipsis included.
func clip(s string, n int) string {
	const ellipsis = "…"
	if len(s) <= n {
		return s
	}
	n -= len(ellipsis)
	if n < 0 {
		return ""
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + ellipsis
}
