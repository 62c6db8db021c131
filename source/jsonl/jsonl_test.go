package jsonl_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/toolsearch/toolsearch/source/jsonl"
	"github.com/toolsearch/toolsearch/tool"
)

func load(t *testing.T, text string, o jsonl.Options) ([]*tool.Tool, []jsonl.Problem) {
	t.Helper()
	tools, problems, err := jsonl.Load(t.Context(), strings.NewReader(text), o)
	if err != nil {
		t.Fatal(err)
	}
	return tools, problems
}

func TestLoad(t *testing.T) {
	const schema = `{"type": "object",  "properties":{"b":{},"a":{"const":9007199254740993}}}`
	tools, problems := load(t, `{"id":"gh:create","name":"create","description":"Create \"it\"\n","source":"mcp","server":"gh","parameters":`+schema+`,"outputSchema":{"type":"string"},"label":"Create","unknown":[1,2]}`+"\n", jsonl.Options{})
	if len(tools) != 1 || len(problems) != 0 {
		t.Fatalf("%d tools, problems %v", len(tools), problems)
	}
	got := tools[0]
	for _, c := range []struct{ what, got, want string }{
		{"id", string(got.ID), "gh:create"}, {"name", got.Name, "create"}, {"owner", got.Owner, "gh"}, {"label", got.Label, "Create"},
		{"description", got.Description, "Create \"it\"\n"}, {"source", string(got.Source), "mcp"},
		{"schema, byte for byte", string(got.Input.JSON()), schema}, {"output", string(got.Output.JSON()), `{"type":"string"}`},
	} {
		if c.got != c.want {
			t.Errorf("%s is %q, want %q", c.what, c.got, c.want)
		}
	}
	if got.Invoker != nil || got.SchemaTrusted() || got.Revision == "" {
		t.Errorf("invoker %v, trusted %v, revision %q", got.Invoker, got.SchemaTrusted(), got.Revision)
	}
}

func TestTrustSchemas(t *testing.T) {
	line := `{"id":"a","name":"a","source":"client","server":"","parameters":{}}`
	tools, _ := load(t, line, jsonl.Options{TrustSchemas: true})
	if !tools[0].SchemaTrusted() {
		t.Error("the schema is not trusted")
	}
}

func TestRevision(t *testing.T) {
	line := `{"id":"a","name":"a","source":"mcp","server":"s","parameters":{"x":1}}`
	one, _ := load(t, line, jsonl.Options{})
	two, _ := load(t, line, jsonl.Options{})
	other, _ := load(t, strings.Replace(line, `"x":1`, `"x":2`, 1), jsonl.Options{})
	if one[0].Revision != two[0].Revision || one[0].Revision == other[0].Revision {
		t.Errorf("revisions %q, %q of equal lines, %q of another", one[0].Revision, two[0].Revision, other[0].Revision)
	}
}

// TestBadLines: each bad line is reported with its number, and the good ones
// around it load.
func TestBadLines(t *testing.T) {
	for _, tt := range []struct{ line, want string }{
		{`{"id":"x","name":"x"`, "expected ',' or '}'"},
		{`not json`, "expected a JSON object"},
		{`[1,2]`, "expected a JSON object"},
		{`{"id":"x","name":"x"} trailing`, "text after the object"},
		{`{"id":"x","name":5}`, `member "name": expected a string`},
		{`{"id":"x"}`, `no "name"`},
		{`{"id":"x","name":"x","source":"moon"}`, `"moon" is none of`},
		{`{"id":"x","name":"x","parameters":{"a":tru}}`, "expected true"},
		{`{"id":"x","name":"x","parameters":{"a":01}}`, "expected ',' or '}'"},
		{`{"id":"x","name":"x","parameters":{"a":"\q"}}`, "unknown escape"},
		{`{"id":"x","name":"x","parameters":"a string"}`, "expected a JSON Schema"},
		{`{"id":"x","name":"x","parameters":` + strings.Repeat("[", 2000) + strings.Repeat("]", 2000) + `}`, "nested deeper"},
		{`{"id":"` + strings.Repeat("x", 2000) + `","name":"x"}`, "2000 bytes; at most"},
		{`{"id":"first","name":"again"}`, `tool "first": duplicate id`},
	} {
		text := `{"id":"first","name":"first"}` + "\n\n" + tt.line + "\n" + `{"id":"last","name":"last"}`
		tools, problems := load(t, text, jsonl.Options{})
		if len(tools) != 2 || tools[0].Name != "first" || tools[1].Name != "last" {
			t.Errorf("%.60s: %d tools load", tt.line, len(tools))
		}
		if len(problems) != 1 || problems[0].Line != 3 || !strings.Contains(problems[0].Error(), "line 3: ") || !strings.Contains(problems[0].Error(), tt.want) {
			t.Errorf("%.60s: problems %v, want one on line 3 with %q", tt.line, problems, tt.want)
		}
	}
}

func TestDuplicate(t *testing.T) {
	_, problems := load(t, "{\"id\":\"a\",\"name\":\"a\"}\n{\"id\":\"a\",\"name\":\"b\"}", jsonl.Options{})
	if len(problems) != 1 || !errors.Is(problems[0], jsonl.ErrDuplicate) {
		t.Errorf("problems %v, want ErrDuplicate", problems)
	}
}

