package eval_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/toolsearch/toolsearch/internal/eval"
)

// fixed answers every query with the ids that its text lists.
func fixed(query string, limit int) []string {
	ids := strings.Fields(query)
	return ids[:min(len(ids), limit)]
}

// TestMetrics has values worked out by hand from the definitions.
func TestMetrics(t *testing.T) {
	second := 1 / math.Log2(3) // gain of rank 2
	for _, tt := range []struct {
		name  string
		query eval.Query
		want  eval.Report
	}{
		{"first of one", eval.Query{Text: "a b", Gold: []string{"a"}},
			eval.Report{R1: 100, R3: 100, R5: 100, R8: 100, R10: 100, R20: 100, NDCG10: 100, MRR: 100}},
		{"second of one", eval.Query{Text: "b a", Gold: []string{"a"}},
			eval.Report{R3: 100, R5: 100, R8: 100, R10: 100, R20: 100, NDCG10: pct(second), MRR: 50}},
		{"fourth", eval.Query{Text: "b c d a", Gold: []string{"a"}},
			eval.Report{R5: 100, R8: 100, R10: 100, R20: 100, NDCG10: pct(1 / math.Log2(5)), MRR: 25}},
		{"eleventh is beyond nDCG@10", eval.Query{Text: "1 2 3 4 5 6 7 8 9 10 a", Gold: []string{"a"}},
			eval.Report{R20: 100, MRR: pct(1.0 / 11)}},
		{"half of two", eval.Query{Text: "b a", Gold: []string{"a", "z"}},
			eval.Report{R3: 50, R5: 50, R8: 50, R10: 50, R20: 50, NDCG10: pct(second / (1 + second)), MRR: 50}},
		{"gold that no catalog has counts as missed", eval.Query{Text: "a", Gold: []string{"a", "gone", "lost", "none"}},
			eval.Report{R1: 25, R3: 25, R5: 25, R8: 25, R10: 25, R20: 25, NDCG10: pct(1 / (1 + second + 0.5 + 1/math.Log2(5))), MRR: 100}},
		{"an alternative is equally right", eval.Query{Text: "x a", Gold: []string{"a"}, Alt: map[string][]string{"a": {"x"}}},
			eval.Report{R1: 100, R3: 100, R5: 100, R8: 100, R10: 100, R20: 100, NDCG10: 100, MRR: 100}},
		{"an alternative serves one gold id", eval.Query{Text: "x", Gold: []string{"a", "b"}, Alt: map[string][]string{"a": {"x"}, "b": {"x"}}},
			eval.Report{R1: 50, R3: 50, R5: 50, R8: 50, R10: 50, R20: 50, NDCG10: pct(1 / (1 + second)), MRR: 100}},
		{"gold listed twice is one", eval.Query{Text: "a", Gold: []string{"a", "a"}},
			eval.Report{R1: 100, R3: 100, R5: 100, R8: 100, R10: 100, R20: 100, NDCG10: 100, MRR: 100}},
		{"nothing found", eval.Query{Text: "", Gold: []string{"a"}}, eval.Report{Empty: 1}},
	} {
		got, err := eval.Run(t.Context(), fixed, []eval.Query{tt.query}, eval.Options{})
		if err != nil {
			t.Fatal(err)
		}
		got.P50US, got.P99US, tt.want.N = 0, 0, 1
		if got != tt.want {
			t.Errorf("%s:\ngot  %+v\nwant %+v", tt.name, got, tt.want)
		}
	}
}

func pct(x float64) float64 { return math.Round(1000*x) / 10 }

func TestRunWritesAndReports(t *testing.T) {
	var many []string
	for i := range 80 {
		many = append(many, fmt.Sprint("id", i))
	}
	queries := []eval.Query{
		{QID: "q<1>", Text: strings.Join(many, " "), Gold: []string{"id0"}},
		{QID: "q2", Text: "", Gold: []string{"id0"}},
	}
	var out bytes.Buffer
	var progress []string
	all := func(query string, _ int) []string { return strings.Fields(query) } // ignores the limit
	rep, err := eval.Run(t.Context(), all, queries, eval.Options{Ranked: &out, Progress: func(done, n int) { progress = append(progress, fmt.Sprint(done, "/", n)) }})
	if err != nil || rep.N != 2 || rep.Empty != 1 || rep.R1 != 50 {
		t.Errorf("report %+v, error %v", rep, err)
	}
	first, _ := json.Marshal(many[:50])
	want := `{"qid":"q<1>","ids":` + string(first) + "}\n" + `{"qid":"q2","ids":[]}` + "\n"
	if out.String() != want {
		t.Errorf("ranked:\n%s\nwant:\n%s", out.String(), want)
	}
	if !slices.Equal(progress, []string{"1/2", "2/2"}) {
		t.Errorf("progress %v", progress)
	}
	raw, _ := json.Marshal(rep)
	for _, key := range []string{"n", "empty", "R@1", "R@3", "R@5", "R@8", "R@10", "R@20", "nDCG@10", "MRR", "build_ms", "p50_us", "p99_us", "index_bytes"} {
		if !strings.Contains(string(raw), `"`+key+`":`) {
			t.Errorf("the report has no %q: %s", key, raw)
		}
	}
}

type brokenWriter struct{ err error }

func (w brokenWriter) Write([]byte) (int, error) { return 0, w.err }

func TestRunErrors(t *testing.T) {
	q := []eval.Query{{QID: "q", Text: "a", Gold: []string{"a"}}}
	full := errors.New("disk full")
	if _, err := eval.Run(t.Context(), fixed, q, eval.Options{Ranked: brokenWriter{full}}); !errors.Is(err, full) {
		t.Errorf("error %v, want %v", err, full)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := eval.Run(ctx, fixed, q, eval.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that it was cancelled", err)
	}
}

func TestReadQueries(t *testing.T) {
	got, err := eval.ReadQueries(strings.NewReader(`{"qid":"1","query":"x","gold":["a"],"alt":{"a":["b"]},"kind":"single"}` + "\n\n"))
	if err != nil || len(got) != 1 || got[0].QID != "1" || got[0].Text != "x" || got[0].Gold[0] != "a" || got[0].Alt["a"][0] != "b" {
		t.Errorf("queries %+v, error %v", got, err)
	}
	for _, bad := range []string{"{", `{"qid":"1","query":"x"}`} {
		if _, err := eval.ReadQueries(strings.NewReader(`{"qid":"0","query":"x","gold":["a"]}` + "\n" + bad)); err == nil || !strings.Contains(err.Error(), "line 2") {
			t.Errorf("%s: error %v, want one for line 2", bad, err)
		}
	}
}
