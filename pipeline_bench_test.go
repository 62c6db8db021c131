package toolsearch_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/toolsearch/toolsearch"
	"github.com/toolsearch/toolsearch/catalog"
	"github.com/toolsearch/toolsearch/hook"
	"github.com/toolsearch/toolsearch/internal/mcptest"
	"github.com/toolsearch/toolsearch/internal/store"
	"github.com/toolsearch/toolsearch/pin"
	"github.com/toolsearch/toolsearch/policy"
	"github.com/toolsearch/toolsearch/source/jsonl"
	"github.com/toolsearch/toolsearch/source/mcp"
	"github.com/toolsearch/toolsearch/surface"
	"github.com/toolsearch/toolsearch/tool"
	"github.com/toolsearch/toolsearch/transcript"
	"github.com/toolsearch/toolsearch/turn"
)

// benchRules is how many rules a policy of the benchmarks has.
const benchRules = 50

// benchPolicy has benchRules rules of every kind that leave nearly every tool:
// each is tried for each tool.
func benchPolicy(b *testing.B) *policy.Policy {
	b.Helper()
	var rules policy.Rules
	for i := range benchRules - 2 {
		pattern := [...]string{"delete_account_%d", "*_danger_%d_*", "mcp:nobody_%d", "mcp:*:wipe_%d", "openclaw:nobody_%d:*", "nobody_%d__*"}[i%6]
		rules.Deny = append(rules.Deny, policy.Entry{Pattern: fmt.Sprintf(pattern, i)})
	}
	for _, pattern := range []string{"bundle-mcp", "group:plugins"} {
		rules.Allow = append(rules.Allow, policy.Entry{Pattern: pattern})
	}
	p, _, err := policy.Compile([]policy.Layer{{Scope: policy.ScopeGlobal, Name: "tools", Rules: rules}})
	if err != nil {
		b.Fatal(err)
	}
	return p
}

// benchOptions are those of a full pipeline: policy, pins, validation, one hook
// in Go, and the transcript in a store on disk.
func benchOptions(b *testing.B) toolsearch.Options {
	b.Helper()
	s, err := store.Open(b.Context(), store.Options{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	})
	record, err := transcript.New(transcript.Config{Recorder: s, Counter: s})
	if err != nil {
		b.Fatal(err)
	}
	hooks, _, err := hook.New([]hook.Hook{{
		Name: "look", Event: hook.Before,
		Runner: hook.Func(func(_ context.Context, in *hook.Input) (hook.Decision, error) {
			if len(in.Args) == 0 {
				return hook.Decision{Verdict: hook.Block}, nil
			}
			return hook.Decision{Verdict: hook.Continue}, nil
		}),
	}}, nil)
	if err != nil {
		b.Fatal(err)
	}
	pins, err := pin.New(pin.Config{Store: &pin.Memory{}, Mode: pin.Block})
	if err != nil {
		b.Fatal(err)
	}
	return toolsearch.Options{Policy: benchPolicy(b), Transcript: record, Hooks: hooks, Pins: pins}
}

func benchSet(b *testing.B, opt toolsearch.Options) *toolsearch.Toolset {
	b.Helper()
	set, err := toolsearch.New(b.Context(), opt)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := set.Close(); err != nil {
			b.Error(err)
		}
	})
	if err := set.Wait(b.Context()); err != nil {
		b.Fatal(err)
	}
	return set
}

// medians runs both in turn, n times each, so that whatever else the machine
// does meets both alike.
func medians(n int, one, other func()) (time.Duration, time.Duration) {
	took := [2][]time.Duration{make([]time.Duration, n), make([]time.Duration, n)}
	for i := range n {
		for j, f := range [2]func(){one, other} {
			start := time.Now()
			f()
			took[j][i] = time.Since(start)
		}
	}
	slices.Sort(took[0])
	slices.Sort(took[1])
	return took[0][n/2], took[1][n/2]
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }

var benchArgs = json.RawMessage(`{"path":"docs/architecture.md","query":"how does a request flow","limit":20}`)

type benchInput struct {
	Path  string `json:"path"`
	Query string `json:"query"`
	Limit int    `json:"limit,omitempty"`
}

