package json5_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsearch/toolsearch/internal/json5"
)

type manifest struct {
	ID     string            `json:"id"`
	Limit  *int              `json:"limit"`
	Small  uint8             `json:"small"`
	Ratio  float64           `json:"ratio"`
	On     bool              `json:"on"`
	Env    map[string]string `json:"env"`
	Tools  []entry           `json:"tools"`
	Hidden string            `json:"-"`
}

type entry struct {
	Name   string          `json:"name"`
	Schema json.RawMessage `json:"parameters"`
}

func decode(src string, v any) error {
	d, err := json5.Parse([]byte(src))
	if err != nil {
		return err
	}
	return d.Decode(v)
}

func TestDecode(t *testing.T) {
	var got manifest
	err := decode(`{
		id: 'crm', limit: 0x10, small: 255, ratio: .5, on: true, env: {__proto__: 'x', B: "y"},
		tools: [{name: 'a', parameters: {big: 12345678901234567890, z: [1,], a: +1}}, {name: 'b'}],
	}`, &got)
	if err != nil {
		t.Fatal(err)
	}
	limit := 16
	want := manifest{ID: "crm", Limit: &limit, Small: 255, Ratio: 0.5, On: true, Env: map[string]string{"__proto__": "x", "B": "y"},
		Tools: []entry{{"a", json.RawMessage(`{"big":12345678901234567890,"z":[1],"a":1}`)}, {Name: "b"}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestDecodeFaults(t *testing.T) {
	src := "{\n  id: 1,\n  limit: 1.5,\n  small: 256,\n  ratio: 'x',\n  on: null,\n  env: [],\n  tools: [{nmae: 'a'}, 2],\n  id: 'b',\n  Hidden: 'h',\n}"
	err := decode(src, &manifest{})
	want := []string{
		"9:3: id: the key stands twice, first at 2:3; remove one of them",
		"2:7: id: expected a string, found number",
		"3:10: limit: expected an integer",
		"4:10: small: the number does not fit",
		"5:10: ratio: expected a number, found string",
		"6:7: on: expected true or false, found null",
		"7:8: env: expected an object, found array",
		"8:12: tools[0].nmae: unknown key; did you mean name?",
		"8:24: tools[1]: expected an object, found number",
		"10:3: Hidden: unknown key; known here: id, limit, small, ratio, on, env, tools",
	}
	if err == nil {
		t.Fatal("no error")
	}
	if diff := cmp.Diff(want, strings.Split(err.Error(), "\n")); diff != "" {
		t.Error(diff)
	}
}

func TestDecodeTarget(t *testing.T) {
	if err := decode("1", 5); err == nil {
		t.Error("a target that is no pointer was accepted")
	}
	var c chan int
	if err := decode("1", &c); err == nil {
		t.Error("a channel was decoded")
	}
}

func TestNearest(t *testing.T) {
	names := []string{"enabled", "mode", "codeTimeoutMs", "maxSearchLimit", "allow", "deny", "id"}
	for _, c := range []struct{ in, want string }{
		{"enable", "enabled"}, {"mod", "mode"}, {"mdoe", "mode"}, {"codetimeoutms", "codeTimeoutMs"}, {"code_timeout_ms", "codeTimeoutMs"},
		{"max-search-limits", "maxSearchLimit"}, {"alow", "allow"}, {"dney", "deny"}, {"di", ""}, {"web", ""}, {"gateway", ""},
		{strings.Repeat("x", 100_000), ""},
	} {
		if got := json5.Nearest(c.in, names); got != c.want {
			t.Errorf("Nearest(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}
