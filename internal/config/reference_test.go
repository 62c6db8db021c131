package config_test

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolsearch/toolsearch/internal/config"
)

var update = flag.Bool("update", false, "write docs/configuration.md")

// docs/configuration.md is what the code says.
func TestReference(t *testing.T) {
	file := filepath.Join("..", "..", "docs", "configuration.md")
	got := config.Reference()
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		t.Skipf("%s is not there to compare", file)
	}
	if err != nil {
		t.Fatal(err)
	}
	if got != strings.ReplaceAll(string(want), "\r\n", "\n") {
		t.Errorf("%s is out of date; run: go test ./internal/config -run TestReference -update", file)
	}
}

// The contract's table of defaults and bounds stands in the reference, and so do
// the keys of policies and servers.
func TestReferenceRows(t *testing.T) {
	ref := config.Reference()
	for _, row := range []string{
		"| `mode` | string | `code` | `code`, `tools`, `directory`, `auto` |",
		"| `codeTimeoutMs` | integer | 10000 | 1000–60000 |",
		"| `maxSearchLimit` | integer | 20 | 1–50 |",
		"| `searchDefaultLimit` | integer | 8 | 1–`maxSearchLimit` |",
		"| `startTimeoutMs` | integer | 30000 | 100–3600000 |",
		"| `callTimeoutMs` | integer | 60000 | 100–3600000 |",
		"| `sandbox.tools` | object |", "| `subagents.tools` | object |", "| `byProvider` | object |", "| `trustSchemas` | boolean | `false` |",
	} {
		if !strings.Contains(ref, row) {
			t.Errorf("the reference lacks %s", row)
		}
	}
	for i, line := range strings.Split(ref, "\n") {
		if strings.HasPrefix(line, "|") && strings.Count(line, "|") != 6 {
			t.Errorf("line %d: a row with %d cells: %s", i+1, strings.Count(line, "|")-1, line)
		}
	}
}

// The example in the reference is a valid configuration.
func TestReferenceExample(t *testing.T) {
	_, rest, ok := strings.Cut(config.Reference(), "```json5\n")
	example, _, closed := strings.Cut(rest, "```")
	if !ok || !closed {
		t.Fatal("the reference has no example")
	}
	c := load(t, example)
	if len(c.Warnings) > 0 || len(c.MCP.Servers) != 2 || c.Tools.ToolSearch.Mode != config.ModeTools {
		t.Errorf("%+v", c)
	}
}
