package policy

import (
	"math"

	"github.com/toolsearch/toolsearch/tool"
)

// Policy is a compiled policy. It is immutable and safe for concurrent use. The
// zero value allows nothing; Compile without layers allows everything.
type Policy struct {
	words       *vocabulary
	filters     []filter
	fingerprint string
}

// filter is one layer, compiled. A list that is absent is nil.
type filter struct {
	scope     Scope
	layer     string
	profile   *list // nil for no profile and for the profile full
	profileAt rule
	also      *list
	allow     *list
	deny      *list
}

// verdict is a filter's answer without the words.
type verdict struct {
	reason Reason
	rule   *rule // nil when no rule had to speak
}

// judge asks one filter about one tool.
func (f *filter) judge(s *subject) verdict {
	if f.deny != nil {
		if i := f.deny.match(s); i != noMatch {
			return verdict{ReasonDenied, &f.deny.rules[i]}
		}
	}
	if s.control {
		return verdict{reason: ReasonControlStands}
	}
	v := verdict{reason: ReasonNoRule}
	if f.profile != nil {
		if v = f.judgeProfile(s); !v.reason.passes() {
			return v
		}
	}
	if f.allow != nil {
		i := f.allow.match(s)
		if i == noMatch {
			return verdict{ReasonNotAllowed, &f.allow.rules[0]}
		}
		return verdict{ReasonAllowed, &f.allow.rules[i]}
	}
	return v
}

// judgeProfile asks the filter's profile and what is added to it.
func (f *filter) judgeProfile(s *subject) verdict {
	if f.profile.match(s) != noMatch {
		return verdict{ReasonInProfile, &f.profileAt}
	}
	if f.also != nil {
		if i := f.also.match(s); i != noMatch {
			return verdict{ReasonAlsoAllowed, &f.also.rules[i]}
		}
	}
	return verdict{ReasonNotInProfile, &f.profileAt}
}

// decide returns the first refusal, or else the last filter that allowed the
// tool by a rule: the narrowest one that had to agree.
func (p *Policy) decide(s *subject) (verdict, *filter) {
	last, by := verdict{reason: ReasonNoRule}, (*filter)(nil)
	if s.control {
		last.reason = ReasonControlStands
	}
	for i := range p.filters {
		f := &p.filters[i]
		v := f.judge(s)
		if !v.reason.passes() {
			return v, f
		}
		if v.rule != nil {
			last, by = v, f
		}
	}
	return last, by
}

// subject prepares t, unless the policy or t is none.
func (p *Policy) subject(t *tool.Tool, buf *texts) (subject, bool) {
	if p == nil || p.words == nil {
		return subject{}, false
	}
	return p.words.prepare(t, buf)
}

// decision puts a verdict into words.
func (v verdict) decision(f *filter) Decision {
	d := Decision{Allowed: v.reason.passes(), Reason: v.reason}
	if f != nil {
		d.Scope, d.Layer = f.scope, f.layer
	}
	if v.rule != nil {
		d.Layer, d.Entry = v.rule.layer, v.rule.entry
	}
	if v.reason == ReasonNotAllowed {
		d.Entry.Pattern = "" // only the place of the list, not an entry that decided
	}
	return d
}

// Decide says whether the run may use t, and which rule decided: of several
// refusals the first in the order of the filters, and of several allowances the
// last. It allocates nothing for tools whose names are ASCII and not very long.
func (p *Policy) Decide(t *tool.Tool) Decision {
	var buf texts
	s, ok := p.subject(t, &buf)
	if !ok {
		return Decision{}
	}
	return verdict.decision(p.decide(&s))
}

// Allows reports whether the run may use t.
func (p *Policy) Allows(t *tool.Tool) bool {
	var buf texts
	s, ok := p.subject(t, &buf)
	if !ok {
		return false
	}
	v, _ := p.decide(&s)
	return v.reason.passes()
}

// Control says whether the run may have the control of that name. A name that
// is no control's is refused.
func (p *Policy) Control(name string) Decision {
	t := tool.Tool{Source: tool.OpenClaw, Owner: tool.CoreOwner, Name: name}
	if d := p.Decide(&t); d.Reason != ReasonInvalid && p.words.isControl([]byte(name)) {
		return d
	}
	return Decision{}
}

// Explain returns what every filter says about t, in their order. Unlike
// Decide it does not stop at the first refusal.
func (p *Policy) Explain(t *tool.Tool) []Decision {
	var buf texts
	s, ok := p.subject(t, &buf)
	if !ok {
		return []Decision{{}}
	}
	steps := make([]Decision, len(p.filters))
	for i := range p.filters {
		steps[i] = p.filters[i].judge(&s).decision(&p.filters[i])
	}
	return steps
}

// Named reports whether t is allowed and an operator's list names it itself: an
// allow or alsoAllow entry that is its name, an alias or its id, not a group, a
// plugin, a server or a glob. Lists of ScopeRun do not count, since whoever asks
// for a run must not thereby vouch for a tool.
func (p *Policy) Named(t *tool.Tool) bool {
	var buf texts
	s, ok := p.subject(t, &buf)
	if !ok {
		return false
	}
	if v, _ := p.decide(&s); !v.reason.passes() {
		return false
	}
	for i := range p.filters {
		f := &p.filters[i]
		if f.scope == ScopeRun {
			continue
		}
		for _, l := range [...]*list{f.allow, f.also} {
			if l != nil && l.exact(&s, &s.allow) != math.MaxInt {
				return true
			}
		}
	}
	return false
}

// Fingerprint identifies what the policy allows: two policies of one
// fingerprint decide alike about every tool. It is a hex SHA-256 over the rules
// and the built-in vocabulary, without names of blocks and places in files, so it
// stays when a list is reordered or a comment added.
func (p *Policy) Fingerprint() string {
	if p == nil {
		return ""
	}
	return p.fingerprint
}
