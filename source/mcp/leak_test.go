package mcp_test

import (
	"os"
	"testing"

	"github.com/toolsearch/toolsearch/internal/mcptest"
	"github.com/toolsearch/toolsearch/source/mcp"
)

// Goroutines are watched by goleak in TestMain, processes by the grandchild
// tests; here descriptors are counted.
func TestNoDescriptorIsLeftBehind(t *testing.T) {
	count := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skipf("descriptors cannot be counted here: %v", err)
		}
		return len(entries)
	}
	cycle := func() {
		m := started(t, quick(),
			scripted(t, "good", mcptest.Script{Tools: listed(mcptest.ToolEcho, mcptest.ToolCrash)}),
			scripted(t, "exits", mcptest.Script{Start: mcptest.StartExit}),
			scripted(t, "garbage", mcptest.Script{Start: mcptest.StartGarbage}),
			mcp.Server{Name: "missing", Command: "no-such-command-anywhere"},
		)
		mustCall(t, m, mcptest.ToolEcho, `{}`)
		if _, err := call(t, m, mcptest.ToolCrash, `{}`); err == nil {
			t.Error("the crash went unnoticed")
		}
		_ = m.Close()
	}
	cycle() // what is opened once and kept
	before := count()
	for range 5 {
		cycle()
	}
	if after := count(); after > before {
		t.Errorf("%d descriptors are open, %d were before", after, before)
	}
}
