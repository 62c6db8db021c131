package schema

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Bounds of the text taken for the index, in bytes and levels.
const (
	MaxNamesText        = 4 << 10
	MaxDescriptionsText = 8 << 10
	maxDescriptionText  = 1 << 10 // of one description
	maxTextDepth        = 6       // schemas inside one another, the root included
)

// Text collects what a search index wants of a trusted tool's schema: the
// names of its properties and their descriptions and titles, one a line, in
// the order of the names' bytes, each level before the next deeper one inside
// it. Both texts are bounded; an unreadable schema gives two empty ones.
// References are not followed: what they point at is read where it stands only
// if it is a property itself.
func Text(raw []byte) (names, descriptions string) {
	v, err := decode(raw, schemaLimits)
	if err != nil {
		return "", ""
	}
	var t textWalk
	t.inside(v, 1)
	return t.names.String(), t.descriptions.String()
}

type textWalk struct{ names, descriptions strings.Builder }

// inside walks what is below a schema; its own description belongs to its
// property, or, for the root, to the tool.
func (t *textWalk) inside(v any, level int) {
	s, ok := v.(map[string]any)
	if !ok || level > maxTextDepth {
		return
	}
	if props, ok := s["properties"].(map[string]any); ok {
		names := sortedKeys(props)
		for _, name := range names {
			add(&t.names, name, MaxNamesText, MaxNamesText)
			if p, ok := props[name].(map[string]any); ok {
				t.describe(p)
			}
		}
		for _, name := range names {
			t.inside(props[name], level+1)
		}
	}
	for _, key := range [...]string{"items", "additionalProperties"} {
		t.part(s[key], level+1)
	}
	for _, key := range [...]string{"prefixItems", "items", "anyOf", "oneOf", "allOf"} {
		list, _ := s[key].([]any)
		for _, part := range list {
			t.part(part, level+1)
		}
	}
}

func (t *textWalk) part(v any, level int) {
	if s, ok := v.(map[string]any); ok && level <= maxTextDepth {
		t.describe(s)
		t.inside(s, level)
	}
}

func (t *textWalk) describe(s map[string]any) {
	for _, key := range [...]string{"title", "description"} {
		if text, ok := s[key].(string); ok {
			add(&t.descriptions, text, maxDescriptionText, MaxDescriptionsText)
		}
	}
}

// add appends a line of at most one bytes while the whole stays within all. A
// line that does not fit is cut at a rune boundary.
func add(b *strings.Builder, line string, one, all int) {
	room := min(one, all-b.Len()-1)
	if room <= 0 || line == "" {
		return
	}
	if line = strings.TrimSpace(plain(prefix(line, room))); line == "" {
		return
	}
	if b.Len() > 0 {
		b.WriteByte('\n')
	}
	b.WriteString(line)
}

// prefix returns at most n bytes of s, cut at a rune boundary.
func prefix(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
