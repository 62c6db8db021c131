package core_test

import (
	"strings"
	"testing"

	"github.com/toolsearch/toolsearch/schema"
	"github.com/toolsearch/toolsearch/source/core"
)

// TestSignatures: what search shows of the tools must be complete, since an
// output that does not render completely is not shown at all.
func TestSignatures(t *testing.T) {
	for _, tl := range open(t, core.Options{}).Tools() {
		in := schema.Input(tl.Input.JSON())
		if in == "unknown" || strings.Contains(in, "...") {
			t.Errorf("%s: input %s", tl.Name, in)
		}
		if tl.Output == nil {
			continue
		}
		out, complete := schema.Output(tl.Output.JSON())
		if out == "unknown" || !complete {
			t.Errorf("%s: output %s (complete %v)", tl.Name, out, complete)
		}
		t.Logf("%s %s: %s", tl.Name, in, out)
	}
}
