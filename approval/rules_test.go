package approval_test

import (
	"strings"
	"testing"

	"github.com/toolsearch/toolsearch/approval"
	"github.com/toolsearch/toolsearch/tool"
)

func TestRules(t *testing.T) {
	destructive := tool.Annotations{Destructive: yes()}
	readOnly := tool.Annotations{ReadOnly: yes()}
	exec, _ := counted(tool.OpenClaw, tool.CoreOwner, "exec", destructive)
	write, _ := counted(tool.OpenClaw, tool.CoreOwner, "write", destructive)
	read, _ := counted(tool.OpenClaw, tool.CoreOwner, "read", readOnly)
	crm, _ := counted(tool.OpenClaw, "crm", "delete_contact", destructive)
	create, _ := counted(tool.MCP, "calendar", "create_event", tool.Annotations{})
	list, _ := counted(tool.MCP, "calendar", "list_events", readOnly)
	mcpExec, _ := counted(tool.MCP, "evil", "exec", tool.Annotations{})
	liar, _ := counted(tool.MCP, "evil", "drop", readOnly)
	pick, _ := counted(tool.Client, tool.ClientOwner, "pick_file", tool.Annotations{})

	const allow, ask, deny = approval.RuleAllow, approval.RuleAsk, approval.RuleDeny
	rule := func(a approval.Action, patterns ...string) approval.Rule {
		return approval.Rule{Action: a, Tools: entries(patterns...)}
	}
	claims := func(r approval.Rule, c approval.Claims) approval.Rule { r.Claims = c; return r }
	set := func(rules ...approval.Rule) approval.RuleSet { return approval.RuleSet{Rules: rules} }
	for _, c := range []struct {
		name   string
		set    approval.RuleSet
		target *tool.Tool
		want   approval.Action
		by     string
	}{
		// The defaults.
		{"default exec", set(), exec, ask, ""},
		{"default write", set(), write, ask, ""},
		{"default read", set(), read, allow, ""},
		{"default plugin", set(), crm, allow, ""},
		{"default mcp", set(), create, allow, ""},
		{"default client", set(), pick, allow, ""},
		{"core allowed", approval.RuleSet{Core: allow}, exec, allow, ""},
		{"core denied", approval.RuleSet{Core: deny}, exec, deny, ""},
		{"core denied, not the harmless", approval.RuleSet{Core: deny}, read, allow, ""},
		{"otherwise ask", approval.RuleSet{Otherwise: ask}, create, ask, ""},
		{"otherwise ask, core stays", approval.RuleSet{Otherwise: allow}, exec, ask, ""},
		// Patterns.
		{"name", set(rule(allow, "exec")), exec, allow, "approvals.rules[0]"},
		{"alias", set(rule(allow, "bash")), exec, allow, "approvals.rules[0]"},
		{"case", set(rule(deny, "EXEC")), exec, deny, "approvals.rules[0]"},
		{"group", set(rule(ask, "group:fs")), read, ask, "approvals.rules[0]"},
		{"plugin", set(rule(ask, "crm")), crm, ask, "approvals.rules[0]"},
		{"server", set(rule(ask, "mcp:calendar")), create, ask, "approvals.rules[0]"},
		{"glob", set(rule(ask, "mcp:calendar:create_*")), create, ask, "approvals.rules[0]"},
		{"glob does not match", set(rule(ask, "mcp:calendar:create_*")), list, allow, ""},
		{"id", set(rule(deny, "mcp:calendar:create_event")), create, deny, "approvals.rules[0]"},
		{"bundle", set(rule(ask, "bundle-mcp")), list, ask, "approvals.rules[0]"},
		{"client", set(rule(ask, "group:client")), pick, ask, "approvals.rules[0]"},
		{"everything", set(rule(ask, "*")), pick, ask, "approvals.rules[0]"},
		{"several patterns", set(rule(ask, "read", "mcp:calendar")), list, ask, "approvals.rules[0]"},
		// An allow rule means the product's tool, and no server's that bears its name.
		{"allow exec is not a server's exec", approval.RuleSet{Rules: []approval.Rule{rule(allow, "exec")}, Otherwise: ask}, mcpExec, ask, ""},
		{"deny exec is also a server's exec", set(rule(deny, "exec")), mcpExec, deny, "approvals.rules[0]"},
		{"ask exec is also a server's exec", set(rule(ask, "exec")), mcpExec, ask, "approvals.rules[0]"},
		// Order: deny first, else the first that matches.
		{"first matches", set(rule(allow, "exec"), rule(ask, "*")), exec, allow, "approvals.rules[0]"},
		{"first matches, the other way round", set(rule(ask, "*"), rule(allow, "exec")), exec, ask, "approvals.rules[0]"},
		{"deny beats an earlier allow", set(rule(allow, "*"), rule(deny, "exec")), exec, deny, "approvals.rules[1]"},
		{"deny beats an earlier ask", set(rule(ask, "*"), rule(allow, "exec"), rule(deny, "exec")), exec, deny, "approvals.rules[2]"},
		{"the second matches", set(rule(deny, "write"), rule(allow, "exec")), exec, allow, "approvals.rules[1]"},
		// Annotations.
		{"destructive asks", set(claims(rule(ask, "bundle-mcp"), approval.Claims{Destructive: yes()})), create, ask, "approvals.rules[0]"},
		{"silence is destructive", set(claims(rule(ask, "*"), approval.Claims{Destructive: yes()})), pick, ask, "approvals.rules[0]"},
		{"read-only is not destructive", set(claims(rule(ask, "*"), approval.Claims{Destructive: yes()})), list, allow, ""},
		{"read-only allows", approval.RuleSet{Rules: []approval.Rule{claims(rule(allow, "*"), approval.Claims{ReadOnly: yes()})}, Otherwise: ask}, list, allow, "approvals.rules[0]"},
		{"silence is not read-only", approval.RuleSet{Rules: []approval.Rule{claims(rule(allow, "*"), approval.Claims{ReadOnly: yes()})}, Otherwise: ask}, create, ask, ""},
		{"not read-only asks", set(claims(rule(ask, "*"), approval.Claims{ReadOnly: no()})), create, ask, "approvals.rules[0]"},
		{"a claim narrowed by a server", approval.RuleSet{Rules: []approval.Rule{claims(rule(allow, "mcp:calendar"), approval.Claims{ReadOnly: yes()})}, Otherwise: ask}, liar, ask, ""},
		{"silence is open world", set(claims(rule(ask, "*"), approval.Claims{OpenWorld: yes()})), create, ask, "approvals.rules[0]"},
		{"silence is not idempotent", set(claims(rule(ask, "*"), approval.Claims{Idempotent: no()})), create, ask, "approvals.rules[0]"},
		{"all claims must fit", set(claims(rule(deny, "*"), approval.Claims{Destructive: yes(), Idempotent: yes()})), create, allow, ""},
		// What has no known source is not allowed by a list.
		{"unknown source", approval.RuleSet{Rules: []approval.Rule{rule(allow, "*")}, Otherwise: deny}, &tool.Tool{ID: "x:y:z", Name: "z"}, deny, ""},
	} {
		rules, _, err := approval.Compile(c.set)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if got, by := rules.Decide(c.target); got != c.want || by != c.by {
			t.Errorf("%s: %s by %q, want %s by %q", c.name, got, by, c.want, c.by)
		}
	}
}

