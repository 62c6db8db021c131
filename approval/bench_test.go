package approval_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/toolsearch/toolsearch/approval"
	"github.com/toolsearch/toolsearch/call"
	"github.com/toolsearch/toolsearch/tool"
)

// BenchmarkStage is what the stage adds to a call: by the defaults, by the last
// of 50 rules, and with an approval of the session that stands. x/bare is the
// ratio to a pipeline without it.
func BenchmarkStage(b *testing.B) {
	rules := approval.RuleSet{}
	for i := range 49 {
		rules.Rules = append(rules.Rules, approval.Rule{Action: approval.RuleAsk, Tools: entries(fmt.Sprintf("mcp:server%d:delete_*", i))})
	}
	rules.Rules = append(rules.Rules, approval.Rule{Action: approval.RuleAllow, Tools: entries("mcp:s")})
	target := &tool.Tool{
		ID: "mcp:s:t", Source: tool.MCP, Owner: "s", Name: "t",
		Invoker: tool.InvokerFunc(func(context.Context, tool.Call) (*tool.Result, error) { return tool.TextResult("x"), nil }),
	}
	r := call.Request{Target: target, Args: json.RawMessage(`{"path":"a.txt","limit":10}`)}
	run := func(p *call.Pipeline, n int) time.Duration {
		start := time.Now()
		for range n {
			if _, err := p.Call(context.Background(), r); err != nil {
				b.Fatal(err)
			}
		}
		return time.Since(start)
	}
	session := approval.RouteFunc(func(context.Context, approval.Request) (approval.Decision, error) {
		return approval.Decision{Answer: approval.Allow, Scope: approval.Session}, nil
	})
	for _, c := range []struct {
		name string
		opt  approval.Options
	}{
		{"default allow", approval.Options{}},
		{"50 rules allow", approval.Options{Rules: compile(b, rules)}},
		{"session approved", approval.Options{Rules: compile(b, approval.RuleSet{Otherwise: approval.RuleAsk}), Routes: []approval.Route{session}}},
	} {
		b.Run(c.name, func(b *testing.B) {
			g := newGate(b, c.opt)
			with, bare := call.New(g.Stage(), g.Recheck()), call.New()
			run(with, 1)
			b.ReportAllocs()
			b.ResetTimer()
			took := run(with, b.N)
			b.StopTimer()
			plain := run(bare, b.N)
			b.ReportMetric(float64(took)/float64(plain), "x/bare")
		})
	}
}
