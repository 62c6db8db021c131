package toolsearch_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/toolsearch/toolsearch"
	"github.com/toolsearch/toolsearch/policy"
	"github.com/toolsearch/toolsearch/tool"
)

// BenchmarkDeniedAgainstUnknown asks the same of two toolsets by turns: one of
// 1,000 tools whose policy denies one of them, and one that lacks it. The ratio of
// their times should be 1: what is not allowed must not be told by a clock from
// what is not there. Two toolsets that are the same differ by a tenth here, since
// each has its own place in memory.
func BenchmarkDeniedAgainstUnknown(b *testing.B) {
	const secret = "stamp_500"
	var all, others []*tool.Tool
	for i := range 1000 {
		t, err := toolsearch.Func("desk", fmt.Sprintf("stamp_%03d", i), fmt.Sprintf("Put stamp %d on a letter", i),
			func(context.Context, struct{}) (string, error) { return "done", nil })
		if err != nil {
			b.Fatal(err)
		}
		all = append(all, t)
		if t.Name != secret {
			others = append(others, t)
		}
	}
	open := func(tools []*tool.Tool, deny string) *toolsearch.Toolset {
		p, _, err := policy.Compile([]policy.Layer{{Scope: policy.ScopeGlobal, Rules: policy.Rules{Deny: []policy.Entry{{Pattern: deny}}}}})
		if err != nil {
			b.Fatal(err)
		}
		set, err := toolsearch.New(b.Context(), toolsearch.Options{Tools: tools, Policy: p})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() {
			if err := set.Close(); err != nil {
				b.Error(err)
			}
		})
		return set
	}
	denied, absent := open(all, secret), open(others, "another")
	for control, args := range map[string]string{
		"tool_search":   `{"query":"openclaw:desk:` + secret + `"}`,
		"tool_describe": `{"id":"openclaw:desk:` + secret + `"}`,
		"tool_call":     `{"id":"openclaw:desk:` + secret + `","args":{}}`,
	} {
		b.Run(control, func(b *testing.B) {
			ask := func(set *toolsearch.Toolset) time.Duration {
				began := time.Now()
				if _, err := set.Handle(b.Context(), control, json.RawMessage(args)); err != nil {
					b.Fatal(err)
				}
				return time.Since(began)
			}
			var ofDenied, ofAbsent time.Duration
			for turn := 0; b.Loop(); turn++ {
				if turn%2 == 0 { // neither is always the one that finds the caches cold
					ofDenied += ask(denied)
					ofAbsent += ask(absent)
					continue
				}
				ofAbsent += ask(absent)
				ofDenied += ask(denied)
			}
			b.ReportMetric(float64(ofDenied)/float64(ofAbsent), "denied/absent")
		})
	}
}
