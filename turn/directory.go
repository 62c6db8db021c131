package turn

import (
	"fmt"
	"slices"

	"github.com/toolsearch/toolsearch/catalog"
	"github.com/toolsearch/toolsearch/surface"
	"github.com/toolsearch/toolsearch/tool"
)

// Bounds of what mode Directory shows beside its controls and the listing.
const (
	MaxRequired = 8 // tools shown because the configuration says so
	MaxLikely   = 3 // tools shown because of the current message
)

// DirectoryConfig is what mode Directory adds.
type DirectoryConfig struct {
	// Required are exact ids or unique exact names of tools that the model sees
	// itself, although search finds them too. Those after MaxRequired are ignored.
	Required []string
	// ContextTokens is the model's context; 0 means that it is not known. A listing
	// takes a tenth of it at most, see catalog.ListingBudget.
	ContextTokens int
}

// listing is the prompt text of mode Directory.
func (p *Planner) listing(c *catalog.Catalog) catalog.Listing {
	return c.Directory(catalog.ListingBudget(p.cfg.Directory.ContextTokens))
}

// required returns the tools that the configuration wants visible, besides
// those that are.
func (p *Planner) required(c *catalog.Catalog, visible []*tool.Tool) []*tool.Tool {
	taken := map[string]bool{}
	for _, t := range visible {
		taken[surface.WireName(t, p.cfg.NameLimit)] = true
	}
	var out []*tool.Tool
	for _, ref := range p.requiredRefs() {
		t, ok := requiredTool(c, ref)
		if !ok {
			continue
		}
		if name := surface.WireName(t, p.cfg.NameLimit); !taken[name] {
			taken[name] = true
			out = append(out, t)
		}
	}
	return out
}

func (p *Planner) requiredRefs() []string {
	refs := p.cfg.Directory.Required
	return refs[:min(len(refs), MaxRequired)]
}

// requiredTool finds a tool by what the configuration calls it: exactly, so
// that no server can offer a tool that is nearly called so.
func requiredTool(c *catalog.Catalog, ref string) (*tool.Tool, bool) {
	t, err := c.Resolve(ref)
	return t, err == nil && (string(t.ID) == ref || t.Name == ref)
}

// missingRequired says which of the required tools the view does not show.
func (p *Planner) missingRequired(v *surface.View) []string {
	var out []string
	for _, ref := range p.requiredRefs() {
		shown := slices.ContainsFunc(v.Catalog.Direct(), func(t *tool.Tool) bool { return string(t.ID) == ref || t.Name == ref })
		if t, ok := requiredTool(v.Catalog, ref); ok {
			seen, found := v.Direct.Lookup(surface.WireName(t, p.cfg.NameLimit))
			shown = found && seen.ID == t.ID
		}
		if !shown {
			out = append(out, fmt.Sprintf("the required tool %q is not shown: no allowed tool has this id, or this name alone", tool.Clean(ref, 200)))
		}
	}
	return out
}

// Likely returns the tools that a message is probably about, best first: at
// most max of them, and never more than MaxLikely. Only trusted tools are
// considered, since whatever it returns enters a prompt without the model
// having asked; tools that are visible already are left out.
//
// It depends on the message, so its result belongs behind everything that is
// to stay cached: after all other tools of the request. Equal views and
// messages give equal results.
func Likely(v *surface.View, message string, max int) []*tool.Tool {
	if v == nil || v.Catalog == nil {
		return nil
	}
	return v.Catalog.Likely(message, min(max, MaxLikely), func(t *tool.Tool) bool { return !v.Shows(t) })
}

// withDecision returns the plan itself when the decision is the same, and else
// a copy.
func (p *Plan) withDecision(d *Decision) *Plan {
	if d == nil || p.Auto != nil && *p.Auto == *d {
		return p
	}
	next := *p
	next.Auto = d
	return &next
}
