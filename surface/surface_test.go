package surface_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsearch/toolsearch/call"
	"github.com/toolsearch/toolsearch/catalog"
	"github.com/toolsearch/toolsearch/schema"
	"github.com/toolsearch/toolsearch/surface"
	"github.com/toolsearch/toolsearch/tool"
)

// echo makes a tool that answers with the arguments it got.
func echo(source tool.Source, owner, name, parameters string) *tool.Tool {
	return &tool.Tool{
		ID: tool.NewID(source, owner, name), Source: source, Owner: owner, Name: name,
		Description: "Echo " + name, Input: tool.RawSchema(parameters),
		Invoker: tool.InvokerFunc(func(_ context.Context, c tool.Call) (*tool.Result, error) {
			return &tool.Result{Content: []tool.Content{tool.Text(string(c.Args))}, Details: c.Args}, nil
		}),
	}
}

func newSurface(t *testing.T, tools ...*tool.Tool) *surface.Surface {
	t.Helper()
	return newObserved(t, nil, tools...)
}

func newObserved(t *testing.T, o surface.Observer, tools ...*tool.Tool) *surface.Surface {
	t.Helper()
	c, err := catalog.Build(catalog.Input{Tools: tools})
	if err != nil {
		t.Fatal(err)
	}
	names, err := surface.NewNames(c.Direct(), surface.MCPNameLimit)
	if err != nil {
		t.Fatal(err)
	}
	view := &surface.View{Mode: surface.Tools, Catalog: c, Direct: names}
	schemas := schema.NewCache(64)
	s, err := surface.New(surface.Config{
		Limits:   catalog.Limits{Default: 8, Max: 20},
		View:     func() *surface.View { return view },
		Pipeline: call.New(call.ValidateOutput(schemas), call.ValidateInput(schemas)),
		Schemas:  schemas,
		Observer: o,
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func control(t *testing.T, s *surface.Surface, name, args string) *tool.Result {
	t.Helper()
	res, err := s.Call(t.Context(), name, surface.Request{Args: json.RawMessage(args)})
	if err != nil {
		t.Fatalf("%s(%s): %v", name, args, err)
	}
	return res
}

func TestCallArgumentShapes(t *testing.T) {
	city := echo(tool.MCP, "weather", "forecast", `{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"}},"additionalProperties":false}`)
	person := echo(tool.MCP, "crm", "get_person", `{"type":"object","properties":{"id":{"type":"string"},"name":{"type":"string"}},"additionalProperties":false}`)
	input := echo(tool.MCP, "text", "shout", `{"type":"object","properties":{"input":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"],"additionalProperties":false}},"required":["input"],"additionalProperties":false}`)
	loose := echo(tool.MCP, "text", "loose", `{"type":"object","properties":{"input":{"type":"object"}}}`)
	nested := echo(tool.MCP, "geo", "locate", `{"type":"object","properties":{"address":{"type":"object","properties":{"city":{"type":"string"}}}}}`)
	argsField := echo(tool.MCP, "os", "spawn", `{"type":"object","properties":{"args":{"type":"array"}},"required":["args"]}`)
	s := newSurface(t, city, person, input, loose, nested, argsField)

	const ambiguous = "nest under args"
	tests := []struct {
		name string
		args string
		want string // the target's arguments, or ambiguous
	}{
		{"object", `{"id":"mcp:weather:forecast","args":{"city":"Oslo"}}`, `{"city":"Oslo"}`},
		{"no arguments", `{"id":"mcp:weather:forecast"}`, `{}`},
		{"null", `{"id":"mcp:weather:forecast","args":null}`, `{}`},
		{"JSON text", `{"id":"mcp:weather:forecast","args":"{\"city\":\"Oslo\"}"}`, `{"city":"Oslo"}`},
		{"empty text", `{"id":"mcp:weather:forecast","args":""}`, `{}`},
		{"alias input", `{"id":"mcp:weather:forecast","input":{"city":"Oslo"}}`, `{"city":"Oslo"}`},
		{"alias arguments", `{"id":"mcp:weather:forecast","arguments":{"city":"Oslo"}}`, `{"city":"Oslo"}`},
		{"alias parameters as text", `{"id":"mcp:weather:forecast","parameters":"{\"city\":\"Oslo\"}"}`, `{"city":"Oslo"}`},
		{"dotted", `{"id":"mcp:weather:forecast","args.city":"Oslo","args.days":3}`, `{"city":"Oslo","days":3}`},
		{"dotted, nested", `{"id":"mcp:geo:locate","args.address.city":"Oslo"}`, `{"address":{"city":"Oslo"}}`},
		{"flattened", `{"id":"mcp:weather:forecast","city":"Oslo","days":3}`, `{"city":"Oslo","days":3}`},
		{"empty args beside flattened", `{"id":"mcp:weather:forecast","args":{},"city":"Oslo"}`, `{"city":"Oslo"}`},
		{"by name", `{"name":"forecast","args":{"city":"Oslo"}}`, `{"city":"Oslo"}`},
		{"name repeats the tool", `{"id":"mcp:weather:forecast","name":"forecast","args":{"city":"Oslo"}}`, `{"city":"Oslo"}`},
		{"big integer", `{"id":"mcp:weather:forecast","args":{"days":9007199254740993}}`, `{"days":9007199254740993}`},
		{"own id and name", `{"id":"mcp:crm:get_person","args":{"id":"7","name":"Ada"}}`, `{"id":"7","name":"Ada"}`},
		{"own name flattened", `{"id":"mcp:crm:get_person","name":"Ada"}`, `{"name":"Ada"}`},
		{"own field called input", `{"id":"mcp:text:shout","input":{"text":"hi"}}`, `{"input":{"text":"hi"}}`},
		{"own field called input, as alias", `{"id":"mcp:text:shout","input":{"input":{"text":"hi"}}}`, `{"input":{"text":"hi"}}`},
		{"own field called args", `{"id":"mcp:os:spawn","args":["a"]}`, `{"args":["a"]}`},

		{"input may be both", `{"id":"mcp:text:loose","input":{"a":1}}`, ambiguous},
		{"args beside other fields", `{"id":"mcp:weather:forecast","args":{"city":"Oslo"},"days":3}`, ambiguous},
		{"two readings of id", `{"id":"7","name":"get_person"}`, ambiguous},
		{"given twice", `{"id":"mcp:weather:forecast","city":"Oslo","args.city":"Bergen"}`, ambiguous},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			res := control(t, s, surface.ToolCall, tt.args)
			if tt.want == ambiguous {
				if !res.IsError || !strings.Contains(res.Text(), ambiguous) {
					t.Fatalf("got %s, want an error that says %q", res.Text(), ambiguous)
				}
				return
			}
			var envelope struct{ Result json.RawMessage }
			if err := json.Unmarshal([]byte(res.Content[0].Text()), &envelope); err != nil || res.IsError {
				t.Fatalf("got %s (%v)", res.Text(), err)
			}
			if got := string(envelope.Result); got != tt.want {
				t.Errorf("the target got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestCallRefusals(t *testing.T) {
	s := newSurface(t,
		echo(tool.MCP, "a", "same", `{"type":"object"}`),
		echo(tool.MCP, "b", "same", `{"type":"object"}`),
		echo(tool.OpenClaw, "p", "strict", `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}`),
		echo(tool.OpenClaw, "p", "broken", `{"type":"nonsense"}`),
		&tool.Tool{ID: "mcp:a:offline", Source: tool.MCP, Owner: "a", Name: "offline", Input: tool.RawSchema(`{}`)},
	)
	tests := []struct {
		name, args string
		code       tool.Code
		says       string
	}{
		{"unknown", `{"id":"mcp:a:smae"}`, tool.CodeUnknownTool, "mcp:a:same"},
		{"two of one name", `{"id":"same"}`, tool.CodeAmbiguous, "mcp:b:same"},
		{"no id", `{"args":{}}`, tool.CodeInvalidInput, "id is missing"},
		{"id of a wrong type", `{"id":7}`, tool.CodeInvalidInput, "id must be a non-empty string"},
		{"not an object", `[1]`, tool.CodeInvalidInput, "JSON object"},
		{"args of a wrong type", `{"id":"mcp:a:same","args":[1]}`, tool.CodeInvalidInput, "args must be an object"},
		{"a member twice", `{"id":"mcp:a:same","id":"mcp:b:same"}`, tool.CodeInvalidInput, "stands twice"},
		{"invalid arguments", `{"id":"openclaw:p:strict","args":{"n":"one"}}`, tool.CodeInvalidArgs, `"required":["n"]`},
		{"a schema that does not compile", `{"id":"openclaw:p:broken","args":{}}`, tool.CodeBadSchema, "schema does not compile"},
		{"no server", `{"id":"mcp:a:offline","args":{}}`, tool.CodeUnavailable, "no server"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			res := control(t, s, surface.ToolCall, tt.args)
			var refusal struct{ Code tool.Code }
			if err := json.Unmarshal([]byte(res.Text()), &refusal); err != nil || !res.IsError {
				t.Fatalf("got %s, want a refusal", res.Text())
			}
			if refusal.Code != tt.code || !strings.Contains(res.Text(), tt.says) {
				t.Errorf("got %s, want code %s and %q in it", res.Text(), tt.code, tt.says)
			}
		})
	}
}

// An answer to wrong arguments must carry the schema as an object, so that one
// retry suffices.
func TestInvalidArgumentsCarryTheSchema(t *testing.T) {
	const parameters = `{"type":"object","properties":{"days":{"type":"integer","minimum":1}},"required":["days"]}`
	s := newSurface(t, echo(tool.MCP, "weather", "forecast", parameters))
	res := control(t, s, surface.ToolCall, `{"id":"mcp:weather:forecast","args":{"days":"three"}}`)
	var answer struct {
		Details struct {
			Problems   []struct{ Pointer, Constraint string }
			Parameters json.RawMessage
		}
	}
	if err := json.Unmarshal([]byte(res.Text()), &answer); err != nil {
		t.Fatal(err)
	}
	if string(answer.Details.Parameters) != parameters {
		t.Errorf("parameters are %s, want the schema as it was declared", answer.Details.Parameters)
	}
	if p := answer.Details.Problems; len(p) != 1 || p[0].Pointer != "/days" || p[0].Constraint != "type" {
		t.Errorf("problems are %+v, want one of type at /days", p)
	}
}

func TestEnvelopeKeepsBlocks(t *testing.T) {
	image := tool.Content{Type: "image", Raw: json.RawMessage(`{"type":"image","data":"AAEC","mimeType":"image/png","x-unknown":9007199254740993}`)}
	novel := tool.Content{Type: "hologram", Raw: json.RawMessage(`{"type":"hologram","v":1}`)}
	shot := &tool.Tool{
		ID: "mcp:cam:shot", Source: tool.MCP, Owner: "cam", Name: "shot", Input: tool.RawSchema(`{}`),
		Invoker: tool.InvokerFunc(func(context.Context, tool.Call) (*tool.Result, error) {
			return &tool.Result{Content: []tool.Content{tool.Text("done"), image, novel}, IsError: true}, nil
		}),
	}
	res := control(t, newSurface(t, shot), surface.ToolCall, `{"id":"shot"}`)
	if !res.IsError {
		t.Error("isError was lost")
	}
	if len(res.Content) != 3 {
		t.Fatalf("got %d blocks, want the text and two more", len(res.Content))
	}
	want := `{"tool":{"id":"mcp:cam:shot","name":"shot","source":"mcp"},"result":"done"}`
	if got := res.Content[0].Text(); got != want {
		t.Errorf("text is %s, want %s", got, want)
	}
	if d := cmp.Diff([]tool.Content{image, novel}, res.Content[1:]); d != "" {
		t.Errorf("blocks changed (-want +got):\n%s", d)
	}
	var envelope struct {
		Tool   catalog.Hit
		Result struct{ Content []json.RawMessage }
	}
	if err := json.Unmarshal(res.Details, &envelope); err != nil {
		t.Fatal(err)
	}
	if envelope.Tool.ID != "mcp:cam:shot" || len(envelope.Result.Content) != 3 {
		t.Errorf("details are %s", res.Details)
	}
}

// What a server says both as text and as structured content is read once.
func TestResultsAreReadOnce(t *testing.T) {
	const text = "line 1\nline \"2\" – é"
	encoded, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ text, details, want string }{
		"text alone":              {text, ``, string(encoded)},
		"a JSON copy":             {`{"n": 1}`, `{"n":1}`, `{"n":1}`},
		"the one member":          {text, `{"content":` + string(encoded) + `}`, string(encoded)},
		"in other escapes":        {"é", `{"content":"\u00e9"}`, `"é"`},
		"one of several":          {text, `{"path":"a","content":` + string(encoded) + `}`, `{"path":"a","content":` + string(encoded) + `}`},
		"a summary":               {"2 files", `{"files":["a","b"]}`, `{"text":"2 files","details":{"files":["a","b"]}}`},
		"a part of a member":      {"line", `{"content":"line 1"}`, `{"text":"line","details":{"content":"line 1"}}`},
		"a member further inside": {"a", `{"x":{"content":"a"}}`, `{"text":"a","details":{"x":{"content":"a"}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			read := &tool.Tool{
				ID: "mcp:files:read", Source: tool.MCP, Owner: "files", Name: "read", Input: tool.RawSchema(`{}`),
				Invoker: tool.InvokerFunc(func(context.Context, tool.Call) (*tool.Result, error) {
					return &tool.Result{Content: []tool.Content{tool.Text(c.text)}, Details: json.RawMessage(c.details)}, nil
				}),
			}
			var got, want struct{ Result any }
			shown := control(t, newSurface(t, read), surface.ToolCall, `{"id":"read"}`).Content[0].Text()
			if err := json.Unmarshal([]byte(shown), &got); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal([]byte(`{"result":`+c.want+`}`), &want); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("the model reads %s (-want +got):\n%s", shown, d)
			}
		})
	}
}

func TestSearchArguments(t *testing.T) {
	var tools []*tool.Tool
	for i := range 30 {
		tools = append(tools, echo(tool.MCP, "s", fmt.Sprintf("convert_%02d", i), `{}`))
	}
	s := newSurface(t, tools...)
	hits := func(args string) int {
		t.Helper()
		res := control(t, s, surface.ToolSearch, args)
		var list []json.RawMessage
		if err := json.Unmarshal([]byte(res.Content[0].Text()), &list); err != nil || res.IsError {
			t.Fatalf("%s: %s", args, res.Text())
		}
		return len(list)
	}
	for args, want := range map[string]int{
		`{"query":"convert"}`:              8,
		`{"query":"convert","limit":3}`:    3,
		`{"query":"convert","limit":3.0}`:  3,
		`{"query":"convert","limit":500}`:  20,
		`{"query":"convert","limit":null}`: 8,
		`{"query":""}`:                     0,
		`{"query":"the and with"}`:         0,
		`{"query":"zeppelin"}`:             0,
	} {
		if got := hits(args); got != want {
			t.Errorf("%s found %d, want %d", args, got, want)
		}
	}
	for _, args := range []string{
		`{}`, `{"query":5}`, `{"query":"x","limit":0}`, `{"query":"x","limit":-1}`, `{"query":"x","limit":1.5}`,
		`{"query":"x","limit":"3"}`, `{"queries":[]}`, `{"queries":[{}]}`, `{"queries":"x"}`, `{"queries":[{"query":"x","limit":0}]}`,
	} {
		res := control(t, s, surface.ToolSearch, args)
		if !res.IsError || !strings.Contains(res.Text(), string(tool.CodeInvalidInput)) {
			t.Errorf("%s gave %s, want an input error", args, res.Text())
		}
	}
}

func TestDescriptionsFitTheirBudget(t *testing.T) {
	s := newSurface(t, echo(tool.MCP, "s", "t", `{}`))
	visible := s.Visible()
	if len(visible) != 3 {
		t.Fatalf("mode tools shows %d tools, want 3", len(visible))
	}
	for _, v := range visible {
		if n := len(v.Description); n == 0 || n > surface.MaxDescription {
			t.Errorf("the description of %s has %d bytes, want 1 to %d", v.Name, n, surface.MaxDescription)
		}
		if !json.Valid(v.Parameters) {
			t.Errorf("the parameters of %s are not JSON: %s", v.Name, v.Parameters)
		}
	}
}

func TestHiddenToolByExactName(t *testing.T) {
	s := newSurface(t, echo(tool.MCP, "weather", "forecast", `{"type":"object"}`))
	res, err := s.Call(t.Context(), "forecast", surface.Request{Args: json.RawMessage(`{"city":"Oslo"}`)})
	if err != nil {
		t.Fatal(err)
	}
	if res.Text() != `{"city":"Oslo"}` {
		t.Errorf("got %s, want the target's own result", res.Text())
	}
	if _, err := s.Call(t.Context(), "nothing_like_it", surface.Request{}); tool.CodeOf(err) != tool.CodeUnknownTool {
		t.Errorf("got %v, want an unknown tool", err)
	}
	for _, name := range []string{"tool_serch", "toolsearch", "tool-search"} {
		if _, err := s.Call(t.Context(), name, surface.Request{}); tool.CodeOf(err) != tool.CodeUnknownTool || !strings.Contains(err.Error(), "Did you mean tool_search?") {
			t.Errorf("%s: got %v, want tool_search to be named", name, err)
		}
	}
}
