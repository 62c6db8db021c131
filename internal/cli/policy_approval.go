package cli

import (
	"fmt"

	"github.com/toolsearch/toolsearch/approval"
	"github.com/toolsearch/toolsearch/internal/config"
	"github.com/toolsearch/toolsearch/tool"
)

// approvalVerdict is what the rules of approval say about a tool that the policy
// lets through.
type approvalVerdict struct {
	Action approval.Action `json:"action"`
	Rule   string          `json:"rule"` // the configuration key that decides, "" for a control
	File   string          `json:"file,omitempty"`
	Line   int             `json:"line,omitempty"` // from 1; 0 for a default
	Text   string          `json:"text"`
}

// approvalRuleName is the configuration key of the i-th rule.
func approvalRuleName(i int) string { return fmt.Sprintf("tools.approvals.rules[%d]", i) }

// explainApproval says whether a call of the tool is asked about. offered is
// false for a tool that nothing says more of than its name.
func explainApproval(c config.Approvals, t *tool.Tool, offered bool) (approvalVerdict, error) {
	rules, _, err := approval.Compile(approvalRules(c)) // the warnings are those of calls
	if err != nil {
		return approvalVerdict{}, err
	}
	action, by := rules.Decide(t)
	v := approvalVerdict{Action: action, Rule: by}
	pos, about := config.Pos{}, ""
	switch {
	case by != "":
		for i, r := range c.Rules {
			if approvalRuleName(i) == by {
				pos = r.Pos
			}
		}
	case approval.MayDestroyCore(t):
		v.Rule, pos, about = "tools.approvals.core", c.CorePos, ", for built-in tools that may destroy something"
	default:
		v.Rule, pos, about = "tools.approvals.otherwise", c.OtherwisePos, ", for every other tool"
	}
	v.File, v.Line = pos.File, pos.Line
	v.Text = map[approval.Action]string{
		approval.RuleAllow: "allowed without asking", approval.RuleAsk: "asks a person", approval.RuleDeny: "denied, whatever anybody approves",
	}[action]
	switch {
	case pos.Line > 0:
		v.Text += fmt.Sprintf(", by %s (%s:%d)%s", v.Rule, pos.File, pos.Line, about)
	case by != "":
		v.Text += ", by " + v.Rule
	default:
		v.Text += ", by the default of " + v.Rule + about
	}
	if !offered {
		v.Text += "; no source offers it now, so it is taken for one that may destroy something"
	}
	return v, nil
}

// controlApproval is the verdict about a control.
func controlApproval() approvalVerdict {
	return approvalVerdict{Action: approval.RuleAllow, Text: "a control is never asked about; the tools that it calls are, each by its own rule"}
}
