package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolsearch/toolsearch/internal/config"
	"github.com/toolsearch/toolsearch/policy"
	"github.com/toolsearch/toolsearch/surface"
	"github.com/toolsearch/toolsearch/tool"
)

func newPolicyVerb(app *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "policy",
		Short: "Show which rule allows or refuses a tool",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newPolicyExplain(app))
	return c
}

func newPolicyExplain(app *app) *cobra.Command {
	var asJSON bool
	var asked runFlags
	c := &cobra.Command{
		Use:   "explain TOOL",
		Short: "Name the rule that decides about a tool, by file and line",
		Long: `Explain tells what every filter says about a tool and which rule decides, and
then whether a person is asked about its calls, and which rule says so.

TOOL is an id, a name, an alias such as bash, or the name of a control such as
tool_search. The rules can be asked about a tool that no source offers, too: by
its id, or by a name, which then means a core tool. What a model is told never
shows that difference.

The rules that hold depend on the run: on its agent, the model that it uses, who
asks, whether it is sandboxed or was started by another run, and what it asked
for itself. Without flags it is a run of the command line.

The exit code is 0 when the rules allow the tool and 3 when they refuse it.`,
		Example: `  toolsearch policy explain mcp:calendar:create_event
  toolsearch policy explain exec --agent main --json
  toolsearch policy explain exec --provider openai/gpt-5 --sender alice --sandbox`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeFirst(app.completeTools),
		RunE: func(cmd *cobra.Command, args []string) error {
			set, err := app.open(cmd.Context(), openOptions{core: true, wait: true, ref: explained(args[0]), mode: surface.Off, all: true, scope: asked.scope()})
			if err != nil {
				return err
			}
			defer set.close()
			report, err := explainPolicy(cmd.Context(), set, args[0])
			if err != nil {
				return err
			}
			if asJSON {
				err = app.std.printJSON(report)
			} else {
				err = printExplanation(app.std, report)
			}
			if err == nil && !report.Allowed {
				return silentError{ExitRefused}
			}
			return err
		},
	}
	c.Flags().StringVar(&app.agent, "agent", "", "use the settings of this agent of the configuration")
	asked.add(c)
	c.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return c
}

// runFlags describe a run, for the rules that depend on it.
type runFlags struct {
	provider, group, sender string
	sandbox, subagent       bool
	allow, deny             []string
}

func (f *runFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.provider, "provider", "", "of a run with this model: PROVIDER or PROVIDER/MODEL")
	c.Flags().StringVar(&f.group, "group", "", "of a run that this chat group asks for")
	c.Flags().StringVar(&f.sender, "sender", "", "of a run that this sender asks for")
	c.Flags().BoolVar(&f.sandbox, "sandbox", false, "of a sandboxed run")
	c.Flags().BoolVar(&f.subagent, "subagent", false, "of a run that another run started")
	c.Flags().StringSliceVar(&f.allow, "allow", nil, "of a run that asked for these tools alone, as 'toolsearch agent --allow'")
	c.Flags().StringSliceVar(&f.deny, "deny", nil, "of a run that asked for none of these")
}

func (f *runFlags) scope() config.Scope {
	provider, model, _ := strings.Cut(f.provider, "/")
	return config.Scope{
		Provider: provider, Model: model, Group: f.group, Sender: f.sender, Sandbox: f.sandbox, Subagent: f.subagent,
		Run: config.Rules{Allow: patterns(f.allow), Deny: patterns(f.deny)},
	}
}

// explanation is what the rules say about one tool.
type explanation struct {
	Tool     tool.ID       `json:"tool"`
	Source   tool.Source   `json:"source"`
	Owner    string        `json:"owner"`
	Name     string        `json:"name"`
	Control  bool          `json:"control"` // infrastructure: only deny lists are about it
	Offered  bool          `json:"offered"` // by a source, now; a control is offered by the program
	Allowed  bool          `json:"allowed"`
	Decision ruleVerdict   `json:"decision"` // the rule that decides
	Filters  []ruleVerdict `json:"filters"`  // every filter, in the order in which they apply

	Approval approvalVerdict `json:"approval"` // of the calls that the filters let through
}

// ruleVerdict is a policy.Decision for programs and people.
type ruleVerdict struct {
	Allowed bool   `json:"allowed"`
	Reason  string `json:"reason"`
	Scope   string `json:"scope,omitempty"` // "" when no filter had to speak
	Block   string `json:"block,omitempty"` // the configuration key of the rules
	Rule    string `json:"rule,omitempty"`  // the entry, as written
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"` // from 1; 0 for a rule of no file
	Text    string `json:"text"`
}

// scopeServer is the scope of a server's own includeTools and excludeTools,
// which come before every filter of the policy.
const scopeServer = "server"

func newRuleVerdict(d policy.Decision) ruleVerdict {
	v := ruleVerdict{
		Allowed: d.Allowed, Reason: reasonName(d.Reason), Block: d.Layer,
		Rule: d.Entry.Pattern, File: d.Entry.Pos.File, Line: d.Entry.Pos.Line, Text: d.String(),
	}
	if d.Scope != 0 {
		v.Scope = d.Scope.String()
	}
	return v
}

