// Package surface is what a model sees and says in each mode: the controls,
// their texts and schemas, the reading of their arguments, and the shape of
// their answers.
package surface

import (
	"embed"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/toolsearch/toolsearch/catalog"
	"github.com/toolsearch/toolsearch/tool"
)

// Names of the controls.
const (
	ToolSearch     = "tool_search"
	ToolDescribe   = "tool_describe"
	ToolCall       = "tool_call"
	ToolSearchCode = "tool_search_code"
)

// IsControl reports whether name belongs to a control. No other tool may bear it.
func IsControl(name string) bool {
	switch name {
	case ToolSearch, ToolDescribe, ToolCall, ToolSearchCode:
		return true
	}
	return false
}

// MaxDescription is the most bytes of a control's description: clients cut
// longer ones.
const MaxDescription = 2048

//go:embed *.md
var texts embed.FS

// text returns an embedded prompt text without its final newline.
func text(name string) string {
	b, err := texts.ReadFile(name)
	if err != nil { // embedded at build time; a test reads each
		panic(fmt.Sprintf("surface: %v", err))
	}
	return strings.TrimSpace(string(b))
}

// Definition is a model-visible tool in the words every API shares.
type Definition struct {
	Name        string
	Title       string
	Description string
	Parameters  json.RawMessage
	ReadOnly    bool
}

// tool_search takes a query or a batch; none is required, so that a batch
// alone is valid. The handler asks for one of them.
const searchParameters = `{"type":"object","properties":{` +
	`"query":{"type":"string","description":"What the tool should do, in a few words"},` +
	`"limit":{"type":"integer","minimum":1,"description":"Most results (default %d, at most %d)"},` +
	`"queries":{"type":"array","maxItems":16,"description":"Several searches at once","items":{"type":"object","properties":{` +
	`"query":{"type":"string","maxLength":512},"limit":{"type":"integer","minimum":1}},"required":["query"]}}}}`

const describeParameters = `{"type":"object","properties":{` +
	`"id":{"type":"string","description":"The tool's id, from a search result"}},"required":["id"]}`

const callParameters = `{"type":"object","properties":{` +
	`"id":{"type":"string","description":"The tool's id, from a search result"},` +
	`"args":{"type":"object","description":"The tool's arguments"},` +
	`"page":{"type":"string","description":"Instead of id: the handle of a result that was cut"},` +
	`"offset":{"type":"integer","minimum":0,"description":"With page: where to read on"}}}`

// Controls are the definitions of a mode's controls, in the order a model sees
// them. Equal modes and limits give equal bytes.
func Controls(m Mode, limits catalog.Limits) []Definition {
	var out []Definition
	for _, name := range ControlNames(m) {
		d := define(name, limits)
		if m == Directory && name == ToolSearch {
			d.Description = text("tool_search_directory.md")
		}
		out = append(out, d)
	}
	return out
}

func define(name string, limits catalog.Limits) Definition {
	d := Definition{Name: name, Description: text(name + ".md")}
	switch name {
	case ToolSearch:
		d.Title, d.ReadOnly = "Search tools", true
		d.Parameters = fmt.Appendf(nil, searchParameters, limits.Default, limits.Max)
	case ToolDescribe:
		d.Title, d.ReadOnly = "Describe a tool", true
		d.Parameters = json.RawMessage(describeParameters)
	case ToolCall:
		d.Title = "Call a tool"
		d.Parameters = json.RawMessage(callParameters)
	case ToolSearchCode:
		d.Title = "Find and run tools with code"
		d.Parameters = json.RawMessage(codeParameters)
	}
	return d
}

// Direct is the definition of a tool that the model sees itself, under the
// given wire name.
func Direct(t *tool.Tool, wire string) Definition {
	return Definition{
		Name:        wire,
		Title:       t.Label,
		Description: t.Description,
		Parameters:  t.Input.JSON(),
		ReadOnly:    t.Annotations.ReadOnly != nil && *t.Annotations.ReadOnly,
	}
}

// Size is the bytes of the definition as a model API would be sent it: an
// object with name, description and parameters, without spaces between tokens.
func (d Definition) Size() int {
	head, err := tool.Encode(struct {
		Name        string `json:"name"`
		Description string `json:"description"`
	}{d.Name, d.Description})
	if err != nil { // strings always marshal
		return len(d.Name) + len(d.Description) + len(d.Parameters)
	}
	if d.Parameters == nil {
		return len(head) + len(`,"parameters":null`)
	}
	return len(head) + len(`,"parameters":`) + compactLen(d.Parameters)
}

// compactLen is the length of JSON text without the spaces between its tokens.
// Thousands of schemas are measured at once, so nothing is parsed or copied.
func compactLen(raw []byte) int {
	n, quoted := 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case quoted && c == '\\':
			i++
			n++
		case c == '"':
			quoted = !quoted
		case !quoted && (c == ' ' || c == '\n' || c == '\t' || c == '\r'):
			continue
		}
		n++
	}
	return n
}
