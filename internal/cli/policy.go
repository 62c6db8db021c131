package cli

import (
	"errors"

	"github.com/toolsearch/toolsearch/internal/config"
	"github.com/toolsearch/toolsearch/policy"
	"github.com/toolsearch/toolsearch/tool"
)

// newPolicy compiles the rules that hold in a scope.
func newPolicy(cfg *config.Config, scope config.Scope) (*policy.Policy, []policy.Warning, error) {
	return policy.Compile(cfg.PolicyLayers(scope))
}

// checkPolicies compiles every block of rules, whoever it is for. A warning of
// the same text is given once.
func checkPolicies(cfg *config.Config) ([]policy.Warning, error) {
	var all []policy.Warning
	var errs []error
	seen := map[string]bool{}
	for _, l := range cfg.AllPolicyLayers() {
		_, warnings, err := policy.Compile([]policy.Layer{l})
		errs = append(errs, err)
		for _, w := range warnings {
			if !seen[w.Text] {
				seen[w.Text] = true
				all = append(all, w)
			}
		}
	}
	return all, errors.Join(errs...)
}

// serverPolicies are the servers' own includeTools and excludeTools, by server.
func serverPolicies(cfg *config.Config) (map[string]*policy.Policy, error) {
	byServer := map[string]*policy.Policy{}
	for _, s := range cfg.MCP.Servers {
		if len(s.Include) == 0 && len(s.Exclude) == 0 {
			continue
		}
		rules := policy.Rules{Allow: config.Entries(s.Include), Deny: config.Entries(s.Exclude)}
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