// reasonName is the stable name of a reason, for scripts.
func reasonName(r policy.Reason) string {
	switch r {
	case policy.ReasonDenied:
		return "denied"
	case policy.ReasonNotInProfile:
		return "not_in_profile"
	case policy.ReasonNotAllowed:
		return "not_allowed"
	case policy.ReasonNoRule:
		return "no_rule"
	case policy.ReasonInProfile:
		return "in_profile"
	case policy.ReasonAlsoAllowed:
		return "also_allowed"
	case policy.ReasonAllowed:
		return "allowed"
	case policy.ReasonControlStands:
		return "control"
	}
	return "invalid"
}

func explainPolicy(ctx context.Context, set *toolset, ref string) (explanation, error) {
	if err := ctx.Err(); err != nil {
		return explanation{}, err
	}
	plan, err := set.Plan()
	if err != nil {
		return explanation{}, err
	}
	t, offered, err := subjectOf(plan.Allowed, ref)
	if err != nil {
		return explanation{}, err
	}
	out := explanation{Tool: t.ID, Source: t.Source, Owner: t.Owner, Name: t.Name, Offered: offered, Filters: []ruleVerdict{}}
	if slices.Contains(policy.Controls(), t.Name) && t.Source == tool.OpenClaw && t.Owner == tool.CoreOwner {
		out.Control, out.Offered = true, true
	}
	decision := set.policy.Decide(t)
	out.Decision = newRuleVerdict(decision)
	servers, err := serverPolicies(set.cfg)
	if err != nil {
		return explanation{}, err
	}
	if own := servers[t.Owner]; own != nil && t.Source == tool.MCP {
		v := newRuleVerdict(own.Decide(t))
		v.Scope = scopeServer
		out.Filters = append(out.Filters, v)
		if !v.Allowed {
			out.Decision = v
		}
	}
	for _, d := range set.policy.Explain(t) {
		out.Filters = append(out.Filters, newRuleVerdict(d))
	}
	out.Allowed = out.Decision.Allowed
	if out.Control {
		out.Approval = controlApproval()
		return out, nil
	}
	out.Approval, err = explainApproval(set.cfg.Tools.Approvals, t, out.Offered)
	return out, err
}

// explained is what has to be known to explain ref: nothing of the servers for a
// control, one server for an id. A name may be a tool's of any server.
func explained(ref string) string {
	switch source, _, isID := strings.Cut(ref, ":"); {
	case slices.Contains(policy.Controls(), ref):
		return string(tool.NewID(tool.OpenClaw, tool.CoreOwner, ref))
	case isID && tool.Source(source).Valid():
		return ref
	}
	return ""
}

// subjectOf finds the tool that ref means: a control by its name, else an
// offered tool by id, by the name a model sees, by its own name or by an alias
// of that, and else a tool that nothing offers.
func subjectOf(offered []*tool.Tool, ref string) (t *tool.Tool, isOffered bool, err error) {
	if slices.Contains(policy.Controls(), ref) {
		return hypothetical(tool.OpenClaw, tool.CoreOwner, ref), false, nil
	}
	tests := []func(*tool.Tool) bool{
		func(t *tool.Tool) bool { return string(t.ID) == ref },
		func(t *tool.Tool) bool { return surface.WireName(t, surface.MCPNameLimit) == ref || t.Name == ref },
		func(t *tool.Tool) bool { return tool.Normalize(t.Name) == tool.Normalize(ref) },
		func(t *tool.Tool) bool { return t.Source == tool.OpenClaw && policy.SameTool(t.Name, ref) },
	}
	for _, is := range tests {
		var found []string
		for _, o := range offered {
			if is(o) {
				t = o
				found = append(found, string(o.ID))
			}
		}
		if len(found) == 1 {
			return t, true, nil
		}
		if len(found) > 1 {
			return nil, false, hintError{
				usagef("%d tools are named %q", len(found), ref),
				"give one id: " + oneLine(strings.Join(found, ", "), 1000),
			}
		}
	}
	source, rest, isID := strings.Cut(ref, ":")
	if !isID || !tool.Source(source).Valid() {
		return hypothetical(tool.OpenClaw, tool.CoreOwner, ref), false, nil
	}
	owner, name, ok := strings.Cut(rest, ":")
	if !ok || owner == "" || name == "" {
		return nil, false, hintError{usagef("%q is not the id of one tool", ref), "an id is source:owner:name, such as mcp:calendar:list_events"}
	}
	return hypothetical(tool.Source(source), owner, name), false, nil
}

// hypothetical is a tool that no source offers, as the rules would see it.
func hypothetical(source tool.Source, owner, name string) *tool.Tool {
	return &tool.Tool{ID: tool.NewID(source, owner, name), Source: source, Owner: owner, Name: name}
}

func printExplanation(s *streams, e explanation) error {
	verdict, link := s.bold("allowed"), "but"
	if !e.Allowed {
		verdict, link = s.bold("refused"), "and"
	}
	if !e.Offered {
		verdict += ", " + link + " no source offers it now"
	}
	_, err := fmt.Fprintf(s.out, "%s %s: %s\n", oneLine(string(e.Tool), 300), verdict, oneLine(e.Decision.Text, 1000))
	for _, f := range e.Filters {
		mark := "pass  "
		if !f.Allowed {
			mark = "refuse"
		}
		scope := f.Scope
		if scope == "" {
			scope = "policy"
		}
		fmt.Fprintf(s.out, "  %s  %s: %s\n", mark, s.dim(scope), oneLine(f.Text, 1000))
	}
	if err == nil {
		_, err = fmt.Fprintf(s.out, "  approval: %s\n", oneLine(e.Approval.Text, 1000))
	}
	return err
}
