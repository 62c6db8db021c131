package core_test

import (
	"path/filepath"
	"testing"

	"github.com/toolsearch/toolsearch/source/core"
	"github.com/toolsearch/toolsearch/tool"
)

// What says what a model may do is not the model's to write.
func TestRulesAreNotWritten(t *testing.T) {
	dir := t.TempDir()
	b := open(t, core.Options{Workspace: dir, Rules: []string{"rules.json5", filepath.Join(dir, "mine.conf")}})
	b.put(t, "mine.conf", "text")
	b.put(t, "rules.json5", "text")
	b.put(t, "other/mine.conf", "text")
	for _, path := range []string{"rules.json5", "RULES.json5", "sub/rules.json5", "new/../rules.json5", "mine.conf", "./mine.conf"} {
		b.refused(t, "write", args{"path": path, "content": "x"}, tool.CodeBlocked, "a person has to write it")
	}
	for _, path := range []string{"rules.json5", "mine.conf"} {
		b.refused(t, "edit", args{"path": path, "oldText": "text", "newText": "x"}, tool.CodeBlocked, "a person has to write it")
		if got := b.get(t, path); got != "text" {
			t.Errorf("%s became %q", path, got)
		}
	}
	for _, path := range []string{"other/mine.conf", "rules.json", "new.txt"} {
		b.ok(t, "write", args{"path": path, "content": "x"})
	}
}
