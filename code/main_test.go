package code_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/toolsearch/toolsearch/code"
	"github.com/toolsearch/toolsearch/code/child"
	"github.com/toolsearch/toolsearch/internal/mcptest"
	"github.com/toolsearch/toolsearch/tool"
)

// executable is a child built without cgo. The test binary itself may be built
// with it, for the race detector.
var executable string

func TestMain(m *testing.M) {
	child.Main()
	if _, set := os.LookupEnv(code.SeccompEnv); !set {
		os.Setenv(code.SeccompEnv, "kill") // whatever is not on the list is death, and so a failed test
	}
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "code-test-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		if executable, err = build(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return m.Run()
	}())
}

func build(dir string) (string, error) {
	path := filepath.Join(dir, "testchild")
	if err := buildChild(path, "CGO_ENABLED=0", "./internal/testchild"); err != nil {
		return "", err
	}
	// The child may run as another user.
	return path, os.Chmod(dir, 0o755)
}

func buildChild(path, env, pkg string) error {
	cmd := exec.Command("go", "build", "-o", path, pkg)
	cmd.Env = append(os.Environ(), env)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build the child: %w: %s", err, out)
	}
	return nil
}

// eachRuntime runs a test on the embedded runtime and, where there is one new
// enough, on node.
func eachRuntime(t *testing.T, test func(t *testing.T, o code.Options)) {
	t.Run("embedded", func(t *testing.T) { test(t, code.Options{Runtime: code.RuntimeEmbedded}) })
	t.Run("node", func(t *testing.T) { test(t, nodeOptions(t)) })
}

// nodeOptions names a node binary, or skips.
func nodeOptions(t testing.TB) code.Options {
	t.Helper()
	path := findNode()
	if path == "" {
		path = mcptest.NewNode(t)
	}
	return code.Options{Runtime: code.RuntimeNode, NodePath: path}
}

// findNode returns a node binary that is new enough: the one that
// TOOLSEARCH_NODE names or the one in PATH. It is "" when there is none.
func findNode() string {
	path := cmp.Or(os.Getenv("TOOLSEARCH_NODE"), "node")
	out, err := exec.Command(path, "--version").Output()
	if err != nil {
		return ""
	}
	var major int
	if _, err := fmt.Sscanf(string(out), "v%d.", &major); err != nil || major < 25 {
		return ""
	}
	return path
}

// host is a Host made of functions; a nil one answers plainly.
type host struct {
	search   func(ctx context.Context, query string, options json.RawMessage) (json.RawMessage, error)
	describe func(ctx context.Context, id string) (json.RawMessage, error)
	call     func(ctx context.Context, id string, args json.RawMessage) (code.CallReply, error)
}

func (h *host) Search(ctx context.Context, query string, options json.RawMessage) (json.RawMessage, error) {
	if h.search == nil {
		return json.RawMessage("[]"), nil
	}
	return h.search(ctx, query, options)
}

func (h *host) Describe(ctx context.Context, id string) (json.RawMessage, error) {
	if h.describe == nil {
		return json.Marshal(map[string]string{"id": id})
	}
	return h.describe(ctx, id)
}

// Call echoes its arguments by default.
func (h *host) Call(ctx context.Context, id string, args json.RawMessage) (code.CallReply, error) {
	if h.call == nil {
		return code.CallReply{
			Tool:   json.RawMessage(`{"id":"` + id + `"}`),
			Result: &tool.Result{Content: []tool.Content{tool.Text(string(args))}, Details: args},
		}, nil
	}
	return h.call(ctx, id, args)
}

// newRunner starts a runner that ends with the test.
func newRunner(t testing.TB, o code.Options) *code.Runner {
	t.Helper()
	if o.Executable == "" {
		o.Executable = executable
	}
	if o.Limits.Timeout == 0 {
		o.Limits.Timeout = 30 * time.Second // the machine may be busy; tests of the deadline set their own
	}
	r, err := code.New(t.Context(), o)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return r
}

// withTime makes an attempt that must get somewhere before its deadline, which it
// then waits for: with four times the time when this machine was too slow for it
// to get there, from half a second on.
func withTime(t testing.TB, attempt func(limit time.Duration) (there bool)) {
	t.Helper()
	for limit := 500 * time.Millisecond; !attempt(limit); limit *= 4 {
		if limit > 30*time.Second {
			t.Fatalf("it did not get there within %v", limit)
		}
	}
}

// run runs a body that must get a report.
func run(t testing.TB, r *code.Runner, body string, h code.Host) *code.Report {
	t.Helper()
	report, err := r.Run(t.Context(), body, h)
	if err != nil {
		t.Fatalf("Run: %v", err)
	}
	return report
}
