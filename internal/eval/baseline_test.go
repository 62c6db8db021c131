package eval_test

import (
	"cmp"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/toolsearch/toolsearch/internal/eval"
	"github.com/toolsearch/toolsearch/source/jsonl"
)

// TestAgainstPublished runs a textbook BM25 over names and descriptions and
// compares the metrics with those published beside the sets for a plain BM25:
// an outside authority for the metric code. Tokenizers differ in details, so a
// few points are allowed; a metric that is wrong is off by far more.
func TestAgainstPublished(t *testing.T) {
	dir := toolsets(t)
	const within = 4.0
	for _, tt := range []struct {
		set                         string
		r1, r5, r10, r20, ndcg, mrr float64
	}{
		{"mcpproxy-golden", 41.8, 69.1, 73.4, 81.9, 59.5, 57.5},
		{"livemcpbench", 9.7, 24.8, 35.2, 42.1, 27.2, 35.5},
		{"livemcp-agent", 22.9, 49.0, 62.9, 75.0, 43.5, 41.2},
		{"bfcl-live", 41.8, 66.7, 72.7, 78.9, 57.4, 53.3},
		{"metatool-multi", 10.1, 35.4, 51.3, 63.7, 34.6, 37.5},
	} {
		t.Run(tt.set, func(t *testing.T) {
			set := filepath.Join(dir, tt.set)
			tools, _, err := jsonl.LoadFile(t.Context(), filepath.Join(set, "catalog.jsonl"), jsonl.Options{})
			if err != nil {
				t.Fatal(err)
			}
			p := &plain{df: map[string]int{}}
			for _, tl := range tools {
				p.add(string(tl.ID), tl.Name+" "+tl.Description)
			}
			rep, err := eval.Run(t.Context(), p.search, readQueries(t, set), eval.Options{})
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range []struct {
				name      string
				got, want float64
			}{{"R@1", rep.R1, tt.r1}, {"R@5", rep.R5, tt.r5}, {"R@10", rep.R10, tt.r10}, {"R@20", rep.R20, tt.r20}, {"nDCG@10", rep.NDCG10, tt.ndcg}, {"MRR", rep.MRR, tt.mrr}} {
				if math.Abs(m.got-m.want) > within {
					t.Errorf("%s is %.1f, published is %.1f", m.name, m.got, m.want)
				}
			}
		})
	}
}

var (
	caseSplit = regexp.MustCompile(`([a-z0-9])([A-Z])`)
	wordSplit = regexp.MustCompile(`[^a-z0-9]+`)
)

// plain is BM25 with k1 1.2 and b 0.75 over the distinct words of a query.
type plain struct {
	ids   []string
	docs  []map[string]float64
	sizes []float64
	df    map[string]int
	total float64
}

func cut(text string) []string {
	text = strings.ToLower(caseSplit.ReplaceAllString(text, "$1 $2"))
	return strings.Fields(wordSplit.ReplaceAllString(text, " "))
}

func (p *plain) add(id, text string) {
	tf := map[string]float64{}
	words := cut(text)
	for _, w := range words {
		tf[w]++
	}
	for w := range tf {
		p.df[w]++
	}
	p.ids, p.docs, p.sizes = append(p.ids, id), append(p.docs, tf), append(p.sizes, float64(len(words)))
	p.total += float64(len(words))
}

func (p *plain) search(query string, limit int) []string {
	type hit struct {
		id    string
		score float64
	}
	var hits []hit
	n := float64(len(p.docs))
	words := slices.Compact(slices.Sorted(slices.Values(cut(query))))
	for i, tf := range p.docs {
		score := 0.0
		for _, w := range words {
			if f := tf[w]; f > 0 {
				df := float64(p.df[w])
				score += math.Log(1+(n-df+0.5)/(df+0.5)) * f * 2.2 / (f + 1.2*(0.25+0.75*p.sizes[i]*n/p.total))
			}
		}
		if score > 0 {
			hits = append(hits, hit{p.ids[i], score})
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return cmp.Compare(b.score, a.score) })
	var ids []string
	for _, h := range hits[:min(limit, len(hits))] {
		ids = append(ids, h.id)
	}
	return ids
}
