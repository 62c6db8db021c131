package plugin

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The bounds hold at their very edge.
func TestCopyBounds(t *testing.T) {
	from := t.TempDir()
	for name, text := range map[string]string{"a": "12345", "d/b": "678", "d/e/c": "90"} {
		path := filepath.Join(from, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		limits copyLimits
		want   string
	}{
		{copyLimits{files: 5, bytes: 10, depth: 2}, ""},
		{copyLimits{files: 4, bytes: 10, depth: 2}, "more than 4 files"},
		{copyLimits{files: 5, bytes: 9, depth: 2}, "larger than 9 bytes"},
		{copyLimits{files: 5, bytes: 10, depth: 1}, "deeper than 1 folders"},
	} {
		err := copyFolder(t.Context(), t.TempDir(), from, c.limits)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("with %+v: %v, want %q", c.limits, err, c.want)
		}
	}
}
