package turn_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/toolsearch/toolsearch/catalog"
	"github.com/toolsearch/toolsearch/internal/eval"
	"github.com/toolsearch/toolsearch/policy"
	"github.com/toolsearch/toolsearch/rank"
	"github.com/toolsearch/toolsearch/source/jsonl"
	"github.com/toolsearch/toolsearch/surface"
	"github.com/toolsearch/toolsearch/tool"
	"github.com/toolsearch/toolsearch/turn"
)

var standardLimits = catalog.Limits{Default: 8, Max: 20}

// manyTools have about 500 bytes of definition each.
func manyTools(n int) []*tool.Tool {
	var out []*tool.Tool
	for i := range n {
		t := mcpTool("many", fmt.Sprintf("tool_%03d", i))
		t.Description = strings.Repeat("does much ", 40)
		out = append(out, t)
	}
	return out
}

func autoPlanner(t *testing.T, code bool, rules policy.Rules, sources ...turn.Source) *turn.Planner {
	t.Helper()
	return turn.NewPlanner(turn.Config{
		Mode: surface.Auto, Policy: compile(t, rules), Sources: sources,
		Limits: standardLimits, Auto: turn.AutoConfig{Code: code},
	})
}

func TestAuto(t *testing.T) {
	big := coreDoing("big", strings.Repeat("x", 30000))
	big.Mode = tool.DirectOnly
	tests := []struct {
		name  string
		tools []*tool.Tool
		code  bool
		rules policy.Rules
		want  surface.Mode
	}{
		{name: "few", tools: manyTools(3), code: true, want: surface.Off},
		{name: "none", code: true, want: surface.Off},
		{name: "many", tools: manyTools(60), code: true, want: surface.Code},
		{name: "many, no runtime", tools: manyTools(60), want: surface.Tools},
		{name: "many, denied", tools: manyTools(60), code: true, rules: policy.Rules{Allow: entries("tool_00*", "tool_search*")}, want: surface.Off},
		{name: "many, no code control", tools: manyTools(60), code: true, rules: policy.Rules{Deny: entries("tool_search_code")}, want: surface.Tools},
		{name: "many, no control", tools: manyTools(60), rules: policy.Rules{Deny: entries("tool_call")}, want: surface.Off},
		// What is visible in any case is no reason for search.
		{name: "one large tool that is visible anyway", tools: []*tool.Tool{big}, code: true, want: surface.Off},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			plan := refresh(t, autoPlanner(t, tt.code, tt.rules, turn.Fixed(tt.tools)))
			if plan.View.Mode != tt.want {
				t.Errorf("mode %s, want %s: %s", plan.View.Mode, tt.want, plan.Auto.Reason())
			}
			d := plan.Auto
			direct := 0
			for _, a := range plan.Allowed {
				direct += surface.Direct(a, surface.WireName(a, surface.MCPNameLimit)).Size()
			}
			if d == nil || d.Direct != direct || (d.Direct > d.Most) != (d.Chosen != surface.Off) || d.Surface < 1000 || d.Reason() == "" {
				t.Errorf("%+v; the tools have %d bytes", d, direct)
			}
		})
	}
	for _, mode := range []surface.Mode{surface.Off, surface.Tools, surface.Code, surface.Directory} {
		p := turn.NewPlanner(turn.Config{Mode: mode, Policy: compile(t, policy.Rules{}), Sources: []turn.Source{turn.Fixed(manyTools(3))}})
		if plan := refresh(t, p); plan.Auto != nil || plan.View.Mode != mode {
			t.Errorf("mode %s: decision %+v, mode %s", mode, plan.Auto, plan.View.Mode)
		}
	}
}

// The threshold is exact: one byte more of definitions changes the mode.
func TestAutoAtTheBreakEven(t *testing.T) {
	one := mcpTool("a", "one")
	plan := func(n int) *turn.Plan {
		c := *one
		c.Description = strings.Repeat("x", n)
		return refresh(t, autoPlanner(t, false, policy.Rules{}, turn.Fixed{&c}))
	}
	empty := plan(0)
	room := empty.Auto.Most - empty.Auto.Direct
	if at := plan(room); at.View.Mode != surface.Off || at.Auto.Direct != at.Auto.Most {
		t.Errorf("at the threshold: %+v", at.Auto)
	}
	if above := plan(room + 1); above.View.Mode != surface.Tools {
		t.Errorf("above the threshold: %+v", above.Auto)
	}
}

