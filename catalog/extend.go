package catalog

import (
	"slices"
	"sync"

	"github.com/toolsearch/toolsearch/rank"
	"github.com/toolsearch/toolsearch/tool"
)

// Extend makes the catalog that Build would make of the tools of c and others.
// It does little until it is searched: then it is indexed, once. A few tools
// beside many share the index of c, and are scored nearly as Build would, see
// rank.Index.Extend. Else all are indexed anew, and of the catalogs that were
// extended from the same one only one at a time: so the memory that this takes
// is bounded, however many they are.
func (c *Catalog) Extend(others []*tool.Tool) (*Catalog, error) {
	if len(others) == 0 {
		return c, nil
	}
	out := &Catalog{base: c, outages: c.outages, signatures: &sync.Map{}, indexing: &sync.Mutex{}}
	tools, direct, err := split(others)
	if err != nil {
		return nil, err
	}
	if err := out.names.add(tools); err != nil {
		return nil, err
	}
	out.tools, out.direct, out.sources = merged(c.tools, tools), merged(c.direct, direct), countSources(tools)
	for _, t := range tools {
		if _, twice := c.byID(t.ID); twice {
			return nil, sameID(t)
		}
	}
	for _, t := range out.direct {
		if _, twice := out.byID(t.ID); twice {
			return nil, sameID(t)
		}
	}
	out.index = sync.OnceValue(func() *index {
		if c.base == nil {
			if x, ok := c.index().Extend(documents(tools)); ok {
				return &index{Index: x, first: c.tools, more: tools}
			}
		}
		c.indexing.Lock()
		defer c.indexing.Unlock()
		return &index{Index: rank.Build(documents(out.tools)), first: out.tools}
	})
	out.fingerprint = sync.OnceValue(func() string { return Fingerprint(slices.Concat(out.tools, out.direct)) })
	return out, nil
}

// merged puts two lists in id order into one.
func merged(a, b []*tool.Tool) []*tool.Tool {
	out := make([]*tool.Tool, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if a[0].ID <= b[0].ID {
			out, a = append(out, a[0]), a[1:]
		} else {
			out, b = append(out, b[0]), b[1:]
		}
	}
	return append(append(out, a...), b...)
}
