package surface_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/toolsearch/toolsearch/surface"
	"github.com/toolsearch/toolsearch/tool"
)

// Arguments of very many fields are put together in a time in proportion to
// their number, whatever shape the model gave them: in one that grows with its
// square this test takes minutes.
func TestCallWithVeryManyFields(t *testing.T) {
	const many = 150_000
	s := newSurface(t, echo(tool.MCP, "s", "take", `{"type":"object"}`))
	for name, c := range map[string]struct{ prefix, before, after string }{
		"flattened": {"", "{", "}"},
		"dotted":    {"args.", "{", "}"},
		"deeper":    {"input.a.b.", `{"a":{"b":{`, "}}}"},
	} {
		var fields, want strings.Builder
		for i := range many {
			fmt.Fprintf(&fields, `,"%sf%d":%d`, c.prefix, i, i)
			fmt.Fprintf(&want, `,"f%d":%d`, i, i)
		}
		res := control(t, s, surface.ToolCall, `{"id":"take"`+fields.String()+`}`)
		var got struct {
			Result struct{ Details json.RawMessage }
		}
		if err := json.Unmarshal(res.Details, &got); err != nil {
			t.Fatal(err)
		}
		if string(got.Result.Details) != c.before+want.String()[1:]+c.after {
			t.Errorf("%s: the tool got %.100s… (%d bytes), want every field in its place", name, got.Result.Details, len(got.Result.Details))
		}
		// One that stands twice is found among the many.
		twice := fmt.Sprintf(`{"id":"take"%s,"arguments.f%d":1}`, strings.ReplaceAll(fields.String(), `"input.a.b.`, `"args.`), many/2)
		if res := control(t, s, surface.ToolCall, twice); !res.IsError || !strings.Contains(res.Text(), "given twice") {
			t.Errorf("%s, and one twice: %.200s", name, res.Text())
		}
	}
}
