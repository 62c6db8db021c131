package policy_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsearch/toolsearch/policy"
	"github.com/toolsearch/toolsearch/tool"
)

// entries makes entries at lines 1, 2, 3, … of t.json5.
func entries(patterns ...string) []policy.Entry {
	list := make([]policy.Entry, len(patterns))
	for i, p := range patterns {
		list[i] = policy.Entry{Pattern: p, Pos: policy.Pos{File: "t.json5", Line: i + 1}}
	}
	return list
}

func allow(s policy.Scope, patterns ...string) policy.Layer {
	return policy.Layer{Scope: s, Name: s.String(), Rules: policy.Rules{Allow: entries(patterns...)}}
}

func deny(s policy.Scope, patterns ...string) policy.Layer {
	return policy.Layer{Scope: s, Name: s.String(), Rules: policy.Rules{Deny: entries(patterns...)}}
}

func profile(s policy.Scope, name string, also ...string) policy.Layer {
	return policy.Layer{Scope: s, Name: s.String(), Rules: policy.Rules{Profile: entries(name)[0], AlsoAllow: entries(also...)}}
}

func tools(ids ...string) []*tool.Tool {
	list := make([]*tool.Tool, len(ids))
	for i, id := range ids {
		list[i] = newTool(id)
	}
	return list
}

func idsOf(list []*tool.Tool) []string {
	ids := make([]string, 0, len(list))
	for _, t := range list {
		ids = append(ids, string(t.ID))
	}
	return ids
}

func TestCompileRefuses(t *testing.T) {
	both := policy.Rules{Allow: entries("read"), AlsoAllow: entries("exec")}
	long := strings.Repeat("x", policy.MaxPattern+1)
	for _, c := range []struct {
		name  string
		layer policy.Layer
		want  string
	}{
		{"allow with alsoAllow", policy.Layer{Scope: policy.ScopeGlobal, Name: "tools", Rules: both}, "tools (t.json5:1): allow and alsoAllow"},
		{"allow with alsoAllow for an agent", policy.Layer{Scope: policy.ScopeAgent, Name: "agents.list[a].tools", Rules: both}, "agents.list[a].tools"},
		{"allow with alsoAllow in a sandbox", policy.Layer{Scope: policy.ScopeSandbox, Rules: both}, "sandbox rules"},
		{"unknown profile", profile(policy.ScopeGlobal, "codign"), `"codign" is unknown; use one of coding, full, messaging, minimal`},
		{"no scope", policy.Layer{Rules: policy.Rules{Deny: entries("read")}}, "scope 0 is unknown"},
		{"long entry in deny", deny(policy.ScopeRun, "read", long), "run (t.json5:2): an entry of 513 bytes"},
		{"long entry in allow", allow(policy.ScopeRun, long), "513 bytes"},
		{"long entry in alsoAllow", profile(policy.ScopeAgent, "minimal", long), "513 bytes"},
		{"too many wildcards", deny(policy.ScopeRun, strings.Repeat("a*", policy.MaxWildcards+1)), "17 wildcards"},
		{"too many entries", deny(policy.ScopeRun, make([]string, policy.MaxEntries+1)...), "4097 entries"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, _, err := policy.Compile([]policy.Layer{c.layer})
			if p != nil || err == nil {
				t.Fatal("compiled, want a refusal")
			}
			var ce *policy.ConfigError
			if !errors.As(err, &ce) || ce.Hint == "" || ce.Scope != c.layer.Scope && c.layer.Scope != policy.ScopeAgent {
				t.Errorf("not a ConfigError of its scope with a hint: %#v", err)
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %q does not say %q", err, c.want)
			}
		})
	}
}

func TestCompileReportsAllErrors(t *testing.T) {
	_, _, err := policy.Compile([]policy.Layer{profile(policy.ScopeGlobal, "one"), profile(policy.ScopeAgent, "two")})
	if err == nil || !strings.Contains(err.Error(), `"one"`) || !strings.Contains(err.Error(), `"two"`) {
		t.Errorf("error %v, want both profiles in it", err)
	}
	if _, _, err := policy.Compile(make([]policy.Layer, policy.MaxLayers+1)); err == nil {
		t.Error("65 layers compiled")
	}
}

