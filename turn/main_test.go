package turn_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/toolsearch/toolsearch/code"
	"github.com/toolsearch/toolsearch/code/child"
)

// TestMain makes this binary fit to be the child of code runs.
func TestMain(m *testing.M) {
	child.Main()
	os.Exit(m.Run())
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

// childBinary is left behind in the folder for temporary files: it outlives each
// of the tests that use it.
var childBinary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "turn-test-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "child")
	cmd := exec.Command("go", "build", "-o", path, "../code/internal/testchild")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return string(out), err
	}
	return path, os.Chmod(dir, 0o755) // the child may run as another user
})
