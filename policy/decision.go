package policy

import "fmt"

// Reason says why a filter, or a whole policy, let a tool pass or not.
type Reason int

// The reasons. The zero value refuses.
const (
	ReasonInvalid       Reason = iota // no policy, or a tool without a known source or a name
	ReasonDenied                      // an entry of deny matches
	ReasonNotInProfile                // the profile does not hold it, and alsoAllow neither
	ReasonNotAllowed                  // no entry of allow matches
	ReasonNoRule                      // nothing speaks of it, and nothing has to
	ReasonInProfile                   // the profile holds it
	ReasonAlsoAllowed                 // alsoAllow adds it to the profile
	ReasonAllowed                     // an entry of allow matches
	ReasonControlStands               // a control, and no entry of deny matches
)

// passes reports whether a filter with this verdict lets the tool pass.
func (r Reason) passes() bool { return r >= ReasonNoRule }

// Decision is what a policy, or one of its filters, says about one tool and why.
type Decision struct {
	Allowed bool
	Reason  Reason
	Scope   Scope  // 0 when no filter had to speak
	Layer   string // the block of the rule, as the configuration names it
	// Entry is the rule that decided. For ReasonNotAllowed it is the first entry
	// of the list that does not hold the tool, and for ReasonInProfile and
	// ReasonNotInProfile the profile's name.
	Entry Entry
}

// String says it in one line, such as
//
//	denied by "group:fs" in agents.list[main].tools (toolsearch.json5:12)
func (d Decision) String() string {
	at := place(d.Entry.Pos, d.Layer, d.Scope)
	switch d.Reason {
	case ReasonDenied:
		return fmt.Sprintf("denied by %q in %s", d.Entry.Pattern, at)
	case ReasonNotInProfile:
		return fmt.Sprintf("not in the profile %q chosen in %s", d.Entry.Pattern, at)
	case ReasonNotAllowed:
		return "not in the allow list of " + at
	case ReasonInProfile:
		return fmt.Sprintf("in the profile %q chosen in %s", d.Entry.Pattern, at)
	case ReasonAlsoAllowed:
		return fmt.Sprintf("allowed by alsoAllow %q in %s", d.Entry.Pattern, at)
	case ReasonAllowed:
		return fmt.Sprintf("allowed by %q in %s", d.Entry.Pattern, at)
	case ReasonControlStands:
		return "a control that nothing denies"
	case ReasonNoRule:
		if d.Scope != 0 {
			return "no rule in " + at + " speaks of it"
		}
		return "no rule speaks of it"
	}
	return "not a tool that a policy can allow: it has no known source or no name"
}
