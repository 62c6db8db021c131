package turn

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/toolsearch/toolsearch/internal/editdistance"
	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/surface"
	"github.com/toolsearch/toolsearch/tool"
)

// offer lists the tools that a run's model is shown, in an order that holds for
// the whole session: what is visible, the Local ones, the API's own, a tool that
// the caller demands, and at the end those that were added.
func (r *Run) offer(visible []surface.Visible) ([]provider.Tool, error) {
	o := r.opt
	out := make([]provider.Tool, 0, len(visible)+len(o.Local)+len(o.Added))
	names := make(map[string]struct{}, len(visible))
	for _, v := range visible {
		t := provider.Tool{Name: v.Name, Description: v.Description, Parameters: v.Parameters}
		if v.Tool != nil {
			t = r.shown(t, v.Tool)
		}
		names[t.FullName()] = struct{}{}
		out = append(out, t)
	}
	for _, l := range o.Local {
		if _, taken := names[l.Tool.Name]; taken || l.Tool.Name == "" || l.Call == nil {
			return nil, fmt.Errorf("a local tool is called %q: it needs a name that no other tool has, and a function", l.Tool.Name)
		}
		names[l.Tool.Name] = struct{}{}
		out = append(out, l.Tool)
	}
	for _, t := range o.Request.Tools {
		if t.Name == "" {
			out = append(out, t)
		}
	}
	if name, ok := strings.CutPrefix(string(o.Request.Params.Choice), "="); ok {
		if t, own := r.callers.own[name]; own {
			o.Added = append([]provider.Tool{t}, o.Added...)
		}
	}
	for _, t := range o.Added {
		t = r.callers.renamed(t)
		if _, shown := names[t.FullName()]; !shown || t.Name == "" {
			names[t.FullName()] = struct{}{}
			out = append(out, t)
		}
	}
	return out, nil
}

// shown is a visible tool as the request offers it: a caller's own one as the
// caller wrote it, but for a name that the wire does not take.
func (r *Run) shown(t provider.Tool, target *tool.Tool) provider.Tool {
	hidden := target.Mode == tool.Cataloged
	if own, ok := r.callers.own[target.Name]; ok && target.Source == tool.Client {
		t, hidden = r.callers.renamed(own), own.Defer
	}
	if hidden = hidden && r.opt.Defer; t.Defer != hidden {
		t.Defer, t.Native = hidden, provider.Native{}
	}
	return t
}

// Bounds of suggestions for a name that nothing bears.
const (
	maxSuggested = 3
	maxNameTried = 64   // bytes of the name
	maxNamesNear = 2000 // names that are compared
)

// suggest adds to the error about a name the visible names that are near it,
// where the error gives no advice of its own.
func (r *Run) suggest(name string, err error) error {
	var te *tool.Error
	if !errors.As(err, &te) || te.Next != "" || te.Code != tool.CodeUnknownTool || len(name) > maxNameTried {
		return err
	}
	type near struct {
		name string
		far  int
	}
	var found []near
	folded := []rune(tool.Normalize(name))
	for _, t := range r.front[:min(len(r.front), maxNamesNear)] {
		named := t.FullName()
		if named == "" || len(named) > 2*maxNameTried {
			continue
		}
		if far := editdistance.Of(folded, []rune(tool.Normalize(named))); far <= max(2, len(folded)/2) {
			found = append(found, near{named, far})
		}
	}
	slices.SortStableFunc(found, func(a, b near) int { return cmp.Compare(a.far, b.far) })
	next := "Call only the tools you were given."
	if len(found) > 0 {
		next = "Did you mean"
		for i, f := range found[:min(len(found), maxSuggested)] {
			if i > 0 {
				next += ","
			}
			next += " " + strconv.Quote(f.name)
		}
		next += "?"
	}
	advised := *te
	advised.Next = next
	return &advised
}
