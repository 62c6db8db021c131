package config

import (
	"fmt"
	"strings"

	"github.com/toolsearch/toolsearch/internal/json5"
)

// Bounds of policies.
const (
	maxPattern = 256  // bytes of one pattern or name
	maxNamed   = 1000 // providers, senders, agents or servers
)

// patterns is a field that holds a list of tool patterns.
func patterns[T any](key, doc string, of func(*T) *[]Rule) field[T] {
	return field[T]{row{Key: key, Type: "array of strings", Doc: doc}, func(r *reader, s spot, into *T) {
		if !r.array(s) {
			return
		}
		for i := range s.node.Elems {
			e := s.elem(i)
			p, ok := r.text(e)
			if !ok {
				continue
			}
			if p = strings.TrimSpace(p); p == "" || len(p) > maxPattern {
				r.fault(r.at(e), e.path, fmt.Sprintf("expected a tool pattern of 1–%d bytes", maxPattern), `such as "exec", "group:fs", "mcp:github" or "github__*"`)
				continue
			}
			*of(into) = append(*of(into), Rule{p, r.at(e)})
		}
	}}
}

// ruleFields are the keys that every scope of rules has.
func ruleFields[T any](of func(*T) *Rules) []field[T] {
	return []field[T]{
		choice(row{Key: "profile", Doc: "The base set of tools. Absent: all."}, []string{"minimal", "coding", "messaging", "full"},
			func(t *T, v string, p Pos) { of(t).Profile, of(t).ProfilePos = v, p }),
		patterns("allow", "Only these tools. Absent or empty: all. Names, `*` globs, `group:<name>`, a plugin's id, `mcp:<server>`; upper and lower case are alike.",
			func(t *T) *[]Rule { return &of(t).Allow }),
		patterns("alsoAllow", "These tools beside those of the profile. Not together with `allow` in one scope.",
			func(t *T) *[]Rule { return &of(t).AlsoAllow }),
		patterns("deny", "Never these tools. Wins over every `allow`.",
			func(t *T) *[]Rule { return &of(t).Deny }),
	}
}

func itself(r *Rules) *Rules { return r }

func rulesSection(path, intro string) section[Rules] {
	return section[Rules]{path: path, intro: intro, fields: ruleFields(itself)}
}

// readRules reads a scope that holds rules alone.
func readRules(r *reader, s spot, into *Rules) {
	sec := rulesSection("", "")
	sec.read(r, s, into)
	r.exclusive(s, into)
}

// exclusive refuses allow beside alsoAllow.
func (r *reader) exclusive(s spot, rules *Rules) {
	if s.node.Member("allow") == nil || s.node.Member("alsoAllow") == nil {
		return
	}
	for _, m := range s.node.Members {
		if m.Key == "alsoAllow" {
			r.fault(r.pos(m.KeyStart), s.path.Child(m.Key), "allow and alsoAllow stand in one scope",
				"merge alsoAllow into allow, or drop allow and use profile with alsoAllow")
			return
		}
	}
}

// named is a field that holds rules by name.
func named[T any](r row, of func(*T) *[]NamedRules) field[T] {
	r.Type = "object"
	return field[T]{r, func(rd *reader, s spot, into *T) {
		rd.each(s, func(name string, s spot, pos Pos) {
			n := NamedRules{Name: name, Pos: pos}
			readRules(rd, s, &n.Rules)
			*of(into) = append(*of(into), n)
		})
	}}
}

// each visits the members of an object whose keys are names.
func (r *reader) each(s spot, visit func(name string, s spot, pos Pos)) {
	if !r.object(s) {
		return
	}
	if len(s.node.Members) > maxNamed {
		r.fault(r.at(s), s.path, fmt.Sprintf("%d entries; at most %d are read", len(s.node.Members), maxNamed), "")
		return
	}
	for _, m := range s.node.Members {
		e := s.member(m)
		if s.node.Member(m.Key) != m.Value {
			continue // repeated, and reported as such
		}
		if problem := badName(m.Key); problem != "" {
			r.fault(r.pos(m.KeyStart), e.path, problem, "")
			continue
		}
		visit(m.Key, e, r.pos(m.KeyStart))
	}
}