// While a server's tools are unknown nothing is exposed directly. What a model
// has seen stays, whatever comes.
func TestAutoIsDecidedOnce(t *testing.T) {
	starting := turn.Snapshot{Tools: manyTools(3), Pending: true, Outages: []catalog.Outage{{Owner: "slow", Reason: "it is still starting"}}}
	settled := turn.Snapshot{Tools: starting.Tools}

	t.Run("nobody looked yet", func(t *testing.T) {
		s := newSource()
		s.set(starting)
		p := autoPlanner(t, false, policy.Rules{}, s)
		if got := refresh(t, p).View.Mode; got != surface.Tools {
			t.Errorf("while a server is unknown the mode is %s", got)
		}
		s.set(settled)
		if got := refresh(t, p); got.View.Mode != surface.Off || got.Auto.Pending {
			t.Errorf("settled: mode %s, %+v", got.View.Mode, got.Auto)
		}
		s.set(turn.Snapshot{Tools: manyTools(60)})
		if got := refresh(t, p).View.Mode; got != surface.Tools {
			t.Errorf("with many tools the mode is %s", got)
		}
	})
	t.Run("seen while a server was unknown", func(t *testing.T) {
		s := newSource()
		s.set(starting)
		p := autoPlanner(t, false, policy.Rules{}, s)
		if got := p.View().Mode; got != surface.Tools {
			t.Errorf("the first view has mode %s", got)
		}
		s.set(settled)
		if plan := refresh(t, p); plan.View.Mode != surface.Tools || !plan.Auto.Fixed {
			t.Errorf("the mode changed to %s: %+v", plan.View.Mode, plan.Auto)
		}
	})
	t.Run("seen when few tools were there", func(t *testing.T) {
		s := newSource(manyTools(3)...)
		p := autoPlanner(t, false, policy.Rules{}, s)
		if got := p.View().Mode; got != surface.Off {
			t.Errorf("the first view has mode %s", got)
		}
		s.set(turn.Snapshot{Tools: manyTools(60)})
		if plan := refresh(t, p); plan.View.Mode != surface.Off || len(plan.View.Direct.All()) != 60 {
			t.Errorf("mode %s with %d visible tools", plan.View.Mode, len(plan.View.Direct.All()))
		}
	})
	t.Run("a server that failed is known", func(t *testing.T) {
		s := newSource()
		s.set(turn.Snapshot{Tools: manyTools(3), Outages: []catalog.Outage{{Owner: "gone", Reason: "exit status 1"}}})
		if got := refresh(t, autoPlanner(t, false, policy.Rules{}, s)).View.Mode; got != surface.Off {
			t.Errorf("mode %s", got)
		}
	})
}

