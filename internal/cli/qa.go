package cli

import (
	"fmt"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/toolsearch/toolsearch/internal/qa"
	"github.com/toolsearch/toolsearch/provider/mock"
)

func newQA(app *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "qa",
		Short: "Prove that the whole program works",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(newQASuite(app), newQAModel(app), newQAPlugin())
	return c
}

func newQASuite(app *app) *cobra.Command {
	var opt struct {
		mode, scenario string
		tools          []int
		json           bool
	}
	c := &cobra.Command{
		Use:   "suite",
		Short: "Run a scenario from end to end, against a mock of a model API",
		Long: `Run a scenario from end to end. It starts this program as a gateway once for
each way of showing tools, with a plugin of fake tools and a mock of a model
API, and compares what the provider received and what the session logs say. It
touches nothing outside of a temporary folder.`,
		Example: `  toolsearch qa suite --provider-mode mock-openai --scenario tool-search-gateway-e2e
  toolsearch qa suite --tools 36,1000,5000 --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if opt.mode != qa.ProviderMode {
				return usagef("no provider mode %q: there is %s", opt.mode, qa.ProviderMode)
			}
			if opt.scenario != qa.Scenario {
				return usagef("no scenario %q: there is %s", opt.scenario, qa.Scenario)
			}
			executable, err := os.Executable()
			if err != nil {
				return fmt.Errorf("find this program: %w", err)
			}
			ok := true
			var reports []*qa.Report
			for _, n := range opt.tools {
				r, err := app.runScenario(cmd, qa.Options{Executable: executable, Tools: n})
				if err != nil {
					return err
				}
				ok = ok && r.OK
				reports = append(reports, r)
				if !opt.json {
					app.std.printReport(r)
				}
			}
			if opt.json {
				if err := app.std.printJSON(reports); err != nil {
					return err
				}
			}
			if !ok {
				return silentError{ExitFailed}
			}
			return nil
		},
	}
	c.Flags().StringVar(&opt.mode, "provider-mode", qa.ProviderMode, "what stands in for the model API")
	c.Flags().StringVar(&opt.scenario, "scenario", qa.Scenario, "what is played")
	c.Flags().IntSliceVar(&opt.tools, "tools", []int{qa.DefaultTools}, "how many fake tools there are; several run one after the other")
	c.Flags().BoolVar(&opt.json, "json", false, "print the reports as JSON")
	return c
}

// runScenario plays the scenario in a folder that is removed afterwards.
func (a *app) runScenario(cmd *cobra.Command, o qa.Options) (*qa.Report, error) {
	dir, err := os.MkdirTemp("", "toolsearch-qa-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for the scenario: %w", err)
	}
	defer func() {
		if err := os.RemoveAll(dir); err != nil {
			fmt.Fprintf(a.std.err, "warning: remove the folder of the scenario: %v\n", err)
		}
	}()
	o.Dir = dir
	if a.std.errTTY {
		o.Logf = func(format string, args ...any) { fmt.Fprintf(a.std.err, format+"\n", args...) }
	}
	return qa.Run(cmd.Context(), o)
}

func (s *streams) printReport(r *qa.Report) {
	fmt.Fprintf(s.out, "%s, %d fake tools, target %s\n\n", s.bold(r.Scenario), r.Tools, r.Target)
	w := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "lane\ttools sent\tbytes sent\tof direct\trequests\tsearches\ttarget calls\t")
	direct := r.Lanes[0].Bytes
	for _, l := range r.Lanes {
		fmt.Fprintf(w, "%s\t%d\t%d\t%.2f %%\t%d\t%d\t%d\t\n", l.Lane, len(l.Tools), l.Bytes, 100*float64(l.Bytes)/float64(max(direct, 1)), l.Requests, l.Log.Searches, len(l.Log.Calls))
	}
	_ = w.Flush() // what it writes to is stdout, as above
	fmt.Fprintln(s.out)
	for _, c := range r.Checks {
		mark := "ok  "
		if !c.OK {
			mark = "FAIL"
		}
		fmt.Fprintf(s.out, "%s  (%d) %s\n", mark, c.Number, c.Claim)
		if c.Detail != "" {
			fmt.Fprintf(s.out, "          %s\n", strings.ReplaceAll(c.Detail, "; ", "\n          "))
		}
	}
	fmt.Fprintln(s.out)
}

// newQAModel serves the mock by itself, for trying things without a key.
func newQAModel(app *app) *cobra.Command {
	var listen string
	c := &cobra.Command{
		Use:   "model",
		Short: "Serve a mock of a model API, to try things without a key",
		Long: `Serve a mock that speaks Chat Completions, Responses and Messages. It repeats
what it is told; asked with target=TOOL and args={…} it finds that tool, calls it
and says what it answered.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			url, stop, err := mock.New(mock.Agent()).Listen(listen)
			if err != nil {
				return hintError{err, "choose another address with --listen; port 0 takes a free one"}
			}
			fmt.Fprintln(app.std.out, url)
			fmt.Fprintln(app.std.err, "the mock listens there: make it the baseUrl of a provider under models.providers; Ctrl-C ends it")
			<-cmd.Context().Done()
			return stop()
		},
	}
	c.Flags().StringVar(&listen, "listen", "127.0.0.1:8788", "host:port to listen on; port 0 takes a free one")
	return c
}

// newQAPlugin is the process of the fake plugin.
func newQAPlugin() *cobra.Command {
	return &cobra.Command{
		Use:    "plugin MANIFEST",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return qa.ServePlugin(cmd.Context(), args[0])
		},
	}
}
