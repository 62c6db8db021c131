package surface

import (
	"github.com/toolsearch/toolsearch/catalog"
	"github.com/toolsearch/toolsearch/tool"
)

// Visible is one tool that a model sees. Tool is nil for a control.
type Visible struct {
	Definition
	Tool *tool.Tool
}

// Visible lists what a model sees: controls first, then direct tools by name.
// The order and the bytes change only when the tools do.
func (v *View) Visible(limits catalog.Limits) []Visible {
	var out []Visible
	for _, d := range Controls(v.Mode, limits) {
		out = append(out, Visible{Definition: d})
	}
	for _, name := range v.Direct.All() {
		t, _ := v.Direct.Lookup(name) // All lists what Lookup knows
		out = append(out, Visible{Definition: v.Direct.define(t, name), Tool: t})
	}
	return out
}

// Visible lists what the model sees now: what Config.Visible says, or all that
// the current view shows.
func (s *Surface) Visible() []Visible {
	if s.visible != nil {
		return s.visible()
	}
	v := s.view()
	if v == nil {
		return nil
	}
	return v.Visible(s.limits)
}
