package anthropic

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/toolsearch/toolsearch/tool"
)

// FuzzSplit holds the splitting of valid JSON to encoding/json; on anything else
// it must only end.
func FuzzSplit(f *testing.F) {
	for _, seed := range []string{
		`{}`, `[]`, ` { "a" : 1 , "b\u00e9\\" : [ "x]\"" , {} ] } `, `{"":{"":[[]]},"a":"\\\"","a":-1e5}`, "[1 ,\ttrue,null ,\"\xff\"]",
		`"\ud800"`, `"a`, `{"a"`, `{"a":`, `{"a":1`, `[1`, `"\`, `{,}`, `[}`, `12`, ``,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		object, err := readObject(raw)
		items, isArray := readArray(raw)
		s, isString := readString(raw)
		if !json.Valid(raw) {
			return
		}
		want, wantErr := tool.ReadObject(raw)
		if (err == nil) != (wantErr == nil) || len(object) != len(want) {
			t.Fatalf("object: %v %v, want %v %v", object, err, want, wantErr)
		}
		for i, m := range want {
			if object[i].Name != m.Name || !bytes.Equal(object[i].Value, m.Value) {
				t.Fatalf("member %d: %q %s, want %q %s", i, object[i].Name, object[i].Value, m.Name, m.Value)
			}
		}
		var array []json.RawMessage
		if ok := first(raw) == '[' && json.Unmarshal(raw, &array) == nil; ok != isArray || len(array) != len(items) {
			t.Fatalf("array: %s, want %s", items, array)
		}
		for i, item := range array {
			if !bytes.Equal(items[i], item) {
				t.Fatalf("item %d: %s, want %s", i, items[i], item)
			}
		}
		var text string
		if ok := first(raw) == '"' && json.Unmarshal(raw, &text) == nil; ok != isString || isString && text != s {
			t.Fatalf("string: %q %v, want %q", s, isString, text)
		}
	})
}
