package catalog_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/toolsearch/toolsearch/catalog"
	"github.com/toolsearch/toolsearch/rank"
	"github.com/toolsearch/toolsearch/tool"
)

// BenchmarkSearchSignatures compares a search whose hits have their signatures
// from the catalog with one that reads the schemas of the hits again.
func BenchmarkSearchSignatures(b *testing.B) {
	properties := map[string]map[string]string{}
	for i := range 12 {
		properties[fmt.Sprintf("field_%d", i)] = map[string]string{"type": "string", "description": strings.Repeat("what it is for ", 6)}
	}
	raw, err := json.Marshal(map[string]any{"type": "object", "properties": properties})
	if err != nil {
		b.Fatal(err)
	}
	var tools []*tool.Tool
	for i := range 300 {
		t := newTool(tool.OpenClaw, fmt.Sprintf("plugin%d", i/50), fmt.Sprintf("update_invoice_%d", i), "Update the invoice of a customer")
		t.Input = tool.RawSchema(raw)
		tools = append(tools, t)
	}
	c, err := catalog.Build(catalog.Input{Tools: tools})
	if err != nil {
		b.Fatal(err)
	}
	query := rank.Query{Text: "update the invoice of a customer", Limit: 8}
	var kept, read time.Duration
	for b.Loop() {
		began := time.Now()
		found := c.Search(query)
		middle := time.Now()
		for range found.Hits {
			_ = catalog.Entry(tools[0])
		}
		kept += middle.Sub(began)
		read += time.Since(middle)
	}
	b.ReportMetric(float64(kept+read)/float64(kept), "times-faster")
}
