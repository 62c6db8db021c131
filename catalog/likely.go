package catalog

import (
	"github.com/toolsearch/toolsearch/rank"
	"github.com/toolsearch/toolsearch/tool"
)

// maxLikelyHits is how many hits Likely looks through.
const maxLikelyHits = 50

// Likely returns at most max trusted tools that a text is probably about, best
// first, leaving out weak matches and those that keep refuses. Untrusted tools
// are never returned, however well they match.
func (c *Catalog) Likely(text string, max int, keep func(*tool.Tool) bool) []*tool.Tool {
	if max < 1 {
		return nil
	}
	var out []*tool.Tool
	x := c.index()
	for _, h := range x.Search(rank.Query{Text: text, Limit: maxLikelyHits}).Hits {
		t := x.tool(h.Doc)
		if h.Weak || !t.Source.Trusted() || !keep(t) {
			continue
		}
		if out = append(out, t); len(out) == max {
			break
		}
	}
	return out
}
