package approval_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/toolsearch/toolsearch/approval"
	"github.com/toolsearch/toolsearch/call"
)

// exactly reads JSON with numbers as they are written, so that two texts may
// share an approval if and only if what it returns is equal; ok is false for what
// it cannot judge: repeated names and broken characters.
func exactly(raw []byte) (v any, ok bool) {
	if !json.Valid(raw) || !utf8.Valid(raw) || bytes.Contains(raw, []byte(`\u`)) || bytes.Contains(raw, []byte("\uFFFD")) {
		return nil, false
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if dec.Decode(&v) != nil || dec.More() {
		return nil, false
	}
	if again, err := json.Marshal(v); err != nil || members(again) != members(raw) {
		return nil, false // a name stood twice
	}
	return v, true
}

// members counts the colons outside of strings.
func members(raw []byte) (n int) {
	in := false
	for i := 0; i < len(raw); i++ {
		switch {
		case in && raw[i] == '\\':
			i++
		case raw[i] == '"':
			in = !in
		case !in && raw[i] == ':':
			n++
		}
	}
	return n
}

// An approval of the arguments a is good for the arguments b if and only if they
// are the same value.
func FuzzDigestBinds(f *testing.F) {
	f.Add(`{"a":1,"b":[2,3]}`, `{ "b":[2, 3], "a":1 }`)
	f.Add(`{"n":9007199254740993}`, `{"n":9007199254740992}`)
	f.Add(`{"a":"x"}`, `{"a":"x "}`)
	f.Add(`{"a":{"b":1}}`, `{"a":{"b":null}}`)
	f.Add(`{"a":[1,2]}`, `{"a":[2,1]}`)
	f.Add(`{"a":-0}`, `{"a":0}`)
	f.Add(`{"a":"1"}`, `{"a":1}`)
	f.Add(`{"a":"/\\"}`, `{"a":"\/\\"}`)
	f.Add(`{"a<":[{},[],true,false,null]}`, `{"a<" : [ {}, [ ], true , false,null ] }`)
	target, ran := execTool()
	f.Fuzz(func(t *testing.T, a, b string) {
		va, ok := exactly([]byte(a))
		if !ok {
			return
		}
		vb, ok := exactly([]byte(b))
		if !ok {
			return
		}
		store := &approval.Memory{}
		g := newGate(t, approval.Options{Store: store, Routes: []approval.Route{approval.Elsewhere{}}})
		if va == nil || vb == nil {
			return // null means {}
		}
		_ = do(g, target, a, call.Origin{})
		r := only(t, store, approval.Pending)
		if ok, err := store.Change(t.Context(), r.ID, approval.Change{From: approval.Pending, To: approval.Approved, At: time.Now()}); !ok || err != nil {
			t.Fatal(ok, err)
		}
		before := ran.Load()
		_ = do(g, target, b, call.Origin{})
		if got, want := ran.Load() > before, reflect.DeepEqual(va, vb); got != want {
			t.Errorf("approved %s, called %s: ran %v, want %v", a, b, got, want)
		}
	})
}

// Arguments that would be expensive to sort are refused, not sorted.
func TestDeepArguments(t *testing.T) {
	target, ran := execTool()
	g := newGate(t, approval.Options{Routes: []approval.Route{&answers{Decision: approval.Decision{Answer: approval.Allow}}}})
	nested := func(n int) string {
		return strings.Repeat(`{"b":[],"a":`, n) + "1" + strings.Repeat("}", n)
	}
	if err := do(g, target, nested(127), call.Origin{}); err != nil {
		t.Error(err)
	}
	blocked(t, do(g, target, nested(129), call.Origin{}), "nested deeper")
	blocked(t, do(g, target, strings.Repeat("[", 9000)+strings.Repeat("]", 9000), call.Origin{}), "nested deeper")
	blocked(t, do(g, target, `{"a":`, call.Origin{}), "not valid JSON")
	if ran.Load() != 1 {
		t.Errorf("ran %d times", ran.Load())
	}
}

// What decoding would damage is not taken for something else.
func TestBrokenCharactersBind(t *testing.T) {
	texts := []string{`{"a":"\ud800"}`, `{"a":"\udbff"}`, `{"a":"\ufffd"}`, "{\"a\":\"\xff\"}", "{\"a\":\"\xfe\"}", `{"\ud800":1}`, `{"\ud801":1}`, `{"a":1,"a":2}`, `{"a":2,"a":1}`}
	seen := map[string]string{}
	for _, text := range texts {
		route := &answers{}
		target, _ := execTool()
		blocked(t, do(newGate(t, approval.Options{Routes: []approval.Route{route}}), target, text, call.Origin{}), "denied it")
		digest := route.last.Load().Digest
		if other, ok := seen[digest]; ok {
			t.Errorf("%s and %s have one digest", text, other)
		}
		seen[digest] = text
	}
}
