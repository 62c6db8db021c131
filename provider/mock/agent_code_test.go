package mock_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/toolsearch/toolsearch/code"
	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/provider/mock"
	"github.com/toolsearch/toolsearch/surface"
	"github.com/toolsearch/toolsearch/tool"
)

// oneTool finds its tool by one query, and answers with its arguments.
type oneTool struct{}

func (oneTool) Search(_ context.Context, query string, _ json.RawMessage) (json.RawMessage, error) {
	if query == "a forecast" {
		return json.RawMessage(`[{"id":"mcp:w:other","name":"other"},{"id":"mcp:w:fake_tool_17","name":"fake_tool_17"}]`), nil
	}
	return json.RawMessage(`[]`), nil
}

func (oneTool) Describe(context.Context, string) (json.RawMessage, error) {
	return nil, &tool.Error{Code: tool.CodeUnknownTool}
}

func (oneTool) Call(_ context.Context, id string, args json.RawMessage) (code.CallReply, error) {
	return code.CallReply{Tool: json.RawMessage(`{"id":"` + id + `"}`), Result: &tool.Result{Details: args}}, nil
}

// The body that the agent writes does its work in the real runtime.
func TestAgentCodeRuns(t *testing.T) {
	dir, err := os.MkdirTemp("", "mock-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	child := filepath.Join(dir, "child")
	build := exec.Command("go", "build", "-o", child, "../../code/internal/testchild")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // with cgo it cannot be confined
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the child: %v: %s", err, out)
	}
	if err := os.Chmod(dir, 0o755); err != nil { // the child may run as another user
		t.Fatal(err)
	}
	runner, err := code.New(t.Context(), code.Options{Executable: child})
	if err != nil {
		t.Fatal(err)
	}
	defer runner.Close()

	step := mock.Agent().Choose(&mock.Exchange{Request: &provider.Request{
		Messages: []provider.Message{userSays(task)}, Tools: []provider.Tool{{Name: surface.ToolSearchCode}}}})
	var in struct{ Code string }
	if len(step.Calls) != 1 || json.Unmarshal(step.Calls[0].Args, &in) != nil {
		t.Fatalf("the agent did %+v", step)
	}
	report, err := runner.Run(t.Context(), in.Code, oneTool{})
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"tool":"mcp:w:fake_tool_17","result":{"city":"Oslo"}}`
	if !report.OK || string(report.Value) != want || report.Searches != 2 || report.CallsMade != 1 {
		t.Errorf("the body returned %s (%+v) with %d searches and %d calls, want %s with 2 and 1",
			report.Value, report.Error, report.Searches, report.CallsMade, want)
	}
}
