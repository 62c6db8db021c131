package policy

import (
	"errors"
	"fmt"
	"strings"
)

// compiler gathers what Compile finds on its way.
type compiler struct {
	words    *vocabulary
	warnings []Warning
	errs     []error
}

// Compile builds a policy from blocks of rules, in any order: filters apply in
// the order of their scopes, and blocks of one scope in the order given. It
// returns warnings for entries that can match nothing, and a joined error of
// ConfigErrors when a block cannot be applied as written; there is no policy
// then. Compiling without layers gives a policy that allows everything.
func Compile(layers []Layer) (*Policy, []Warning, error) {
	c := &compiler{words: builtin()}
	if len(layers) > MaxLayers {
		return nil, nil, fmt.Errorf("compile tool policy: %d blocks of rules are more than %d; merge some", len(layers), MaxLayers)
	}
	for _, l := range layers {
		c.check(l)
	}
	if len(c.errs) > 0 {
		return nil, c.warnings, errors.Join(c.errs...)
	}
	p := &Policy{words: c.words}
	for _, plan := range arrange(layers) {
		if f, ok := c.filter(plan); ok {
			p.filters = append(p.filters, f)
		}
	}
	if len(c.errs) > 0 {
		return nil, c.warnings, errors.Join(c.errs...)
	}
	p.fingerprint = fingerprint(p.filters)
	return p, c.warnings, nil
}

// fail records why a block is refused.
func (c *compiler) fail(l Layer, e Entry, what, hint string) {
	c.errs = append(c.errs, &ConfigError{Scope: l.Scope, Layer: l.Name, Entry: e, What: what, Hint: hint})
}

// check refuses a block that says two things at once or nothing known.
func (c *compiler) check(l Layer) {
	if l.Scope < ScopeProfile || l.Scope > ScopeRun {
		c.fail(l, Entry{}, l.Scope.String()+" is unknown", "use one of the scopes of package policy")
	}
	r := &l.Rules
	if len(r.Allow) > 0 && len(r.AlsoAllow) > 0 {
		c.fail(l, r.AlsoAllow[0], "allow and alsoAllow stand in one block",
			"move the entries of alsoAllow into allow, or use profile with alsoAllow")
	}
	for _, list := range [...][]Entry{r.Allow, r.AlsoAllow, r.Deny} {
		if len(list) > MaxEntries {
			c.fail(l, list[0], fmt.Sprintf("a list of %d entries is longer than %d", len(list), MaxEntries), "use groups or globs")
		}
	}
	if name := r.Profile.Pattern; name != "" && c.words.profiles[profileKey(name)] == nil {
		c.fail(l, r.Profile, fmt.Sprintf("the profile %q is unknown", show(name)),
			"use one of "+strings.Join(Profiles(), ", "))
	}
}

// profileKey folds a profile's name.
func profileKey(name string) string { return fold(strings.TrimSpace(name), false) }

// filter compiles one plan, and reports whether it says anything.
func (c *compiler) filter(p plan) (filter, bool) {
	f := filter{scope: p.scope, layer: p.layer, profileAt: rule{p.profile, p.layer}}
	if p.profile.Pattern != "" {
		f.profile = newList(false)
		for _, entry := range c.words.profiles[profileKey(p.profile.Pattern)] {
			f.profile.add(rule{Entry{Pattern: entry}, p.layer}, c.words)
		}
	}
	f.also = c.list(p, p.also, false)
	f.allow = c.list(p, rulesOf(p.allow, p.layer), false)
	f.deny = c.list(p, rulesOf(p.deny, p.layer), true)
	return f, f.profile != nil || f.also != nil || f.allow != nil || f.deny != nil
}

// list compiles entries, nil for none.
func (c *compiler) list(p plan, rules []rule, broad bool) *list {
	if len(rules) == 0 {
		return nil
	}
	l := newList(broad)
	for _, r := range rules {
		problem := l.add(r, c.words)
		switch {
		case problem == nil:
			if broad {
				c.warnOfControls(p, r)
			}
		case problem.fatal:
			c.fail(Layer{Scope: p.scope, Name: r.layer}, r.entry, problem.what, problem.hint)
		default:
			c.warn(p, r, problem.what+"; "+problem.hint)
		}
	}
	return l
}

// warn records a warning, once for a text of the same entry.
func (c *compiler) warn(p plan, r rule, text string) {
	for _, w := range c.warnings {
		if w.Text == text {
			return
		}
	}
	c.warnings = append(c.warnings, Warning{Scope: p.scope, Layer: r.layer, Entry: r.entry, Text: text})
}

// warnOfControls speaks up when a glob in deny takes a control along, which
// turns the whole catalog off.
func (c *compiler) warnOfControls(p plan, r rule) {
	pattern := fold(strings.TrimSpace(r.entry.Pattern), true)
	if !strings.Contains(pattern, "*") || strings.Trim(pattern, "*") == "" {
		return
	}
	g := compileGlob(pattern)
	for _, name := range c.words.controls {
		if g.match([]byte(name)) {
			c.warn(p, r, fmt.Sprintf("deny %q also removes the control %s, and without it there is no catalog; write a narrower pattern if that is not meant",
				show(r.entry.Pattern), name))
			return
		}
	}
}
