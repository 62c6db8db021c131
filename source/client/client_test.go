package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/toolsearch/toolsearch/call"
	"github.com/toolsearch/toolsearch/source/client"
	"github.com/toolsearch/toolsearch/tool"
)

func TestTools(t *testing.T) {
	const params = `{"type":"object","properties":{"b":{},"a":{"const":9007199254740993}}}`
	tools, err := client.Tools([]client.Def{
		{Name: "pick_file", Description: "Ask the user for a file", Parameters: json.RawMessage(" " + params + "\n")},
		{Name: "now"}, {Name: "later", Parameters: json.RawMessage("null")},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	first := tools[0]
	if first.ID != "client:client:pick_file" || first.Source != tool.Client || first.Owner != "client" || first.SchemaTrusted() || first.Mode != tool.Cataloged {
		t.Errorf("got %+v", first)
	}
	if got := string(first.Input.JSON()); got != params {
		t.Errorf("the parameters became %s", got)
	}
	for _, other := range tools[1:] {
		if !json.Valid(other.Input.JSON()) || !strings.Contains(string(other.Input.JSON()), `"object"`) {
			t.Errorf("%s has the parameters %s", other.ID, other.Input.JSON())
		}
	}
}

// Everything of a definition is in the revision, and moving bytes from one part
// to another changes it.
func TestRevision(t *testing.T) {
	seen := map[string]int{}
	for i, d := range []client.Def{
		{Name: "a"}, {Name: "ab"}, {Name: "a", Description: "b"}, {Name: "a", Description: "bc"},
		{Name: "ab", Description: "c"}, {Name: "a", Parameters: json.RawMessage(`{"x":1}`)}, {Name: "a", Parameters: json.RawMessage(`{"x":2}`)},
	} {
		tools, err := client.Tools([]client.Def{d, d}, nil)
		if err != nil {
			t.Fatal(err)
		}
		r := tools[0].Revision
		if other, twice := seen[r]; twice || r == "" {
			t.Errorf("definitions %d and %d have the revision %q", i, other, r)
		}
		if seen[r] = i; tools[1].Revision != r {
			t.Errorf("definition %d has two revisions", i)
		}
	}
}

func TestToolsRefused(t *testing.T) {
	many := make([]client.Def, client.MaxTools+1)
	for i := range many {
		many[i].Name = fmt.Sprint("t", i)
	}
	large := []client.Def{{Name: "a", Description: strings.Repeat("x", client.MaxBytes/2)}, {Name: "b", Description: strings.Repeat("x", client.MaxBytes/2)}}
	tests := []struct {
		name string
		defs []client.Def
		says string
	}{
		{"no name", []client.Def{{Name: "a"}, {}}, "tool 2: it has no name"},
		{"a long name", []client.Def{{Name: strings.Repeat("n", client.MaxName+1)}}, "rename"},
		{"an invisible character", []client.Def{{Name: "a\u200bb"}}, "rename"},
		{"an array of parameters", []client.Def{{Name: "a", Parameters: json.RawMessage(`[]`)}}, `parameters of "a"`},
		{"broken parameters", []client.Def{{Name: "a", Parameters: json.RawMessage(`{"x":`)}}, `parameters of "a"`},
		{"too many", many, "at most 10000"},
		{"too large", large, "more than 16777216 bytes"},
	}
	for _, tt := range tests {
		if _, err := client.Tools(tt.defs, nil); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: got %v, want %q", tt.name, err, tt.says)
		}
	}
	if _, err := client.Tools(many[1:], nil); err != nil {
		t.Errorf("%d tools: %v", client.MaxTools, err)
	}
}

// A call goes to the asker it was made for, else to that of its context, and
// else to nobody.
func TestAsk(t *testing.T) {
	asker := func(who string) client.Asker {
		return client.AskerFunc(func(_ context.Context, c client.Call) (*tool.Result, error) {
			return tool.TextResult(who + " " + c.Name + " " + string(c.Args)), nil
		})
	}
	defs := []client.Def{{Name: "pick"}}
	bound, err := client.Tools(defs, asker("bound"))
	if err != nil {
		t.Fatal(err)
	}
	free, err := client.Tools(defs, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := call.New()
	in := client.WithAsker(t.Context(), asker("context"))
	for _, tt := range []struct {
		ctx  context.Context
		tool *tool.Tool
		want string
	}{{in, bound[0], `bound pick {"x":1}`}, {in, free[0], `context pick {"x":1}`}} {
		res, err := p.Call(tt.ctx, call.Request{Target: tt.tool, Args: json.RawMessage(`{"x":1}`)})
		if err != nil || res.Text() != tt.want {
			t.Errorf("got %v, %v; want %s", res, err, tt.want)
		}
	}
	if _, err := p.Call(t.Context(), call.Request{Target: free[0]}); tool.CodeOf(err) != tool.CodeUnavailable {
		t.Errorf("without an asker: %v", err)
	}
}
