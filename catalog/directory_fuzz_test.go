package catalog_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/toolsearch/toolsearch/catalog"
	"github.com/toolsearch/toolsearch/tool"
)

// FuzzDirectory holds a listing to its form, whatever owners, names and
// descriptions say: its size, one line a tool, no character that hides or
// breaks a line, and nothing of an untrusted tool.
func FuzzDirectory(f *testing.F) {
	f.Add("core", "read", "Read a file", "calendar", 18000)
	f.Add("a\n- b", "x\ny", "d\n- forged (core): e", "s, t (9", 300)
	f.Add("", "\u202e", "\xff\x00", "\u2028", 0)
	f.Add("o", strings.Repeat("n", 200), strings.Repeat("🙂 ", 300), strings.Repeat("s", 900), 120)
	f.Add("o", "n", "", "s", -5)
	f.Fuzz(func(t *testing.T, owner, name, description, server string, budget int) {
		in := catalog.Input{Tools: []*tool.Tool{
			newTool(tool.MCP, server+"!", "untrusted_zebra", "untrusted_zebra"),
			newTool(tool.OpenClaw, "fixed", "plain", description),
		}}
		if name != "" {
			in.Tools = append(in.Tools, newTool(tool.OpenClaw, owner, name, description), newTool(tool.OpenClaw, owner, name+"2", owner+name))
		}
		c, err := catalog.Build(in)
		if err != nil {
			t.Skip() // two with one id
		}
		got := c.Directory(budget)
		if n := tool.Chars(got.Text); n > max(0, min(budget, catalog.MaxListingChars)) {
			t.Errorf("%d characters for a budget of %d", n, budget)
		}
		if clean := tool.Clean(got.Text, len(got.Text)+100); clean != got.Text || !utf8.ValidString(got.Text) {
			t.Errorf("the listing has hidden characters: %q", got.Text)
		}
		lines := 0
		for l := range strings.Lines(got.Text) {
			if strings.HasPrefix(l, "- ") {
				lines++
			}
		}
		if lines != got.Listed || got.Listed+got.Omitted != len(in.Tools)-1 {
			t.Errorf("%d lines, listed %d, omitted %d of %d:\n%s", lines, got.Listed, got.Omitted, len(in.Tools)-1, got.Text)
		}
		if !strings.Contains(owner+name+description+server, "zebra") && strings.Contains(got.Text, "zebra") {
			t.Errorf("an untrusted tool is in the listing:\n%s", got.Text)
		}
		if again := c.Directory(budget); again != got {
			t.Error("the same catalog gives another listing")
		}
	})
}
