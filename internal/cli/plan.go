package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/toolsearch/toolsearch/catalog"
	"github.com/toolsearch/toolsearch/surface"
	"github.com/toolsearch/toolsearch/tool"
	"github.com/toolsearch/toolsearch/turn"
)

// planReport is what a model would see, and what that costs.
type planReport struct {
	Mode     surface.Mode        `json:"mode"`
	Visible  []string            `json:"visible"`
	Catalog  int                 `json:"catalogSize"`
	Sources  map[tool.Source]int `json:"sources"`
	Bytes    planBytes           `json:"bytes"`
	Listing  *planListing        `json:"listing,omitempty"`
	Auto     *planAuto           `json:"auto,omitempty"`
	Outages  []catalog.Outage    `json:"outages,omitempty"`
	Warnings []string            `json:"warnings,omitempty"`
}

// planBytes compares the tool definitions of a request, in bytes of JSON, and
// of the listing in the prompt.
type planBytes struct {
	Direct  int `json:"direct"`  // with every allowed tool in the request
	Surface int `json:"surface"` // with what the mode shows
}

// planListing is the prompt text of mode directory.
type planListing struct {
	Characters int `json:"characters"`
	Listed     int `json:"listed"`  // trusted tools with a line
	Omitted    int `json:"omitted"` // trusted tools without one

	Text string `json:"text,omitempty"` // where it is asked for
}

// planAuto is what mode auto chose, and why.
type planAuto struct {
	turn.Decision
	Reason string `json:"reason"`
}

func newPlan(app *app) *cobra.Command {
	var asJSON, gateway, listing bool
	var contextTokens int
	c := &cobra.Command{
		Use:   "plan",
		Short: "Show what a model would see, and what it saves",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if contextTokens < 0 {
				return usagef("--context must not be negative: it is a number of tokens, and 0 stands for an unknown one")
			}
			set, err := app.open(cmd.Context(), openOptions{core: !gateway, held: true, wait: true})
			if err != nil {
				return err
			}
			defer set.close()
			rep, err := makePlanReport(set, contextTokens)
			if err != nil {
				return err
			}
			if listing && rep.Listing == nil {
				return hintError{
					fmt.Errorf("mode %q has no listing", rep.Mode),
					"set tools.toolSearch.mode to directory to have one",
				}
			}
			if rep.Listing != nil && !listing {
				rep.Listing.Text = ""
			}
			switch {
			case asJSON:
				return app.std.printJSON(rep)
			case listing:
				_, err := fmt.Fprintln(app.std.out, rep.Listing.Text)
				return err
			}
			return printPlan(app.std, rep)
		},
	}
	c.Flags().StringVar(&app.agent, "agent", "", "use the settings of this agent of the configuration")
	c.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	c.Flags().BoolVar(&gateway, "mcp", false, "as 'toolsearch mcp' plans, which has the core tools off by default")
	c.Flags().BoolVar(&listing, "listing", false, "print the text that mode directory puts into the prompt, and nothing else")
	c.Flags().Var(wholeNumber{&contextTokens}, "context", "the model's context in `tokens`, of which a listing takes a tenth at most; 0 is unknown")
	return c
}

func makePlanReport(set *toolset, contextTokens int) (planReport, error) {
	plan, err := set.Plan()
	if err != nil {
		return planReport{}, err
	}
	rep := planReport{
		Mode: plan.View.Mode, Outages: plan.Outages, Visible: []string{},
		Sources:  map[tool.Source]int{tool.OpenClaw: 0, tool.MCP: 0, tool.Client: 0},
		Warnings: append(append([]string{}, set.warnings...), plan.Warnings...),
	}
	if c := plan.View.Catalog; c != nil {
		rep.Catalog, rep.Sources = c.Len(), c.Sources()
	}
	if plan.View.Mode == surface.Directory {
		l := plan.View.Catalog.Directory(catalog.ListingBudget(contextTokens))
		rep.Listing = &planListing{Characters: tool.Chars(l.Text), Listed: l.Listed, Omitted: l.Omitted, Text: l.Text}
	}
	if plan.Auto != nil {
		rep.Auto = &planAuto{*plan.Auto, plan.Auto.Reason()}
	}
	for _, v := range set.Visible() {
		rep.Visible = append(rep.Visible, v.Name)
	}
	if len(rep.Visible) == 0 && rep.Catalog == 0 {
		why := "there is no tool: name servers under mcp.servers, or set tools.core to true"
		if n := len(plan.Offered); n > 0 {
			why = fmt.Sprintf("the rules leave none of %d tools: 'toolsearch policy explain TOOL' names the rule that removes one", n)
		}
		rep.Warnings = append(rep.Warnings, why)
	}
	rep.Bytes = bytesOf(plan, set.Visible())
	return rep, nil
}

// bytesOf counts what a model reads of a plan's tools before it asks anything.
func bytesOf(plan *turn.Plan, visible []surface.Visible) planBytes {
	b := planBytes{Surface: len(plan.View.Listing)}
	for _, v := range visible {
		b.Surface += v.Size()
	}
	for _, t := range plan.Allowed {
		b.Direct += surface.Direct(t, surface.WireName(t, surface.MCPNameLimit)).Size()
	}
	return b
}

func printPlan(s *streams, r planReport) error {
	fmt.Fprintf(s.out, "%s %s\n", s.bold("mode"), r.Mode)
	if r.Auto != nil {
		fmt.Fprintf(s.out, "%s %s: %s (search would be %q, with %d bytes)\n", s.bold("auto chose"), r.Auto.Chosen, r.Auto.Reason, r.Auto.Search, r.Auto.Surface)
	}
	if l := r.Listing; l != nil {
		fmt.Fprintf(s.out, "%s %d characters: %d of %d trusted tools\n", s.bold("listing"), l.Characters, l.Listed, l.Listed+l.Omitted)
	}
	fmt.Fprintf(s.out, "%s %d\n", s.bold("visible tools"), len(r.Visible))
	const shown = 20
	for i, name := range r.Visible {
		if i == shown {
			fmt.Fprintf(s.out, "  … and %d more\n", len(r.Visible)-shown)
			break
		}
		fmt.Fprintf(s.out, "  %s\n", oneLine(name, 128))
	}
	fmt.Fprintf(s.out, "%s %d: %d openclaw, %d mcp, %d client\n", s.bold("catalog"), r.Catalog,
		r.Sources[tool.OpenClaw], r.Sources[tool.MCP], r.Sources[tool.Client])
	fmt.Fprintf(s.out, "%s %d direct, %d as shown", s.bold("bytes of tool definitions"), r.Bytes.Direct, r.Bytes.Surface)
	if r.Bytes.Direct > 0 {
		fmt.Fprintf(s.out, " (%.2f %%)", 100*float64(r.Bytes.Surface)/float64(r.Bytes.Direct))
	}
	fmt.Fprintln(s.out)
	if r.Mode != surface.Off && r.Bytes.Surface > r.Bytes.Direct && r.Catalog > 0 {
		fmt.Fprintln(s.out, `with so few tools search costs more than it saves: tools.toolSearch.mode "auto" shows them directly while that is so`)
	}
	for _, o := range r.Outages {
		fmt.Fprintf(s.out, "%s %s: %s\n", s.bold("not available"), o.Owner, oneLine(o.Reason, 300))
	}
	for _, w := range r.Warnings {
		fmt.Fprintf(s.out, "%s %s\n", s.bold("warning"), oneLine(w, 500))
	}
	return nil
}
