package config

import (
	"fmt"
	"strings"
	"time"

	"github.com/toolsearch/toolsearch/approval"
)

// maxApprovalWait bounds how long a call waits for an answer from elsewhere.
const maxApprovalWait = 10 * time.Minute

// Approvals is tools.approvals with defaults filled in and numbers clamped.
type Approvals struct {
	Core      approval.Action // core tools that may destroy something
	Otherwise approval.Action // every other tool
	Expiry    time.Duration   // of a request
	Wait      time.Duration   // for an answer from another process; 0 does not wait
	Rules     []ApprovalRule  // in the file's order

	CorePos, OtherwisePos Pos // where they are written; zero for a default
}

// ApprovalRule is one entry of tools.approvals.rules.
type ApprovalRule struct {
	Pos    Pos
	Action approval.Action
	Tools  []Rule // never empty
	approval.Claims
}

// approvalActions are the actions, as the file writes them.
func approvalActions() []string {
	return []string{string(approval.RuleAsk), string(approval.RuleAllow), string(approval.RuleDeny)}
}

func approvalsSection() section[Approvals] {
	return section[Approvals]{
		path: "tools.approvals",
		intro: "Who is asked: the MCP client that calls, if it can show a form; the terminal; or whoever runs `toolsearch approvals approve`. " +
			"A rule that denies decides; else the first rule that matches; else `core` or `otherwise`.",
		fields: []field[Approvals]{
			choice(row{Key: "core", Default: "`ask`", Doc: "For the built-in tools that may destroy something (`exec`, `write`, `edit`), when no rule matches."},
				approvalActions(), func(a *Approvals, v string, p Pos) { a.Core, a.CorePos = approval.Action(v), p }),
			choice(row{Key: "otherwise", Default: "`allow`", Doc: "For every other tool, when no rule matches."},
				approvalActions(), func(a *Approvals, v string, p Pos) { a.Otherwise, a.OtherwisePos = approval.Action(v), p }),
			millis(row{Key: "expiryMs", Default: fmt.Sprint(approval.DefaultExpiry.Milliseconds()), Doc: "How long a request stands, and how long an approval of one call may be used, in milliseconds."},
				approval.MinExpiry, approval.MaxExpiry, func(a *Approvals) *time.Duration { return &a.Expiry }),
			millis(row{Key: "waitMs", Default: "0", Doc: "How long a call waits for an answer from another process when nobody can be asked directly, in milliseconds. 0: it is refused at once, and made again after the approval."},
				0, maxApprovalWait, func(a *Approvals) *time.Duration { return &a.Wait }),
			{row{Key: "rules", Type: "array of objects", Doc: fmt.Sprintf("At most %d rules. See `tools.approvals.rules[]` below.", approval.MaxRules)},
				func(r *reader, s spot, a *Approvals) { readApprovalRules(r, s, &a.Rules) }},
		},
	}
}

// approvalRuleBlock is a rule as written: with a list for each action.
type approvalRuleBlock struct {
	allow, ask, deny []Rule
	claims           approval.Claims
}

func approvalRuleSection() section[approvalRuleBlock] {
	claim := func(key, doc string, of func(*approval.Claims) **bool) field[approvalRuleBlock] {
		return flag(row{Key: key, Doc: doc}, func(b *approvalRuleBlock, v bool) { *of(&b.claims) = &v })
	}
	return section[approvalRuleBlock]{
		path: "tools.approvals.rules[]",
		intro: "One rule: exactly one of `allow`, `ask` and `deny`, with patterns as in `tools.allow` and `tools.deny`; `\"*\"` is every tool. " +
			"The other keys restrict it to tools that say so of themselves. What a tool does not say is read as not read-only, destructive, not idempotent and open world. " +
			"What an MCP server says of its tools is a claim: an `allow` rule that goes by it trusts the server.",
		fields: []field[approvalRuleBlock]{
			patterns("allow", "These tools run without asking.", func(b *approvalRuleBlock) *[]Rule { return &b.allow }),
			patterns("ask", "A person has to approve these tools.", func(b *approvalRuleBlock) *[]Rule { return &b.ask }),
			patterns("deny", "These tools are refused, whatever anybody approves.", func(b *approvalRuleBlock) *[]Rule { return &b.deny }),
			claim("readOnly", "Only tools that change nothing (`true`) or may change something (`false`).", func(c *approval.Claims) **bool { return &c.ReadOnly }),
			claim("destructive", "Only tools that may destroy something, or that do not.", func(c *approval.Claims) **bool { return &c.Destructive }),
			claim("idempotent", "Only tools that may be repeated without further effect, or that may not.", func(c *approval.Claims) **bool { return &c.Idempotent }),
			claim("openWorld", "Only tools that deal with the outside world, or that do not.", func(c *approval.Claims) **bool { return &c.OpenWorld }),
		},
		moved: map[string]string{"action": "write the action as the key: ask: [PATTERNS]", "tools": "write the patterns under allow, ask or deny"},
	}
}

func readApprovalRules(r *reader, s spot, into *[]ApprovalRule) {
	r.elems(s, approval.MaxRules, func(e spot) {
		var b approvalRuleBlock
		sec := approvalRuleSection()
		before := len(r.errs)
		sec.read(r, e, &b)
		if len(r.errs) > before || r.more > 0 {
			return // its key may be the misspelt one
		}
		var given []string
		for _, a := range approvalActions() {
			if e.node.Member(a) != nil {
				given = append(given, a)
			}
		}
		if len(given) != 1 {
			found := "none of them"
			if len(given) > 0 {
				found = strings.Join(given, " and ")
			}
			r.fault(r.at(e), e.path, "expected exactly one of allow, ask and deny, found "+found, `such as {ask: ["exec"]}`)
			return
		}
		rule := ApprovalRule{Pos: r.at(e), Action: approval.Action(given[0]), Claims: b.claims}
		switch rule.Action {
		case approval.RuleAllow:
			rule.Tools = b.allow
		case approval.RuleAsk:
			rule.Tools = b.ask
		case approval.RuleDeny:
			rule.Tools = b.deny
		}
		if len(rule.Tools) == 0 {
			list := spot{e.node.Member(given[0]), e.path.Child(given[0])}
			r.fault(r.at(list), list.path, "the rule names no tool", `"*" means every tool`)
			return
		}
		*into = append(*into, rule)
	})
}

// elems visits the elements of an array that has at most most of them.
func (r *reader) elems(s spot, most int, visit func(spot)) {
	if !r.array(s) {
		return
	}
	if n := len(s.node.Elems); n > most {
		r.fault(r.at(s), s.path, fmt.Sprintf("%d entries; at most %d are read", n, most), "")
		return
	}
	for i := range s.node.Elems {
		visit(s.elem(i))
	}
}
