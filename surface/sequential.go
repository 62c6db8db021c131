package surface

import (
	"encoding/json"
	"slices"
)

// Sequential reports whether a call by that name must run alone in its round:
// whether its target, also that of a tool_call, is sequential. What a code body
// calls is not known beforehand.
func (s *Surface) Sequential(name string, args json.RawMessage) bool {
	v := s.view()
	if v == nil {
		return false
	}
	if slices.Contains(ControlNames(v.Mode), name) {
		if name != ToolCall || v.Catalog == nil {
			return false
		}
		shape, err := readCall(args)
		if err != nil {
			return false
		}
		t, err := Resolve(v.Catalog, shape.ref)
		return err == nil && t.Sequential
	}
	t, err := v.byName(name)
	return err == nil && t.Sequential
}