func TestCompileAcceptsEmptyListsBesideOthers(t *testing.T) {
	_, warnings, err := policy.Compile([]policy.Layer{{
		Scope: policy.ScopeGlobal,
		Rules: policy.Rules{Allow: []policy.Entry{}, AlsoAllow: entries("read")},
	}})
	if err != nil || len(warnings) > 0 {
		t.Errorf("empty allow beside alsoAllow: %v, %v", warnings, err)
	}
}

func TestCompileWarns(t *testing.T) {
	_, warnings, err := policy.Compile([]policy.Layer{
		deny(policy.ScopeGlobal, "group:fss", "read", "", "*search*", "*"),
		allow(policy.ScopeAgent, "group:fss", "group:fs"),
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`global (t.json5:1): "group:fss" is no known group`,
		`global (t.json5:3): an empty entry`,
		`global (t.json5:4): deny "*search*" also removes the control tool_search`,
	}
	if len(warnings) != len(want) {
		t.Fatalf("warnings %v, want %d", warnings, len(want))
	}
	for i, w := range warnings {
		if !strings.HasPrefix(w.String(), want[i]) {
			t.Errorf("warning %d: %q, want it to begin with %q", i, w, want[i])
		}
	}
}

func TestZeroPolicyAllowsNothing(t *testing.T) {
	list := tools("openclaw:core:read", "openclaw:core:tool_search")
	for name, p := range map[string]*policy.Policy{"nil": nil, "zero": {}} {
		for _, tl := range list {
			if p.Allows(tl) || p.Decide(tl).Allowed || p.Named(tl) || p.Explain(tl)[0].Allowed {
				t.Errorf("%s policy allows %s", name, tl.ID)
			}
		}
		if p.Control("tool_search").Allowed {
			t.Errorf("%s policy allows a control", name)
		}
		if kept, err := p.Filter(list); len(kept) > 0 || err != nil {
			t.Errorf("%s policy keeps %v, %v", name, kept, err)
		}
		if w := p.Unknown(list); w != nil {
			t.Errorf("%s policy warns %v", name, w)
		}
	}
}

func TestMalformedToolsAreRefused(t *testing.T) {
	p := compile(t, allow(policy.ScopeGlobal, "*"))
	for name, tl := range map[string]*tool.Tool{
		"nil":            nil,
		"zero":           {},
		"no source":      {Owner: "core", Name: "read"},
		"unknown source": {Source: "OpenClaw", Owner: "core", Name: "read"},
		"no name":        {Source: tool.MCP, Owner: "a"},
	} {
		if p.Allows(tl) || p.Decide(tl).Allowed || p.Named(tl) {
			t.Errorf("%s: allowed", name)
		}
	}
	kept, err := p.Filter([]*tool.Tool{nil, {}, newTool("mcp:a:b")})
	if want := []string{"mcp:a:b"}; err != nil || !slices.Equal(idsOf(kept), want) {
		t.Errorf("Filter kept %v, %v; want %v", idsOf(kept), err, want)
	}
}

// TestOwnIDs covers catalogs whose ids are not source:owner:name.
func TestOwnIDs(t *testing.T) {
	own := &tool.Tool{ID: "acme/Repo:get", Source: tool.MCP, Owner: "acme/repo", Name: "get"}
	liar := &tool.Tool{ID: "openclaw:core:exec", Source: tool.MCP, Owner: "evil", Name: "run"}
	short := &tool.Tool{ID: "read", Source: tool.MCP, Owner: "evil", Name: "run"}
	for _, c := range []struct {
		name  string
		layer policy.Layer
		tool  *tool.Tool
		want  bool
	}{
		{"allowed by its own id", allow(policy.ScopeGlobal, "acme/repo:GET"), own, true},
		{"allowed by server", allow(policy.ScopeGlobal, "mcp:acme/repo"), own, true},
		{"allowed by source:owner:name", allow(policy.ScopeGlobal, "mcp:acme/repo:get"), own, true},
		{"denied by its own id", deny(policy.ScopeGlobal, "acme/repo:get"), own, false},
		{"denied by a glob on its own id", deny(policy.ScopeGlobal, "acme/*:get"), own, false},
		{"an id cannot imitate a source in allow", allow(policy.ScopeGlobal, "openclaw:core:exec"), liar, false},
		{"an id cannot imitate a source by glob", allow(policy.ScopeGlobal, "openclaw:core:*"), liar, false},
		{"an imitated id is denied with the real one", deny(policy.ScopeGlobal, "openclaw:core:exec"), liar, false},
		{"an id cannot imitate a built-in name", allow(policy.ScopeGlobal, "read"), short, false},
	} {
		if got := compile(t, c.layer).Allows(c.tool); got != c.want {
			t.Errorf("%s: allowed = %v, want %v", c.name, got, c.want)
		}
	}
}

func TestControl(t *testing.T) {
	p := compile(t, deny(policy.ScopeAgent, "tool_search_code"), allow(policy.ScopeGlobal, "read"))
	if d := p.Control("tool_search_code"); d.Allowed || d.Reason != policy.ReasonDenied || d.Scope != policy.ScopeAgent || d.Entry.Pos.Line != 1 {
		t.Errorf("denied control: %+v", d)
	}
	want := []string{"tool_search", "tool_describe", "tool_call", "tool_search_code"}
	if got := policy.Controls(); !slices.Equal(got, want) {
		t.Errorf("Controls() = %v, want %v", got, want)
	}
	for _, name := range want[:3] {
		if d := p.Control(name); !d.Allowed || d.Reason != policy.ReasonControlStands {
			t.Errorf("control %s: %+v", name, d)
		}
	}
	for _, name := range []string{"read", "", "exec"} {
		if d := p.Control(name); d.Allowed {
			t.Errorf("%q passes as a control: %+v", name, d)
		}
	}
}

func TestNamed(t *testing.T) {
	exec := newTool("openclaw:core:exec")
	for _, c := range []struct {
		name   string
		layers []policy.Layer
		tool   *tool.Tool
		want   bool
	}{
		{"no rules", nil, exec, false},
		{"by name", []policy.Layer{allow(policy.ScopeGlobal, "read", "exec")}, exec, true},
		{"by alias", []policy.Layer{allow(policy.ScopeGlobal, "Bash")}, exec, true},
		{"by id", []policy.Layer{allow(policy.ScopeAgent, "openclaw:core:exec")}, exec, true},
		{"by star", []policy.Layer{allow(policy.ScopeGlobal, "*")}, exec, false},
		{"by glob", []policy.Layer{allow(policy.ScopeGlobal, "exec*")}, exec, false},
		{"by group", []policy.Layer{allow(policy.ScopeGlobal, "group:runtime")}, exec, false},
		{"by owner", []policy.Layer{allow(policy.ScopeGlobal, "openclaw:core")}, exec, false},
		{"by profile", []policy.Layer{profile(policy.ScopeGlobal, "coding")}, exec, false},
		{"by alsoAllow", []policy.Layer{profile(policy.ScopeGlobal, "minimal", "exec")}, exec, true},
		{"by alsoAllow without a profile", []policy.Layer{{Scope: policy.ScopeGlobal, Rules: policy.Rules{AlsoAllow: entries("exec")}}}, exec, true},
		{"by the run alone", []policy.Layer{allow(policy.ScopeRun, "exec")}, exec, false},
		{"by the run and the agent", []policy.Layer{allow(policy.ScopeRun, "exec"), allow(policy.ScopeAgent, "exec")}, exec, true},
		{"but denied", []policy.Layer{allow(policy.ScopeGlobal, "exec"), deny(policy.ScopeSandbox, "group:runtime")}, exec, false},
		{"but not allowed elsewhere", []policy.Layer{allow(policy.ScopeGlobal, "exec"), allow(policy.ScopeAgent, "read")}, exec, false},
		{"a namesake is not", []policy.Layer{allow(policy.ScopeGlobal, "exec")}, newTool("mcp:evil:exec"), false},
		{"a plugin by its id", []policy.Layer{allow(policy.ScopeGlobal, "crm")}, newTool("openclaw:crm:update_contact"), false},
		{"an MCP tool by server__tool", []policy.Layer{allow(policy.ScopeGlobal, "git__log")}, newTool("mcp:git:log"), true},
		{"a tool called star", []policy.Layer{allow(policy.ScopeGlobal, "*")}, newTool("mcp:evil:*"), false},
	} {
		if got := compile(t, c.layers...).Named(c.tool); got != c.want {
			t.Errorf("%s: Named = %v, want %v", c.name, got, c.want)
		}
	}
}

func TestFilter(t *testing.T) {
	list := tools("openclaw:core:tool_search", "mcp:b:y", "openclaw:core:read", "mcp:a:x", "openclaw:core:exec")
	for _, c := range []struct {
		name   string
		layers []policy.Layer
		want   []string
		empty  bool
	}{
		{"all", nil, idsOf(list), false},
		{"in their order", []policy.Layer{deny(policy.ScopeGlobal, "exec", "mcp:b")}, []string{"openclaw:core:tool_search", "openclaw:core:read", "mcp:a:x"}, false},
		{"a profile may leave nothing", []policy.Layer{profile(policy.ScopeGlobal, "minimal")}, []string{"openclaw:core:tool_search"}, false},
		{"deny may leave nothing", []policy.Layer{deny(policy.ScopeGlobal, "*")}, []string{}, false},
		{"allow must leave something", []policy.Layer{allow(policy.ScopeGlobal, "nonsense")}, nil, true},
		{"allow of nothing at all", []policy.Layer{allow(policy.ScopeGlobal, "")}, nil, true},
		{"allow lists that have nothing in common", []policy.Layer{allow(policy.ScopeGlobal, "read"), allow(policy.ScopeRun, "exec")}, nil, true},
		{"allow and deny of the same", []policy.Layer{allow(policy.ScopeGlobal, "read"), deny(policy.ScopeAgent, "read")}, nil, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			kept, err := compile(t, c.layers...).Filter(list)
			var empty *policy.EmptyError
			if errors.As(err, &empty) != c.empty || (err != nil) != c.empty {
				t.Fatalf("error %v, want an EmptyError: %v", err, c.empty)
			}
			if c.empty {
				if kept != nil || !strings.Contains(err.Error(), "(t.json5:1)") {
					t.Errorf("kept %v; error %q does not name the list", kept, err)
				}
				return
			}
			if diff := cmp.Diff(c.want, idsOf(kept)); diff != "" {
				t.Errorf("kept (-want +got):\n%s", diff)
			}
		})
	}
	if _, err := compile(t, allow(policy.ScopeGlobal, "read")).Filter(nil); err == nil {
		t.Error("an allow list over no tools at all raised no error")
	}
}