// BenchmarkPipelineInProcess compares a call of a Go function through the whole
// pipeline with the function's Invoker alone. The aim is at most 60 µs more.
func BenchmarkPipelineInProcess(b *testing.B) {
	t, err := toolsearch.Func("docs", "lookup", "Look something up", func(_ context.Context, in benchInput) (string, error) {
		return in.Path + ": " + in.Query, nil
	})
	if err != nil {
		b.Fatal(err)
	}
	opt := benchOptions(b)
	opt.Tools = []*tool.Tool{t}
	set := benchSet(b, opt)
	ctx := b.Context()
	through := func() {
		if _, err := set.Call(ctx, string(t.ID), benchArgs); err != nil {
			b.Fatal(err)
		}
	}
	bare := func() {
		if _, err := t.Invoker.Invoke(ctx, tool.Call{Args: benchArgs}); err != nil {
			b.Fatal(err)
		}
	}
	medians(200, through, bare) // schemas compiled, journal open
	for b.Loop() {
		through()
	}
	with, without := medians(3000, through, bare)
	b.ReportMetric(micros(without), "bare-µs")
	b.ReportMetric(micros(with), "pipeline-µs")
	b.ReportMetric(micros(with-without), "added-µs")
}

// BenchmarkPipelineMCP compares a call of a tool of an MCP server over stdio
// through the whole pipeline with the same call of the Manager's, which passes
// it on without loss. The aim is at most 1.3 times as long.
func BenchmarkPipelineMCP(b *testing.B) {
	command, args, env := mcptest.Command(b, mcptest.Script{Tools: []json.RawMessage{json.RawMessage(
		`{"name":"echo","description":"Echo","inputSchema":{"type":"object","properties":{"path":{"type":"string"},"query":{"type":"string"},"limit":{"type":"integer"}},"required":["path"]}}`)}})
	servers := []mcp.Server{{Name: "docs", Command: command, Args: args, Env: env}}
	opt := benchOptions(b)
	opt.Servers = servers
	set := benchSet(b, opt)
	direct, err := mcp.NewManager(servers, mcp.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := direct.Close(); err != nil {
			b.Error(err)
		}
	})
	ctx := b.Context()
	direct.Start(ctx)
	if err := direct.Wait(ctx); err != nil {
		b.Fatal(err)
	}
	target := direct.Snapshot().Tools[0]
	through := func() {
		if _, err := set.Call(ctx, "mcp:docs:echo", benchArgs); err != nil {
			b.Fatal(err)
		}
	}
	proxy := func() {
		if _, err := target.Invoker.Invoke(ctx, tool.Call{Args: benchArgs}); err != nil {
			b.Fatal(err)
		}
	}
	medians(100, through, proxy)
	for b.Loop() {
		through()
	}
	with, without := medians(1500, through, proxy)
	b.ReportMetric(micros(without), "direct-µs")
	b.ReportMetric(micros(with), "pipeline-µs")
	b.ReportMetric(micros(with-without), "added-µs")
	b.ReportMetric(float64(with)/float64(without), "pipeline/direct")
}

// BenchmarkPlan plans some 6,600 tools under 50 rules: again with nothing
// changed (the aim is 2 ms), and for the first time, beyond the building of the
// index (60 ms).
func BenchmarkPlan(b *testing.B) {
	shared := os.Getenv("TOOLSEARCH_SHARED")
	if shared == "" {
		shared = filepath.Join("..", "shared")
	}
	tools, _, err := jsonl.LoadFile(b.Context(), filepath.Join(shared, "toolsets", "cat-npm-mcp", "catalog.jsonl"), jsonl.Options{})
	if errors.Is(err, os.ErrNotExist) {
		b.Skipf("the evaluation toolsets are not here (%v); set TOOLSEARCH_SHARED", err)
	}
	if err != nil {
		b.Fatal(err)
	}
	rules := benchPolicy(b)
	cfg := turn.Config{Mode: surface.Tools, Policy: rules, Sources: []turn.Source{turn.Fixed(tools)}}
	cold := func() {
		if _, err := turn.NewPlanner(cfg).Refresh(); err != nil {
			b.Fatal(err)
		}
	}
	allowed, err := rules.Filter(tools)
	if err != nil {
		b.Fatal(err)
	}
	index := func() {
		if _, err := catalog.Build(catalog.Input{Tools: allowed}); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("known", func(b *testing.B) {
		planner := turn.NewPlanner(cfg)
		first, err := planner.Refresh()
		if err != nil {
			b.Fatal(err)
		}
		var took []time.Duration
		for b.Loop() {
			start := time.Now()
			again, err := planner.Refresh()
			took = append(took, time.Since(start))
			if err != nil || again != first {
				b.Fatalf("an unchanged offer is planned anew (%v)", err)
			}
		}
		slices.Sort(took)
		b.ReportMetric(micros(took[len(took)/2])/1e3, "known-ms")
		b.ReportMetric(float64(len(tools)), "tools")
	})
	b.Run("cold", func(b *testing.B) {
		runtime.GC()
		for b.Loop() {
			cold()
		}
		with, without := medians(9, cold, index)
		b.ReportMetric(micros(with)/1e3, "plan-ms")
		b.ReportMetric(micros(without)/1e3, "index-ms")
		b.ReportMetric(micros(with-without)/1e3, "beyond-index-ms")
	})
}
