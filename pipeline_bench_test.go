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
	"github.com/toolsearch/toolsearch/internal/store"
	"github.com/toolsearch/toolsearch/pin"
	"github.com/toolsearch/toolsearch/policy"
	"github.com/toolsearch/toolsearch/source/jsonl"
	"github.com/toolsearch/toolsearch/surface"
	"github.com/toolsearch/toolsearch/tool"
	"github.com/toolsearch/toolsearch/transcript"
	"github.com/toolsearch/toolsearch/turn"
)

// benchRules is how many rules a policy of the benchmarks has.
const benchRules = 50

// fullPolicy has benchRules rules of every kind that leave nearly every tool:
// each is tried for each tool.
func fullPolicy() (*policy.Policy, error) {
	var rules policy.Rules
	for i := range benchRules - 2 {
		pattern := [...]string{"delete_account_%d", "*_danger_%d_*", "mcp:nobody_%d", "mcp:*:wipe_%d", "openclaw:nobody_%d:*", "nobody_%d__*"}[i%6]
		rules.Deny = append(rules.Deny, policy.Entry{Pattern: fmt.Sprintf(pattern, i)})
	}
	for _, pattern := range []string{"bundle-mcp", "group:plugins"} {
		rules.Allow = append(rules.Allow, policy.Entry{Pattern: pattern})
	}
	p, _, err := policy.Compile([]policy.Layer{{Scope: policy.ScopeGlobal, Name: "tools", Rules: rules}})
	return p, err
}

// fullOptions are those of a full pipeline: policy, pins, validation, one hook
// in Go, and the transcript in a store on disk, which is to be closed.
func fullOptions(ctx context.Context, dir string) (toolsearch.Options, *store.Store, error) {
	fail := func(err error) (toolsearch.Options, *store.Store, error) { return toolsearch.Options{}, nil, err }
	rules, err := fullPolicy()
	if err != nil {
		return fail(err)
	}
	s, err := store.Open(ctx, store.Options{Dir: dir})
	if err != nil {
		return fail(err)
	}
	record, err := transcript.New(transcript.Config{Recorder: s, Counter: s})
	if err != nil {
		return fail(errors.Join(err, s.Close()))
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
		return fail(errors.Join(err, s.Close()))
	}
	pins, err := pin.New(pin.Config{Store: &pin.Memory{}, Mode: pin.Block})
	if err != nil {
		return fail(errors.Join(err, s.Close()))
	}
	return toolsearch.Options{Policy: rules, Transcript: record, Hooks: hooks, Pins: pins}, s, nil
}

func benchOptions(b *testing.B) toolsearch.Options {
	b.Helper()
	opt, s, err := fullOptions(b.Context(), b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	})
	return opt
}

// medians runs each n times, in turn and each one first at times, so that
// whatever else the machine does meets all alike. It returns the median time of
// each.
func medians(n int, what ...func()) []time.Duration {
	took := make([][]time.Duration, len(what))
	for i := range n {
		for j := range what {
			which := (i + j) % len(what)
			start := time.Now()
			what[which]()
			took[which] = append(took[which], time.Since(start))
		}
	}
	out := make([]time.Duration, len(what))
	for i, t := range took {
		slices.Sort(t)
		out[i] = t[n/2]
	}
	return out
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
	set := newSet(b, opt)
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
	medians(200, bare, through) // schemas compiled, journal open
	for b.Loop() {
		through()
	}
	took := medians(3000, bare, through)
	without, with := took[0], took[1]
	b.ReportMetric(micros(without), "bare-µs")
	b.ReportMetric(micros(with), "pipeline-µs")
	b.ReportMetric(micros(with-without), "added-µs")
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
	rules, err := fullPolicy()
	if err != nil {
		b.Fatal(err)
	}
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
		took := medians(9, index, cold)
		without, with := took[0], took[1]
		b.ReportMetric(micros(with)/1e3, "plan-ms")
		b.ReportMetric(micros(without)/1e3, "index-ms")
		b.ReportMetric(micros(with-without)/1e3, "beyond-index-ms")
	})
}
