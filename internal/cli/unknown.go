package cli

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/toolsearch/toolsearch/approval"
	"github.com/toolsearch/toolsearch/internal/config"
	"github.com/toolsearch/toolsearch/policy"
	"github.com/toolsearch/toolsearch/source/plugin"
	"github.com/toolsearch/toolsearch/tool"
)

// unknownNames warns of every name in the rules that no offered tool bears: those
// of the policy, whoever it is for, of the approvals and of the hooks, those of
// plugins too. A slip in one of them leaves open what it was to close. Each name
// is told of once.
func unknownNames(set *toolset, offered []*tool.Tool) []policy.Warning {
	var all []policy.Warning
	seen := map[string]bool{}
	for _, l := range append(namingLayers(set.cfg), pluginLayers(set.hooks)...) {
		p, _, err := policy.Compile([]policy.Layer{l})
		if err != nil {
			continue // whoever applies the rules reports it
		}
		for _, w := range p.Unknown(offered) {
			if !seen[w.Text] {
				seen[w.Text] = true
				all = append(all, w)
			}
		}
	}
	return all
}

// namingLayers are all rules of a configuration that name tools, as policies.
func namingLayers(cfg *config.Config) []policy.Layer {
	layers := cfg.AllPolicyLayers()
	for i, r := range cfg.Tools.Approvals.Rules {
		l := policy.Layer{Scope: policy.ScopeGlobal, Name: fmt.Sprintf("tools.approvals.rules[%d]", i)}
		if r.Action == approval.RuleAllow {
			l.Rules.Allow = config.Entries(r.Tools)
		} else {
			l.Rules.Deny = config.Entries(r.Tools)
		}
		layers = append(layers, l)
	}
	for _, h := range cfg.Tools.Hooks {
		if len(h.Tools) > 0 {
			layers = append(layers, policy.Layer{Scope: policy.ScopeGlobal, Name: "tools.hooks", Rules: policy.Rules{Deny: config.Entries(h.Tools)}})
		}
	}
	return layers
}

// pluginLayers are what the hooks of plugins match, likewise.
func pluginLayers(hooks []plugin.Hook) []policy.Layer {
	var layers []policy.Layer
	for _, h := range hooks {
		l := policy.Layer{Scope: policy.ScopeGlobal, Name: fmt.Sprintf("the hook %s of the plugin %s", h.Name, h.Plugin)}
		for _, pattern := range h.Match {
			l.Rules.Deny = append(l.Rules.Deny, policy.Entry{Pattern: pattern})
		}
		layers = append(layers, l)
	}
	return layers
}

// maxUnknown bounds the unknown names that are printed.
const maxUnknown = 20

// printUnknown tells of unknown names.
func (a *app) printUnknown(names []policy.Warning) {
	for i, w := range names {
		if i == maxUnknown {
			fmt.Fprintf(a.std.err, "warning: %d more entries of the rules match no tool: 'toolsearch plan' lists them\n", len(names)-i)
			break
		}
		fmt.Fprintf(a.std.err, "warning: %s\n", w)
	}
}

// unknownAgent says that the configuration has no such agent, and which it has.
func unknownAgent(cfg *config.Config, id string) error {
	where := cfg.Path
	if where == "" {
		where = "the configuration: there is no file"
	}
	err := usagef("no agent %q in %s", tool.Clean(id, 100), where)
	if len(cfg.Agents) == 0 {
		return hintError{err, "leave --agent out, or add one under agents.list"}
	}
	var names []string
	for i, a := range cfg.Agents {
		if i == maxUnknown {
			names = append(names, fmt.Sprintf("%d more", len(cfg.Agents)-i))
			break
		}
		names = append(names, oneLine(a.ID, 60))
	}
	return hintError{err, "the agents there are: " + strings.Join(names, ", ")}
}

// warnOfUnknown prints the unknown names of a set whose servers have answered or
// failed, and adds them to its warnings.
func (a *app) warnOfUnknown(set *toolset) error {
	plan, err := set.Plan()
	if err != nil {
		return err
	}
	names := unknownNames(set, plan.Offered)
	for _, w := range names {
		set.warnings = append(set.warnings, w.String())
	}
	a.printUnknown(names)
	return nil
}

// warnLater prints the unknown names for a program that does not wait for its
// servers, once they have answered or failed, unless stop comes first.
func (a *app) warnLater(ctx context.Context, set *toolset) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() {
		if set.Wait(ctx) != nil {
			return // stopped, or nothing is allowed: whoever plans reports it
		}
		if plan, err := set.Plan(); err == nil {
			a.printUnknown(unknownNames(set, plan.Offered))
		}
	})
	return func() {
		cancel()
		running.Wait()
	}
}