func TestRulesThatCannotBe(t *testing.T) {
	many := approval.RuleSet{Rules: make([]approval.Rule, approval.MaxRules+1)}
	for name, c := range map[string]struct {
		set  approval.RuleSet
		want string
	}{
		"no pattern":     {approval.RuleSet{Rules: []approval.Rule{{Action: approval.RuleAsk}}}, "names no tool"},
		"no action":      {approval.RuleSet{Rules: []approval.Rule{{Tools: entries("exec"), Name: "approvals.rules[7]"}}}, "approvals.rules[7]"},
		"unknown core":   {approval.RuleSet{Core: "maybe"}, `"maybe"`},
		"unknown other":  {approval.RuleSet{Otherwise: "no"}, `"no"`},
		"too many":       {many, "more than"},
		"endless":        {approval.RuleSet{Rules: []approval.Rule{{Action: approval.RuleDeny, Tools: entries(strings.Repeat("x", 600))}}}, "approvals.rules[0]"},
		"blank":          {approval.RuleSet{Rules: []approval.Rule{{Action: approval.RuleAllow, Tools: entries("")}}}, "approvals.rules[0]"},
		"control action": {approval.RuleSet{Rules: []approval.Rule{{Action: "ALLOW", Tools: entries("exec")}}}, `"ALLOW"`},
	} {
		if r, _, err := approval.Compile(c.set); err == nil || r != nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want an error with %s", name, err, c.want)
		}
	}
	_, warnings, err := approval.Compile(approval.RuleSet{Rules: []approval.Rule{{Action: approval.RuleAsk, Tools: entries("group:nonsense")}}})
	if err == nil && len(warnings) == 0 {
		t.Error("a group that does not exist is neither refused nor warned about")
	}
}
