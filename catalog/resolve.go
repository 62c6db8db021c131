package catalog

import (
	"fmt"
	"slices"
	"strings"

	"github.com/toolsearch/toolsearch/tool"
)

// maxSuggestions bounds what an unknown-tool error offers.
const maxSuggestions = 3

// maxRefEcho bounds, in bytes, how much of a caller's reference an error repeats.
const maxRefEcho = 200

// byID finds a cataloged tool.
func (c *Catalog) byID(id tool.ID) (*tool.Tool, bool) {
	for ; c != nil; c = c.base {
		if t, ok := c.names.byID[id]; ok {
			return t, true
		}
	}
	return nil, false
}

// Named lists the cataloged tools of exactly that name, in id order. The slice
// must not be changed.
func (c *Catalog) Named(name string) []*tool.Tool {
	own := c.names.exact[name]
	if c.base == nil {
		return own
	}
	return merged(c.base.Named(name), own)
}

// folded lists the cataloged tools whose name normalises to that, in id order.
func (c *Catalog) folded(name string) []*tool.Tool {
	own := c.names.folded[name]
	if c.base == nil {
		return own
	}
	return merged(c.base.folded(name), own)
}

// Resolve finds the cataloged tool that ref means, by the first of these that fits:
//
//  1. its exact id; what has the form of an id means nothing else
//  2. its exact name, if no other tool has it
//  3. its name but for case, '-' and '_', if no other tool fits
//
// The error is a *tool.Error that suggests what may have been meant.
func (c *Catalog) Resolve(ref string) (*tool.Tool, error) {
	return c.ResolveOr(ref, func(string) *tool.Tool { return nil })
}

// ResolveOr is Resolve for tools that have a second name: other finds the tool of a
// second name, or nil. A ref that is one tool's name and another one's second name
// is ambiguous.
func (c *Catalog) ResolveOr(ref string, other func(ref string) *tool.Tool) (*tool.Tool, error) {
	ref = strings.TrimSpace(ref)
	if t, ok := c.byID(tool.ID(ref)); ok {
		return t, nil
	}
	id := claimsID(ref)
	if named := c.Named(ref); len(named) > 0 && !id {
		if t := other(ref); t != nil && !slices.Contains(named, t) {
			named = append(slices.Clip(named), t)
		}
		return only(ref, named)
	}
	if t := c.visible(ref, id); t != nil {
		return nil, &tool.Error{
			Code:   tool.CodeCallDirectly,
			Reason: fmt.Sprintf("%q is visible to you already, so it is not in the catalog", t.Name),
			Next:   "Call it directly by that name.",
		}
	}
	if id {
		return nil, c.unknown(ref)
	}
	if near := c.folded(tool.Normalize(ref)); len(near) == 1 {
		return near[0], nil
	}
	if t := other(ref); t != nil {
		return t, nil
	}
	return nil, c.unknown(ref)
}

// claimsID reports whether a reference has the form of an id. Such a one never
// means a name: a server may name its tool like the id of another's, to get the
// calls of that one once it has gone.
func claimsID(ref string) bool {
	source, rest, _ := strings.Cut(ref, ":")
	_, name, _ := strings.Cut(rest, ":")
	return name != "" && tool.Source(strings.ToLower(source)).Valid()
}

// Describe returns the full answer about the tool that ref means.
func (c *Catalog) Describe(ref string) (Description, error) {
	t, err := c.Resolve(ref)
	if err != nil {
		return Description{}, err
	}
	return Description{Hit: c.Entry(t), Tool: t}, nil
}

// DescribeShown is Describe for people, to whom it also describes what a model
// sees itself.
func (c *Catalog) DescribeShown(ref string) (Description, error) {
	d, err := c.Describe(ref)
	if tool.CodeOf(err) != tool.CodeCallDirectly {
		return d, err
	}
	ref = strings.TrimSpace(ref)
	t := c.visible(ref, claimsID(ref))
	return Description{Hit: c.Entry(t), Tool: t}, nil
}

// visible returns the direct-only tool that ref names by id or, unless it can be
// an id alone, by name.
func (c *Catalog) visible(ref string, id bool) *tool.Tool {
	for _, t := range c.direct {
		if string(t.ID) == ref || t.Name == ref && !id {
			return t
		}
	}
	return nil
}

// only returns the one tool that is named so.
func only(ref string, named []*tool.Tool) (*tool.Tool, error) {
	if len(named) == 1 {
		return named[0], nil
	}
	ids := make([]string, 0, maxSuggestions)
	for _, t := range named[:min(len(named), maxSuggestions)] {
		ids = append(ids, string(t.ID))
	}
	more := ""
	if n := len(named) - len(ids); n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return nil, &tool.Error{
		Code:   tool.CodeAmbiguous,
		Reason: fmt.Sprintf("%d tools are named %q", len(named), tool.Clean(ref, maxRefEcho)),
		Next:   "Pass the exact id of one: " + strings.Join(ids, ", ") + more + ".",
	}
}

func (c *Catalog) unknown(ref string) error {
	shown := tool.Clean(ref, maxRefEcho)
	if o, ok := c.outageOf(ref); ok {
		return &tool.Error{
			Code:   tool.CodeUnavailable,
			Reason: fmt.Sprintf("no tool %q: the server %q is not available (%s)", shown, o.Owner, o.Reason),
			Next:   "Try again later, or search for another tool.",
		}
	}
	next := "Use tool_search to find a tool, then its exact id."
	var names []string
	x := c.index()
	for _, d := range x.Suggest(ref, maxSuggestions) {
		names = append(names, string(x.tool(d).ID))
	}
	if len(names) > 0 {
		next = "Did you mean " + strings.Join(names, ", ") + "? If not, use tool_search with other words."
	}
	return &tool.Error{
		Code:   tool.CodeUnknownTool,
		Reason: fmt.Sprintf("no tool %q in this catalog", shown),
		Next:   next,
	}
}

// outageOf finds the outage of the server that an id names. Ids are matched by
// their canonical prefix, not taken apart.
func (c *Catalog) outageOf(ref string) (Outage, bool) {
	for _, o := range c.outages {
		if strings.HasPrefix(ref, string(tool.NewID(tool.MCP, o.Owner, ""))) {
			return o, true
		}
	}
	return Outage{}, false
}
