package mcp_test

import (
	"context"
	"encoding/json"
	"os/exec"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolsearch/toolsearch/internal/mcptest"
	"github.com/toolsearch/toolsearch/source/mcp"
	"github.com/toolsearch/toolsearch/tool"
)

// BenchmarkCall compares a call through the Manager with one through a bare SDK
// client, to the same program in the same run. The two take turns, so that a
// change in the machine's load meets both.
func BenchmarkCall(b *testing.B) {
	for _, size := range []struct {
		name string
		args json.RawMessage
	}{
		{"small", json.RawMessage(`{"city":"Berlin","days":3}`)},
		{"64KiB", json.RawMessage(`{"text":"` + string(make64K()) + `"}`)},
	} {
		b.Run(size.name, func(b *testing.B) { benchmarkCall(b, size.args) })
	}
}

func make64K() []byte {
	out := make([]byte, 64<<10)
	for i := range out {
		out[i] = "abcdefghij klmnop"[i%17]
	}
	return out
}

func benchmarkCall(b *testing.B, args json.RawMessage) {
	ctx := context.Background()
	script := mcptest.Script{Tools: listed(mcptest.ToolEcho)}
	m := started(b, mcp.Options{}, scripted(b, "s", script))
	ours := find(b, m, mcptest.ToolEcho).Invoker

	command, childArgs, env := mcptest.Command(b, script)
	cmd := exec.Command(command, childArgs...)
	cmd.Env = append(cmd.Environ(), env...)
	client := sdk.NewClient(&sdk.Implementation{Name: "bench", Version: "1"}, nil)
	direct, err := client.Connect(ctx, &sdk.CommandTransport{Command: cmd}, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = direct.Close() })

	var through, bare time.Duration
	for b.Loop() {
		begin := time.Now()
		if _, err := ours.Invoke(ctx, tool.Call{Args: args}); err != nil {
			b.Fatal(err)
		}
		middle := time.Now()
		if _, err := direct.CallTool(ctx, &sdk.CallToolParams{Name: mcptest.ToolEcho, Arguments: args}); err != nil {
			b.Fatal(err)
		}
		through += middle.Sub(begin)
		bare += time.Since(middle)
	}
	n := time.Duration(b.N)
	b.ReportMetric(float64((through / n).Microseconds()), "manager-µs/call")
	b.ReportMetric(float64((bare / n).Microseconds()), "sdk-µs/call")
	b.ReportMetric(float64(through)/float64(bare), "ratio")
}
