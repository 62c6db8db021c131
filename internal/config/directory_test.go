package config_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/toolsearch/toolsearch/internal/config"
)

func TestDirectoryBlock(t *testing.T) {
	for _, c := range []struct {
		global, agent string
		required      []string
		likely        bool
	}{
		{`{mode: "directory"}`, `{}`, nil, false},
		{`{mode: "directory", directory: {required: ["read", "mcp:cal:add"], likely: true}}`, `{}`, []string{"read", "mcp:cal:add"}, true},
		{`{directory: {required: ["read"], likely: true}}`, `{directory: {required: []}}`, nil, true},
		{`{directory: {required: ["read"], likely: true}}`, `{directory: {likely: false}}`, []string{"read"}, false},
		{`{directory: {required: ["1", "2", "3", "4", "5", "6", "7", "8"]}}`, `{}`, []string{"1", "2", "3", "4", "5", "6", "7", "8"}, false},
	} {
		got := load(t, `{tools: {toolSearch: `+c.global+`}, agents: {list: [{id: "ann", tools: {toolSearch: `+c.agent+`}}]}}`)
		d := got.ToolSearchFor("ann").Directory
		if !slices.Equal(d.Required, c.required) || d.Likely != c.likely || !got.ToolSearchFor("ann").Enabled || len(got.Warnings) > 0 {
			t.Errorf("%s under %s: %+v, warnings %v", c.agent, c.global, d, got.Warnings)
		}
	}
}

// Any key besides enabled turns search on, an empty block too.
func TestDirectoryBlockTurnsSearchOn(t *testing.T) {
	if ts := load(t, `{tools: {toolSearch: {directory: {}}}}`).Tools.ToolSearch; !ts.Enabled || ts.Mode != config.ModeCode {
		t.Errorf("%+v", ts)
	}
}

func TestDirectoryBlockFaults(t *testing.T) {
	for text, want := range map[string]string{
		`{required: "read"}`: "tools.toolSearch.directory.required: expected an array, found a string",
		`{required: [1]}`:    "tools.toolSearch.directory.required[0]: expected a string, found a number",
		`{required: [""]}`:   "tools.toolSearch.directory.required[0]: the id or name is empty",
		`{likely: 1}`:        "tools.toolSearch.directory.likely: expected true or false, found a number",
		`{require: []}`:      "did you mean required?",
		`{required: ["1","2","3","4","5","6","7","8","9"]}`: "9 tools are listed, 8 are possible",
		`true`: "tools.toolSearch.directory: expected an object, found a boolean",
	} {
		_, err := config.Parse("/etc/t.json5", []byte(`{tools: {toolSearch: {directory: `+text+`}}}`))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
