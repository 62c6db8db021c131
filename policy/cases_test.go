package policy_test

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/toolsearch/toolsearch/policy"
	"github.com/toolsearch/toolsearch/tool"
)

// reasons are the names of the reasons in testdata/cases.txt.
var reasons = map[string]policy.Reason{
	"denied":         policy.ReasonDenied,
	"not-in-profile": policy.ReasonNotInProfile,
	"not-allowed":    policy.ReasonNotAllowed,
	"no-rule":        policy.ReasonNoRule,
	"in-profile":     policy.ReasonInProfile,
	"also":           policy.ReasonAlsoAllowed,
	"allowed":        policy.ReasonAllowed,
	"control":        policy.ReasonControlStands,
}

// scopeNamed returns the scope of that name.
func scopeNamed(t *testing.T, name string) policy.Scope {
	t.Helper()
	for s := policy.ScopeProfile; s <= policy.ScopeRun; s++ {
		if s.String() == strings.ReplaceAll(name, "_", " ") {
			return s
		}
	}
	t.Fatalf("no scope is called %q", name)
	return 0
}

// newTool makes a tool of a source:owner:name.
func newTool(id string) *tool.Tool {
	parts := strings.SplitN(id, ":", 3)
	return &tool.Tool{ID: tool.ID(id), Source: tool.Source(parts[0]), Owner: parts[1], Name: parts[2]}
}

// tableCase is one case of testdata/cases.txt.
type tableCase struct {
	title  string
	layers []policy.Layer
	checks []tableCheck
}

// tableCheck is one line that begins with + or -.
type tableCheck struct {
	line    int
	allowed bool
	id      string
	want    []string
}

// words splits at spaces; "..." holds one word.
func words(line string) []string {
	if before, after, ok := strings.Cut(line, `"`); ok {
		return append(strings.Fields(before), strings.TrimSuffix(after, `"`))
	}
	return strings.Fields(line)
}

// readCases parses the table. Each rule's position is its line there.
func readCases(t *testing.T) []*tableCase {
	t.Helper()
	const file = "testdata/cases.txt"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var cases []*tableCase
	for i, line := range strings.Split(string(text), "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		if title, ok := strings.CutPrefix(line, "case "); ok {
			cases = append(cases, &tableCase{title: title})
			continue
		}
		c, w := cases[len(cases)-1], words(line)
		if w[0] == "+" || w[0] == "-" {
			c.checks = append(c.checks, tableCheck{line: i + 1, allowed: w[0] == "+", id: w[1], want: w[2:]})
			continue
		}
		c.addRules(t, w, policy.Pos{File: file, Line: i + 1})
	}
	return cases
}

// addRules adds one line of rules to the block of its scope.
func (c *tableCase) addRules(t *testing.T, w []string, pos policy.Pos) {
	t.Helper()
	scope := scopeNamed(t, w[0])
	at := slices.IndexFunc(c.layers, func(l policy.Layer) bool { return l.Scope == scope })
	if at < 0 {
		at = len(c.layers)
		c.layers = append(c.layers, policy.Layer{Scope: scope, Name: w[0]})
	}
	r := &c.layers[at].Rules
	for _, pattern := range w[2:] {
		e := policy.Entry{Pattern: pattern, Pos: pos}
		switch w[1] {
		case "profile":
			r.Profile = e
		case "allow":
			r.Allow = append(r.Allow, e)
		case "also":
			r.AlsoAllow = append(r.AlsoAllow, e)
		case "deny":
			r.Deny = append(r.Deny, e)
		default:
			t.Fatalf("%s: unknown rule %q", pos, w[1])
		}
	}
}

func compile(t testing.TB, layers ...policy.Layer) *policy.Policy {
	t.Helper()
	p, _, err := policy.Compile(layers)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestTable(t *testing.T) {
	cases := readCases(t)
	if len(cases) < 60 {
		t.Fatalf("the table has %d cases, want at least 60", len(cases))
	}
	for _, c := range cases {
		t.Run(c.title, func(t *testing.T) {
			p := compile(t, c.layers...)
			if len(c.checks) == 0 {
				t.Fatal("the case checks nothing")
			}
			for _, check := range c.checks {
				check.run(t, p)
			}
		})
	}
}

// run asks p about one tool through every entry point.
func (c tableCheck) run(t *testing.T, p *policy.Policy) {
	t.Helper()
	tl := newTool(c.id)
	d := p.Decide(tl)
	at := "cases.txt:" + strconv.Itoa(c.line) + ": " + c.id
	if d.Allowed != c.allowed || p.Allows(tl) != c.allowed {
		t.Errorf("%s: allowed = %v (Allows %v), want %v: %s", at, d.Allowed, p.Allows(tl), c.allowed, d)
	}
	reason, ok := reasons[c.want[0]]
	if !ok {
		t.Fatalf("%s: unknown reason %q", at, c.want[0])
	}
	if d.Reason != reason {
		t.Errorf("%s: decided otherwise: %s, want %s", at, d, c.want[0])
	}
	if len(c.want) == 1 {
		return
	}
	if want := scopeNamed(t, c.want[1]); d.Scope != want {
		t.Errorf("%s: scope %v, want %v", at, d.Scope, want)
	}
	if want := strings.Join(c.want[2:], " "); d.Entry.Pattern != want {
		t.Errorf("%s: entry %q, want %q", at, d.Entry.Pattern, want)
	}
	if d.Entry.Pos.File == "" || d.Entry.Pos.Line == 0 || d.Entry.Pos.Line >= c.line {
		t.Errorf("%s: the rule's place is %q", at, d.Entry.Pos)
	}
}

// TestExplainAgrees checks on the whole table that the steps explain the
// decision: allowed means that every step passes, and the first that does not
// is the one that Decide names.
func TestExplainAgrees(t *testing.T) {
	for _, c := range readCases(t) {
		p := compile(t, c.layers...)
		for _, check := range c.checks {
			tl := newTool(check.id)
			d, all := p.Decide(tl), true
			for _, step := range p.Explain(tl) {
				if !step.Allowed && all {
					all = false
					if step != d {
						t.Errorf("cases.txt:%d: first refusal is %v, Decide says %v", check.line, step, d)
					}
				}
			}
			if all != d.Allowed {
				t.Errorf("cases.txt:%d: steps allow = %v, Decide %v", check.line, all, d.Allowed)
			}
		}
	}
}

func ExampleDecision_String() {
	p, _, _ := policy.Compile([]policy.Layer{{
		Scope: policy.ScopeAgent,
		Name:  "agents.list[main].tools",
		Rules: policy.Rules{Deny: []policy.Entry{{
			Pattern: "group:fs",
			Pos:     policy.Pos{File: "toolsearch.json5", Line: 12},
		}}},
	}})
	fmt.Println(p.Decide(&tool.Tool{Source: tool.OpenClaw, Owner: tool.CoreOwner, Name: "write"}))
	// Output: denied by "group:fs" in agents.list[main].tools (toolsearch.json5:12)
}
