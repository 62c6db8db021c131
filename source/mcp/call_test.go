package mcp_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsearch/toolsearch/internal/mcptest"
	"github.com/toolsearch/toolsearch/tool"
)

// eras runs a test against a scripted server of each era.
func eras(t *testing.T, test func(t *testing.T, modern bool)) {
	t.Run("2025", func(t *testing.T) { test(t, false) })
	t.Run("2026", func(t *testing.T) { test(t, true) })
}

func TestCallIsLossless(t *testing.T) {
	eras(t, func(t *testing.T, modern bool) {
		m := started(t, quick(), scripted(t, "s", mcptest.Script{Modern: modern, Tools: listed(mcptest.ToolWeird)}))
		want := map[bool]string{false: "2025-11-25", true: "2026-07-28"}[modern]
		if got := status(t, m, "s"); got.Protocol != want || got.ServerName != "scripted" || got.ServerVersion != "1.2.3" {
			t.Errorf("status = %+v, want protocol %s", got, want)
		}
		res := mustCall(t, m, mcptest.ToolWeird, `{}`)
		if got := string(res.Raw); got != mcptest.WeirdResult {
			t.Errorf("raw result differs:\n%s", cmp.Diff(mcptest.WeirdResult, got))
		}
		if len(res.Content) != 2 || res.Content[0].Type != "hologram" || !strings.Contains(string(res.Content[0].Raw), "9007199254740993") {
			t.Errorf("content = %s", res.Content)
		}
		if got, want := string(res.Details), `{"z":12345678901234567890,"a":0.10,"m":{"y":1,"b":2}}`; got != want {
			t.Errorf("details = %s, want %s", got, want)
		}
	})
}

func TestArgumentsArriveUnchanged(t *testing.T) {
	m := started(t, quick(), scripted(t, "s", mcptest.Script{Tools: listed(mcptest.ToolEcho)}))
	const args = `{"z":9007199254740993,"a":1.50,"s":"<&> caf\u00e9","deep":{"k":[1e2,18446744073709551615]}}`
	res := mustCall(t, m, mcptest.ToolEcho, args)
	if string(res.Details) != args {
		t.Errorf("the server got %s, want %s", res.Details, args)
	}
}

func TestProgress(t *testing.T) {
	eras(t, func(t *testing.T, modern bool) {
		m := started(t, quick(), scripted(t, "s", mcptest.Script{Modern: modern, Tools: listed(mcptest.ToolProgress)}))
		var got []tool.Progress
		_, err := find(t, m, mcptest.ToolProgress).Invoker.Invoke(deadline(t), tool.Call{
			Args:     json.RawMessage(`{}`),
			Progress: func(p tool.Progress) { got = append(got, p) },
		})
		if err != nil {
			t.Fatal(err)
		}
		want := []tool.Progress{
			{Progress: 1, Total: 3, Message: "step 1"},
			{Progress: 2, Total: 3, Message: "step 2"},
			{Progress: 3, Total: 3, Message: "step 3"},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("progress: %s", diff)
		}
	})
}

func TestCancellationReachesTheServer(t *testing.T) {
	eras(t, func(t *testing.T, modern bool) {
		m := started(t, quick(), scripted(t, "s", mcptest.Script{Modern: modern, Tools: listed(mcptest.ToolHang, mcptest.ToolAwait)}))
		ctx, cancel := context.WithCancel(deadline(t))
		failed := make(chan error, 1)
		go func() {
			_, err := find(t, m, mcptest.ToolHang).Invoker.Invoke(ctx, tool.Call{})
			failed <- err
		}()
		mustCall(t, m, mcptest.ToolAwait, `{"method":"tools/call","tool":"hang"}`)
		cancel()
		if err := <-failed; tool.CodeOf(err) != tool.CodeCancelled {
			t.Errorf("the cancelled call gave %v, want code %s", err, tool.CodeCancelled)
		}
		mustCall(t, m, mcptest.ToolAwait, `{"method":"notifications/cancelled"}`)
	})
}
