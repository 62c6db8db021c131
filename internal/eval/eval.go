// Package eval measures a search against queries with known right answers.
package eval

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"time"
)

// MaxRanked is how many ids of each answer are looked at and written.
const MaxRanked = 50

// Query is one line of a queries file.
type Query struct {
	QID  string   `json:"qid"`
	Text string   `json:"query"`
	Gold []string `json:"gold"` // ids of the right tools
	// Alt lists, for a gold id, ids that are equally right.
	Alt map[string][]string `json:"alt,omitempty"`
}

// ReadQueries reads a queries file, one JSON object a line.
func ReadQueries(r io.Reader) ([]Query, error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 64<<10), 16<<20)
	var out []Query
	for n := 1; lines.Scan(); n++ {
		if len(lines.Bytes()) == 0 {
			continue
		}
		var q Query
		if err := json.Unmarshal(lines.Bytes(), &q); err != nil {
			return nil, fmt.Errorf("read queries: line %d: %w", n, err)
		}
		if len(q.Gold) == 0 {
			return nil, fmt.Errorf("read queries: line %d: query %q has no \"gold\" ids", n, q.QID)
		}
		out = append(out, q)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read queries: %w", err)
	}
	return out, nil
}

// Search returns the ids of the best tools for a query, best first, at most
// limit.
type Search func(query string, limit int) []string

// Options tune a run. The zero value measures and writes nothing.
type Options struct {
	Ranked   io.Writer         // when not nil, takes {"qid","ids"} a query
	Progress func(done, n int) // when not nil, called after each query
}

// Report is what a run found. Metrics are percent, rounded to one decimal.
type Report struct {
	N          int     `json:"n"`
	Empty      int     `json:"empty"` // queries with no answer at all
	R1         float64 `json:"R@1"`
	R3         float64 `json:"R@3"`
	R5         float64 `json:"R@5"`
	R8         float64 `json:"R@8"`
	R10        float64 `json:"R@10"`
	R20        float64 `json:"R@20"`
	NDCG10     float64 `json:"nDCG@10"`
	MRR        float64 `json:"MRR"`
	BuildMS    float64 `json:"build_ms"` // set by the caller, who built the index
	P50US      float64 `json:"p50_us"`
	P99US      float64 `json:"p99_us"`
	IndexBytes int64   `json:"index_bytes"` // set by the caller
}

// Run searches every query and adds up the metrics.
func Run(ctx context.Context, search Search, queries []Query, o Options) (Report, error) {
	var sum metrics
	rep := Report{N: len(queries)}
	times := make([]time.Duration, 0, len(queries))
	var enc *json.Encoder
	if o.Ranked != nil {
		enc = json.NewEncoder(o.Ranked)
		enc.SetEscapeHTML(false)
	}
	for i, q := range queries {
		if err := ctx.Err(); err != nil {
			return Report{}, fmt.Errorf("evaluate query %q: %w", q.QID, context.Cause(ctx))
		}
		start := time.Now()
		ids := search(q.Text, MaxRanked)
		times = append(times, time.Since(start))
		ids = append([]string{}, ids[:min(len(ids), MaxRanked)]...)
		if len(ids) == 0 {
			rep.Empty++
		}
		sum.add(measure(q, ids))
		if enc != nil {
			if err := enc.Encode(ranked{q.QID, ids}); err != nil {
				return Report{}, fmt.Errorf("write the ranked ids of query %q: %w", q.QID, err)
			}
		}
		if o.Progress != nil {
			o.Progress(i+1, len(queries))
		}
	}
	sum.percent(&rep)
	slices.Sort(times)
	rep.P50US, rep.P99US = quantile(times, 0.50), quantile(times, 0.99)
	return rep, nil
}

type ranked struct {
	QID string   `json:"qid"`
	IDs []string `json:"ids"`
}

// quantile returns the q-quantile of sorted times in microseconds (nearest
// rank).
func quantile(sorted []time.Duration, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	i := max(0, int(math.Ceil(q*float64(len(sorted))))-1)
	return round1(float64(sorted[i].Nanoseconds()) / 1000)
}

func round1(x float64) float64 { return math.Round(x*10) / 10 }
