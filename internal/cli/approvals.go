package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolsearch/toolsearch/approval"
	"github.com/toolsearch/toolsearch/tool"
)

func newApprovals(app *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "approvals",
		Short: "Answer the calls that wait for your approval",
		Long: `A call that needs an approval waits, or tells the agent its request's ID. Look at
it with show, answer with approve or deny; the agent then repeats the call.
An approval counts for the caller, tool and arguments it was asked for, and that
of a built-in tool in the working folder it was asked for alone.`,
		Example: `  toolsearch approvals list
  toolsearch approvals approve k7f3q2mxab
  toolsearch approvals approve k7f3q2mxab --for session`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newApprovalsList(app), newApprovalsShow(app), newApprovalsApprove(app), newApprovalsDeny(app))
	return c
}

func newApprovalsList(app *app) *cobra.Command {
	var opt struct{ all, json bool }
	c := &cobra.Command{
		Use:   "list",
		Short: "List what is pending, the newest first",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, done, err := openApprovals(cmd.Context(), app)
			if err != nil {
				return err
			}
			defer done()
			q := approval.Query{State: approval.Pending}
			if opt.all {
				q.State = ""
			}
			found, err := s.Find(cmd.Context(), q)
			if err != nil {
				return storeError(err)
			}
			if opt.json {
				out := make([]approvalJSON, len(found))
				for i := range found {
					out[i] = jsonOf(&found[i])
				}
				return app.std.printJSON(out)
			}
			return printApprovals(app.std, found)
		},
	}
	c.Flags().BoolVar(&opt.all, "all", false, "also list what was answered, used or expired")
	c.Flags().BoolVar(&opt.json, "json", false, "print as a JSON array")
	return c
}

func newApprovalsShow(app *app) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:               "show ID",
		Short:             "Show one request: who, which tool, which arguments",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeFirst(app.completeApprovals),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, done, err := openApprovals(cmd.Context(), app)
			if err != nil {
				return err
			}
			defer done()
			r, err := getApproval(cmd.Context(), s, args[0])
			if err != nil {
				return err
			}
			if asJSON {
				return app.std.printJSON(jsonOf(&r))
			}
			printApproval(app.std, &r)
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return c
}

func newApprovalsApprove(app *app) *cobra.Command {
	var opt struct {
		scope, pattern, reason string
		json                   bool
	}
	c := &cobra.Command{
		Use:   "approve ID",
		Short: "Let the call run",
		Long: `Approve lets one call with these arguments run (--for once), or every call of
this tool in the same session for 12 hours (--for session), or every call of the
tools of a pattern by the same caller for 30 days (--for pattern; without
--pattern, this tool alone). Once is to be used within tools.approvals.expiryMs,
10 minutes by default. 'approvals deny ID' takes an approval back.`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeFirst(app.completeApprovals),
		RunE: func(cmd *cobra.Command, args []string) error {
			change, err := approvalTerms(approval.Scope(opt.scope), opt.pattern)
			if err != nil {
				return err
			}
			change.Reason = opt.reason
			return answerApproval(cmd.Context(), app, approvalAnswer{id: args[0], change: change, json: opt.json})
		},
	}
	c.Flags().StringVar(&opt.scope, "for", "once", "once, session or pattern")
	c.Flags().StringVar(&opt.pattern, "pattern", "", "with --for pattern: the tools, as in tools.allow, such as mcp:files:*")
	c.Flags().StringVar(&opt.reason, "reason", "", "why, for the record")
	c.Flags().BoolVar(&opt.json, "json", false, "print the request as JSON")
	_ = c.RegisterFlagCompletionFunc("for", cobra.FixedCompletions([]string{"once", "session", "pattern"}, cobra.ShellCompDirectiveNoFileComp)) // fails only for an unknown flag
	return c
}

func newApprovalsDeny(app *app) *cobra.Command {
	var opt struct {
		reason string
		json   bool
	}
	c := &cobra.Command{
		Use:   "deny ID",
		Short: "Refuse the call, or take back an approval",
		Long: `Deny refuses one call. The same call again is refused at once, with your reason,
until the request would have expired; then it may ask again. Deny of an approval
that still counts takes it back.`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeFirst(app.completeApprovals),
		RunE: func(cmd *cobra.Command, args []string) error {
			change := approval.Change{To: approval.Denied, Reason: opt.reason}
			return answerApproval(cmd.Context(), app, approvalAnswer{id: args[0], change: change, json: opt.json})
		},
	}
	c.Flags().StringVar(&opt.reason, "reason", "", "why, for the record and for the agent")
	c.Flags().BoolVar(&opt.json, "json", false, "print the request as JSON")
	return c
}

