package toolsearch_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsearch/toolsearch"
	"github.com/toolsearch/toolsearch/internal/mcptest"
	"github.com/toolsearch/toolsearch/policy"
	"github.com/toolsearch/toolsearch/source/mcp"
	"github.com/toolsearch/toolsearch/surface"
	"github.com/toolsearch/toolsearch/tool"
)

// deniedRules deny a tool by its name, one by its server and name, a whole server
// and a plugin.
func deniedRules() policy.Rules {
	return policy.Rules{Deny: []policy.Entry{
		{Pattern: "open_safe"}, {Pattern: "mcp:weather:vault"}, {Pattern: "mcp:bank"}, {Pattern: "mcp:broken"}, {Pattern: "ghost"},
	}}
}

// deniedSets are two toolsets under one policy. In the first there are also the
// tools that it denies: behind search, always visible, of a server whose other
// tools are allowed, of a denied server, and of a denied one that does not start.
func deniedSets(tb testing.TB, mode surface.Mode) (with, without *toolsearch.Toolset) {
	tb.Helper()
	def := func(name, description string) json.RawMessage {
		return json.RawMessage(fmt.Sprintf(`{"name":%q,"description":%q,"inputSchema":{"type":"object"}}`, name, description))
	}
	function := func(plugin, name string, mode tool.CatalogMode) *tool.Tool {
		f, err := toolsearch.Func(plugin, name, "Opens the "+name, func(context.Context, struct{}) (string, error) { return "", nil })
		if err != nil {
			tb.Fatal(err)
		}
		f.Mode = mode
		return f
	}
	server := func(name string, tools ...json.RawMessage) mcp.Server {
		command, args, env := mcptest.Command(tb, mcptest.Script{Tools: tools})
		return mcp.Server{Name: name, Command: command, Args: args, Env: env}
	}
	open := func(tools []*tool.Tool, servers ...mcp.Server) *toolsearch.Toolset {
		return newSet(tb, toolsearch.Options{Tools: tools, Servers: servers, Mode: mode, Policy: compile(tb, deniedRules())})
	}
	allowed := []*tool.Tool{function("house", "open_door", ""), function("house", "open_gate", tool.DirectOnly), function("yard", "open_shed", "")}
	denied := []*tool.Tool{function("house", "open_safe", ""), function("ghost", "appear", tool.DirectOnly)}
	echo := def("echo", "Weather forecast for a place")
	with = open(slices.Concat(denied[:1], allowed, denied[1:]),
		server("weather", def("vault", "Opens the vault"), echo), server("bank", def("transfer", "Opens an account")),
		mcp.Server{Name: "broken", Command: "no-such-program-anywhere"})
	return with, open(allowed, server("weather", echo))
}

// deniedRefs name the denied tools in every way that a caller may, nearly too.
func deniedRefs() []string {
	return []string{
		"openclaw:house:open_safe", "open_safe", "open-safe", "Open_Safe", "open_saf", "openclaw:house:open_saef",
		"openclaw:ghost:appear", "appear", "Appear",
		"mcp:weather:vault", "vault", "weather__vault", "mcp:weather:vualt",
		"mcp:bank:transfer", "transfer", "bank__transfer", "mcp:bank:other", "mcp:broken:anything", "broken__anything",
	}
}

