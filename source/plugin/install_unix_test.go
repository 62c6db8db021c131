//go:build unix

package plugin_test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/toolsearch/toolsearch/source/plugin"
)

// A pipe in a folder neither hangs the copy nor is copied.
func TestPipes(t *testing.T) {
	for _, name := range []string{"pipe", plugin.ManifestName} {
		from := folder(t, small)
		if name == plugin.ManifestName {
			from = t.TempDir()
		}
		if err := syscall.Mkfifo(filepath.Join(from, name), 0o600); err != nil {
			t.Fatal(err)
		}
		root := t.TempDir()
		if _, err := plugin.Stage(t.Context(), root, from); err == nil || !strings.Contains(err.Error(), name+" is no regular file") {
			t.Errorf("Stage with a pipe called %s: %v", name, err)
		}
		if got := tree(t, root); len(got) != 0 {
			t.Errorf("left behind: %q", got)
		}
	}
}