// approvalTerms reads --for and --pattern.
func approvalTerms(scope approval.Scope, pattern string) (approval.Change, error) {
	c := approval.Change{To: approval.Approved, Scope: scope, Pattern: pattern}
	if !scope.Valid() {
		return c, usagef("--for must be once, session or pattern, not %q", scope)
	}
	if pattern == "" {
		return c, nil
	}
	if scope != approval.Pattern {
		return c, usagef("--pattern goes with --for pattern")
	}
	if _, err := approval.CompilePattern(pattern); err != nil {
		return c, usageError{err}
	}
	return c, nil
}

type approvalAnswer struct {
	id     string
	change approval.Change
	json   bool
}

// answerApproval makes the change of a pending request, and a denial also of an
// approval that can still be used.
func answerApproval(ctx context.Context, app *app, a approvalAnswer) error {
	if a.change.To == approval.Approved {
		if err := byAPerson("approve " + tool.Clean(a.id, 100)); err != nil {
			return err
		}
	}
	s, done, err := openApprovals(ctx, app)
	if err != nil {
		return err
	}
	defer done()
	r, err := getApproval(ctx, s, a.id)
	if err != nil {
		return err
	}
	now := time.Now()
	c := a.change
	c.From, c.At, c.DecidedBy = approval.Pending, now, "the user on the command line"
	if c.To == approval.Approved {
		c.Expires = now.Add(r.Lifetime(c.Scope))
		if c.Scope == approval.Pattern && c.Pattern == "" {
			c.Pattern = approval.Exactly(r.Tool)
		}
		if c.Pattern != "" && !r.Covers(c.Pattern) {
			return hintError{
				usagef("the pattern %q does not match %s, which the request is about", c.Pattern, r.Tool),
				"leave --pattern out for this tool alone, or write one that matches it",
			}
		}
	} else if r.State == approval.Approved {
		c.From = approval.Approved
	}
	changed, err := s.Change(ctx, r.ID, c)
	if err != nil {
		return storeError(err)
	}
	if r, err = getApproval(ctx, s, a.id); err != nil {
		return err
	}
	if !changed {
		hint := "see 'toolsearch approvals show " + r.ID + "'"
		if r.State == approval.Denied && now.Before(r.Expires) {
			hint = "the denial stands until " + zonedTime(r.Expires) + "; then the same call may ask again"
		}
		return hintError{fmt.Errorf("approval %s is %s already", r.ID, stateOf(&r, now)), hint}
	}
	if c.To == approval.Approved && c.Scope == approval.Session && r.OfProcess() {
		fmt.Fprintln(app.std.err, "note: the call belongs to no conversation: its session is the process that asked, and counts no longer than it runs")
	}
	if a.json {
		return app.std.printJSON(jsonOf(&r))
	}
	_, err = fmt.Fprintf(app.std.out, "%s %s\n", r.State, r.ID)
	return err
}

// getApproval reads one request.
func getApproval(ctx context.Context, s approval.Store, id string) (approval.Record, error) {
	r, err := s.Get(ctx, id)
	if errors.Is(err, approval.ErrNotFound) {
		return r, hintError{fmt.Errorf("there is no approval %q", tool.Clean(id, 100)), "list them with 'toolsearch approvals list'"}
	}
	return r, storeError(err)
}

// stateOf is the state for people: an approval that ran out counts no more.
func stateOf(r *approval.Record, now time.Time) string {
	if r.State == approval.Approved && !now.Before(r.Expires) {
		return string(approval.Expired)
	}
	return string(r.State)
}

// stateAndScope also says for what an approval counts, where that is more than
// one call.
func stateAndScope(r *approval.Record, now time.Time) string {
	state := stateOf(r, now)
	switch {
	case r.State != approval.Approved:
	case r.Scope == approval.Session:
		state += " for session"
	case r.Scope == approval.Pattern:
		state += " for " + approval.Visible(oneLine(r.Pattern, 60))
	}
	return state
}

