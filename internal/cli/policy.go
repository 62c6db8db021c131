package cli

import (
	"fmt"

	"github.com/toolsearch/toolsearch/internal/config"
	"github.com/toolsearch/toolsearch/policy"
	"github.com/toolsearch/toolsearch/tool"
)

// newPolicy compiles the rules that apply to an agent, "" for none.
func newPolicy(cfg *config.Config, agent string) (*policy.Policy, []policy.Warning, error) {
	return policy.Compile(policyLayers(cfg, agent))
}

// serverPolicies are the servers' own includeTools and excludeTools, by server.
func serverPolicies(cfg *config.Config) (map[string]*policy.Policy, error) {
	byServer := map[string]*policy.Policy{}
	for _, s := range cfg.MCP.Servers {
		if len(s.Include) == 0 && len(s.Exclude) == 0 {
			continue
		}
		rules := policy.Rules{Allow: policyEntries(s.Include), Deny: policyEntries(s.Exclude)}
		for _, list := range [][]policy.Entry{rules.Allow, rules.Deny} {
			for i := range list {
				list[i].Pattern = string(tool.NewID(tool.MCP, s.Name, list[i].Pattern))
			}
		}
		p, _, err := policy.Compile([]policy.Layer{{Scope: policy.ScopeGlobal, Name: "mcp.servers." + s.Name, Rules: rules}})
		if err != nil {
			return nil, err
		}
		byServer[s.Name] = p
	}
	return byServer, nil
}

// serverFilter applies the servers' own includeTools and excludeTools. It is
// nil when no server has any.
func serverFilter(cfg *config.Config) (func(*tool.Tool) bool, error) {
	byServer, err := serverPolicies(cfg)
	if err != nil || len(byServer) == 0 {
		return nil, err
	}
	return func(t *tool.Tool) bool {
		p := byServer[t.Owner]
		return t.Source != tool.MCP || p == nil || p.Allows(t)
	}, nil
}

// policyLayers are the configuration's rules for one agent, as the filters of
// a policy. Rules of providers, senders, sandboxes and subagents apply to runs
// that have one; the command line and the gateway have none.
func policyLayers(cfg *config.Config, agent string) []policy.Layer {
	layers := []policy.Layer{{Scope: policy.ScopeGlobal, Name: "tools", Rules: policyRules(cfg.Tools.Rules)}}
	if a, ok := cfg.Agent(agent); ok {
		layers = append(layers, policy.Layer{
			Scope: policy.ScopeAgent,
			Name:  fmt.Sprintf("agents.list[%s].tools", a.ID),
			Rules: policyRules(a.Policy.Rules),
		})
	}
	return layers
}

func policyRules(r config.Rules) policy.Rules {
	out := policy.Rules{
		Allow:     policyEntries(r.Allow),
		AlsoAllow: policyEntries(r.AlsoAllow),
		Deny:      policyEntries(r.Deny),
	}
	if r.Profile != "" {
		out.Profile = policy.Entry{Pattern: r.Profile, Pos: policy.Pos{File: r.ProfilePos.File, Line: r.ProfilePos.Line}}
	}
	return out
}

func policyEntries(rules []config.Rule) []policy.Entry {
	out := make([]policy.Entry, len(rules))
	for i, r := range rules {
		out[i] = policy.Entry{Pattern: r.Pattern, Pos: policy.Pos{File: r.Pos.File, Line: r.Pos.Line}}
	}
	return out
}
