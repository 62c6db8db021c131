package tool_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"github.com/toolsearch/toolsearch/tool"
)

// FuzzSplit holds the splitting of valid JSON to encoding/json; on anything else
// it must only end.
func FuzzSplit(f *testing.F) {
	for _, seed := range []string{
		`{}`, `[]`, ` { "a" : 1 , "b\u00e9\\" : [ "x]\"" , {} ] } `, `{"":{"":[[]]},"a":"\\\"","a":-1e5}`, "[1 ,\ttrue,null ,\"\xff\"]",
		`"\ud800"`, `"a`, `"ab`, "\"a\nb\"", `{"a"`, `{"a":`, `{"a":1`, `[1`, `"\`, `{,}`, `[}`, `12`, ``,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		object, err := tool.SplitObject(raw)
		items, isArray := tool.SplitArray(raw)
		s, isString := tool.ReadString(raw)
		if !json.Valid(raw) {
			if isString {
				t.Fatalf("%q is read as the string %q", raw, s)
			}
			return
		}
		want, wantErr := decodeObject(raw)
		if (err == nil) != (wantErr == nil) || len(object) != len(want) {
			t.Fatalf("object: %v %v, want %v %v", object, err, want, wantErr)
		}
		for i, m := range want {
			if object[i].Name != m.Name || !bytes.Equal(object[i].Value, m.Value) {
				t.Fatalf("member %d: %q %s, want %q %s", i, object[i].Name, object[i].Value, m.Name, m.Value)
			}
		}
		var array []json.RawMessage
		if ok := kind(raw) == '[' && json.Unmarshal(raw, &array) == nil; ok != isArray || len(array) != len(items) {
			t.Fatalf("array: %s, want %s", items, array)
		}
		var joined []json.RawMessage
		if isArray && (json.Unmarshal(tool.JoinArray(items), &joined) != nil || len(joined) != len(items)) {
			t.Fatalf("joined: %s", tool.JoinArray(items))
		}
		for i, item := range array {
			if !bytes.Equal(items[i], item) {
				t.Fatalf("item %d: %s, want %s", i, items[i], item)
			}
		}
		var text string
		if ok := kind(raw) == '"' && json.Unmarshal(raw, &text) == nil; ok != isString || isString && text != s {
			t.Fatalf("string: %q %v, want %q", s, isString, text)
		}
	})
}

// kind is the first byte of a value.
func kind(raw []byte) byte {
	if raw = bytes.TrimLeft(raw, " \t\r\n"); len(raw) > 0 {
		return raw[0]
	}
	return 0
}

// decodeObject splits an object by encoding/json's tokens.
func decodeObject(raw []byte) (tool.Object, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.New("no object")
	}
	out := tool.Object{}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, err
		}
		m := tool.Member{Name: name.(string)}
		if err := dec.Decode(&m.Value); err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	return out, nil
}