func TestFilterLeavesItsInput(t *testing.T) {
	list := tools("mcp:a:x", "mcp:a:y", "mcp:a:z")
	before := idsOf(list)
	kept, err := compile(t, deny(policy.ScopeGlobal, "x")).Filter(list)
	if err != nil {
		t.Fatal(err)
	}
	_ = append(kept, newTool("mcp:b:w"))
	if diff := cmp.Diff(before, idsOf(list)); diff != "" {
		t.Errorf("the input changed:\n%s", diff)
	}
}

func TestUnknown(t *testing.T) {
	list := tools("openclaw:core:read", "openclaw:core:web_fetch", "openclaw:crm:update_contact", "mcp:github:create_issue", "mcp:cal:list")
	p := compile(t,
		allow(policy.ScopeGlobal, "read", "crm", "mcp:github", "group:memory", "bundle-mcp", "*", "tool_call",
			"web-fetch", "github", "list", "browser", "nonsense_*", "typo", "mcp:gone"),
		deny(policy.ScopeAgent, "typo", "browser", "*_nothing", "delete_everything", "create_issue"),
	)
	want := []struct{ prefix, hint string }{
		{`global (t.json5:8): "web-fetch" matches no tool`, `did you mean "web_fetch"?`},
		{`global (t.json5:9): "github" matches no tool`, `write "mcp:github"`},
		{`global (t.json5:10): "list" is a built-in tool that is not offered here`, `write "mcp:cal:list"`},
		{`global (t.json5:11): "browser" is a built-in tool that is not offered here`, ""},
		{`global (t.json5:12): "nonsense_*" matches no tool`, "check the spelling"},
		{`global (t.json5:13): "typo" matches no tool`, "check the spelling"},
		{`global (t.json5:14): "mcp:gone" matches no tool`, "server is enabled"},
		{`agent (t.json5:4): "delete_everything" matches no tool`, ""},
	}
	got := p.Unknown(list)
	if len(got) != len(want) {
		t.Fatalf("%d warnings, want %d:\n%v", len(got), len(want), got)
	}
	for i, w := range got {
		if s := w.String(); !strings.HasPrefix(s, want[i].prefix) || !strings.Contains(s, want[i].hint) {
			t.Errorf("warning %d: %q, want %q … %q", i, s, want[i].prefix, want[i].hint)
		}
	}
}

