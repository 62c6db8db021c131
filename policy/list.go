package policy

import (
	"fmt"
	"math"
	"strings"

	"github.com/toolsearch/toolsearch/tool"
)

// rule is one entry of a list and the block it was written in.
type rule struct {
	entry Entry
	layer string
}

// list is a compiled allow or deny list. Literal entries are found by map, so
// that a list of hundreds of names costs no more than one of three; only globs
// are tried one by one. A list is never changed once it is compiled.
type list struct {
	broad  bool // a deny list: matches at least what an allow list does
	rules  []rule
	names  map[string]nameHit // a tool's name
	ids    index              // source:owner:name
	owners index              // source:owner
	own    map[string]int     // ids of tools whose id is not source:owner:name
	sets   []setEntry         // groups
	globs  []globEntry
}

// index finds entries by a text that begins with a source. Tools of a source
// that no entry begins with need not look.
type index struct {
	rules map[string]int
	from  sources
}

// find returns the index of the rule for text, and math.MaxInt for none.
func (x *index) find(text []byte, from sources) int {
	if x.from&from == 0 {
		return math.MaxInt
	}
	if i, ok := x.rules[string(text)]; ok {
		return i
	}
	return math.MaxInt
}

// put lets the first rule of a text keep it.
func (x *index) put(text string, rule int) {
	source, _, _ := strings.Cut(text, ":")
	x.from |= sourceBit(tool.Source(source))
	first(x.rules, text, rule)
}

// nameHit is an entry that names tools of some sources.
type nameHit struct {
	index   int
	sources sources
}

// setEntry is an entry that stands for groups.
type setEntry struct {
	index  int
	groups bits
}

// globEntry is one reading of an entry with '*'.
type globEntry struct {
	index   int
	sources sources
	kind    globKind
	owner   glob // for byParts
	text    glob // the name, or for byID the id
}

// globKind says what a globEntry looks at.
type globKind uint8

const (
	byName  globKind = iota // the name
	byParts                 // owner and name, one by one
	byID                    // the whole id
)

// noMatch is the index of no rule.
const noMatch = -1

// match returns the index of the first rule of l that matches s, or noMatch.
func (l *list) match(s *subject) int {
	w := &s.allow
	if l.broad {
		w = &s.deny
	}
	best := math.MaxInt
	for i := range l.sets {
		if l.sets[i].groups&s.groups != 0 {
			best = l.sets[i].index
			break
		}
	}
	best = min(best, l.exact(s, w))
	if !s.control {
		best = min(best, l.owners.find(w.group, s.source))
	}
	for i := range l.globs {
		g := &l.globs[i]
		if g.index >= best {
			break
		}
		if g.sources&s.source != 0 && g.match(s, w) {
			best = g.index
			break
		}
	}
	if best == math.MaxInt {
		return noMatch
	}
	return best
}

// exact returns the index of the first rule that names s itself, by name, alias
// or id, and math.MaxInt when none does.
func (l *list) exact(s *subject, w *view) int {
	best := math.MaxInt
	if len(l.names) > 0 {
		if hit, ok := l.names[string(w.name)]; ok && hit.sources&s.source != 0 {
			best = hit.index
		}
	}
	best = min(best, l.ids.find(w.canon, s.source))
	if w.id != nil {
		if i, ok := l.own[string(w.id)]; ok {
			best = min(best, i)
		}
	}
	return best
}

// match tries one reading of an entry. A control is matched by name alone.
func (g *globEntry) match(s *subject, w *view) bool {
	switch {
	case g.kind == byName:
		return g.text.match(w.name)
	case s.control:
		return false
	case g.kind == byParts:
		return g.owner.match(w.owner) && g.text.match(w.name)
	}
	return g.text.match(w.canon) || (w.id != nil && g.text.match(w.id))
}

// newList returns an empty list.
func newList(broad bool) *list {
	return &list{
		broad:  broad,
		names:  map[string]nameHit{},
		ids:    index{rules: map[string]int{}},
		owners: index{rules: map[string]int{}},
		own:    map[string]int{},
	}
}

// problem is what is wrong with an entry; nil when nothing is.
type problem struct {
	fatal      bool
	what, hint string
}