// inner is a field such as sandbox, of which only tools is ours.
func inner[T any](key, doc string, of func(*T) *Rules) field[T] {
	moved := map[string]string{}
	for _, f := range ruleFields(func(r *Rules) *Rules { return r }) {
		moved[f.Key] = "it belongs into " + key + ".tools"
	}
	sec := section[T]{stance: lenient, moved: moved, fields: []field[T]{
		{row{Key: "tools", Type: "object", Doc: doc}, func(r *reader, s spot, into *T) { readRules(r, s, of(into)) }},
	}}
	shown := row{Key: key, Shown: key + ".tools", Type: "object", Doc: doc}
	return field[T]{shown, func(r *reader, s spot, into *T) { sec.read(r, s, into) }}
}

// toolsBlock is what one tools section holds, global or of an agent.
type toolsBlock struct {
	policy Policy
	search searchBlock
	core   *bool
	calls  Calls // of the global section alone
}

const inSearch = "it belongs into tools.toolSearch"

// toolsSection is the section tools at the top.
func toolsSection() section[toolsBlock] {
	sec := agentToolsSection()
	sec.fields = append(sec.fields, callFields()...)
	for _, f := range callFields() {
		delete(sec.moved, f.Key)
	}
	return sec
}

// agentToolsSection is the section tools under an agent.
func agentToolsSection() section[toolsBlock] {
	fields := []field[toolsBlock]{
		{row{Key: "toolSearch", Type: "boolean or object", Default: "`false`", Doc: "Hide the tools behind search. See `tools.toolSearch` below."},
			func(r *reader, s spot, into *toolsBlock) { readSearch(r, s, &into.search) }},
		flag(row{Key: "core", Doc: "Offer the built-in tools (`read`, `write`, `edit`, `list`, `grep`, `exec`, `web_fetch`, `image`). Absent: off in `toolsearch mcp` and `toolsearch serve`, since their users have their own, and on for `agent` and the verbs that run a tool."},
			func(t *toolsBlock, v bool) { t.core = &v }),
	}
	fields = append(fields, ruleFields(func(t *toolsBlock) *Rules { return &t.policy.Rules })...)
	fields = append(fields,
		named(row{Key: "byProvider", Doc: "Further rules by model provider (`anthropic`) or model (`openai/gpt-5`): an object of `profile`, `allow`, `alsoAllow`, `deny` for each. The rules of a provider hold for its models too."},
			func(t *toolsBlock) *[]NamedRules { return &t.policy.ByProvider }),
		named(row{Key: "toolsByGroup", Doc: "Further rules by the chat group that asks: an object of rules for each."},
			func(t *toolsBlock) *[]NamedRules { return &t.policy.ByGroup }),
		named(row{Key: "toolsBySender", Doc: "Further rules by who asks: an object of rules for each. `\"*\"` is everybody who has no entry of their own, and who is not known."},
			func(t *toolsBlock) *[]NamedRules { return &t.policy.BySender }),
		inner("sandbox", "Further rules for sandboxed runs.", func(t *toolsBlock) *Rules { return &t.policy.Sandbox }),
		inner("subagents", "Further rules for runs that another run started.", func(t *toolsBlock) *Rules { return &t.policy.Subagents }),
	)
	sec := section[toolsBlock]{
		path:    "tools",
		intro:   "Which tools there are, and how a model meets them.",
		fields:  fields,
		stance:  lenient,
		foreign: []string{"web", "exec", "fs", "media", "links", "sessions", "message", "elevated", "agentToAgent", "loopDetection", "experimental", "codeMode", "sessions_spawn"},
		moved: map[string]string{"mode": inSearch, "maxSearchLimit": inSearch, "searchDefaultLimit": inSearch, "codeTimeoutMs": inSearch,
			"runtime": inSearch, "servers": "servers stand under mcp.servers"},
	}
	for _, f := range callFields() {
		sec.moved[f.Key] = "it holds for every agent: write tools." + f.Key
	}
	return sec
}

func readTools(r *reader, s spot, sec section[toolsBlock], into *toolsBlock) {
	sec.read(r, s, into)
	if s.node.Kind == json5.Object {
		r.exclusive(s, &into.policy.Rules)
	}
}