// deniedAsks are all the ways to ask for a tool or about it.
func deniedAsks(tb testing.TB) map[string]func(set *toolsearch.Toolset, ref string) string {
	tb.Helper()
	ctx := tb.Context()
	// say is everything that an answer tells.
	say := func(v any, err error) string {
		var te *tool.Error
		if errors.As(err, &te) {
			raw, failed := te.MarshalJSON()
			return fmt.Sprintf("%s %v", raw, failed)
		}
		raw, failed := json.Marshal(v)
		return fmt.Sprintf("%s %v %v", raw, err, failed)
	}
	handle := func(name, args string) func(*toolsearch.Toolset, string) string {
		return func(set *toolsearch.Toolset, ref string) string {
			quoted, err := json.Marshal(ref)
			if err != nil {
				tb.Fatal(err)
			}
			if name == "" {
				return say(set.Handle(ctx, ref, json.RawMessage(args)))
			}
			return say(set.Handle(ctx, name, json.RawMessage(strings.ReplaceAll(args, "REF", string(quoted)))))
		}
	}
	return map[string]func(*toolsearch.Toolset, string) string{
		"search":        handle(surface.ToolSearch, `{"query":REF}`),
		"batch":         handle(surface.ToolSearch, `{"queries":[{"query":REF},"opens the safe","bank account"]}`),
		"describe":      handle(surface.ToolDescribe, `{"id":REF}`),
		"tool_call":     handle(surface.ToolCall, `{"id":REF,"args":{"x":1}}`),
		"two names":     handle(surface.ToolCall, `{"id":"nothing","name":REF,"args":{}}`),
		"direct":        handle("", `{"x":1}`),
		"lib.describe":  func(s *toolsearch.Toolset, ref string) string { return say(s.Describe(ctx, ref)) },
		"lib.resolve":   func(s *toolsearch.Toolset, ref string) string { return say(s.Resolve(ctx, ref)) },
		"lib.call":      func(s *toolsearch.Toolset, ref string) string { return say(s.Call(ctx, ref, nil)) },
		"lib.search":    func(s *toolsearch.Toolset, ref string) string { return say(s.Search(ctx, ref, 20)) },
		"lib.telemetry": func(s *toolsearch.Toolset, _ string) string { t := s.Surface().Telemetry(); return say(t.Sources, nil) },
	}
}

// A tool that is denied and one that is not there are the same in every answer,
// byte for byte, and to every question asked of the plan.
func TestDeniedIsAsIfItWereNotThere(t *testing.T) {
	for _, mode := range []surface.Mode{surface.Tools, surface.Directory, surface.Off} {
		t.Run(string(mode), func(t *testing.T) {
			with, without := deniedSets(t, mode)
			asks := deniedAsks(t)
			for name, ask := range asks {
				for _, ref := range append(deniedRefs(), "open", "opens the safe", "account") {
					if diff := cmp.Diff(ask(without, ref), ask(with, ref)); diff != "" {
						t.Errorf("%s %q (-not there +denied):\n%s", name, ref, diff)
					}
				}
			}
			// Resolution is a function of the plan: where that is the same, neither its
			// answer nor the work that it takes can tell.
			a, errA := with.Plan()
			b, errB := without.Plan()
			if err := errors.Join(errA, errB); err != nil {
				t.Fatal(err)
			}
			ids := func(tools []*tool.Tool) (out []tool.ID) {
				for _, x := range tools {
					out = append(out, x.ID)
				}
				return out
			}
			if diff := cmp.Diff(ids(b.Allowed), ids(a.Allowed)); diff != "" || a.Fingerprint != b.Fingerprint {
				t.Errorf("the plans differ: %s and %s (-not there +denied):\n%s", b.Fingerprint, a.Fingerprint, diff)
			}
			if diff := cmp.Diff(b.View.Listing+fmt.Sprint(b.View.Direct.All(), b.Outages, b.Warnings), a.View.Listing+fmt.Sprint(a.View.Direct.All(), a.Outages, a.Warnings)); diff != "" {
				t.Errorf("the views differ (-not there +denied):\n%s", diff)
			}
		})
	}
}

// BenchmarkDenied reports how much longer an answer about a denied tool takes
// than one about a tool that is not there; 1 is no difference.
func BenchmarkDenied(b *testing.B) {
	with, without := deniedSets(b, surface.Tools)
	for _, name := range []string{"search", "describe", "tool_call", "direct"} {
		ask := deniedAsks(b)[name]
		b.Run(name, func(b *testing.B) {
			const each = 200
			var ratios []float64
			for b.Loop() {
				took := medians(each, func() { ask(with, "mcp:weather:vault") }, func() { ask(without, "mcp:weather:vault") })
				ratios = append(ratios, float64(took[0])/float64(took[1]))
			}
			slices.Sort(ratios)
			b.ReportMetric(ratios[len(ratios)/2], "denied/unknown")
		})
	}
}
