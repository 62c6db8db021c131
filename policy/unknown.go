package policy

import (
	"fmt"
	"strings"

	"github.com/toolsearch/toolsearch/tool"
)

// maxShown bounds, in bytes, a name inside a warning.
const maxShown = 80

// suspect is an entry that has matched none of the tools so far.
type suspect struct {
	filter  *filter
	rule    *rule
	pattern string // folded
	alone   *list  // the entry as a list of its own
	hint    string
}

// Unknown returns a warning for every entry that matches none of the tools, once
// for each text, in the order of the filters. Entries that mean something without
// matching are left out: '*', groups, bundle-mcp, and in deny also globs and the
// names of built-in tools that this program does not offer.
func (p *Policy) Unknown(tools []*tool.Tool) []Warning {
	if p == nil || p.words == nil {
		return nil
	}
	open := p.suspects()
	var buf texts
	for _, t := range tools {
		if len(open) == 0 {
			break
		}
		s, ok := p.subject(t, &buf)
		if !ok {
			continue
		}
		rest := open[:0]
		for _, x := range open {
			if x.alone.match(&s) == noMatch {
				x.guess(t, &s, p.words)
				rest = append(rest, x)
			}
		}
		open = rest
	}
	var warnings []Warning
	seen := map[string]bool{}
	for _, x := range open {
		if seen[x.pattern] {
			continue
		}
		seen[x.pattern] = true
		warnings = append(warnings, x.warning(p.words))
	}
	return warnings
}

// suspects lists the entries that have to match something.
func (p *Policy) suspects() []*suspect {
	var open []*suspect
	for i := range p.filters {
		f := &p.filters[i]
		for _, l := range [...]*list{f.also, f.allow, f.deny} {
			if l == nil {
				continue
			}
			for j := range l.rules {
				if x := newSuspect(f, l, &l.rules[j], p.words); x != nil {
					open = append(open, x)
				}
			}
		}
	}
	return open
}

// newSuspect returns nil for an entry that needs no match.
func newSuspect(f *filter, l *list, r *rule, v *vocabulary) *suspect {
	alone := newList(l.broad)
	if alone.add(*r, v) != nil || len(alone.sets) > 0 {
		return nil // Compile warned about it, or it is a group
	}
	pattern := fold(strings.TrimSpace(r.entry.Pattern), l.broad)
	if l.broad && (strings.Contains(pattern, "*") || v.members[pattern] != 0) {
		return nil
	}
	if v.isControl([]byte(pattern)) {
		return nil
	}
	return &suspect{filter: f, rule: r, pattern: pattern, alone: alone}
}

// guess remembers the first tool that the entry may have meant. s is t.
func (x *suspect) guess(t *tool.Tool, s *subject, v *vocabulary) {
	if x.hint != "" || strings.Contains(x.pattern, "*") {
		return
	}
	name, owner := s.allow.name, s.allow.owner
	switch {
	case v.members[x.pattern] != 0 && string(name) == x.pattern:
		x.hint = fmt.Sprintf("for the tool of %q write %q", show(t.Owner), show(string(tool.NewID(t.Source, t.Owner, t.Name))))
	case t.Source == tool.MCP && string(owner) == x.pattern:
		x.hint = fmt.Sprintf("for the tools of that MCP server write %q", show(string(t.Source)+":"+t.Owner))
	case len(name) == len(x.pattern) && tool.Normalize(string(name)) == tool.Normalize(x.pattern):
		x.hint = fmt.Sprintf("did you mean %q?", show(t.Name))
	}
}

// warning puts the suspect into words.
func (x *suspect) warning(v *vocabulary) Warning {
	text := fmt.Sprintf("%q matches no tool", show(x.rule.entry.Pattern))
	if v.members[x.pattern] != 0 {
		text = fmt.Sprintf("%q is a built-in tool that is not offered here", show(x.rule.entry.Pattern))
	}
	hint := x.hint
	if hint == "" {
		hint = "check the spelling, and whether its plugin or server is enabled"
	}
	return Warning{Scope: x.filter.scope, Layer: x.rule.layer, Entry: x.rule.entry, Text: text + "; " + hint}
}

// show makes a name safe for a terminal.
func show(s string) string { return tool.Clean(s, maxShown) }
