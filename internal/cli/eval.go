package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolsearch/toolsearch/catalog"
	"github.com/toolsearch/toolsearch/internal/eval"
)

func newEval(app *app) *cobra.Command {
	var opt struct {
		queries, ranked string
		json            bool
	}
	c := &cobra.Command{
		Use:   "eval --catalog FILE --queries FILE",
		Short: "Measure how well and how fast search finds the right tools",
		Long: `Eval runs every query of a JSONL file ({"qid","query","gold":[ids]}) against a
catalog and prints recall, nDCG@10 and MRR in percent, and the times. A gold id
that the catalog does not hold counts as missed.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if app.catalogFile == "" || opt.queries == "" {
				return hintError{usagef("eval needs --catalog and --queries"), "toolsearch eval --catalog FILE --queries FILE"}
			}
			rep, err := runEval(cmd.Context(), app, opt.queries, opt.ranked)
			if err != nil {
				return err
			}
			if opt.json {
				return app.std.printJSON(rep)
			}
			return printReport(app.std, rep)
		},
	}
	app.catalogFlags(c)
	c.Flags().StringVar(&opt.queries, "queries", "", "JSONL file of queries with their right answers")
	c.Flags().StringVar(&opt.ranked, "ranked", "", "write the ids found for each query to this JSONL file, 50 at most")
	c.Flags().BoolVar(&opt.json, "json", false, "print one JSON object")
	return c
}

func runEval(ctx context.Context, app *app, queriesPath, rankedPath string) (rep eval.Report, err error) {
	tools, err := app.loadCatalogFile(ctx)
	if err != nil {
		return rep, err
	}
	start := time.Now()
	cat, err := catalog.Build(catalog.Input{Tools: tools})
	if err != nil {
		return rep, err
	}
	build := time.Since(start)
	queries, err := readQueries(queriesPath)
	if err != nil {
		return rep, err
	}
	opt := eval.Options{Progress: progressBar(app.std, "queries")}
	if rankedPath != "" {
		f, err := os.Create(rankedPath)
		if err != nil {
			return rep, fmt.Errorf("write the ranked ids: %w", err)
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		opt.Ranked = f
	}
	if rep, err = eval.Run(ctx, cat.Rank, queries, opt); err != nil {
		return rep, err
	}
	rep.BuildMS = float64(build.Microseconds()/100) / 10
	rep.IndexBytes = cat.IndexBytes()
	return rep, nil
}

func readQueries(path string) ([]eval.Query, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read queries: %w", err)
	}
	defer f.Close()
	queries, err := eval.ReadQueries(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return queries, nil
}

func printReport(s *streams, r eval.Report) error {
	_, err := fmt.Fprintf(s.out, `queries %d, without an answer %d

%s
 R@1   R@3   R@5   R@8  R@10  R@20  nDCG@10   MRR
%4.1f  %4.1f  %4.1f  %4.1f  %4.1f  %4.1f     %4.1f  %4.1f

build %.1f ms, index %.1f MB, query %.1f µs median, %.1f µs p99
`, r.N, r.Empty, s.bold("recall, nDCG and MRR in percent"),
		r.R1, r.R3, r.R5, r.R8, r.R10, r.R20, r.NDCG10, r.MRR,
		r.BuildMS, float64(r.IndexBytes)/1e6, r.P50US, r.P99US)
	return err
}

// progressBar shows progress on a terminal, from one second on.
func progressBar(s *streams, what string) func(done, n int) {
	if !s.errTTY {
		return nil
	}
	start, last := time.Now(), time.Time{}
	shown := false
	return func(done, n int) {
		now := time.Now()
		if now.Sub(start) < time.Second || (now.Sub(last) < 100*time.Millisecond && done < n) {
			return
		}
		last, shown = now, true
		const width = 30
		fill := width * done / max(n, 1)
		fmt.Fprintf(s.err, "\r[%-*s] %d/%d %s", width, bar[:fill], done, n, what)
		if done == n && shown {
			fmt.Fprint(s.err, "\r\x1b[K")
		}
	}
}

const bar = "=============================="
