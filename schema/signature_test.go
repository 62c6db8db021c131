package schema_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/toolsearch/toolsearch/schema"
)

// properties returns the "properties" of n strings named by format.
func properties(n int, format string) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%q:{\"type\":\"string\"}", fmt.Sprintf(format, i))
	}
	return `"properties":{` + b.String() + `}`
}

// TestContractTable holds the rows of the contract's table of signatures.
func TestContractTable(t *testing.T) {
	const invoices = `{"type":"array","items":{"type":"object","additionalProperties":false,"required":["id","paid"],
		"properties":{"id":{"type":"string"},"paid":{"type":"boolean"}}}}`
	inputs := []struct{ name, schema, want string }{
		{"required string and optional enum",
			`{"type":"object","required":["id"],"properties":{"id":{"type":"string"},"mode":{"enum":["drip","flood"]}}}`,
			`{ id: string; mode?: "drip" | "flood" }`},
		{"no properties, closed", `{"type":"object","additionalProperties":false}`, `{}`},
		{"required without properties, open", `{"type":"object","required":["a"]}`, `{ ... }`},
		{"nullable string", `{"type":["string","null"]}`, `string | null`},
		{"nullable string, OpenAPI", `{"type":"string","nullable":true}`, `string | null`},
		{"nullable string, union", `{"anyOf":[{"type":"string"},{"type":"null"}]}`, `string | null`},
	}
	for _, c := range inputs {
		if got := schema.Input([]byte(c.schema)); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
	if got, complete := schema.Output([]byte(invoices)); got != `Array<{ id: string; paid: boolean }>` || !complete {
		t.Errorf("closed objects in a list: got %s, complete %v", got, complete)
	}
	many := `{"type":"object","additionalProperties":false,` + properties(32, "p%02d") + `}`
	if got := schema.Input([]byte(many)); !strings.HasSuffix(got, `p15?: string; ... }`) {
		t.Errorf("32 properties: got %s", got)
	}
	if _, complete := schema.Output([]byte(many)); complete {
		t.Error("32 properties: the output must not be complete")
	}
}

func TestInput(t *testing.T) {
	object := func(body string) string { return `{"type":"object",` + body + `}` }
	enum := func(n int) string {
		values := make([]string, n)
		for i := range values {
			values[i] = fmt.Sprint(i)
		}
		return `{"enum":[` + strings.Join(values, ",") + `]}`
	}
	nested := func(levels int) string { // objects around a string, levels in all
		s := `{"type":"string"}`
		for range levels - 1 {
			s = `{"type":"object","properties":{"a":` + s + `}}`
		}
		return s
	}
	cases := []struct{ name, schema, want string }{
		{"string", `{"type":"string"}`, "string"},
		{"integer is number", `{"type":"integer"}`, "number"},
		{"number", `{"type":"number","minimum":1}`, "number"},
		{"boolean", `{"type":"boolean"}`, "boolean"},
		{"null", `{"type":"null"}`, "null"},
		{"unheard-of type", `{"type":"any"}`, "unknown"},
		{"empty schema", `{}`, "unknown"},
		{"true", `true`, "unknown"},
		{"false", `false`, "unknown"},
		{"annotations alone", `{"description":"x","title":"y"}`, "unknown"},

		{"order: required first, by bytes",
			object(`"required":["z","b"],"properties":{"a":{"type":"string"},"z":{"type":"string"},"b":{"type":"string"},"B":{"type":"string"}}`),
			`{ b: string; z: string; B?: string; a?: string }`},
		{"declared empty list", object(`"properties":{}`), `{}`},
		{"free-form object", `{"type":"object"}`, `{ ... }`},
		{"open by true", object(`"properties":{"a":{"type":"string"}},"additionalProperties":true`), `{ a?: string; ... }`},
		{"open by schema", object(`"properties":{"a":{"type":"string"}},"additionalProperties":{"type":"number"}`), `{ a?: string; ... }`},
		{"map", object(`"additionalProperties":{"type":"number"}`), `{ ... }`},
		{"closed", object(`"properties":{"a":{"type":"string"}},"additionalProperties":false`), `{ a?: string }`},
		{"required but not declared", object(`"required":["a","b"],"properties":{"a":{"type":"string"}}`), `{ a: string; ... }`},
		{"no type, properties", `{"properties":{"a":{"type":"string"}}}`, `{ a?: string }`},
		{"16 properties", object(properties(16, "p%02d") + `,"additionalProperties":false`),
			"{ p00?: string; p01?: string; p02?: string; p03?: string; p04?: string; p05?: string; p06?: string; p07?: string; " +
				"p08?: string; p09?: string; p10?: string; p11?: string; p12?: string; p13?: string; p14?: string; p15?: string }"},
		{"property schemas that are booleans", object(`"properties":{"a":true,"b":false}`), `{ a?: unknown; b?: unknown }`},

		{"name that is no identifier", object(`"properties":{"a-b":{"type":"string"},"1":{"type":"string"},"$ok_1":{"type":"string"},"":{"type":"string"}}`),
			`{ ""?: string; $ok_1?: string; "1"?: string; "a-b"?: string }`},
		{"name with a quote and a newline", object(`"properties":{"a\"\n\\":{"type":"string"}}`), `{ "a\"\n\\"?: string }`},
		{"name with invisible characters", object(`"properties":{"a\u202eb\u200b\ud840\udc00\udb40\udc41\u0007":{"type":"string"}}`),
			"{ \"a\\u202eb\\u200b\U00020000\\udb40\\udc41\\u0007\"?: string }"},
		{"name in another script", object(`"properties":{"名前":{"type":"string"}}`), `{ "名前"?: string }`},
		{"name of 128", object(`"properties":{"` + strings.Repeat("n", 128) + `":{"type":"string"}}`), "{ " + strings.Repeat("n", 128) + "?: string }"},
		{"name of 129", object(`"properties":{"` + strings.Repeat("n", 129) + `":{"type":"string"}}`), "{ ... }"},

		{"array", `{"type":"array","items":{"type":"string"}}`, "Array<string>"},
		{"array of anything", `{"type":"array"}`, "Array<unknown>"},
		{"array of a union", `{"type":"array","items":{"type":["string","number"]}}`, "Array<string | number>"},
		{"tuple, 2020-12", `{"type":"array","prefixItems":[{"type":"string"}],"items":false}`, "Array<unknown>"},
		{"tuple, draft-07", `{"type":"array","items":[{"type":"string"}]}`, "Array<unknown>"},

		{"const", `{"const":"a"}`, `"a"`},
		{"const number", `{"const":9007199254740993}`, `9007199254740993`},
		{"const null", `{"const":null}`, `null`},
		{"const object", `{"const":{}}`, `unknown`},
		{"const over 96", `{"const":"` + strings.Repeat("c", 95) + `"}`, `unknown`},
		{"const of 96", `{"const":"` + strings.Repeat("c", 94) + `"}`, `"` + strings.Repeat("c", 94) + `"`},
		{"mixed enum, null last", `{"enum":[null,1,true,"x"]}`, `1 | true | "x" | null`},
		{"enum with type", `{"type":"string","enum":["b","a"]}`, `"b" | "a"`},
		{"nullable enum", `{"type":"string","nullable":true,"enum":["b","a"]}`, `"b" | "a" | null`},
		{"enum of 8", enum(8), "0 | 1 | 2 | 3 | 4 | 5 | 6 | 7"},
		{"enum of 9", enum(9), "unknown"},
		{"empty enum", `{"enum":[]}`, "unknown"},
		{"enum literal that hides", `{"enum":["a\u200bb"]}`, `"a\u200bb"`},

		{"oneOf", `{"oneOf":[{"type":"string"},{"type":"array","items":{"type":"string"}}]}`, "string | Array<string>"},
		{"union of 4", `{"type":["string","number","boolean","null"]}`, "string | number | boolean | null"},
		{"union of 5", `{"anyOf":[{"type":"string"},{"type":"number"},{"type":"boolean"},{"type":"null"},{"const":1}]}`, "unknown"},
		{"same member twice", `{"type":["integer","number"]}`, "number"},
		{"type twice", `{"type":["object","object"]}`, "unknown"},
		{"null given first", `{"type":["null","string"]}`, "string | null"},
		{"null twice", `{"type":["string","null"],"nullable":true}`, "string | null"},
		{"unknown member", `{"anyOf":[{"type":"string"},{"$ref":"#/x"}]}`, "unknown"},
		{"union beside properties", object(`"properties":{"a":{}},"anyOf":[{"required":["a"]}]`), "unknown"},
		{"nullable unknown", `{"nullable":true}`, "unknown"},

		{"reference", `{"$ref":"#/$defs/a","$defs":{"a":{"type":"string"}}}`, "unknown"},
		{"cyclic reference", object(`"properties":{"self":{"$ref":"#"}}`), "{ self?: unknown }"},
		{"allOf", `{"allOf":[{"type":"string"}]}`, "unknown"},
		{"if", `{"type":"string","if":{},"then":{}}`, "unknown"},
		{"not", `{"type":"string","not":{"const":"a"}}`, "unknown"},
		{"patternProperties", object(`"patternProperties":{"^a":{}}`), "unknown"},
		{"constraints are not shown", `{"type":"string","pattern":"^a","format":"date","maxLength":3}`, "string"},

		{"depth 4", nested(4), "{ a?: { a?: { a?: string } } }"},
		{"depth 5", nested(5), "{ a?: { a?: { a?: { a?: unknown } } } }"},
		{"a union is no level", `{"anyOf":[{"anyOf":[{"anyOf":[{"anyOf":[{"anyOf":[{"type":"string"}]}]}]}]}]}`, "string"},

		{"not JSON", `{`, "unknown"},
		{"empty", ``, "unknown"},
		{"two values", `{} {}`, "unknown"},
		{"name twice", `{"type":"string","type":"number"}`, "unknown"},
		{"invalid UTF-8", "{\"type\":\"string\",\"title\":\"\xff\"}", "unknown"},
		{"nested beyond reason", strings.Repeat("[", 1_000_000), "unknown"},
		{"long beyond reason", `{"type":"string","title":"` + strings.Repeat("x", schema.MaxSchemaBytes) + `"}`, "unknown"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := schema.Input([]byte(c.schema)); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// TestLongest meets the bounds on the whole text exactly: the name fills up
// what "{ " and "?: string }" leave.
func TestLongest(t *testing.T) {
	pair := func(length int) string { // two names, so that neither is over its own bound
		rest := length - len("{ ?: string; ?: string }")
		a, b := strings.Repeat("a", 120), strings.Repeat("b", rest-120)
		return `{"type":"object","properties":{"` + a + `":{"type":"string"},"` + b + `":{"type":"string"}}}`
	}
	if got := schema.Input([]byte(pair(240))); len(got) != 240 {
		t.Errorf("a text of 240: got %s", got)
	}
	literal := func(length int) string { // objects of one long literal each
		var b strings.Builder
		for i := range 3 {
			n := min(length, 94)
			length -= n
			fmt.Fprintf(&b, `,"%c":{"const":"%s"}`, 'a'+i, strings.Repeat("é", n))
		}
		return `{"type":"object","properties":{` + b.String()[1:] + `}}`
	}
	const frame = len(`{ a?: ""; b?: ""; c?: "" }`)
	if got := schema.Input([]byte(literal(300 - frame))); utf8.RuneCountInString(got) != 300 {
		t.Errorf("a text of 300: got %d characters: %s", utf8.RuneCountInString(got), got)
	}
	if got := schema.Input([]byte(literal(301 - frame))); got != "unknown" {
		t.Errorf("a text of 301: got %s", got)
	}
	if got, _ := schema.Output([]byte(literal(301 - frame))); got == "unknown" {
		t.Error("a text of 301 is not too long for an output")
	}
}

func TestOutput(t *testing.T) {
	closed := func(body string) string { return `{"type":"object","additionalProperties":false,` + body + `}` }
	wrap := func(levels int) string {
		s := `{"type":"string"}`
		for range levels - 1 {
			s = `{"type":"array","items":` + s + `}`
		}
		return s
	}
	cases := []struct {
		name, schema, text string
		complete           bool
	}{
		{"scalar", `{"type":"string"}`, "string", true},
		{"closed", closed(`"properties":{"a":{"type":"string"}}`), "{ a?: string }", true},
		{"closed and empty", closed(`"properties":{}`), "{}", true},
		{"not closed", `{"type":"object","properties":{"a":{"type":"string"}}}`, "{ a?: string }", false},
		{"empty, not closed", `{"type":"object","properties":{}}`, "{}", false},
		{"open", `{"type":"object","properties":{},"additionalProperties":true}`, "{ ... }", false},
		{"closed by a schema that fits nothing", `{"type":"object","properties":{},"additionalProperties":{"not":{}}}`, "{ ... }", false},
		{"inner not closed", closed(`"properties":{"a":{"type":"object","properties":{"b":{"type":"string"}}}}`), "{ a?: { b?: string } }", false},
		{"inner unknown", closed(`"properties":{"a":{}}`), "{ a?: unknown }", false},
		{"inner reference", closed(`"properties":{"a":{"$ref":"#"}}`), "{ a?: unknown }", false},
		{"list of anything", `{"type":"array"}`, "Array<unknown>", false},
		{"union", `{"oneOf":[` + closed(`"properties":{"a":{"const":1}}`) + `,{"type":"null"}]}`, "{ a?: 1 } | null", true},
		{"union with an open part", `{"oneOf":[{"type":"object","properties":{}},{"type":"null"}]}`, "{} | null", false},
		{"no type lets other values through", `{"properties":{"a":{"type":"string"}},"additionalProperties":false}`, "{ a?: string }", false},
		{"required but undeclared", closed(`"required":["b"],"properties":{"a":{"type":"string"}}`), "{ a?: string; ... }", false},
		{"name too long", closed(`"properties":{"` + strings.Repeat("n", 129) + `":{"type":"string"}}`), "{ ... }", false},
		{"20 properties", closed(properties(20, "%d")), "", true},
		{"21 properties", closed(properties(21, "%d")), "", false},
		{"depth 6", wrap(6), "Array<Array<Array<Array<Array<string>>>>>", true},
		{"depth 7", wrap(7), "Array<Array<Array<Array<Array<Array<unknown>>>>>>", false},
		{"unreadable", `{`, "unknown", false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			text, complete := schema.Output([]byte(c.schema))
			if c.text != "" && text != c.text || complete != c.complete {
				t.Errorf("got %s, complete %v; want %s, %v", text, complete, c.text, c.complete)
			}
		})
	}
}
