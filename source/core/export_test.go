package core

import "net/url"

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
