package policy_test

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsearch/toolsearch/policy"
	"github.com/toolsearch/toolsearch/tool"
)

// rounds is how many random policies each property is tried on.
const rounds = 2000

// world is the tools of the properties: every source, hostile names among them.
func world() []*tool.Tool {
	return tools(
		"openclaw:core:read", "openclaw:core:exec", "openclaw:core:image", "openclaw:core:web_fetch",
		"openclaw:core:tool_search", "openclaw:core:tool_search_code",
		"openclaw:crm:update_contact", "openclaw:crm:exec", "openclaw:chat:message", "openclaw:memory-core:memory_search",
		"mcp:github:create_issue", "mcp:github:list", "mcp:git:hub__list", "mcp:evil:read", "mcp:evil:*", "mcp:evil:bash",
		"mcp:evil:group:fs", "mcp:a:b:c", "mcp:a:tool_search", "mcp:evil:\u212aill", "mcp:good:kill",
		"client:client:pick_file", "client:client:exec",
	)
}

// patterns is what random lists are made of.
func patterns() []string {
	return []string{
		"read", "exec", "BASH", "image", "kill", "list", "create_issue", "pick_file", "tool_search", "nonsense", "",
		"*", "*e*", "create_*", "tool_*", "*__list", "github__*", "git__hub__list", "k*",
		"group:fs", "group:runtime", "group:openclaw", "group:plugins", "group:mcp", "group:client", "group:controls", "group:none",
		"crm", "core", "evil", "bundle-mcp", "mcp:github", "mcp:evil:*", "mcp:a:b", "mcp:a:b:c", "mcp:*:list", "*:*:exec", "*:crm",
		"openclaw:core", "openclaw:core:*", "openclaw:core:tool_search", "client:*",
	}
}

// pick returns up to n random patterns.
func pick(r *rand.Rand, n int) []string {
	all := patterns()
	list := make([]string, r.IntN(n+1))
	for i := range list {
		list[i] = all[r.IntN(len(all))]
	}
	return list
}

// randomLayer makes a layer with allow or deny, and in some scopes a profile.
func randomLayer(r *rand.Rand) policy.Layer {
	scope := policy.ScopeProfile + policy.Scope(r.IntN(int(policy.ScopeRun)))
	l := policy.Layer{Scope: scope, Name: scope.String()}
	l.Rules.Deny = entries(pick(r, 2)...)
	switch r.IntN(4) {
	case 0:
		l.Rules.Allow = entries(pick(r, 4)...)
	case 1:
		l.Rules.Profile = entries(policy.Profiles()[r.IntN(4)])[0]
		l.Rules.AlsoAllow = entries(pick(r, 3)...)
	}
	return l
}

// randomLayers makes up to five layers.
func randomLayers(r *rand.Rand) []policy.Layer {
	layers := make([]policy.Layer, r.IntN(6))
	for i := range layers {
		layers[i] = randomLayer(r)
	}
	return layers
}

// allowed returns the ids of what a policy leaves.
func allowed(p *policy.Policy, list []*tool.Tool) []string {
	ids := []string{}
	for _, t := range list {
		if p.Allows(t) {
			ids = append(ids, string(t.ID))
		}
	}
	return ids
}

// TestAddingALayerNeverAddsATool adds filters to random policies. The blocks
// that choose the baseline get no profile: there a profile stands in for another.
func TestAddingALayerNeverAddsATool(t *testing.T) {
	r, list := rand.New(rand.NewPCG(1, 2)), world()
	for range rounds {
		layers, more := randomLayers(r), randomLayer(r)
		switch more.Scope {
		case policy.ScopeGlobal, policy.ScopeProvider, policy.ScopeAgent, policy.ScopeAgentProvider:
			more.Rules.Profile, more.Rules.AlsoAllow = policy.Entry{}, nil
		}
		before, after := allowed(compile(t, layers...), list), allowed(compile(t, append(layers, more)...), list)
		for _, id := range after {
			if !slices.Contains(before, id) {
				t.Fatalf("%+v\nadded to %+v\nadds %s", more, layers, id)
			}
		}
	}
}

// TestOrderDoesNotMatter shuffles layers and entries.
func TestOrderDoesNotMatter(t *testing.T) {
	r, list := rand.New(rand.NewPCG(3, 4)), world()
	for range rounds {
		layers := randomLayers(r)
		shuffled := slices.Clone(layers)
		r.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		for i := range shuffled {
			for _, e := range []*[]policy.Entry{&shuffled[i].Rules.Allow, &shuffled[i].Rules.AlsoAllow, &shuffled[i].Rules.Deny} {
				*e = slices.Clone(*e)
				r.Shuffle(len(*e), func(a, b int) { (*e)[a], (*e)[b] = (*e)[b], (*e)[a] })
			}
		}
		if diff := cmp.Diff(allowed(compile(t, layers...), list), allowed(compile(t, shuffled...), list)); diff != "" {
			t.Fatalf("%+v\nallows otherwise when shuffled:\n%s", layers, diff)
		}
	}
}

