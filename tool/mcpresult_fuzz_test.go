package tool_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/toolsearch/toolsearch/tool"
)

// Whatever a server answers is refused, or reads the same for every reader: what
// is passed on is read to the same result again, without a change, and a reader
// that does not look at case finds in it what the fields say.
func FuzzParseMCPResult(f *testing.F) {
	for _, seed := range []string{
		`{"content":[{"type":"text","text":"a"}],"isError":true}`, `{"content":[],"CONTENT":[{"type":"text","text":"b"}]}`,
		`{"content":[{"TYPE":"text","type":"image","data":"x","i\u017fError":1}],"structuredContent":{"a":1,"A":2}}`,
		`{"content":[{"type":"resource","resource":{"uri":"u","TEXT":"b","text":"a"}}],"i\u017fError":true}`,
		`{"content":null,"structuredContent":null}`, `[]`, `{"content":[1]}`, `{"isError":"x"}`, ` { "content" : [ ] } `, `{"content":[{"type":"te\u0078t"}],"content":[]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		r, err := tool.ParseMCPResult(raw)
		if err != nil {
			return
		}
		if !json.Valid(r.Raw) {
			t.Fatalf("%q became %q, which is not valid", raw, r.Raw)
		}
		again, err := tool.ParseMCPResult(r.Raw)
		if err != nil || !bytes.Equal(again.Raw, r.Raw) || again.IsError != r.IsError || !bytes.Equal(again.Details, r.Details) || len(again.Content) != len(r.Content) {
			t.Fatalf("%q is read as %+v, and that as %+v, %v", raw, r, again, err)
		}
		// encoding/json takes names in any case, and the last of several.
		var body struct {
			Content []struct {
				Type string `json:"type"`
			} `json:"content"`
			IsError bool `json:"isError"`
		}
		if err := json.Unmarshal(r.Raw, &body); err != nil {
			t.Fatalf("%q: %v", r.Raw, err)
		}
		if body.IsError != r.IsError || len(body.Content) != len(r.Content) {
			t.Fatalf("another reader takes %q for %+v, and we for %+v", r.Raw, body, r)
		}
		for i, c := range r.Content {
			if body.Content[i].Type != c.Type {
				t.Fatalf("block %d of %q is a %q for another reader, and a %q for us", i, r.Raw, body.Content[i].Type, c.Type)
			}
		}
	})
}
