package schema_test

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/toolsearch/toolsearch/schema"
)

// realSchemas returns the input schemas of a real catalog, or skips.
func realSchemas(tb testing.TB) [][]byte {
	tb.Helper()
	shared := os.Getenv("TOOLSEARCH_SHARED")
	if shared == "" {
		shared = filepath.Join("..", "..", "shared")
	}
	f, err := os.Open(filepath.Join(shared, "toolsets", "cat-npm-mcp", "catalog.jsonl"))
	if err != nil {
		tb.Skipf("the evaluation toolsets are not here (%v); set TOOLSEARCH_SHARED", err)
	}
	defer f.Close()
	var out [][]byte
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var line struct{ Parameters json.RawMessage }
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			tb.Fatal(err)
		}
		out = append(out, line.Parameters)
	}
	if err := lines.Err(); err != nil {
		tb.Fatal(err)
	}
	return out
}

// TestRealSchemas runs every schema of 6,636 published tools through the
// package.
func TestRealSchemas(t *testing.T) {
	all := realSchemas(t)
	compiled, unknown, wordless := 0, 0, 0
	for i, raw := range all {
		sig := schema.Input(raw)
		if sig == schema.Unknown {
			unknown++
		}
		checkSignature(t, sig, schema.MaxInputSignature)
		names, descriptions := schema.Text(raw)
		if len(names) > schema.MaxNamesText || len(descriptions) > schema.MaxDescriptionsText {
			t.Errorf("schema %d: %d bytes of names, %d of descriptions", i, len(names), len(descriptions))
		}
		if names == "" {
			wordless++
		}
		if _, err := schema.Compile(raw); err != nil {
			t.Logf("schema %d does not compile: %v", i, err)
		} else {
			compiled++
		}
	}
	t.Logf("%d schemas: %d compile, %d signatures are unknown, %d have no property", len(all), compiled, unknown, wordless)
	if len(all)-compiled > len(all)/200 {
		t.Errorf("only %d of %d compile", compiled, len(all))
	}
}
