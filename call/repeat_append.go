package call

import (
	"fmt"
	"strings"

	"github.com/toolsearch/toolsearch/tool"
)

// AppendText returns the result with one more text block at the end. The result
// itself stays as it is, and so do all the other members of an MCP result.
func AppendText(res *tool.Result, text string) (*tool.Result, error) {
	out := *res
	out.Content = append(append(make([]tool.Content, 0, len(res.Content)+1), res.Content...), tool.Text(text))
	if err := rewriteRaw(&out); err != nil {
		return nil, err
	}
	return &out, nil
}

// rewriteRaw brings the raw form of a changed result in line with its fields, so
// that what passes results through whole passes the change through.
func rewriteRaw(res *tool.Result) error {
	if res.Raw == nil {
		return nil
	}
	members, err := tool.ReadObject(res.Raw)
	if err != nil {
		return fmt.Errorf("rewrite a result: %w", err)
	}
	content := res.Content
	if content == nil {
		content = []tool.Content{}
	}
	blocks, err := tool.Encode(content)
	if err != nil {
		return fmt.Errorf("rewrite a result: %w", err)
	}
	kept := make(tool.Object, 0, len(members)+1)
	for _, m := range members {
		if !isResultField(m.Name) {
			kept = append(kept, m)
		}
	}
	kept = append(kept, tool.Member{Name: "content", Value: blocks})
	if len(res.Details) > 0 {
		kept = append(kept, tool.Member{Name: "structuredContent", Value: res.Details})
	}
	if res.IsError {
		kept = append(kept, tool.Member{Name: "isError", Value: []byte("true")})
	}
	raw, err := kept.MarshalJSON()
	if err != nil {
		return fmt.Errorf("rewrite a result: %w", err)
	}
	res.Raw = raw
	return nil
}

// isResultField reports whether a result keeps the member in a field. Case does
// not count: that is how the fields were read.
func isResultField(name string) bool {
	return strings.EqualFold(name, "content") || strings.EqualFold(name, "structuredContent") || strings.EqualFold(name, "isError")
}
