package tool_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/toolsearch/toolsearch/tool"
)

// What a definition must be for clients is said by MCP's schema of Tool,
// ToolAnnotations and Icon.
func TestParseMCPTool(t *testing.T) {
	deep := strings.Repeat("[", 100) + strings.Repeat("]", 100)
	const whole = `{"name":"a","title":"A","description":"\ud83d\ude00","inputSchema":[1],"outputSchema":5,` +
		`"annotations":{"title":"T","readOnlyHint":true,"x":1},"icons":[{"src":"s","mimeType":"m","sizes":["1x1"],"theme":"dark"}],` +
		`"execution":{"taskSupport":"optional"},"_meta":{"a":1},"x":[1.0, 1e3]}`
	for raw, want := range map[string]string{
		whole:                           whole,
		`{"name":"a","name":"bank__b"}`: `{"name":"bank__b"}`,
		`{"name":"a","Name":"b","DESCRIPTION":"c","ıcons":[]}`: `{"name":"a","ıcons":[]}`,
		`{"description":5,"title":null,"name":"a"}`:            `{"name":"a"}`,
		`{"name":5}`:                         `{}`,
		`{"annotations":"x","_meta":[]}`:     `{}`,
		`{"annotations":{"readOnlyHint":1}}`: `{"annotations":{}}`,
		`{"annotations":{"readOnlyHint":true,"ReadOnlyHint":false,"title":1,"x":2}}`: `{"annotations":{"readOnlyHint":true,"x":2}}`,
		`{"icons":{}}`:                                  `{}`,
		`{"icons":[{}]}`:                                `{}`,
		`{"icons":[{"src":"a","src":1}]}`:               `{}`,
		`{"icons":[{"src":"a","theme":"blue"}]}`:        `{}`,
		`{"icons":[{"src":"a","sizes":"1x1"}]}`:         `{}`,
		`{"execution":{"taskSupport":"maybe"}}`:         `{}`,
		`{"execution":[]}`:                              `{}`,
		`{"x":1e999,"y":-1e999,"z":1e-999}`:             `{"z":1e-999}`,
		`{"description":"\ud800"}`:                      `{}`,
		`{"description":"\udc00\ud800"}`:                `{}`,
		`{"description":"\\ud800 \ud83d\ude00"}`:        `{"description":"\\ud800 \ud83d\ude00"}`,
		`{"x":` + deep + `,"inputSchema":` + deep + `}`: `{"inputSchema":` + deep + `}`,
		"{\"x\":\"\xff\"}":                              `{}`,
		`{"x\ud800":1}`:                                 `{}`,
	} {
		got, err := tool.ParseMCPTool(json.RawMessage(raw))
		if err != nil || string(got) != want {
			t.Errorf("%s\ngot  %s, %v\nwant %s", raw, got, err, want)
		}
	}
	if _, err := tool.ParseMCPTool(json.RawMessage(`[]`)); err == nil {
		t.Error("a list is a tool")
	}
}

func TestObjectSchema(t *testing.T) {
	const any = `{"type":"object"}`
	deep := `{"type":"object","x":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`
	for raw, want := range map[string]string{
		` {"type":"object", "properties":{"a":{"type":"string"}},"required":["a"]}`: ` {"type":"object", "properties":{"a":{"type":"string"}},"required":["a"]}`,
		`false`: any, `[1]`: any, `"x"`: any, `null`: any, deep: any, `{"x":1e999}`: any, `{"x":"\ud800"}`: any,
		`{}`:                                   any,
		`{"type":["object","null"]}`:           any,
		`{"type":"object","type":"string"}`:    any,
		`{"type":"object","required":true}`:    any,
		`{"type":"object","required":["a",1]}`: any,
		`{"type":"object","properties":[1]}`:   `{"type":"object","properties":{}}`,
		`{"anyOf":[{"type":"object"}]}`:        `{"anyOf":[{"type":"object"}],"type":"object"}`,
		`{"type":"object","properties":{"a":5,"b":true,"c":false,"d":{"x":1}}}`: `{"type":"object","properties":{"a":{},"b":{},"c":{"not":{}},"d":{"x":1}}}`,
		`{"type":"object","properties":{"a":{},"a":{"x":1}}}`:                   `{"type":"object","properties":{"a":{"x":1}}}`,
	} {
		if got := string(tool.ObjectSchema(json.RawMessage(raw))); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", raw, got, want)
		}
	}
}

func TestModelSchema(t *testing.T) {
	for raw, want := range map[string]string{
		`{"type":"object","properties":{"a.b-C_1":{"anyOf":[{}]}},"additionalProperties":false}`: `{"type":"object","properties":{"a.b-C_1":{"anyOf":[{}]}},"additionalProperties":false}`,
		`{"type":"object","oneOf":[{}],"allOf":[{}],"enum":[{}],"not":{},"x":1}`:                 `{"type":"object","x":1}`,
		`{"anyOf":[{"type":"object"}]}`: `{"type":"object"}`,
		`{"type":"object","properties":{"a b":{},"":{},"c":{},"` + strings.Repeat("x", 65) + `":{}},"required":["c","a b"]}`: `{"type":"object","properties":{"c":{}},"required":["c"]}`,
		`{"type":"object","properties":{"$x":{}}}`: `{"type":"object","properties":{}}`,
	} {
		if got := string(tool.ModelSchema(json.RawMessage(raw))); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", raw, got, want)
		}
	}
}

func FuzzParseMCPTool(f *testing.F) {
	for _, seed := range []string{
		`{"name":"a","Name":"b","description":5,"annotations":{"readOnlyHint":"x"}}`, `{"icons":[{"src":"\ud800"}],"inputSchema":{"type":1,"properties":{"a":5}}}`, `{"x":1e999}`, `[]`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		raw := json.RawMessage(text)
		if !json.Valid(raw) {
			return
		}
		once, err := tool.ParseMCPTool(raw)
		if err != nil {
			return
		}
		var typed struct {
			Title, Description string
			Annotations        tool.Annotations
			Meta               map[string]json.RawMessage `json:"_meta"`
		}
		if err := json.Unmarshal(once, &typed); err != nil {
			t.Errorf("%s leaves %s: %v", text, once, err)
		}
		if again, err := tool.ParseMCPTool(once); err != nil || string(again) != string(once) {
			t.Errorf("%s leaves %s, and of that %s, %v", text, once, again, err)
		}
		if schema := tool.ModelSchema(raw); string(tool.ModelSchema(schema)) != string(schema) {
			t.Errorf("%s for a model is %s", text, schema)
		}
		schema := tool.ObjectSchema(raw)
		var object struct {
			Type       string
			Properties map[string]map[string]json.RawMessage
			Required   []string
		}
		if err := json.Unmarshal(schema, &object); err != nil || string(tool.ObjectSchema(schema)) != string(schema) {
			t.Errorf("%s as a schema is %s: %v", text, schema, err)
		}
	})
}
