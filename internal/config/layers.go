package config

import (
	"strings"

	"github.com/toolsearch/toolsearch/internal/json5"
	"github.com/toolsearch/toolsearch/policy"
)

// Scope says which rules of a configuration hold for one run. The zero Scope is
// a run of nobody in particular: the global rules hold, and the rules for every
// sender ("*").
//
// Names are compared without regard to case and surrounding space, so that a
// rule is not missed for a capital letter. A name without an entry has no rules
// of its own, which is no error here: whoever takes an agent's name from
// outside checks it with Config.Agent first.
type Scope struct {
	Agent    string // the agent's id
	Provider string // the model provider, such as "openai"
	Model    string // the provider's name of the model, such as "gpt-5"
	Group    string // the chat group the request comes from
	Sender   string // who asks
	Sandbox  bool   // the run is confined to a sandbox
	Subagent bool   // another run started this one
	Run      Rules  // what the run itself asked for
}

// anySender is the entry of those who have none of their own.
const anySender = "*"

// PolicyLayers returns the rules that hold in a scope, as the filters of a
// policy, in the order in which they apply. Each can only remove tools: the
// rules of a provider and those of one of its models both hold, and an agent's
// stand beside the global ones. Only the entry "*" for senders gives way, to
// the sender's own entry in the same block.
func (c *Config) PolicyLayers(s Scope) []policy.Layer {
	var l layers
	blocks := []policyBlock{c.globalBlock()}
	if a, ok := c.Agent(s.Agent); ok {
		blocks = append(blocks, a.block())
	}
	for _, b := range blocks {
		l.add(b.own, b.name, &b.Rules)
		l.addNamed(b.provider, b.name+".byProvider", b.ofProvider(s))
	}
	for _, b := range blocks {
		l.addNamed(policy.ScopeGroup, b.name+".toolsByGroup", byName(b.ByGroup, s.Group))
		l.addNamed(policy.ScopeGroup, b.name+".toolsBySender", b.ofSender(s))
	}
	for _, b := range blocks {
		if s.Sandbox {
			l.add(policy.ScopeSandbox, b.name+".sandbox.tools", &b.Sandbox)
		}
	}
	for _, b := range blocks {
		if s.Subagent {
			l.add(policy.ScopeSubagent, b.name+".subagents.tools", &b.Subagents)
		}
	}
	l.add(policy.ScopeRun, "run", &s.Run)
	return l
}

// AllPolicyLayers returns every block of rules that says anything, whoever it
// is for: to check a whole file, block by block. One policy may not take as
// many.
func (c *Config) AllPolicyLayers() []policy.Layer {
	var l layers
	blocks := []policyBlock{c.globalBlock()}
	for i := range c.Agents {
		blocks = append(blocks, c.Agents[i].block())
	}
	for _, b := range blocks {
		l.add(b.own, b.name, &b.Rules)
		l.addNamed(b.provider, b.name+".byProvider", b.ByProvider)
		l.addNamed(policy.ScopeGroup, b.name+".toolsByGroup", b.ByGroup)
		l.addNamed(policy.ScopeGroup, b.name+".toolsBySender", b.BySender)
		l.add(policy.ScopeSandbox, b.name+".sandbox.tools", &b.Sandbox)
		l.add(policy.ScopeSubagent, b.name+".subagents.tools", &b.Subagents)
	}
	return l
}

// layers gathers the blocks of rules that say anything.
type layers []policy.Layer

func (l *layers) add(scope policy.Scope, name string, r *Rules) {
	if r.Profile != "" || len(r.Allow)+len(r.AlsoAllow)+len(r.Deny) > 0 {
		*l = append(*l, policy.Layer{Scope: scope, Name: name, Rules: r.Policy()})
	}
}

func (l *layers) addNamed(scope policy.Scope, block string, entries []NamedRules) {
	for i := range entries {
		l.add(scope, entryName(block, entries[i].Name), &entries[i].Rules)
	}
}

// policyBlock is one section of rules: the global one or an agent's.
type policyBlock struct {
	name string
	*Policy
	own, provider policy.Scope
}

func (c *Config) globalBlock() policyBlock {
	return policyBlock{"tools", &c.Tools.Policy, policy.ScopeGlobal, policy.ScopeProvider}
}

func (a *Agent) block() policyBlock {
	return policyBlock{"agents.list[" + a.ID + "].tools", &a.Policy, policy.ScopeAgent, policy.ScopeAgentProvider}
}

// ofProvider returns the entries of byProvider for the provider, for the model
// written provider/model, and for a model whose own name has that form, as
// routers' models have.
func (b *policyBlock) ofProvider(s Scope) []NamedRules {
	provider, model := strings.TrimSpace(s.Provider), strings.TrimSpace(s.Model)
	names := []string{provider}
	if provider != "" && model != "" {
		names = append(names, provider+"/"+model)
	}
	if strings.Contains(model, "/") {
		names = append(names, model)
	}
	return byName(b.ByProvider, names...)
}

// ofSender returns the sender's own entries, or else the one for everybody.
func (b *policyBlock) ofSender(s Scope) []NamedRules {
	if own := byName(b.BySender, s.Sender); own != nil {
		return own
	}
	return byName(b.BySender, anySender)
}

// byName returns the entries of these names, in the order of the names. Several
// entries can bear one name in other letters; all of them hold.
func byName(entries []NamedRules, names ...string) []NamedRules {
	var found []NamedRules
	for _, name := range names {
		name = strings.TrimSpace(name)
		for _, e := range entries {
			if name != "" && strings.EqualFold(e.Name, name) {
				found = append(found, e)
			}
		}
	}
	return found
}

// entryName is the key of an entry, as the verbs of config write it.
func entryName(block, name string) string {
	key := json5.Path{}.Child(name).String()
	if strings.HasPrefix(key, "[") {
		return block + key
	}
	return block + "." + key
}

// Policy returns the rules in the words of package policy.
func (r *Rules) Policy() policy.Rules {
	out := policy.Rules{Allow: Entries(r.Allow), AlsoAllow: Entries(r.AlsoAllow), Deny: Entries(r.Deny)}
	if r.Profile != "" {
		out.Profile = policy.Entry{Pattern: r.Profile, Pos: r.ProfilePos.policy()}
	}
	return out
}

// Entries returns patterns in the words of package policy.
func Entries(rules []Rule) []policy.Entry {
	out := make([]policy.Entry, len(rules))
	for i, r := range rules {
		out[i] = policy.Entry{Pattern: r.Pattern, Pos: r.Pos.policy()}
	}
	return out
}

func (p Pos) policy() policy.Pos { return policy.Pos{File: p.File, Line: p.Line} }
