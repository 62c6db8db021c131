package turn

import (
	"testing"

	"github.com/toolsearch/toolsearch/surface"
)

// A view whose building panics is an error for whoever asks for it afterwards. No
// exported entry is known to panic there, so this looks at the inside.
func TestViewWhoseBuildingPanicked(t *testing.T) {
	s, plan := newSessions(), &Plan{Fingerprint: "1"}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		_, _ = s.view(plan, "key", func() (*surface.View, error) { panic("oh") })
	}()
	view, err := s.view(plan, "key", func() (*surface.View, error) { return &surface.View{}, nil })
	if view == nil && err == nil {
		t.Error("neither a view nor an error")
	}
	if view, err := s.view(plan, "other", func() (*surface.View, error) { return &surface.View{}, nil }); view == nil || err != nil {
		t.Errorf("another key: %v, %v", view, err)
	}
}