// TestHostileText: invalid UTF-8 is replaced, control and invisible characters
// go, from names and descriptions alike.
func TestHostileText(t *testing.T) {
	text := "{\"id\":\"i\u200bd\",\"name\":\"na\u202eme\",\"description\":\"a\\u0000b\\u001b[31m\xff\ue000c\U000e0041\",\"parameters\":{\"x\":\"\xfe\"}}"
	tools, problems := load(t, text, jsonl.Options{})
	if len(problems) != 0 {
		t.Fatal(problems)
	}
	got := tools[0]
	if got.ID != "id" || got.Name != "name" || got.Description != "ab[31m\ufffd\ue000c" {
		t.Errorf("id %q, name %q, description %q", got.ID, got.Name, got.Description)
	}
	if !json.Valid(got.Input.JSON()) || !strings.Contains(string(got.Input.JSON()), "\ufffd") {
		t.Errorf("schema %q", got.Input.JSON())
	}
}

func TestHugeDescription(t *testing.T) {
	huge := strings.Repeat("word ", 2<<20) // 10 MB
	tools, problems := load(t, `{"id":"a","name":"a","description":"`+huge+`"}`, jsonl.Options{})
	if len(problems) != 0 || len(tools) != 1 || tools[0].Description != huge {
		t.Errorf("%d tools, problems %v", len(tools), problems)
	}
}

func TestManyProblems(t *testing.T) {
	_, problems := load(t, strings.Repeat("x\n", 5*jsonl.MaxProblems), jsonl.Options{})
	if len(problems) != jsonl.MaxProblems || !strings.Contains(problems[len(problems)-1].Error(), "4000 more lines") {
		t.Errorf("%d problems, the last %v", len(problems), problems[len(problems)-1])
	}
}

func TestLoadFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "tools.jsonl")
	if err := os.WriteFile(path, []byte("\xEF\xBB\xBF{\"id\":\"a\",\"name\":\"a\"}\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	tools, problems, err := jsonl.LoadFile(t.Context(), path, jsonl.Options{})
	if err != nil || len(tools) != 1 || len(problems) != 0 {
		t.Errorf("%d tools, problems %v, error %v", len(tools), problems, err)
	}
	for _, bad := range []string{dir, filepath.Join(dir, "none")} {
		if _, _, err := jsonl.LoadFile(t.Context(), bad, jsonl.Options{}); err == nil || !strings.Contains(err.Error(), bad) {
			t.Errorf("%s: error %v, want one that names it", bad, err)
		}
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := jsonl.LoadFile(cancelled, path, jsonl.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("after cancellation: %v", err)
	}
}

// FuzzLoad: any bytes; it agrees with encoding/json on what is JSON.
func FuzzLoad(f *testing.F) {
	for _, s := range []string{
		`{"id":"a","name":"a","parameters":{"x":[1,-2.5e+3,true,false,null,"\u00e9\n"]}}`,
		`{"name":"\ud800"}`, `{"name":"a",}`, `{"a":1}{"b":2}`, "{}\n{}", `{"name":"\x"}`, "\xff", `{"name":"a","parameters":{"a":-}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		line = bytes.ReplaceAll(line, []byte("\n"), []byte(" "))
		tools, problems, err := jsonl.Load(t.Context(), bytes.NewReader(line), jsonl.Options{})
		if err != nil {
			t.Fatal(err)
		}
		blank := len(bytes.TrimSpace(line)) == 0
		if blank && len(tools)+len(problems) > 0 || !blank && len(tools)+len(problems) != 1 && !bytes.HasPrefix(line, []byte("\xEF\xBB\xBF")) {
			t.Fatalf("%q: %d tools, %v", line, len(tools), problems)
		}
		if len(tools) == 1 && !json.Valid(bytes.TrimPrefix(line, []byte("\xEF\xBB\xBF"))) {
			t.Errorf("%q is not JSON, and loads", line)
		}
		for _, tl := range tools {
			if !json.Valid(tl.Input.JSON()) {
				t.Errorf("schema %q", tl.Input.JSON())
			}
		}
	})
}

// BenchmarkLoad compares with a decoder that builds a struct of each line.
func BenchmarkLoad(b *testing.B) {
	dir := os.Getenv("TOOLSEARCH_SHARED")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared")
	}
	raw, err := os.ReadFile(filepath.Join(dir, "toolsets", "cat-npm-mcp", "catalog.jsonl"))
	if err != nil {
		b.Skipf("the catalog is not there (set TOOLSEARCH_SHARED): %v", err)
	}
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		if _, problems, err := jsonl.Load(b.Context(), bytes.NewReader(raw), jsonl.Options{}); err != nil || len(problems) > 0 {
			b.Fatal(problems, err)
		}
	}
	per := b.Elapsed() / time.Duration(b.N)
	start := time.Now()
	lines := bufio.NewScanner(bytes.NewReader(raw))
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var line struct {
			ID, Name, Description, Source, Server string
			Parameters                            json.RawMessage
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(time.Since(start))/float64(per), "encoding-json/load")
}
