package core

import (
	"context"
	"net/url"
	"strings"
)

// RenderHTML opens the page renderer to fuzzing.
func RenderHTML(page string, base *url.URL, links bool, limit int) (text, title string, cut bool) {
	r := renderHTML(page, renderOptions{base: base, links: links, limit: limit})
	return r.text, r.title, r.truncated
}

// GlobMatch opens globs to tests. A glob that is wrong matches nothing.
func GlobMatch(pattern, path string) bool {
	g, err := newGlob(pattern)
	return err == nil && g.match(path)
}

// MatchLines returns the numbers, from 0, of the lines that grep finds; ok is
// false for a pattern that it refuses.
func MatchLines(pattern, text string, ignoreCase bool) (lines []int, ok bool) {
	m, err := newMatcher(pattern, false, ignoreCase)
	if err != nil {
		return nil, false
	}
	m.each(context.Background(), []byte(text), func(l span) bool {
		lines = append(lines, strings.Count(text[:l.start], "\n"))
		return true
	})
	return lines, true
}
