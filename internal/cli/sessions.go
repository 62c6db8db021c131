package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolsearch/toolsearch/internal/store"
	"github.com/toolsearch/toolsearch/tool"
	"github.com/toolsearch/toolsearch/transcript"
)

func newSessions(app *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "sessions",
		Short: "Show what was recorded: tools seen, searches, calls, sources",
		Long: `Sessions answers, from the transcript in the state folder: how many schemas the
model saw up front, how many searches and describes it made, which tools ran,
and where their results came from.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newSessionsList(app), newSessionsShow(app), newSessionsExport(app))
	return c
}

// openStore opens the user's store for a verb that makes no calls. Only those
// who record calls look after the configured bounds, so none are given here.
func (a *app) openStore(ctx context.Context) (*store.Store, func(), error) {
	return a.openStoreWith(ctx, store.Options{MaxAge: store.MaxMaxAge, MaxBytes: store.MaxMaxBytes})
}

func (a *app) openStoreWith(ctx context.Context, opt store.Options) (*store.Store, func(), error) {
	opt.Logger = a.logger()
	s, err := store.Open(ctx, opt)
	if err != nil {
		return nil, nil, storeError(err)
	}
	return s, func() {
		if err := s.Close(); err != nil {
			fmt.Fprintf(a.std.err, "warning: %v\n", err)
		}
	}, nil
}

// storeError moves the store's hint to the hint line.
func storeError(err error) error {
	var se *store.Error
	if errors.As(err, &se) && se.Hint != "" {
		bare := *se
		bare.Hint = ""
		return hintError{&bare, se.Hint}
	}
	return err
}

func newSessionsList(app *app) *cobra.Command {
	var opt struct {
		limit int
		json  bool
	}
	c := &cobra.Command{
		Use:   "list",
		Short: "List the sessions, the last used first",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if opt.limit < 1 || opt.limit > store.MaxPage {
				return usagef("--limit must be 1 to %d, not %d", store.MaxPage, opt.limit)
			}
			s, done, err := app.openStore(cmd.Context())
			if err != nil {
				return err
			}
			defer done()
			list, err := s.Sessions(cmd.Context(), store.Page{Limit: opt.limit})
			if err != nil {
				return storeError(err)
			}
			if opt.json {
				if list == nil {
					list = []store.Session{}
				}
				return app.std.printJSON(list)
			}
			return printSessions(app.std, list)
		},
	}
	opt.limit = 50
	c.Flags().Var(wholeNumber{&opt.limit}, "limit", "most sessions")
	c.Flags().BoolVar(&opt.json, "json", false, "print as a JSON array")
	return c
}

func printSessions(s *streams, list []store.Session) error {
	if len(list) == 0 {
		fmt.Fprintln(s.err, "no session is recorded yet")
		return nil
	}
	w := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "SESSION\tLAST USED\tCALLER\tRUNS\tSCHEMAS\tSEARCHES\tDESCRIBES\tCALLS\tFAILED")
	for _, x := range list {
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%d\t%d\t%d\t%d\n", oneLine(x.ID, 64), localTime(x.Updated), callerOf(x), x.Runs,
			x.Schemas, x.Searches, x.Describes, x.Calls, x.Failed)
	}
	return w.Flush()
}

// callerOf is who called, and as which agent.
func callerOf(x store.Session) string {
	who := dash(oneLine(x.Caller, 64))
	if x.Agent != "" {
		who += " (" + oneLine(x.Agent, 64) + ")"
	}
	return who
}

func localTime(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05") }

// zonedTime is for times that stand elsewhere in another zone: what a model is
// told is in UTC.
func zonedTime(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05 -07:00") }

func newSessionsShow(app *app) *cobra.Command {
	var opt struct{ json bool }
	c := &cobra.Command{
		Use:               "show ID",
		Short:             "Show one session: its runs and every call",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeFirst(app.completeSessions),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, done, err := app.openStore(cmd.Context())
			if err != nil {
				return err
			}
			defer done()
			shown, err := readSession(cmd.Context(), s, args[0])
			if err != nil {
				return storeError(err)
			}
			if opt.json {
				return app.std.printJSON(shown)
			}
			return printSession(app.std, shown)
		},
	}
	c.Flags().BoolVar(&opt.json, "json", false, "print as JSON")
	return c
}

// maxShownCalls bounds what show holds in memory; export has no such bound.
const maxShownCalls = 1000

// shownSession is a session with what happened in it.
type shownSession struct {
	store.Session
	RunList   []store.Run  `json:"runList"`
	CallList  []store.Call `json:"callList"`
	Truncated bool         `json:"truncated,omitempty"` // there are more calls: export has them
}

var errEnough = errors.New("enough calls")

func readSession(ctx context.Context, s *store.Store, id string) (*shownSession, error) {
	found, err := s.Session(ctx, id)
	if err != nil {
		return nil, err
	}
	out := &shownSession{Session: found, CallList: []store.Call{}}
	if out.RunList, err = s.Runs(ctx, id); err != nil {
		return nil, err
	}
	err = s.Calls(ctx, id, func(c store.Call) error {
		if len(out.CallList) == maxShownCalls {
			out.Truncated = true
			return errEnough
		}
		out.CallList = append(out.CallList, c)
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return nil, err
	}
	return out, nil
}

func printSession(s *streams, x *shownSession) error {
	fmt.Fprintf(s.out, "%s  %s – %s\n", s.bold(oneLine(x.ID, 200)), localTime(x.Started), localTime(x.Updated))
	if x.Caller != "" || x.Agent != "" {
		fmt.Fprintf(s.out, "caller %q, agent %q\n", oneLine(x.Caller, 100), oneLine(x.Agent, 100))
	}
	fmt.Fprintf(s.out, "schemas up front %d (%d bytes), catalog %d, searches %d (%d found nothing), describes %d, calls %d (%d not ok)\n",
		x.Schemas, x.SchemaBytes, x.Catalog, x.Searches, x.EmptySearches, x.Describes, x.Calls, x.Failed)
	if err := printRuns(s, x.RunList); err != nil {
		return err
	}
	if err := printCalls(s, x.CallList); err != nil {
		return err
	}
	if x.Truncated {
		fmt.Fprintf(s.err, "only the first %d calls are shown; 'toolsearch sessions export' has them all\n", maxShownCalls)
	}
	return nil
}

func printRuns(s *streams, list []store.Run) error {
	if len(list) == 0 {
		return nil
	}
	w := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\nRUN\tMODE\tSCHEMAS\tSEARCHES\tDESCRIBES\tCALLS")
	for _, r := range list {
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%d\t%d\n", oneLine(r.ID, 64), dash(oneLine(r.Mode, 20)), r.Schemas, r.Searches, r.Describes, r.Calls)
	}
	return w.Flush()
}

func printCalls(s *streams, list []store.Call) error {
	if len(list) == 0 {
		return nil
	}
	w := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\nTIME\tTOOL\tFROM\tBY WAY OF\tSTATUS\tTOOK\tARGUMENTS\tREASON")
	for _, c := range list {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", c.Started.Local().Format("15:04:05"), oneLine(string(c.Target), 80),
			oneLine(string(c.Source)+" "+c.Owner, 60), dash(oneLine(c.Control, 20)), callStatus(c), took(c), oneLine(bodyText(c.Args), 60), oneLine(c.Reason, 300))
	}
	return w.Flush()
}

func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// callStatus is how a call ended, and what a person said about it.
func callStatus(c store.Call) string {
	status := callOutcome(c)
	if a := c.Approval; a != nil && a.ID != "" { // else a rule decided
		status += ", " + oneLine(a.Decision, 20)
		if a.By != "" {
			status += " by " + oneLine(a.By, 40)
		}
	}
	return status
}

func callOutcome(c store.Call) string {
	switch {
	case c.Status == transcript.StatusBlocked && c.By != "":
		return "blocked by " + oneLine(c.By, 40)
	case c.Code != "" && c.Code != tool.CodeBlocked:
		return oneLine(fmt.Sprintf("%s (%s)", c.Status, c.Code), 60)
	}
	return oneLine(string(c.Status), 20)
}

func took(c store.Call) string {
	if c.Status == store.StatusOpen {
		return "-"
	}
	return c.Duration.Round(max(c.Duration/1000, time.Microsecond)).String()
}

func bodyText(b store.Body) string {
	if b.Value != nil {
		return string(b.Value)
	}
	return b.Head
}

func newSessionsExport(app *app) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "export ID",
		Short: "Write one session as JSON lines: the session, its runs, its calls",
		Long: `Export writes one JSON object per line to stdout: {"type":"session",…}, then
{"type":"run",…} for each run, then {"type":"call",…} for each call in the order
in which they started. Secrets were taken out when they were recorded.`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeFirst(app.completeSessions),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, done, err := app.openStore(cmd.Context())
			if err != nil {
				return err
			}
			defer done()
			return storeError(exportSession(cmd.Context(), app.std, s, args[0]))
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "write JSON lines (it always does)")
	return c
}

func exportSession(ctx context.Context, std *streams, s *store.Store, id string) error {
	enc := json.NewEncoder(std.out)
	enc.SetEscapeHTML(false)
	found, err := s.Session(ctx, id)
	if err != nil {
		return err
	}
	runs, err := s.Runs(ctx, id)
	if err != nil {
		return err
	}
	if err := enc.Encode(struct {
		Type string `json:"type"`
		store.Session
	}{"session", found}); err != nil {
		return err
	}
	for _, r := range runs {
		if err := enc.Encode(struct {
			Type string `json:"type"`
			store.Run
		}{"run", r}); err != nil {
			return err
		}
	}
	return s.Calls(ctx, id, func(c store.Call) error {
		return enc.Encode(struct {
			Type string `json:"type"`
			store.Call
		}{"call", c})
	})
}

// completeSessions completes the ids of the last sessions.
func (a *app) completeSessions(ctx context.Context) []string {
	s, done, err := a.openStore(ctx)
	if err != nil {
		return nil
	}
	defer done()
	list, _ := s.Sessions(ctx, store.Page{Limit: 50}) // no completions from a bad store
	ids := make([]string, 0, len(list))
	for _, x := range list {
		ids = append(ids, fmt.Sprintf("%s\t%s, %d calls", oneLine(x.ID, 200), localTime(x.Updated), x.Calls))
	}
	return ids
}