// A conversation keeps the mode it began with; one that begins later has the
// mode of its time.
func TestAutoOfConversations(t *testing.T) {
	s := newSource(manyTools(3)...)
	p := autoPlanner(t, false, policy.Rules{}, s)
	session := func(key string) *turn.Session {
		t.Helper()
		refresh(t, p)
		out, err := p.Session(turn.SessionConfig{Key: key})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	check := func(key string, mode surface.Mode, visible int) {
		t.Helper()
		got := session(key)
		if got.Front().Mode != mode || got.View().Mode != mode || len(got.Visible()) != visible {
			t.Errorf("%s: mode %s, view %s, %d visible tools; want %s, %d", key, got.Front().Mode, got.View().Mode, len(got.Visible()), mode, visible)
		}
	}
	check("early", surface.Off, 3)
	s.set(turn.Snapshot{Tools: manyTools(60)})
	check("early", surface.Off, 60)
	check("late", surface.Tools, 3)
	check("", surface.Tools, 3)
	s.set(turn.Snapshot{Tools: manyTools(2)})
	check("early", surface.Off, 2)
	check("late", surface.Tools, 3)
	check("later", surface.Off, 2)
}

// toolsets is the folder of the evaluation sets, or skips the test.
func toolsets(tb testing.TB) string {
	tb.Helper()
	dir := os.Getenv("TOOLSEARCH_SHARED")
	if dir == "" {
		dir = filepath.Join("..", "..", "shared")
	}
	dir = filepath.Join(dir, "toolsets")
	if _, err := os.Stat(dir); err != nil {
		tb.Skipf("the break-even is not measured: the evaluation sets are not at %s (set TOOLSEARCH_SHARED to the folder that has toolsets/)", dir)
	}
	return dir
}

// lookup measures what finding one tool makes a model read, in bytes: the mean
// answer of a search with 8 hits, and of the describe of the right tool.
func lookup(tb testing.TB, dir string) (search, describe float64, tools []*tool.Tool) {
	tb.Helper()
	tools, _, err := jsonl.LoadFile(tb.Context(), filepath.Join(dir, "catalog.jsonl"), jsonl.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	c, err := catalog.Build(catalog.Input{Tools: tools})
	if err != nil {
		tb.Fatal(err)
	}
	f, err := os.Open(filepath.Join(dir, "queries.jsonl"))
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	queries, err := eval.ReadQueries(f)
	if err != nil || len(queries) == 0 {
		tb.Fatalf("%d queries, %v", len(queries), err)
	}
	for _, q := range queries {
		hits, err := catalog.MarshalHits(c.Search(rank.Query{Text: q.Text, Limit: standardLimits.Default}).Hits)
		if err != nil {
			tb.Fatal(err)
		}
		d, err := c.Describe(q.Gold[0])
		if err != nil {
			tb.Fatal(err)
		}
		raw, err := d.MarshalJSON()
		if err != nil {
			tb.Fatal(err)
		}
		search += float64(len(hits)) / float64(len(queries))
		describe += float64(len(raw)) / float64(len(queries))
	}
	return search, describe, tools
}

// BenchmarkAuto plans the largest set in mode auto and in mode tools, and
// reports how much longer the choice makes it.
func BenchmarkAuto(b *testing.B) {
	tools, _, err := jsonl.LoadFile(b.Context(), filepath.Join(toolsets(b), "cat-npm-mcp", "catalog.jsonl"), jsonl.Options{})
	if err != nil {
		b.Fatal(err)
	}
	pol, _, err := policy.Compile(nil)
	if err != nil {
		b.Fatal(err)
	}
	plan := func(mode surface.Mode) time.Duration {
		start := time.Now()
		p := turn.NewPlanner(turn.Config{Mode: mode, Policy: pol, Sources: []turn.Source{turn.Fixed(tools)}, Limits: standardLimits})
		if _, err := p.Refresh(); err != nil {
			b.Fatal(err)
		}
		return time.Since(start)
	}
	var auto, plain time.Duration
	for b.Loop() {
		auto += plan(surface.Auto)
		plain += plan(surface.Tools)
	}
	b.ReportMetric(float64(auto)/float64(plain), "auto/tools")
}

// The constant behind mode auto is what the sets measure: the figure of the set
// with real searches, which is also the largest of all.
func TestBreakEven(t *testing.T) {
	dir := toolsets(t)
	empty := refresh(t, autoPlanner(t, false, policy.Rules{}, turn.Fixed(manyTools(1))))
	constant := float64(empty.Auto.Most - 2*empty.Auto.Surface)
	for _, set := range []string{"livemcp-agent", "livemcpbench", "mcpproxy-golden", "bfcl-live", "metatool-single", "metatool-multi", "seal-tools"} {
		search, describe, tools := lookup(t, filepath.Join(dir, set))
		measured := 1.5*search + describe
		mean := 0
		for _, x := range tools {
			mean += surface.Direct(x, surface.WireName(x, surface.MCPNameLimit)).Size()
		}
		mean /= len(tools)
		t.Logf("%-16s search %5.0f, describe %5.0f, together %5.0f bytes; a definition %4d bytes, break-even at %d tools", set, search, describe, measured, mean, empty.Auto.Most/mean)
		switch {
		case set == "livemcp-agent" && (measured < 0.95*constant || measured > 1.05*constant):
			t.Errorf("a lookup costs %.0f bytes, the constant says %.0f", measured, constant)
		case measured > 1.05*constant:
			t.Errorf("%s: a lookup costs %.0f bytes, more than the constant %.0f", set, measured, constant)
		}
	}
}