// approvalJSON is a request as --json prints it.
type approvalJSON struct {
	ID        string          `json:"id"`
	State     string          `json:"state"`
	Tool      tool.ID         `json:"tool"`
	Folder    string          `json:"folder,omitempty"` // that a core tool works in
	Args      json.RawMessage `json:"args"`
	Digest    string          `json:"argsDigest"`
	Caller    string          `json:"caller"`
	Agent     string          `json:"agent"`
	Session   string          `json:"session"`
	Run       string          `json:"run"`
	Policy    string          `json:"policyVersion"`
	Scope     approval.Scope  `json:"scope"`
	Pattern   string          `json:"pattern,omitempty"`
	Created   time.Time       `json:"created"`
	Expires   time.Time       `json:"expires"`
	Decided   *time.Time      `json:"decided,omitempty"`
	DecidedBy string          `json:"decidedBy,omitempty"`
	Reason    string          `json:"reason,omitempty"`
}

func jsonOf(r *approval.Record) approvalJSON {
	out := approvalJSON{
		ID: r.ID, State: stateOf(r, time.Now()), Tool: r.Tool, Folder: r.Folder, Args: r.Args, Digest: r.Digest,
		Caller: r.Caller, Agent: r.Agent, Session: r.Session, Run: r.Run, Policy: r.PolicyVersion,
		Scope: r.Scope, Pattern: r.Pattern, Created: r.Created.UTC(), Expires: r.Expires.UTC(),
		DecidedBy: r.DecidedBy, Reason: r.Reason,
	}
	if !json.Valid(out.Args) {
		out.Args = json.RawMessage("null")
	}
	if !r.Decided.IsZero() {
		at := r.Decided.UTC()
		out.Decided = &at
	}
	return out
}

func printApprovals(s *streams, found []approval.Record) error {
	if len(found) == 0 {
		fmt.Fprintln(s.err, "nothing is pending")
		return nil
	}
	now := time.Now()
	w := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tSTATE\tEXPIRES\tCALLER\tTOOL\tFOLDER\tARGUMENTS")
	for i := range found {
		r := &found[i]
		args, _ := tool.CutChars(approval.Visible(string(r.Args)), 80)
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", oneLine(r.ID, 40), stateAndScope(r, now), zonedTime(r.Expires),
			oneLine(who(r), 60), approval.Visible(oneLine(string(r.Tool), 100)), approval.Visible(oneLine(r.Folder, 200)), args)
	}
	return w.Flush()
}

func who(r *approval.Record) string {
	name := r.Caller
	if name == "" {
		name = "local user"
	}
	if r.Agent != "" {
		name += " (" + r.Agent + ")"
	}
	return name
}

func printApproval(s *streams, r *approval.Record) {
	fmt.Fprintf(s.out, "Approval %s: %s\n", s.bold(oneLine(r.ID, 40)), stateOf(r, time.Now()))
	fmt.Fprint(s.out, approval.Show(approval.Question{Tool: r.Tool, Folder: r.Folder, Args: r.Args}))
	fmt.Fprintf(s.out, "Caller: %s\nSession: %s\n", approval.Visible(oneLine(who(r), 200)), approval.Visible(oneLine(r.Session, 200)))
	fmt.Fprintf(s.out, "Asked: %s\nExpires: %s\n", zonedTime(r.Created), zonedTime(r.Expires))
	if !r.Decided.IsZero() {
		fmt.Fprintf(s.out, "Decided: %s by %s, for %s\n", zonedTime(r.Decided), oneLine(r.DecidedBy, 200), r.Scope)
	}
	if r.Pattern != "" {
		fmt.Fprintf(s.out, "Pattern: %s\n", approval.Visible(oneLine(r.Pattern, 600)))
	}
	if r.Reason != "" {
		fmt.Fprintf(s.out, "Reason: %s\n", approval.Visible(oneLine(r.Reason, 600)))
	}
}

// completeApprovals completes the ids of pending requests.
func (a *app) completeApprovals(ctx context.Context) []string {
	s, done, err := openApprovals(ctx, a)
	if err != nil {
		return nil
	}
	defer done()
	found, _ := s.Find(ctx, approval.Query{State: approval.Pending}) // no completions from a bad store
	ids := make([]string, 0, len(found))
	for _, r := range found {
		ids = append(ids, fmt.Sprintf("%s\t%s", r.ID, oneLine(string(r.Tool), 60)))
	}
	return ids
}

// openApprovals opens the user's approvals and marks those that expired.
func openApprovals(ctx context.Context, app *app) (approval.Store, func(), error) {
	s, done, err := app.openStore(ctx)
	if err != nil {
		return nil, nil, err
	}
	out := s.Approvals()
	if _, err := out.Expire(ctx, time.Now()); err != nil {
		done()
		return nil, nil, storeError(err)
	}
	return out, done, nil
}
