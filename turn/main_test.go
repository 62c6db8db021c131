package turn_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/toolsearch/toolsearch/code"
	"github.com/toolsearch/toolsearch/code/child"
)

// childDir is where the child of code runs is built.
var childDir string

// TestMain makes this binary fit to be the child of code runs.
func TestMain(m *testing.M) {
	child.Main()
	os.Exit(func() int {
		var err error
		if childDir, err = os.MkdirTemp("", "turn-test-"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(childDir)
		return m.Run()
	}())
}

// codeRunner is a real runner. Its child is built without cgo: this binary may
// be built with it, for the race detector.
func codeRunner(t testing.TB, limits code.Limits) *code.Runner {
	t.Helper()
	path, err := childBinary()
	if err != nil {
		t.Fatal(err)
	}
	r, err := code.New(t.Context(), code.Options{Executable: path, Limits: limits})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

var childBinary = sync.OnceValues(func() (string, error) {
	path := filepath.Join(childDir, "child")
	cmd := exec.Command("go", "build", "-o", path, "../code/internal/testchild")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the child: %w: %s", err, out)
	}
	return path, os.Chmod(childDir, 0o755) // the child may run as another user
})
