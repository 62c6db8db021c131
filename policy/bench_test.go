package policy_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsearch/toolsearch/policy"
	"github.com/toolsearch/toolsearch/tool"
)

// bigCatalog loads the 6,636 tools of real MCP servers.
func bigCatalog(tb testing.TB) []*tool.Tool {
	tb.Helper()
	shared := os.Getenv("TOOLSEARCH_SHARED")
	if shared == "" {
		shared = filepath.Join("..", "..", "shared")
	}
	name := filepath.Join(shared, "toolsets", "cat-npm-mcp", "catalog.jsonl")
	f, err := os.Open(name)
	if err != nil {
		tb.Skipf("the shared toolsets are not here (set TOOLSEARCH_SHARED to their folder): %v", err)
	}
	defer f.Close()
	var list []*tool.Tool
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var row struct{ ID, Name, Source, Server string }
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			tb.Fatalf("%s: %v", name, err)
		}
		list = append(list, &tool.Tool{ID: tool.ID(row.ID), Source: tool.Source(row.Source), Owner: row.Server, Name: row.Name})
	}
	if err := lines.Err(); err != nil {
		tb.Fatal(err)
	}
	return list
}

// fiftyRules are 50 entries in six layers, of the kinds that naive knows, none
// of which removes most tools at once.
func fiftyRules() []policy.Layer {
	layers := []policy.Layer{
		deny(policy.ScopeGlobal, "group:fs", "exec", "mcp:nobody", "*_danger", "drop_*", "*purge*", "shutdown", "format_disk"),
		allow(policy.ScopeProvider, "read_*", "bundle-mcp", "web_fetch"),
		deny(policy.ScopeAgent, "delete_*", "*-delete-*", "remove_*", "*Delete*", "mcp:larksuiteoapi/lark-mcp", "bb_delete", "reboot"),
		allow(policy.ScopeGroup, "get_*", "list_*", "*"),
		deny(policy.ScopeSandbox, "*secret*", "*token*", "*password*", "mcp:digitalocean/mcp"),
	}
	var run []string
	for i := range 25 {
		switch i % 3 {
		case 0:
			run = append(run, fmt.Sprintf("tool_%d", i))
		case 1:
			run = append(run, fmt.Sprintf("mcp:server-%d", i))
		default:
			run = append(run, fmt.Sprintf("prefix%d_*", i))
		}
	}
	return append(layers, deny(policy.ScopeRun, run...))
}

// TestAgreesWithNaive compares both on every tool of the big catalog.
func TestAgreesWithNaive(t *testing.T) {
	list, layers := bigCatalog(t), fiftyRules()
	count := 0
	for _, l := range layers {
		count += len(l.Rules.Allow) + len(l.Rules.Deny)
	}
	if count != 50 {
		t.Fatalf("%d rules, want 50", count)
	}
	kept, err := compile(t, layers...).Filter(list)
	if err != nil {
		t.Fatal(err)
	}
	var want []*tool.Tool
	for _, tl := range list {
		if naive(layers).allows(tl) {
			want = append(want, tl)
		}
	}
	if len(want) == 0 || len(want) == len(list) {
		t.Fatalf("%d of %d tools are left: the rules test nothing", len(want), len(list))
	}
	if diff := cmp.Diff(idsOf(want), idsOf(kept)); diff != "" {
		t.Errorf("Filter (-naive +policy):\n%s", diff)
	}
}

// BenchmarkCompile is what a run costs that finds its fingerprint known.
func BenchmarkCompile(b *testing.B) {
	layers := fiftyRules()
	b.ReportAllocs()
	for b.Loop() {
		p, _, err := policy.Compile(layers)
		if err != nil || p.Fingerprint() == "" {
			b.Fatal(err)
		}
	}
}

// BenchmarkFilter is what a run costs that does not, and how many times longer
// the naive way takes.
func BenchmarkFilter(b *testing.B) {
	list, layers := bigCatalog(b), fiftyRules()
	p := compile(b, layers...)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.Filter(list); err != nil {
			b.Fatal(err)
		}
	}
	perOp := b.Elapsed() / time.Duration(b.N)
	start, rounds := time.Now(), 5
	for range rounds {
		for _, tl := range list {
			naive(layers).allows(tl)
		}
	}
	slow := time.Since(start) / time.Duration(rounds)
	b.ReportMetric(float64(slow)/float64(perOp), "naive/policy")
	b.ReportMetric(float64(perOp.Nanoseconds())/float64(len(list)), "ns/tool")
}

// BenchmarkUnknown is what checking the rules against a changed catalog costs.
func BenchmarkUnknown(b *testing.B) {
	list := bigCatalog(b)
	p := compile(b, fiftyRules()...)
	for b.Loop() {
		p.Unknown(list)
	}
}

func BenchmarkDecide(b *testing.B) {
	p := compile(b, fiftyRules()...)
	t := newTool("mcp:github:create_issue")
	b.ReportAllocs()
	for b.Loop() {
		p.Decide(t)
	}
}
