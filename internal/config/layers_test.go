package config_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsearch/toolsearch/internal/config"
	"github.com/toolsearch/toolsearch/policy"
)

// Each block denies a tool of its own at a line of its own, so that a layer is
// told by its rule.
const scopesFile = `{
  tools: {
    deny: ["global"],
    byProvider: {
      openai: { deny: ["openai"] },
      "openai/gpt-5": { deny: ["gpt-5"] },
      anthropic: { deny: ["anthropic"] },
    },
    toolsByGroup: { "team:ops": { deny: ["ops"] } },
    toolsBySender: {
      alice: { deny: ["alice"] },
      "*": { deny: ["anybody"] },
    },
    sandbox: { tools: { deny: ["sandbox"] } },
    subagents: { tools: { deny: ["subagent"] } },
  },
  agents: { list: [
    { id: "main", tools: {
      deny: ["main"],
      byProvider: { "OpenAI": { deny: ["main-openai"] } },
      toolsBySender: { "bob smith": { deny: ["main-bob"] } },
      sandbox: { tools: { deny: ["main-sandbox"] } },
      subagents: { tools: { deny: ["main-subagent"] } },
    } },
    { id: "empty", tools: { allow: [] } },
  ] },
}`

// described writes layers as "scope name:line entry", one per line.
func described(layers []policy.Layer) []string {
	out := make([]string, 0, len(layers))
	for _, l := range layers {
		e := l.Rules.Deny[0]
		out = append(out, fmt.Sprintf("%s %s:%d %s", l.Scope, l.Name, e.Pos.Line, e.Pattern))
	}
	return out
}

func TestPolicyLayers(t *testing.T) {
	c := load(t, scopesFile)
	const global, anybody = "global tools:3 global", `group tools.toolsBySender["*"]:12 anybody`
	for _, x := range []struct {
		name  string
		scope config.Scope
		want  []string
	}{
		{"nobody in particular", config.Scope{}, []string{global, anybody}},
		{"a provider", config.Scope{Provider: "openai"}, []string{global, "provider tools.byProvider.openai:5 openai", anybody}},
		{"a provider in other letters", config.Scope{Provider: " OpenAI "}, []string{global, "provider tools.byProvider.openai:5 openai", anybody}},
		{"a model has its provider's rules too", config.Scope{Provider: "openai", Model: "GPT-5"},
			[]string{global, "provider tools.byProvider.openai:5 openai", "provider tools.byProvider.openai/gpt-5:6 gpt-5", anybody}},
		{"another model", config.Scope{Provider: "openai", Model: "gpt-5-mini"}, []string{global, "provider tools.byProvider.openai:5 openai", anybody}},
		{"a router's model", config.Scope{Provider: "router", Model: "openai/gpt-5"}, []string{global, "provider tools.byProvider.openai/gpt-5:6 gpt-5", anybody}},
		{"a provider without rules", config.Scope{Provider: "mock", Model: "m"}, []string{global, anybody}},
		{"a model alone", config.Scope{Model: "gpt-5"}, []string{global, anybody}},
		{"a sender's own entry", config.Scope{Sender: "Alice"}, []string{global, "group tools.toolsBySender.alice:11 alice"}},
		{"an unknown sender", config.Scope{Sender: "mallory"}, []string{global, anybody}},
		{"a group, then the sender", config.Scope{Group: "team:ops", Sender: "alice"},
			[]string{global, "group tools.toolsByGroup.team:ops:9 ops", "group tools.toolsBySender.alice:11 alice"}},
		{"a sandbox", config.Scope{Sandbox: true}, []string{global, anybody, "sandbox tools.sandbox.tools:14 sandbox"}},
		{"a subagent", config.Scope{Subagent: true}, []string{global, anybody, "subagent tools.subagents.tools:15 subagent"}},
		{"a run's own rules", config.Scope{Run: config.Rules{Deny: []config.Rule{{Pattern: "exec"}}}}, []string{global, anybody, "run run:0 exec"}},
		{"an agent", config.Scope{Agent: "MAIN"}, []string{global, "agent agents.list[main].tools:19 main", anybody}},
		{"an agent whose block says nothing", config.Scope{Agent: "empty"}, []string{global, anybody}},
		{"an agent without an entry", config.Scope{Agent: "nobody"}, []string{global, anybody}},
		{"a sender known to the agent alone", config.Scope{Agent: "main", Sender: "Bob Smith"},
			[]string{global, "agent agents.list[main].tools:19 main", anybody, `group agents.list[main].tools.toolsBySender["bob smith"]:21 main-bob`}},
		{"everything at once", config.Scope{Agent: "main", Provider: "openai", Model: "gpt-5", Sender: "alice", Group: "Team:Ops", Sandbox: true, Subagent: true,
			Run: config.Rules{Deny: []config.Rule{{Pattern: "exec"}}}}, []string{
			global,
			"provider tools.byProvider.openai:5 openai",
			"provider tools.byProvider.openai/gpt-5:6 gpt-5",
			"agent agents.list[main].tools:19 main",
			"agent provider agents.list[main].tools.byProvider.OpenAI:20 main-openai",
			"group tools.toolsByGroup.team:ops:9 ops",
			"group tools.toolsBySender.alice:11 alice",
			"sandbox tools.sandbox.tools:14 sandbox",
			"sandbox agents.list[main].tools.sandbox.tools:22 main-sandbox",
			"subagent tools.subagents.tools:15 subagent",
			"subagent agents.list[main].tools.subagents.tools:23 main-subagent",
			"run run:0 exec",
		}},
	} {
		layers := c.PolicyLayers(x.scope)
		if diff := cmp.Diff(x.want, described(layers)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", x.name, diff)
		}
		if !slices.IsSortedFunc(layers, func(a, b policy.Layer) int { return int(a.Scope - b.Scope) }) {
			t.Errorf("%s: not in the order in which filters apply", x.name)
		}
		if _, _, err := policy.Compile(layers); err != nil {
			t.Errorf("%s: %v", x.name, err)
		}
	}
}

// Every block that says anything is among all layers, once.
func TestAllPolicyLayers(t *testing.T) {
	got := described(load(t, scopesFile).AllPolicyLayers())
	if want := strings.Count(scopesFile, "deny: ["); len(got) != want {
		t.Errorf("%d layers, want %d", len(got), want)
	}
	slices.Sort(got)
	if len(slices.Compact(got)) != len(got) {
		t.Errorf("twice: %v", got)
	}
}

func TestPolicyLayersKeepEveryRule(t *testing.T) {
	c := load(t, `{tools: {profile: "coding", alsoAllow: ["a"], deny: ["b", "c"], sandbox: {tools: {allow: ["d"]}}}}`)
	at := func(pattern string) policy.Entry {
		return policy.Entry{Pattern: pattern, Pos: policy.Pos{File: "/etc/t.json5", Line: 1}}
	}
	want := []policy.Layer{
		{Scope: policy.ScopeGlobal, Name: "tools", Rules: policy.Rules{Profile: at("coding"), Allow: []policy.Entry{}, AlsoAllow: []policy.Entry{at("a")}, Deny: []policy.Entry{at("b"), at("c")}}},
		{Scope: policy.ScopeSandbox, Name: "tools.sandbox.tools", Rules: policy.Rules{Allow: []policy.Entry{at("d")}, AlsoAllow: []policy.Entry{}, Deny: []policy.Entry{}}},
	}
	if diff := cmp.Diff(want, c.PolicyLayers(config.Scope{Sandbox: true})); diff != "" {
		t.Error(diff)
	}
}
