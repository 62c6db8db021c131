package turn_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/source/jsonl"
	"github.com/toolsearch/toolsearch/surface"
	"github.com/toolsearch/toolsearch/tool"
	"github.com/toolsearch/toolsearch/turn"
)

// npmTools are some 6,600 tools that answer at once.
func npmTools(b *testing.B) []*tool.Tool {
	b.Helper()
	shared := os.Getenv("TOOLSEARCH_SHARED")
	if shared == "" {
		shared = filepath.Join("..", "..", "shared")
	}
	tools, _, err := jsonl.LoadFile(b.Context(), filepath.Join(shared, "toolsets", "cat-npm-mcp", "catalog.jsonl"), jsonl.Options{})
	if errors.Is(err, os.ErrNotExist) {
		b.Skipf("the evaluation toolsets are not here (%v); set TOOLSEARCH_SHARED", err)
	}
	if err != nil {
		b.Fatal(err)
	}
	done := tool.TextResult("done")
	for i, t := range tools {
		c := *t
		c.Input = tool.RawSchema(`{"type":"object"}`)
		c.Invoker = tool.InvokerFunc(func(context.Context, tool.Call) (*tool.Result, error) { return done, nil })
		tools[i] = &c
	}
	return tools
}

// BenchmarkLoop compares a run of three rounds (a search, a call, an answer) by
// a model that answers at once with the same model and the same calls made by
// hand. The aim for all that a turn takes is well below 1.5 ms.
func BenchmarkLoop(b *testing.B) {
	tools := npmTools(b)
	s := box(b, surface.Tools, tools...)
	ctx := b.Context()
	id := string(tools[len(tools)/2].ID)
	query, target := `{"query":"list the files of a folder"}`, `{"id":"`+id+`","args":{}}`
	rounds := []round{says(calls("c1", "tool_search", query)), says(calls("c2", "tool_call", target)), says(text("Done."))}
	request := provider.Request{Model: "m", Messages: []provider.Message{{Role: provider.User, Blocks: []provider.Block{text("Go.")}}}}
	loop := func() {
		r, err := turn.Start(ctx, turn.Options{Model: scripted(rounds...), Tools: s, Request: request})
		if err != nil {
			b.Fatal(err)
		}
		step, err := r.Next(ctx, turn.Input{}, nil)
		if err != nil || step.Response.Text() != "Done." {
			b.Fatalf("%+v, %v", step, err)
		}
		r.Close()
	}
	bare := func() {
		model := scripted(rounds...)
		for range rounds {
			resp, err := model.Generate(ctx, &request, nil)
			if err != nil {
				b.Fatal(err)
			}
			for _, c := range resp.Calls() {
				if res, err := s.Call(ctx, c.Name, surface.Request{Args: json.RawMessage(c.Args)}); err != nil || res.IsError {
					b.Fatalf("%+v, %v", res, err)
				}
			}
		}
	}
	for b.Loop() {
		loop()
	}
	const n = 500
	took := [2][]time.Duration{}
	for range n {
		for i, f := range []func(){loop, bare} {
			start := time.Now()
			f()
			took[i] = append(took[i], time.Since(start))
		}
	}
	slices.Sort(took[0])
	slices.Sort(took[1])
	with, without := took[0][n/2], took[1][n/2]
	micros := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }
	b.ReportMetric(micros(with), "turn-µs")
	b.ReportMetric(micros(without), "calls-alone-µs")
	b.ReportMetric(micros(with-without), "added-µs")
	b.ReportMetric(float64(len(tools)), "tools")
}