func TestWarningsAreSafeToPrint(t *testing.T) {
	p := compile(t, allow(policy.ScopeGlobal, "evil\u202e\x1b[31mname", strings.Repeat("x", 400)))
	for _, w := range p.Unknown(nil) {
		if s := w.String(); strings.ContainsAny(s, "\x1b\u202e") || len(s) > 300 {
			t.Errorf("warning %q", s)
		}
	}
}

func TestFingerprint(t *testing.T) {
	base := []policy.Layer{
		profile(policy.ScopeGlobal, "coding", "crm"), deny(policy.ScopeAgent, "exec", "write"), allow(policy.ScopeRun, "read", "group:web"),
	}
	want := compile(t, base...).Fingerprint()
	if len(want) != 64 {
		t.Fatalf("fingerprint %q is no hex SHA-256", want)
	}
	moved := deny(policy.ScopeAgent, " WRITE ", "exec", "exec")
	moved.Name = "agents.list[other].tools"
	if got := compile(t, base[2], moved, base[0]).Fingerprint(); got != want {
		t.Error("order, case, repetition, names and places change the fingerprint")
	}
	if got := compile(t, append(slices.Clone(base), policy.Layer{Scope: policy.ScopeGroup})...).Fingerprint(); got != want {
		t.Error("a block without rules changes the fingerprint")
	}
	seen := map[string]string{want: "base"}
	for name, layers := range map[string][]policy.Layer{
		"none":             nil,
		"empty entry":      {allow(policy.ScopeGlobal, "")},
		"one less":         base[:2],
		"another profile":  {profile(policy.ScopeGlobal, "messaging", "crm"), base[1], base[2]},
		"no alsoAllow":     {profile(policy.ScopeGlobal, "coding"), base[1], base[2]},
		"allow for deny":   {base[0], allow(policy.ScopeAgent, "exec", "write"), base[2]},
		"joined entries":   {base[0], deny(policy.ScopeAgent, "execwrite"), base[2]},
		"another allow":    {base[0], base[1], allow(policy.ScopeRun, "read", "group:fs")},
		"another scope":    {base[0], deny(policy.ScopeSandbox, "exec", "write"), base[2]},
		"one more allowed": {base[0], base[1], allow(policy.ScopeRun, "read", "group:web", "exec")},
	} {
		got := compile(t, layers...).Fingerprint()
		if other, ok := seen[got]; ok {
			t.Errorf("%s and %s have one fingerprint", name, other)
		}
		seen[got] = name
	}
}

