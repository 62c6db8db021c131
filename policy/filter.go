package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/toolsearch/toolsearch/tool"
)

// EmptyError says that an explicit allow list leaves a run without any tool, so
// that the run must not start: a model that has been promised tools and has none
// makes things up.
type EmptyError struct {
	Allow []Decision // the allow lists, in the order of the filters; Entry.Pos is a list's first entry
}

// maxNamedLists bounds the lists that an EmptyError's text names.
const maxNamedLists = 5

// Error names the lists and what to do.
func (e *EmptyError) Error() string {
	names := make([]string, 0, maxNamedLists)
	for _, d := range e.Allow[:min(len(e.Allow), maxNamedLists)] {
		names = append(names, place(d.Entry.Pos, d.Layer, d.Scope))
	}
	return fmt.Sprintf("apply tool policy: the allow list of %s leaves no tool; name a tool that exists, or enable the plugin or server that brings it",
		strings.Join(names, " and of "))
}

// Filter returns the tools that the run may use, in their order. It is an
// *EmptyError when none is left, controls aside, and some layer has an allow
// list; the caller decides whether sources that are still starting excuse that.
func (p *Policy) Filter(tools []*tool.Tool) ([]*tool.Tool, error) {
	if p == nil || p.words == nil {
		return nil, nil
	}
	kept, real := make([]*tool.Tool, 0, len(tools)), 0
	var buf texts
	for _, t := range tools {
		s, ok := p.subject(t, &buf)
		if !ok {
			continue
		}
		if v, _ := p.decide(&s); v.reason.passes() {
			kept = append(kept, t)
			if !s.control {
				real++
			}
		}
	}
	if real == 0 {
		if lists := p.allowLists(); len(lists) > 0 {
			return nil, &EmptyError{Allow: lists}
		}
	}
	return slices.Clip(kept), nil
}

// allowLists returns the explicit allow lists.
func (p *Policy) allowLists() []Decision {
	var lists []Decision
	for i := range p.filters {
		if f := &p.filters[i]; f.allow != nil {
			lists = append(lists, verdict{ReasonNotAllowed, &f.allow.rules[0]}.decision(f))
		}
	}
	return lists
}
