package qa_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tiktoken-go/tokenizer"

	"github.com/toolsearch/toolsearch/catalog"
	"github.com/toolsearch/toolsearch/policy"
	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/provider/openai"
	"github.com/toolsearch/toolsearch/source/jsonl"
	"github.com/toolsearch/toolsearch/surface"
	"github.com/toolsearch/toolsearch/tool"
	"github.com/toolsearch/toolsearch/turn"
)

// realTools are the first n tools of a catalog of published servers.
func realTools(tb testing.TB, n int) []*tool.Tool {
	tb.Helper()
	shared := os.Getenv("TOOLSEARCH_SHARED")
	if shared == "" {
		shared = filepath.Join("..", "..", "..", "shared")
	}
	path := filepath.Join(shared, "toolsets", "cat-npm-mcp", "catalog.jsonl")
	if _, err := os.Stat(path); err != nil {
		tb.Skipf("the evaluation toolsets are not here (%v); set TOOLSEARCH_SHARED", err)
	}
	tools, _, err := jsonl.LoadFile(tb.Context(), path, jsonl.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	if len(tools) < n {
		tb.Fatalf("the catalog has %d tools, not %d", len(tools), n)
	}
	return tools[:n]
}

// firstRequest is the body that a provider gets first in a mode.
func firstRequest(tb testing.TB, mode surface.Mode, tools []*tool.Tool) (body []byte, listing string) {
	tb.Helper()
	pol, _, err := policy.Compile(nil)
	if err != nil {
		tb.Fatal(err)
	}
	s, err := turn.NewPlanner(turn.Config{
		Mode: mode, Policy: pol, Sources: []turn.Source{turn.Fixed(tools)}, NameLimit: surface.ModelNameLimit,
		Limits: catalog.Limits{Default: 8, Max: 20},
	}).Session(turn.SessionConfig{})
	if err != nil {
		tb.Fatal(err)
	}
	req := &provider.Request{Model: "m"}
	for _, v := range s.Visible() {
		req.Tools = append(req.Tools, provider.Tool{Name: v.Name, Description: v.Description, Parameters: v.Parameters})
	}
	listing = s.Front().Listing
	if listing != "" {
		req.Messages = append(req.Messages, provider.Message{Role: provider.System, Blocks: []provider.Block{{Kind: provider.Text, Text: listing}}})
	}
	req.Messages = append(req.Messages, provider.Message{Role: provider.User, Blocks: []provider.Block{{Kind: provider.Text, Text: "Hello"}}})
	if body, err = openai.Chat().EncodeRequest(req); err != nil {
		tb.Fatal(err)
	}
	return body, listing
}

// The first request at 5,000 real tools stays within the shares of direct
// exposure that the product promises.
func TestPayload(t *testing.T) {
	tools := realTools(t, 5000)
	direct, _ := firstRequest(t, surface.Off, tools)
	for mode, most := range map[surface.Mode]float64{surface.Tools: 0.002, surface.Code: 0.001} {
		body, _ := firstRequest(t, mode, tools)
		if share := float64(len(body)) / float64(len(direct)); share > most {
			t.Errorf("%s: %d bytes are %.3f %% of %d, want at most %.1f %%", mode, len(body), 100*share, len(direct), 100*most)
		}
	}
	trusted := make([]*tool.Tool, len(tools))
	for i, t := range tools { // a listing names trusted tools only
		c := *t
		c.Source, c.Owner = tool.OpenClaw, strings.NewReplacer(":", "_", "/", "_").Replace(t.Owner)
		c.ID = tool.NewID(c.Source, c.Owner, c.Name)
		trusted[i] = &c
	}
	if _, listing := firstRequest(t, surface.Directory, trusted); listing == "" || len([]rune(listing)) > 18_000 {
		t.Errorf("the listing has %d characters, want 1 to 18,000", len([]rune(listing)))
	}
}

// BenchmarkPayload reports bytes and tokens of the first request, and their
// share of direct exposure. The tokenizer is o200k_base.
func BenchmarkPayload(b *testing.B) {
	codec, err := tokenizer.Get(tokenizer.O200kBase)
	if err != nil {
		b.Fatal(err)
	}
	count := func(text []byte) int {
		n, err := codec.Count(string(text))
		if err != nil {
			b.Fatal(err)
		}
		return n
	}
	for _, n := range []int{36, 1000, 5000} {
		tools := realTools(b, n)
		direct, _ := firstRequest(b, surface.Off, tools)
		directTokens := count(direct)
		for _, mode := range []surface.Mode{surface.Off, surface.Tools, surface.Code, surface.Directory} {
			b.Run(fmt.Sprintf("%d/%s", n, mode), func(b *testing.B) {
				var body []byte
				for b.Loop() {
					body, _ = firstRequest(b, mode, tools)
				}
				tokens := count(body)
				b.ReportMetric(float64(len(body)), "bytes")
				b.ReportMetric(100*float64(len(body))/float64(len(direct)), "%bytes")
				b.ReportMetric(float64(tokens), "tokens")
				b.ReportMetric(100*float64(tokens)/float64(directTokens), "%tokens")
			})
		}
	}
}