func TestProfiles(t *testing.T) {
	want := []string{"coding", "full", "messaging", "minimal"}
	if got := policy.Profiles(); !slices.Equal(got, want) {
		t.Errorf("Profiles() = %v, want %v", got, want)
	}
}

func TestDecideDoesNotAllocate(t *testing.T) {
	p := compile(t, profile(policy.ScopeGlobal, "coding", "crm"), deny(policy.ScopeAgent, "exec", "*_delete*", "mcp:evil:*"), allow(policy.ScopeRun, "*"))
	for _, tl := range tools("openclaw:core:read", "openclaw:core:exec", "mcp:github:create_issue", "openclaw:core:tool_call") {
		if n := testing.AllocsPerRun(100, func() { p.Decide(tl); p.Allows(tl); p.Named(tl) }); n != 0 {
			t.Errorf("%s: %v allocations", tl.ID, n)
		}
	}
}

func TestSameTool(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"exec", "bash", true}, {"Bash", "EXEC", true}, {"apply-patch", "apply_patch", true}, {"my_tool", "My_Tool", true},
		{"exec", "process", false}, {"my_tool", "my-tool", false}, {"", "exec", false},
	} {
		if got := policy.SameTool(c.a, c.b); got != c.want {
			t.Errorf("SameTool(%q, %q) = %v, want %v", c.a, c.b, got, c.want)
		}
	}
}
