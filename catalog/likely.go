package catalog

import (
	"github.com/toolsearch/toolsearch/rank"
	"github.com/toolsearch/toolsearch/tool"
)

// maxLikelyHits is how many trusted hits Likely looks through for those that are
// neither weak nor refused.
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
	// A server's tools, however many match, must not push the trusted ones out.
	trusted := func(doc int) bool { return x.tool(doc).Source.Trusted() }
	for _, h := range x.Search(rank.Query{Text: text, Limit: maxLikelyHits, Keep: trusted}).Hits {
		t := x.tool(h.Doc)
		if h.Weak || !keep(t) {
			continue
		}
		if out = append(out, t); len(out) == max {
			break
		}
	}
	return out
}
