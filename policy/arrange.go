package policy

import (
	"cmp"
	"slices"
)

// plan is one filter to be: what a layer, or the choice of a profile, asks for.
type plan struct {
	scope   Scope
	layer   string
	profile Entry
	also    []rule
	allow   []Entry
	deny    []Entry
}

// baseline says which blocks choose a profile, and in which scope it acts.
type baseline struct {
	own, general Scope // the own block stands in for the general one, field by field
	acts         Scope
}

// baselines returns the two places where a profile can be chosen.
func baselines() [2]baseline {
	return [2]baseline{
		{own: ScopeAgent, general: ScopeGlobal, acts: ScopeProfile},
		{own: ScopeAgentProvider, general: ScopeProvider, acts: ScopeProviderProfile},
	}
}

// arrange turns blocks as they are written into filters in their order.
func arrange(layers []Layer) []plan {
	var plans []plan
	for _, b := range baselines() {
		plans = append(plans, b.choose(layers)...)
	}
	for _, l := range layers {
		p := plan{scope: l.Scope, layer: l.Name, allow: l.Rules.Allow, deny: l.Rules.Deny}
		if !choosesBaseline(l.Scope) {
			p.profile, p.also = l.Rules.Profile, rulesOf(l.Rules.AlsoAllow, l.Name)
		}
		plans = append(plans, p)
	}
	slices.SortStableFunc(plans, func(a, b plan) int { return cmp.Compare(a.scope, b.scope) })
	return plans
}

// choose returns the filters of the chosen profile: several when several blocks
// of one scope name one, and one without a profile when there is only alsoAllow.
func (b baseline) choose(layers []Layer) []plan {
	var also []rule
	for _, l := range b.chosen(layers, func(r *Rules) bool { return len(r.AlsoAllow) > 0 }) {
		also = append(also, rulesOf(l.Rules.AlsoAllow, l.Name)...)
	}
	var plans []plan
	for _, l := range b.chosen(layers, func(r *Rules) bool { return r.Profile.Pattern != "" }) {
		plans = append(plans, plan{scope: b.acts, layer: l.Name, profile: l.Rules.Profile, also: also})
	}
	if plans == nil && also != nil {
		plans = []plan{{scope: b.acts, layer: also[0].layer, also: also}}
	}
	return plans
}

// chosen returns the own blocks that have something, or else the general ones.
func (b baseline) chosen(layers []Layer, has func(*Rules) bool) []Layer {
	for _, scope := range [...]Scope{b.own, b.general} {
		var found []Layer
		for i := range layers {
			if layers[i].Scope == scope && has(&layers[i].Rules) {
				found = append(found, layers[i])
			}
		}
		if found != nil {
			return found
		}
	}
	return nil
}

// choosesBaseline reports whether profiles of this scope are moved to the front.
func choosesBaseline(s Scope) bool {
	for _, b := range baselines() {
		if s == b.own || s == b.general {
			return true
		}
	}
	return false
}

// rulesOf remembers with each entry the block it was written in.
func rulesOf(entries []Entry, layer string) []rule {
	rules := make([]rule, len(entries))
	for i, e := range entries {
		rules[i] = rule{e, layer}
	}
	return rules
}