// TestSameFingerprintSameDecisions draws small policies until many collide.
func TestSameFingerprintSameDecisions(t *testing.T) {
	r, list := rand.New(rand.NewPCG(5, 6)), world()
	seen, collisions := map[string][]string{}, 0
	for range rounds {
		layers := []policy.Layer{deny(policy.ScopeGlobal, pick(r, 2)...), allow(policy.ScopeAgent, pick(r, 1)...)}
		p := compile(t, layers...)
		got := allowed(p, list)
		if want, ok := seen[p.Fingerprint()]; ok {
			collisions++
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("%+v\nallows otherwise than a policy of its fingerprint:\n%s", layers, diff)
			}
		}
		seen[p.Fingerprint()] = got
	}
	if collisions == 0 {
		t.Error("no two policies had one fingerprint: the property was not tested")
	}
}

// checkDenyIsBroader fails when an entry of allow matches what the same entry of
// deny does not.
func checkDenyIsBroader(t *testing.T, pattern string, tl *tool.Tool) {
	t.Helper()
	a, _, err := policy.Compile([]policy.Layer{allow(policy.ScopeGlobal, pattern)})
	if err != nil {
		return
	}
	d := compile(t, deny(policy.ScopeGlobal, pattern))
	if a.Decide(tl).Reason == policy.ReasonAllowed && d.Allows(tl) {
		t.Errorf("allow %q matches %s and deny does not", pattern, tl.ID)
	}
	if a.Named(tl) && !a.Allows(tl) {
		t.Errorf("%q names %s, and does not allow it", pattern, tl.ID)
	}
}

func TestDenyIsBroader(t *testing.T) {
	for _, pattern := range patterns() {
		for _, tl := range world() {
			checkDenyIsBroader(t, pattern, tl)
		}
	}
}

// FuzzEntry throws any entry at any tool: no panic, deny no narrower than allow,
// and the decision of one entry is the same alone and among others.
func FuzzEntry(f *testing.F) {
	for i, pattern := range patterns() {
		t := world()[i%len(world())]
		f.Add(pattern, string(t.Source), t.Owner, t.Name, string(t.ID))
	}
	f.Add("mcp:a:*", "mcp", "a:b", "c", "mcp:a:b:c")
	f.Add("ſ\xff*", "mcp", "Å", "S\xff", "K")
	f.Add("\u2003READ\n", "openclaw", "core", "read", "")
	f.Fuzz(func(t *testing.T, pattern, source, owner, name, id string) {
		tl := &tool.Tool{ID: tool.ID(id), Source: tool.Source(source), Owner: owner, Name: name}
		checkDenyIsBroader(t, pattern, tl)
		alone, _, err := policy.Compile([]policy.Layer{deny(policy.ScopeGlobal, pattern)})
		if err != nil {
			return
		}
		among := compile(t, deny(policy.ScopeGlobal, "\x00", pattern, "\x00*\x00"))
		if name != "\x00" && !strings.HasPrefix(name, "\x00") && !strings.HasPrefix(id, "\x00") && owner != "\x00" &&
			alone.Allows(tl) != among.Allows(tl) {
			t.Errorf("deny %q decides otherwise about %q among other entries", pattern, tl.ID)
		}
		alone.Unknown([]*tool.Tool{tl})
		_ = alone.Decide(tl).String()
	})
}

// FuzzGlob compares globs with package regexp, an independent implementation of
// the same meaning: '*' is any text, letters fold as Unicode folds them.
func FuzzGlob(f *testing.F) {
	for _, seed := range [][2]string{
		{"*", ""}, {"a*", "A"}, {"*a", "ba"}, {"a*a", "a"}, {"a*b*c", "abc"}, {"*ab*ab*", "abab"}, {"*aab*", "aaab"}, {"*ab*ba*", "aba"}, {"*ab*ab*", "ab"},
		{"**x**", "yxy"}, {"a*bc*c", "abc"}, {"größe*", "GRÖßE_x"}, {"k*", "\u212ax"}, {"*\n*", "a\nb"}, {"[a]*", "a"}, {".*", "x"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, pattern, name string) {
		if name == "" || !utf8.ValidString(pattern) || !utf8.ValidString(name) ||
			!strings.Contains(pattern, "*") || strings.Contains(pattern, ":") || strings.Contains(pattern, "__") ||
			pattern != strings.TrimSpace(pattern) {
			t.Skip("not a plain glob on names")
		}
		p, _, err := policy.Compile([]policy.Layer{deny(policy.ScopeGlobal, pattern)})
		if err != nil {
			t.Skip("over a bound")
		}
		parts := strings.Split(pattern, "*")
		for i := range parts {
			parts[i] = regexp.QuoteMeta(parts[i])
		}
		want := regexp.MustCompile("(?is)^" + strings.Join(parts, ".*") + "$").MatchString(name)
		if got := !p.Allows(&tool.Tool{Source: tool.MCP, Owner: "server", Name: name}); got != want {
			t.Errorf("%q matches %q: %v, want %v", pattern, name, got, want)
		}
	})
}