// add compiles one entry into l.
func (l *list) add(r rule, v *vocabulary) *problem {
	index := len(l.rules)
	l.rules = append(l.rules, r)
	text := r.entry.Pattern
	if len(text) > MaxPattern {
		return &problem{true, fmt.Sprintf("an entry of %d bytes is longer than %d", len(text), MaxPattern),
			"shorten it or split it into several"}
	}
	pattern := fold(strings.TrimSpace(text), l.broad)
	for strings.Contains(pattern, "**") {
		pattern = strings.ReplaceAll(pattern, "**", "*")
	}
	if n := strings.Count(pattern, "*") + strings.Count(pattern, ":") + strings.Count(pattern, "__"); n > MaxWildcards {
		return &problem{true, fmt.Sprintf("%q has %d wildcards and separators, more than %d", show(text), n, MaxWildcards),
			"use a simpler pattern"}
	}
	group, isGroup := strings.CutPrefix(pattern, "group:")
	switch {
	case pattern == "":
		return &problem{what: "an empty entry matches no tool", hint: "remove it"}
	case pattern == "*":
		l.sets = append(l.sets, setEntry{index, allBits})
	case pattern == "bundle-mcp":
		l.sets = append(l.sets, setEntry{index, bitMCP})
	case isGroup:
		if v.groups[group] == 0 {
			return &problem{what: fmt.Sprintf("%q is no known group, so the entry matches no tool", show(text)),
				hint: "known groups are " + strings.Join(v.groupNames(), ", ")}
		}
		l.sets = append(l.sets, setEntry{index, v.groups[group]})
	case strings.Contains(pattern, "*"):
		l.addGlob(pattern, index)
	default:
		l.addLiteral(pattern, index, v)
	}
	return nil
}

// addLiteral compiles an entry without '*'.
func (l *list) addLiteral(pattern string, index int, v *vocabulary) {
	if claimsSource([]byte(pattern)) {
		l.ids.put(pattern, index)
		l.owners.put(pattern, index)
		if l.broad { // in allow, a tool's own id must not imitate another tool's
			first(l.own, pattern, index)
			l.name(pattern, index, fromAny)
		}
		return
	}
	reserved := v.members[pattern] != 0 || v.isControl([]byte(pattern))
	from := fromAny
	if reserved && !l.broad {
		from = fromOpenClaw
	}
	names := v.same[pattern]
	if names == nil {
		names = []string{pattern}
	}
	for _, name := range names {
		l.name(name, index, from)
	}
	if reserved && !l.broad {
		return
	}
	first(l.own, pattern, index)
	if pattern != tool.CoreOwner {
		l.owners.put(string(tool.OpenClaw)+":"+pattern, index)
	}
	for server, name := range splits(pattern, "__") {
		l.ids.put(string(tool.NewID(tool.MCP, server, name)), index)
	}
}

// addGlob compiles an entry with '*' into all its readings.
func (l *list) addGlob(pattern string, index int) {
	add := func(kind globKind, from sources, owner, text glob) {
		l.globs = append(l.globs, globEntry{index: index, sources: from, kind: kind, owner: owner, text: text})
	}
	whole := compileGlob(pattern)
	head, rest, hasColon := strings.Cut(pattern, ":")
	from := sources(0)
	if hasColon {
		from = sourcesLike(head)
	}
	if from == 0 || l.broad {
		add(byName, fromAny, anyGlob(), whole)
	}
	if hasColon && l.broad {
		add(byID, fromAny, anyGlob(), whole)
	}
	if from != 0 {
		add(byParts, from, compileGlob(rest), anyGlob())
		for owner, name := range splits(rest, ":") {
			add(byParts, from, compileGlob(owner), compileGlob(name))
		}
		return
	}
	for server, name := range splits(pattern, "__") {
		add(byParts, fromMCP, compileGlob(server), compileGlob(name))
	}
}

// sourcesLike returns the sources whose name a folded glob matches.
func sourcesLike(pattern string) sources {
	g, set := compileGlob(pattern), sources(0)
	for _, s := range [...]tool.Source{tool.OpenClaw, tool.MCP, tool.Client} {
		if g.match([]byte(s)) {
			set |= sourceBit(s)
		}
	}
	return set
}

// splits yields the ways to cut s in two at sep, neither part empty.
func splits(s, sep string) func(yield func(before, after string) bool) {
	return func(yield func(before, after string) bool) {
		for i := 1; i+len(sep) < len(s); i++ {
			if s[i:i+len(sep)] == sep && !yield(s[:i], s[i+len(sep):]) {
				return
			}
		}
	}
}

// name lets the first entry that names something keep it.
func (l *list) name(name string, index int, from sources) {
	if _, ok := l.names[name]; !ok {
		l.names[name] = nameHit{index, from}
	}
}

// first sets m[key] unless an earlier entry did.
func first(m map[string]int, key string, index int) {
	if _, ok := m[key]; !ok {
		m[key] = index
	}
}
