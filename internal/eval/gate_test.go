package eval_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/toolsearch/toolsearch/catalog"
	"github.com/toolsearch/toolsearch/internal/eval"
	"github.com/toolsearch/toolsearch/source/jsonl"
)

// floors are the least recall@5 that a change may leave, in percent: as
// stored, where schemas of untrusted sources stay unread, and with every
// schema trusted. Fixed beforehand from what other systems reach on the sets.
var floors = []struct {
	set             string
	stored, trusted float64
}{
	{"mcpproxy-golden", 78, 78},
	{"livemcpbench", 39, 41},
	{"livemcp-agent", 64, 64.5},
	{"bfcl-live", 78, 84.5},
	{"metatool-single", 66.5, 66.5},
	{"metatool-multi", 66, 66},
	{"seal-tools", 84, 88},
}

// toolsets is the folder of the evaluation sets, or skips the test.
func toolsets(tb testing.TB) string {
	tb.Helper()
	dir := os.Getenv("TOOLSEARCH_SHARED")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared")
	}
	dir = filepath.Join(dir, "toolsets")
	if _, err := os.Stat(dir); err != nil {
		tb.Skipf("recall is not gated: the evaluation sets are not at %s (set TOOLSEARCH_SHARED to the folder that has toolsets/)", dir)
	}
	return dir
}

// TestRecallFloors is the gate: recall on every set, in both columns, through
// the same loader and catalog as the program.
func TestRecallFloors(t *testing.T) {
	dir := toolsets(t)
	for _, f := range floors {
		t.Run(f.set, func(t *testing.T) {
			for _, column := range []struct {
				name  string
				trust bool
				floor float64
			}{{"as stored", false, f.stored}, {"trusted", true, f.trusted}} {
				rep := evaluate(t, filepath.Join(dir, f.set), column.trust)
				t.Logf("%-10s R@1 %.1f R@5 %.1f R@10 %.1f nDCG@10 %.1f MRR %.1f, floor %.1f", column.name, rep.R1, rep.R5, rep.R10, rep.NDCG10, rep.MRR, column.floor)
				if rep.R5 < column.floor {
					t.Errorf("%s: recall@5 is %.1f, the floor is %.1f", column.name, rep.R5, column.floor)
				}
			}
		})
	}
}

func evaluate(t *testing.T, set string, trust bool) eval.Report {
	t.Helper()
	tools, problems, err := jsonl.LoadFile(t.Context(), filepath.Join(set, "catalog.jsonl"), jsonl.Options{TrustSchemas: trust})
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	cat, err := catalog.Build(catalog.Input{Tools: tools})
	if err != nil {
		t.Fatal(err)
	}
	rep, err := eval.Run(t.Context(), cat.Rank, readQueries(t, set), eval.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

func readQueries(t *testing.T, set string) []eval.Query {
	t.Helper()
	f, err := os.Open(filepath.Join(set, "queries.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	queries, err := eval.ReadQueries(f)
	if err != nil {
		t.Fatal(err)
	}
	return queries
}
