package approval

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"weak"

	"github.com/toolsearch/toolsearch/policy"
	"github.com/toolsearch/toolsearch/tool"
)

// Action is what a rule says of a call.
type Action string

// The actions.
const (
	RuleAllow Action = "allow"
	RuleAsk   Action = "ask"
	RuleDeny  Action = "deny"
)

// MaxRules bounds the rules of one set.
const MaxRules = 256

// Rule says what to do about the tools it matches: those that fit one of the
// patterns and every claim.
type Rule struct {
	Action Action
	// Tools are patterns as in a list of package policy: names, globs, groups,
	// ids, servers. Never empty; "*" is every tool. An allow rule matches
	// narrowly and the others broadly, as allow and deny lists do.
	Tools []policy.Entry
	Claims
	// Name is the rule's key in the configuration, such as "approvals.rules[2]".
	Name string
}

// Claims restrict a rule by annotations; nil fields do not. What a tool does
// not say is read as MCP asks: not read-only, destructive, not idempotent, open
// world. The annotations of MCP servers and clients are claims, not facts: an
// allow rule that goes by them trusts whoever wrote them.
type Claims struct {
	ReadOnly    *bool
	Destructive *bool
	Idempotent  *bool
	OpenWorld   *bool
}

func (c Claims) fit(a tool.Annotations) bool {
	return want(c.ReadOnly, a.ReadOnly != nil && *a.ReadOnly) &&
		want(c.Destructive, a.MayDestroy()) &&
		want(c.Idempotent, a.Idempotent != nil && *a.Idempotent) &&
		want(c.OpenWorld, a.OpenWorld == nil || *a.OpenWorld)
}

func want(claim *bool, is bool) bool { return claim == nil || *claim == is }

// RuleSet is what New compiles into Rules.
type RuleSet struct {
	Rules []Rule
	// Core is for the product's own tools that may destroy something (exec,
	// write, edit), when no rule matches. "" means RuleAsk.
	Core Action
	// Otherwise is for every other tool that no rule matches. "" means RuleAllow.
	Otherwise Action
}

// Rules are compiled rules. A deny rule that matches decides; else the first
// rule that matches; else Core or Otherwise. Rules are immutable and safe for
// concurrent use.
type Rules struct {
	rules           []compiled
	core, otherwise Action
	version         string

	// known remembers what was decided about a tool, for sets of many rules:
	// tools are immutable. The pointers are weak, since a source may drop its
	// tools at any time.
	known sync.Map // weak.Pointer[tool.Tool] → decision
	count atomic.Int64
}

// Bounds of what is remembered.
const (
	fewRules = 4 // up to here it costs more to remember than to decide
	maxKnown = 8192
)

type decision struct {
	action Action
	by     string
}

type compiled struct {
	action Action
	tools  *policy.Policy
	claims Claims
	by     string
}

// Compile checks and compiles a set. Warnings are about patterns that can match
// nothing. The zero set gives the defaults.
func Compile(set RuleSet) (*Rules, []policy.Warning, error) {
	if len(set.Rules) > MaxRules {
		return nil, nil, fmt.Errorf("compile the approval rules: %d are more than %d", len(set.Rules), MaxRules)
	}
	out := &Rules{core: set.Core, otherwise: set.Otherwise}
	if out.core == "" {
		out.core = RuleAsk
	}
	if out.otherwise == "" {
		out.otherwise = RuleAllow
	}
	var errs []error
	for _, a := range []Action{out.core, out.otherwise} {
		if !a.valid() {
			errs = append(errs, fmt.Errorf("compile the approval rules: unknown action %q; use allow, ask or deny", a))
		}
	}
	var warnings []policy.Warning
	h := sha256.New()
	fmt.Fprintf(h, "approval rules 1 %q %q\n", out.core, out.otherwise)
	for i, r := range set.Rules {
		if r.Name == "" {
			r.Name = fmt.Sprintf("approvals.rules[%d]", i)
		}
		c, warned, err := r.compile()
		warnings = append(warnings, warned...)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		out.rules = append(out.rules, c)
		fmt.Fprintf(h, "%q %s %s\n", r.Action, c.tools.Fingerprint(), r.Claims)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, warnings, err
	}
	out.version = hex.EncodeToString(h.Sum(nil)[:16])
	return out, warnings, nil
}

func (a Action) valid() bool { return a == RuleAllow || a == RuleAsk || a == RuleDeny }

// String writes the claims so that different ones differ.
func (c Claims) String() string {
	var b strings.Builder
	for _, v := range []*bool{c.ReadOnly, c.Destructive, c.Idempotent, c.OpenWorld} {
		switch {
		case v == nil:
			b.WriteByte('-')
		case *v:
			b.WriteByte('t')
		default:
			b.WriteByte('f')
		}
	}
	return b.String()
}

func (r Rule) compile() (compiled, []policy.Warning, error) {
	if !r.Action.valid() {
		return compiled{}, nil, fmt.Errorf("compile %s: unknown action %q; use allow, ask or deny", r.Name, r.Action)
	}
	if len(r.Tools) == 0 {
		return compiled{}, nil, fmt.Errorf("compile %s: it names no tool; \"*\" means every tool", r.Name)
	}
	for _, e := range r.Tools {
		if strings.TrimSpace(e.Pattern) == "" {
			return compiled{}, nil, fmt.Errorf("compile %s: a pattern is blank; \"*\" means every tool", r.Name)
		}
	}
	lists := policy.Rules{Deny: r.Tools}
	if r.Action == RuleAllow {
		lists = policy.Rules{Allow: r.Tools}
	}
	p, warnings, err := policy.Compile([]policy.Layer{{Scope: policy.ScopeGlobal, Name: r.Name, Rules: lists}})
	if err != nil {
		return compiled{}, warnings, fmt.Errorf("compile %s: %w", r.Name, err)
	}
	return compiled{action: r.Action, tools: p, claims: r.Claims, by: r.Name}, warnings, nil
}

func (c *compiled) matches(t *tool.Tool) bool {
	return c.claims.fit(t.Annotations) && c.tools.Allows(t) == (c.action == RuleAllow)
}

// Decide says what to do about a call of t, and which rule says so: its Name,
// or "" for the defaults.
func (r *Rules) Decide(t *tool.Tool) (action Action, by string) {
	if len(r.rules) <= fewRules {
		return r.decide(t)
	}
	ref := weak.Make(t)
	if d, ok := r.known.Load(ref); ok {
		return d.(decision).action, d.(decision).by
	}
	action, by = r.decide(t)
	if r.count.Add(1) > maxKnown {
		r.known.Clear()
		r.count.Store(1)
	}
	r.known.Store(ref, decision{action, by})
	return action, by
}

func (r *Rules) decide(t *tool.Tool) (action Action, by string) {
	first := -1
	for i := range r.rules {
		c := &r.rules[i]
		if (first >= 0 && c.action != RuleDeny) || !c.matches(t) {
			continue
		}
		if c.action == RuleDeny {
			return RuleDeny, c.by
		}
		first = i
	}
	if first >= 0 {
		return r.rules[first].action, r.rules[first].by
	}
	if MayDestroyCore(t) {
		return r.core, ""
	}
	return r.otherwise, ""
}

// MayDestroyCore reports whether RuleSet.Core is about the tool, when no rule is.
func MayDestroyCore(t *tool.Tool) bool { return core(t) && t.Annotations.MayDestroy() }

// core reports one of the product's own tools, which work in a folder.
func core(t *tool.Tool) bool { return t.Source == tool.OpenClaw && t.Owner == tool.CoreOwner }
