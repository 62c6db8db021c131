package catalog_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsearch/toolsearch/catalog"
	"github.com/toolsearch/toolsearch/rank"
	"github.com/toolsearch/toolsearch/tool"
)

// loud is a schema that fails the test when anybody reads it.
type loud struct{ t *testing.T }

func (l loud) JSON() json.RawMessage {
	l.t.Helper()
	l.t.Error("the schema of an untrusted source was read")
	return json.RawMessage(`{"type":"object","properties":{"zeppelin":{"description":"airship"}}}`)
}

func newTool(source tool.Source, owner, name, description string) *tool.Tool {
	return &tool.Tool{
		ID: tool.NewID(source, owner, name), Source: source, Owner: owner, Name: name,
		Description: description, Input: tool.RawSchema(`{"type":"object"}`),
	}
}

func build(t *testing.T, tools ...*tool.Tool) *catalog.Catalog {
	t.Helper()
	c, err := catalog.Build(catalog.Input{Tools: tools})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func ids(hits []catalog.Hit) []string {
	out := []string{}
	for _, h := range hits {
		out = append(out, string(h.ID))
	}
	return out
}

func search(c *catalog.Catalog, query string) []catalog.Hit {
	return c.Search(rank.Query{Text: query, Limit: 8}).Hits
}

func TestUntrustedSchemasAreNeverRead(t *testing.T) {
	for _, source := range []tool.Source{tool.MCP, tool.Client} {
		u := newTool(source, "far", "convert", "Convert a value")
		u.Input, u.Output = loud{t}, loud{t}
		c := build(t, u, newTool(tool.OpenClaw, "near", "other", "Something else"))
		if got := ids(search(c, "zeppelin airship")); len(got) != 0 {
			t.Errorf("%s: a word of the schema alone found %v", source, got)
		}
		hits := search(c, "convert")
		if len(hits) != 1 || hits[0].Input != "unknown" || hits[0].Output != "" {
			t.Errorf("%s: hits are %+v, want one with input unknown", source, hits)
		}
		if _, err := c.SearchBatch(catalog.Batch{{Query: "convert", Limit: 3}}); err != nil {
			t.Error(err)
		}
		if catalog.Fingerprint(c.Tools()) == "" {
			t.Error("no fingerprint")
		}
		if _, err := c.Resolve("konvert"); err == nil {
			t.Error("a tool that is not there was resolved")
		}
	}
}

func TestTrustedSchemas(t *testing.T) {
	trusted := newTool(tool.OpenClaw, "git", "open", "Open something")
	trusted.Input = tool.RawSchema(`{"type":"object","properties":{"repository":{"type":"string"}},"required":["repository"],"additionalProperties":false}`)
	trusted.Output = tool.RawSchema(`{"type":"array","items":{"type":"object","properties":{"id":{"type":"string"},"paid":{"type":"boolean"}},"required":["id","paid"],"additionalProperties":false}}`)
	lifted := newTool(tool.MCP, "svn", "checkout", "Get the files")
	lifted.Input, lifted.TrustSchema = tool.RawSchema(`{"type":"object","properties":{"revision":{"type":"integer"}}}`), true
	c := build(t, trusted, lifted)

	hits := search(c, "repository")
	want := catalog.Hit{
		ID: "openclaw:git:open", Source: tool.OpenClaw, SourceName: "git", Name: "open", Description: "Open something",
		Input: "{ repository: string }", Output: "Array<{ id: string; paid: boolean }>",
	}
	if len(hits) != 1 {
		t.Fatalf("a parameter's name found %v, want the one tool", ids(hits))
	}
	if d := cmp.Diff(want, hits[0]); d != "" {
		t.Errorf("hit (-want +got):\n%s", d)
	}
	// trustSchemas indexes the parameters; the signature of an MCP tool stays unknown.
	if hits := search(c, "revision"); len(hits) != 1 || hits[0].Input != "unknown" {
		t.Errorf("a trusted server's parameter found %+v", hits)
	}
}

// counted is a schema that counts how often it is read.
type counted struct {
	raw  string
	read *atomic.Int64
}

func (c counted) JSON() json.RawMessage {
	c.read.Add(1)
	return json.RawMessage(c.raw)
}

// The schemas of a tool are read for the index and for the first hit, and by
// every catalog that is extended from the tool's, and no more than that.
func TestSignaturesAreMadeOnce(t *testing.T) {
	var read atomic.Int64
	trusted := newTool(tool.OpenClaw, "git", "open", "Open something")
	trusted.Input, trusted.Revision = counted{`{"type":"object","properties":{"repository":{"type":"string"}}}`, &read}, "1"
	c := build(t, trusted)
	_ = search(c, "open")
	once := read.Load()
	extended, err := c.Extend([]*tool.Tool{newTool(tool.Client, tool.ClientOwner, "ask", "Ask the user")})
	if err != nil {
		t.Fatal(err)
	}
	_ = extended.IndexBytes() // an index of so few is made anew, from the schemas
	indexed := read.Load()
	for _, c := range []*catalog.Catalog{c, c.WithOutages([]catalog.Outage{{Owner: "cal"}}), extended} {
		for _, h := range []catalog.Hit{search(c, "open")[0], c.Entry(trusted)} {
			if h.Input != "{ repository?: string }" {
				t.Errorf("the signature is %q", h.Input)
			}
		}
		if d, err := c.Describe("open"); err != nil || d.Input != "{ repository?: string }" {
			t.Errorf("describe: %+v, %v", d, err)
		}
		if _, err := c.SearchBatch(catalog.Batch{{Query: "open", Limit: 3}}); err != nil {
			t.Error(err)
		}
	}
	if n := read.Load(); once != 2 || n != indexed {
		t.Errorf("the schema was read %d times for the index and a hit, and %d times after that; want 2 and 0", once, n-indexed)
	}
	// A copy of a tool, with another schema, is another tool.
	other := *trusted
	other.Input = tool.RawSchema(`{"type":"object","additionalProperties":false}`)
	if h := c.Entry(&other); h.Input == "{ repository?: string }" {
		t.Errorf("a tool that is not of the catalog has the signature of one that is: %q", h.Input)
	}
}

func TestHitKeyOrder(t *testing.T) {
	m := newTool(tool.MCP, "cal", "create", "Create <an> event & more")
	m.Label = "Create"
	raw, err := catalog.MarshalHits([]catalog.Hit{catalog.Entry(m)})
	if err != nil {
		t.Fatal(err)
	}
	const want = `[{"id":"mcp:cal:create","source":"mcp","sourceName":"cal","mcp":{"serverName":"cal","toolName":"create"},` +
		`"name":"create","label":"Create","description":"Create <an> event & more","input":"unknown"}]`
	if string(raw) != want {
		t.Errorf("got  %s\nwant %s", raw, want)
	}
	if raw, _ := catalog.MarshalHits(nil); string(raw) != "[]" {
		t.Errorf("no hits are %s, want []", raw)
	}
}

func TestDescribeKeepsTheSchemaBytes(t *testing.T) {
	const parameters = `{ "zz":1, "type" : "object","n":9007199254740993 }`
	m := newTool(tool.MCP, "s", "t", "d")
	m.Input, m.Output = tool.RawSchema(parameters), tool.RawSchema(`{"type":"object"}`)
	d, err := build(t, m).Describe("t")
	if err != nil {
		t.Fatal(err)
	}
	raw, err := d.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(string(raw), `"parameters":`+parameters+`}`) {
		t.Errorf("got %s, want the parameters byte for byte and no outputSchema of an untrusted tool", raw)
	}
}

func TestResolve(t *testing.T) {
	direct := newTool(tool.OpenClaw, "core", "image", "Show an image")
	direct.Mode = tool.DirectOnly
	c, err := catalog.Build(catalog.Input{
		Tools: []*tool.Tool{
			newTool(tool.MCP, "a", "create_event", "Create an event"),
			newTool(tool.MCP, "b", "list", "List"), newTool(tool.MCP, "c", "list", "List"),
			newTool(tool.MCP, "d", "readFile", "Read"), newTool(tool.MCP, "d", "get-user", "Get"), newTool(tool.MCP, "e", "get_user", "Get"),
			direct,
		},
		Outages: []catalog.Outage{{Owner: "down", Reason: "connection refused"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		ref  string
		want tool.ID
		code tool.Code
		says string
	}{
		{ref: "mcp:a:create_event", want: "mcp:a:create_event"},
		{ref: " create_event ", want: "mcp:a:create_event"},
		{ref: "Create-Event", want: "mcp:a:create_event"},
		{ref: "READFILE", want: "mcp:d:readFile"},
		{ref: "get_user", want: "mcp:e:get_user"},
		{ref: "Get User", code: tool.CodeUnknownTool},
		{ref: "list", code: tool.CodeAmbiguous, says: "mcp:b:list, mcp:c:list"},
		{ref: "image", code: tool.CodeCallDirectly, says: "directly"},
		{ref: "openclaw:core:image", code: tool.CodeCallDirectly},
		{ref: "creat_evnt", code: tool.CodeUnknownTool, says: "mcp:a:create_event"},
		{ref: "mcp:down:anything", code: tool.CodeUnavailable, says: "connection refused"},
		{ref: "", code: tool.CodeUnknownTool},
		{ref: "x\x1b[31m\u202ey", code: tool.CodeUnknownTool},
	}
	for _, tt := range tests {
		got, err := c.Resolve(tt.ref)
		if tt.code == "" {
			if err != nil || got.ID != tt.want {
				t.Errorf("%q: got %v, %v; want %s", tt.ref, got, err, tt.want)
			}
			continue
		}
		if tool.CodeOf(err) != tt.code || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%q: got %v, want code %s and %q", tt.ref, err, tt.code, tt.says)
		}
		if err != nil && strings.ContainsAny(err.Error(), "\x1b\u202e") {
			t.Errorf("%q: the error repeats control characters", tt.ref)
		}
	}
}

func TestBuildRefuses(t *testing.T) {
	twin := newTool(tool.MCP, "a", "x", "")
	for name, tools := range map[string][]*tool.Tool{
		"two of one id": {twin, newTool(tool.MCP, "a", "x", "other")},
		"no id":         {{Name: "x", Input: tool.RawSchema(`{}`)}},
		"no schema":     {{ID: "a", Name: "x"}},
		"nil":           {nil},
	} {
		if _, err := catalog.Build(catalog.Input{Tools: tools}); err == nil {
			t.Errorf("%s: built", name)
		}
	}
}

func TestSearchBudget(t *testing.T) {
	var tools []*tool.Tool
	for i := range 20 {
		tools = append(tools, newTool(tool.MCP, "s", fmt.Sprintf("convert_%d", i), "Convert "+strings.Repeat("a long story 😀 ", 100*i)))
	}
	r := build(t, tools...).Search(rank.Query{Text: "convert", Limit: 20})
	raw, err := catalog.MarshalHits(r.Hits)
	if err != nil {
		t.Fatal(err)
	}
	if n := tool.Chars(string(raw)); n > catalog.MaxSearchChars {
		t.Errorf("the answer has %d characters, the budget is %d", n, catalog.MaxSearchChars)
	}
	if !r.Truncated || len(r.Hits) != 20 || r.Total != 20 {
		t.Errorf("truncated %v, %d hits, total %d; want every hit with shorter descriptions", r.Truncated, len(r.Hits), r.Total)
	}
	if i := slices.IndexFunc(r.Hits, func(h catalog.Hit) bool { return h.Name == "convert_0" }); i < 0 || r.Hits[i].Description != "Convert " {
		t.Errorf("a short description was cut too")
	}
}

// Descriptions are cut to the longest common length that fits, whatever their
// characters take in JSON.
func TestSearchBudgetIsUsedUp(t *testing.T) {
	for _, piece := range []string{"word ", `"`, "\\", "\n", "\x01", "é", "😀", "\xff", "\u2028", "<&>", "漢字 \"😀\x02"} {
		var tools []*tool.Tool
		for i := range 20 {
			tools = append(tools, newTool(tool.MCP, "s", fmt.Sprintf("convert_%d", i), strings.Repeat(piece, 4000/len(piece)*i/10)))
		}
		hits := build(t, tools...).Search(rank.Query{Text: "convert", Limit: 20}).Hits
		longest := 0
		for _, h := range hits {
			longest = max(longest, tool.Chars(h.Description))
		}
		size := func(length int) int {
			again := slices.Clone(hits)
			for i, h := range again {
				full := tools[slices.IndexFunc(tools, func(t *tool.Tool) bool { return t.ID == h.ID })].Description
				again[i].Description, _ = tool.CutChars(full, length)
			}
			raw, err := catalog.MarshalHits(again)
			if err != nil {
				t.Fatal(err)
			}
			return tool.Chars(string(raw))
		}
		// A character of two is cut whole, so that one more may bring nothing.
		if len(hits) != 20 || size(longest) > catalog.MaxSearchChars || size(longest+2) <= catalog.MaxSearchChars {
			t.Errorf("%q: %d hits, cut to %d: %d characters, and with two more of each %d", piece, len(hits), longest, size(longest), size(longest+2))
		}
	}
}

func TestBatch(t *testing.T) {
	var tools []*tool.Tool
	for i := range 60 {
		tools = append(tools, newTool(tool.MCP, "s", fmt.Sprintf("convert_%d", i), "Convert "+strings.Repeat("words ", 60)))
	}
	c := build(t, tools...)
	got, err := c.SearchBatch(catalog.Batch{{"convert", 30}, {"nothing_here", 5}, {"convert_7", 2}})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := tool.Encode(got)
	if err != nil {
		t.Fatal(err)
	}
	if n := tool.Chars(string(raw)); n > catalog.MaxBatchChars {
		t.Errorf("the answer has %d characters, the budget is %d", n, catalog.MaxBatchChars)
	}
	if len(got.Results) != 3 || got.Results[0].Query != "convert" || got.Results[2].Query != "convert_7" {
		t.Fatalf("groups are out of order: %s", raw)
	}
	if !got.Truncated || !got.Results[0].Truncated || len(got.Results[1].Candidates) != 0 || got.Results[1].Truncated {
		t.Errorf("truncation is not told where it happened: %s", raw)
	}
	if len(got.Results[2].Candidates) == 0 || got.Results[2].Candidates[0].Name != "convert_7" {
		t.Errorf("the small group lost its hits to the large one: %s", raw)
	}
	for _, h := range got.Results[0].Candidates {
		if n := tool.Chars(h.Description); n > catalog.MaxBatchDescription {
			t.Errorf("a description has %d characters", n)
		}
	}
	long := strings.Repeat("x", 513)
	for name, b := range map[string]catalog.Batch{
		"none":             {},
		"17 queries":       make(catalog.Batch, 17),
		"513 characters":   {{long, 1}},
		"513 bytes in all": {{strings.Repeat("é", 256), 1}, {"x", 1}},
		"51 results":       {{"a", 30}, {"b", 21}},
	} {
		if _, err := c.SearchBatch(b); tool.CodeOf(err) != tool.CodeInvalidInput {
			t.Errorf("%s: got %v, want an input error", name, err)
		}
	}
	if _, err := c.SearchBatch(catalog.Batch{{strings.Repeat("é", 256), 50}}); err != nil {
		t.Errorf("a batch at every bound was refused: %v", err)
	}
}

func TestFingerprint(t *testing.T) {
	a, b := newTool(tool.MCP, "s", "a", "A"), newTool(tool.MCP, "s", "b", "B")
	one := catalog.Fingerprint([]*tool.Tool{a, b})
	if catalog.Fingerprint([]*tool.Tool{b, a}) != one {
		t.Error("order changes the fingerprint")
	}
	changed := *b
	changed.Description = "C"
	if catalog.Fingerprint([]*tool.Tool{a, &changed}) == one {
		t.Error("another description has the same fingerprint")
	}
	changed = *b
	changed.Revision = "2"
	if catalog.Fingerprint([]*tool.Tool{a, &changed}) == one {
		t.Error("another revision has the same fingerprint")
	}
}
