package provider_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/toolsearch/toolsearch/provider"
)

func TestArgsOf(t *testing.T) {
	deep := `{"a":1}`
	for range 5 { // more than are taken off
		raw, err := json.Marshal(deep)
		if err != nil {
			t.Fatal(err)
		}
		deep = string(raw)
	}
	for _, tt := range []struct{ text, want string }{
		{`{"a":9007199254740993}`, `{"a":9007199254740993}`},
		{" \n{} ", `{}`},
		{``, `{}`}, {`null`, `{}`}, {`""`, `{}`}, {`"null"`, `{}`},
		{`"{\"a\":1}"`, `{"a":1}`},
		{`"\"{\\\"a\\\":1}\""`, `{"a":1}`},
		{`{"a":`, `"{\"a\":"`},
		{`"null,`, `"\"null,"`}, // a string that was cut is not one
		{`[1]`, `"[1]"`},
	} {
		if got := string(provider.ArgsOf(tt.text)); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.text, got, tt.want)
		}
	}
	var kept string
	if err := json.Unmarshal(provider.ArgsOf(deep), &kept); err != nil || kept != deep {
		t.Errorf("too deep: %q, %v", kept, err)
	}
}

func TestNewID(t *testing.T) {
	a, b := provider.NewID("call_"), provider.NewID("call_")
	if a == b || len(a) != len("call_")+24 || !strings.HasPrefix(a, "call_") {
		t.Errorf("%s, %s", a, b)
	}
}
