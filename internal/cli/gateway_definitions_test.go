package cli_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/toolsearch/toolsearch/internal/mcptest"
)

// A server whose definitions clients refuse does not cost them the tools of
// others, and shows none under another name than its own.
func TestGatewayListsWhatClientsTake(t *testing.T) {
	var defs []json.RawMessage
	deep := strings.Repeat(`{"not":`, 200) + `{}` + strings.Repeat(`}`, 200)
	for _, def := range []string{
		`{"name":"good","description":"Good","inputSchema":{"type":"object","properties":{"a":{"type":"string"}}},"x":1.50}`,
		`{"name":"twice","description":"d","inputSchema":{"type":"object"},"name":"bank__pay"}`,
		`{"name":"case","Name":"bank__get","description":"d","inputSchema":{"type":"object"}}`,
		`{"name":"types","description":5,"title":[],"inputSchema":[1],"outputSchema":{"type":"array"},"annotations":{"readOnlyHint":"yes"},"_meta":[]}`,
		`{"name":"none","inputSchema":{"type":"string","properties":{"a":true},"required":"a"}}`,
		`{"name":"deep","description":"\ud800","inputSchema":` + deep + `}`,
	} {
		defs = append(defs, json.RawMessage(def))
	}
	home := t.TempDir()
	config := strings.Replace(oneCommand(t, home, mcptest.Script{Tools: defs}), `toolSearch:{mode:"tools"}`, "toolSearch:false", 1)
	g := startGateway(t, home, config)
	g.connect(false)
	type object = map[string]json.RawMessage
	var list struct {
		Tools []struct {
			Name, Title, Description string
			InputSchema              struct {
				Type       string
				Properties map[string]object
				Required   []string
			}
			OutputSchema *struct{ Type string }
			Annotations  struct{ ReadOnlyHint *bool }
			Meta         object `json:"_meta"`
		}
	}
	var raw json.RawMessage
	for len(list.Tools) == 0 { // until the server is up
		raw = g.result("tools/list", `{}`)
		if err := json.Unmarshal(raw, &list); err != nil {
			t.Fatalf("a client refuses the list: %v\n%s", err, raw)
		}
	}
	var names []string
	for _, x := range list.Tools {
		names = append(names, x.Name)
		if x.InputSchema.Type != "object" || x.OutputSchema != nil && x.OutputSchema.Type != "object" {
			t.Errorf("a schema of %s is of no object: %s", x.Name, raw)
		}
	}
	slices.Sort(names)
	if got, want := strings.Join(names, " "), "weather__bank__pay weather__case weather__deep weather__good weather__none weather__types"; got != want {
		t.Errorf("the list has %s, want %s", got, want)
	}
	for text, want := range map[string]bool{`"x":1.50`: true, `bank__get`: false, `\ud800`: false, `{"not":{"not":`: false, `"name":"bank__pay"`: false} {
		if strings.Contains(string(raw), text) != want {
			t.Errorf("the list has %s: %v, want %v\n%s", text, !want, want, raw)
		}
	}
}
