package agent_test

import (
	"fmt"
	"testing"

	"github.com/toolsearch/toolsearch"
	"github.com/toolsearch/toolsearch/internal/agent"
	"github.com/toolsearch/toolsearch/internal/config"
	"github.com/toolsearch/toolsearch/policy"
	"github.com/toolsearch/toolsearch/tool"
)

// Kinds of run under the same rules share a plan: whoever makes up kinds neither
// has the tools planned again nor pushes out the plans of others.
func TestKindsUnderTheSameRulesShareAPlan(t *testing.T) {
	set, err := toolsearch.New(t.Context(), toolsearch.Options{Tools: []*tool.Tool{core("forecast", "Forecast"), core("radio", "Radio")}})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	runtime, err := agent.New(agent.Options{Config: &config.Config{}, Tools: set, Rules: func(k agent.Kind) (agent.Rules, error) {
		rules := policy.Rules{}
		switch k.Agent {
		case "strict":
			rules.Deny = []policy.Entry{{Pattern: "radio"}}
		case "required":
			return agent.Rules{ScopeOptions: toolsearch.ScopeOptions{Required: []string{"forecast"}}}, nil
		}
		pol, _, err := policy.Compile([]policy.Layer{{Scope: policy.ScopeGlobal, Name: "tools", Rules: rules}})
		return agent.Rules{ScopeOptions: toolsearch.ScopeOptions{Policy: pol}}, err
	}})
	if err != nil {
		t.Fatal(err)
	}
	scope := func(agent, sender string) *toolsearch.Scope {
		s, err := runtime.Scope(t.Context(), config.Who{Agent: agent, Sender: sender})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	strict, plain, required := scope("strict", ""), scope("", ""), scope("required", "")
	if strict == plain || required == plain || strict == required {
		t.Fatal("kinds under different rules share a plan")
	}
	for i := range 600 { // more than the plans and the rules that are kept
		if scope("", fmt.Sprint(i)) != plain {
			t.Fatalf("kind %d has a plan of its own", i)
		}
	}
	if scope("strict", "") != strict {
		t.Error("the plan of others was let go")
	}
	if _, err := strict.Resolve(t.Context(), "radio"); err == nil {
		t.Error("what is denied can be found")
	}
	if _, err := plain.Resolve(t.Context(), "radio"); err != nil {
		t.Error(err)
	}
}
