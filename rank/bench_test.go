package rank_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolsearch/toolsearch/rank"
)

// shared is the folder of the evaluation sets, or skips the test.
func shared(tb testing.TB) string {
	tb.Helper()
	dir := os.Getenv("TOOLSEARCH_SHARED")
	if dir == "" {
		dir = filepath.Join("..", "..", "shared")
	}
	dir = filepath.Join(dir, "toolsets")
	if _, err := os.Stat(dir); err != nil {
		tb.Skipf("the evaluation sets are not at %s (set TOOLSEARCH_SHARED to the folder that has toolsets/)", dir)
	}
	return dir
}

func readLines[T any](tb testing.TB, path string) []T {
	tb.Helper()
	f, err := os.Open(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	var out []T
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var v T
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			tb.Fatalf("%s: %v", path, err)
		}
		out = append(out, v)
	}
	return out
}

type toolLine struct{ ID, Name, Description, Server string }
type queryLine struct{ Query string }

func bigSet(tb testing.TB) ([]rank.Document, []string) {
	dir := shared(tb)
	var docs []rank.Document
	for _, t := range readLines[toolLine](tb, filepath.Join(dir, "cat-npm-mcp", "catalog.jsonl")) {
		d := rank.Document{ID: t.ID, Name: t.Name}
		d.Text[rank.Name], d.Text[rank.Description], d.Text[rank.Owner] = t.Name, t.Description, t.Server
		docs = append(docs, d)
	}
	var queries []string
	for _, q := range readLines[queryLine](tb, filepath.Join(dir, "livemcp-agent", "queries.jsonl")) {
		queries = append(queries, q.Query)
	}
	return docs, queries
}

// multiply repeats the documents until there are n. Each copy has some words
// changed, as catalogs of one field differ: a tenth of the words get a suffix.
func multiply(docs []rank.Document, n int) []rank.Document {
	out := slices.Clone(docs)
	for copyNo := 1; len(out) < n; copyNo++ {
		for i, d := range docs {
			if len(out) == n {
				break
			}
			d.ID = fmt.Sprintf("%s~%d", d.ID, copyNo)
			d.Name = fmt.Sprintf("%s_%d", d.Name, copyNo)
			for f, text := range d.Text {
				words := strings.Fields(text)
				for j := range words {
					if (i+j*7+f)%10 == 0 {
						words[j] += string(rune('a'+copyNo%26)) + string(rune('a'+copyNo/26%26))
					}
				}
				d.Text[f] = strings.Join(words, " ")
			}
			out = append(out, d)
		}
	}
	return out
}

// linear is the naive alternative: BM25 over every document for every query,
// with the texts already cut into words.
type linear struct {
	words [][]string
	df    map[string]int
	avg   float64
}

func newLinear(docs []rank.Document) *linear {
	l := &linear{df: map[string]int{}}
	for _, d := range docs {
		words := strings.FieldsFunc(strings.ToLower(strings.Join(d.Text[:], " ")), func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < '0' || r > '9')
		})
		l.words = append(l.words, words)
		l.avg += float64(len(words))
		seen := map[string]bool{}
		for _, w := range words {
			if !seen[w] {
				seen[w] = true
				l.df[w]++
			}
		}
	}
	l.avg /= float64(max(1, len(docs)))
	return l
}

func (l *linear) search(query string, limit int) []int {
	terms := strings.Fields(strings.ToLower(query))
	type scored struct {
		doc   int
		score float64
	}
	var all []scored
	for i, words := range l.words {
		score := 0.0
		for _, t := range terms {
			tf := 0.0
			for _, w := range words {
				if w == t {
					tf++
				}
			}
			if tf > 0 {
				n, df := float64(len(l.words)), float64(l.df[t])
				score += math.Log(1+(n-df+0.5)/(df+0.5)) * tf * 2.2 / (tf + 1.2*(0.25+0.75*float64(len(words))/l.avg))
			}
		}
		if score > 0 {
			all = append(all, scored{i, score})
		}
	}
	slices.SortFunc(all, func(a, b scored) int {
		if a.score != b.score {
			if a.score > b.score {
				return -1
			}
			return 1
		}
		return a.doc - b.doc
	})
	var out []int
	for _, s := range all[:min(limit, len(all))] {
		out = append(out, s.doc)
	}
	return out
}

// median runs f for every query, rounds times, and returns the median time of
// one call.
func median(queries []string, rounds int, f func(string)) time.Duration {
	var times []time.Duration
	for range rounds {
		for _, q := range queries {
			start := time.Now()
			f(q)
			times = append(times, time.Since(start))
		}
	}
	slices.Sort(times)
	return times[len(times)/2]
}

// BenchmarkSearch compares a search of a real catalog of 6,636 tools with the
// linear scan, and with a catalog of 100,000.
func BenchmarkSearch(b *testing.B) {
	docs, queries := bigSet(b)
	x := rank.Build(docs)
	b.Run("6636", func(b *testing.B) {
		b.ReportAllocs()
		for i := range b.N {
			x.Search(rank.Query{Text: queries[i%len(queries)], Limit: 8})
		}
		b.StopTimer()
		index := median(queries, 10, func(q string) { x.Search(rank.Query{Text: q, Limit: 8}) })
		scan := newLinear(docs)
		naive := median(queries[:20], 1, func(q string) { scan.search(q, 8) })
		b.ReportMetric(float64(index.Nanoseconds())/1000, "median-µs")
		b.ReportMetric(float64(naive)/float64(index), "linear/index")
		b.ReportMetric(float64(x.Bytes())/1e6, "index-MB")
	})
	b.Run("100000", func(b *testing.B) {
		big := rank.Build(multiply(docs, 100_000))
		b.ResetTimer()
		b.ReportAllocs()
		for i := range b.N {
			big.Search(rank.Query{Text: queries[i%len(queries)], Limit: 8})
		}
		b.StopTimer()
		small := median(queries, 5, func(q string) { x.Search(rank.Query{Text: q, Limit: 8}) })
		large := median(queries, 5, func(q string) { big.Search(rank.Query{Text: q, Limit: 8}) })
		b.ReportMetric(float64(large.Nanoseconds())/1000, "median-µs")
		b.ReportMetric(float64(large)/float64(small), "time-ratio")
		b.ReportMetric(100_000/float64(len(docs)), "tools-ratio")
		b.ReportMetric(float64(big.Bytes())/1e6, "index-MB")
	})
}

// BenchmarkBuild indexes the real catalog, and compares with what the linear
// scan prepares.
func BenchmarkBuild(b *testing.B) {
	docs, _ := bigSet(b)
	for b.Loop() {
		rank.Build(docs)
	}
	per := b.Elapsed() / time.Duration(b.N)
	start := time.Now()
	newLinear(docs)
	b.ReportMetric(float64(per)/float64(time.Since(start)), "build/linear")
	b.ReportMetric(float64(per.Milliseconds()), "build-ms")
}
