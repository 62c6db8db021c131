package schema

import (
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/toolsearch/toolsearch/internal/legible"
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
		case legible.Rune(r):
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

// plain replaces what cannot be seen with spaces, for texts that are indexed
// or shown without quotes.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if legible.Rune(r) {
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
