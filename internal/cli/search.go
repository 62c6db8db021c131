package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolsearch/toolsearch/catalog"
	"github.com/toolsearch/toolsearch/rank"
	"github.com/toolsearch/toolsearch/tool"
)

func newSearch(app *app) *cobra.Command {
	var opt struct {
		limit   int
		json    bool
		explain bool
	}
	c := &cobra.Command{
		Use:   "search QUERY...",
		Short: "Find tools by what they do",
		Example: `  toolsearch search create a calendar event
  toolsearch search --catalog examples/catalog.jsonl --limit 3 --json "read a file"`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			limits, err := app.limits(cmd.Context())
			if err != nil {
				return err
			}
			var want *int
			if cmd.Flags().Changed("limit") {
				want = &opt.limit
			}
			limit, err := limits.Clamp(want)
			if err != nil {
				return err
			}
			cat, done, err := app.catalog(cmd.Context())
			if err != nil {
				return err
			}
			defer done()
			text := strings.Join(args, " ")
			found := cat.Search(rank.Query{Text: text, Limit: limit, Explain: opt.explain})
			if opt.json {
				return printHitsJSON(app.std, found, opt.explain)
			}
			if _, err := cat.Resolve(text); tool.CodeOf(err) == tool.CodeCallDirectly {
				fmt.Fprintf(app.std.err, "%s is not behind search: a model sees it itself\n", oneLine(text, 200))
			}
			return printHits(app.std, found, opt.explain)
		},
	}
	app.catalogFlags(c)
	c.Flags().Var(wholeNumber{&opt.limit}, "limit", "most results, 1 or more (default from the configuration: 8)")
	c.Flags().BoolVar(&opt.json, "json", false, "print the hits as a JSON array")
	c.Flags().BoolVar(&opt.explain, "explain", false, "say why each hit stands where it stands")
	return c
}

func printHitsJSON(s *streams, found catalog.Results, explain bool) error {
	if !explain {
		raw, err := catalog.MarshalHits(found.Hits)
		if err != nil {
			return err
		}
		return s.printJSON(raw)
	}
	type explained struct {
		catalog.Hit
		Why catalog.Score `json:"why"`
	}
	out := make([]explained, len(found.Hits))
	for i, h := range found.Hits {
		out[i] = explained{h, found.Scores[i]}
	}
	return s.printJSON(out)
}

func printHits(s *streams, found catalog.Results, explain bool) error {
	for _, r := range found.Repairs {
		fmt.Fprintf(s.err, "reading %q as %q\n", r.Typed, r.Read)
	}
	if len(found.Hits) == 0 {
		fmt.Fprintln(s.err, "no tool fits: try other words")
		return nil
	}
	if found.Weak {
		fmt.Fprintln(s.err, "weak matches: perhaps no tool fits")
	}
	for i, h := range found.Hits {
		name := s.bold(oneLine(h.Name, 80))
		fmt.Fprintf(s.out, "%2d. %s  %s\n", i+1, name, s.dim(oneLine(string(h.ID), 200)))
		if d := oneLine(h.Description, s.width-4); d != "" {
			fmt.Fprintf(s.out, "    %s\n", d)
		}
		if h.Input != "unknown" {
			fmt.Fprintf(s.out, "    %s\n", s.dim(oneLine(h.Input, 300)))
		}
		if explain {
			printReasons(s, found.Scores[i])
		}
	}
	if n := found.Total - len(found.Hits); n > 0 {
		fmt.Fprintf(s.err, "%d more match; raise --limit to see them\n", n)
	}
	return nil
}

func printReasons(s *streams, score catalog.Score) {
	weak := ""
	if score.Weak {
		weak = ", weak"
	}
	fmt.Fprintf(s.out, "    score %.3f, tier %v%s\n", score.Value, score.Tier, weak)
	for _, r := range score.Reasons {
		fields := make([]string, len(r.Fields))
		for i, f := range r.Fields {
			fields[i] = f.String()
		}
		fmt.Fprintf(s.out, "      %+.3f  %s %q in %s", r.Score, r.Why, oneLine(r.Term, 60), strings.Join(fields, ", "))
		if r.Typed != r.Term {
			fmt.Fprintf(s.out, ", for %q", oneLine(r.Typed, 60))
		}
		fmt.Fprintln(s.out)
	}
}
