package schema_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/toolsearch/toolsearch/schema"
)

func compile(tb testing.TB, raw string) *schema.Compiled {
	tb.Helper()
	c, err := schema.Compile([]byte(raw))
	if err != nil {
		tb.Fatalf("compile %.200s: %v", raw, err)
	}
	return c
}

// problems validates and returns what is wrong, nil if nothing is.
func problems(tb testing.TB, c *schema.Compiled, doc string) []schema.Problem {
	tb.Helper()
	err := c.Validate([]byte(doc))
	if err == nil {
		return nil
	}
	var v *schema.ValidationError
	if !errors.As(err, &v) || len(v.Problems) == 0 {
		tb.Fatalf("validate %.200s: got %T %v, want a *ValidationError with problems", doc, err, err)
	}
	return v.Problems
}

// TestKeywords says of each keyword what passes and what does not, and by
// which name it is reported. The expectations are JSON Schema's own
// (2020-12 Core and Validation, draft-07 where it differs).
func TestKeywords(t *testing.T) {
	const d7 = `"$schema":"http://json-schema.org/draft-07/schema#",`
	cases := []struct{ name, schema, good, bad, constraint, pointer string }{
		{"type", `{"type":"string"}`, `"a"`, `1`, "type", ""},
		{"type list", `{"type":["string","null"]}`, `null`, `1`, "type", ""},
		{"integer takes 1.0", `{"type":"integer"}`, `1.0`, `1.5`, "type", ""},
		{"integer over 2^53", `{"type":"integer","maximum":9007199254740993}`, `9007199254740993`, `9007199254740994`, "maximum", ""},
		{"const over 2^53", `{"const":9007199254740993}`, `9007199254740993`, `9007199254740992`, "const", ""},
		{"enum over 2^53", `{"enum":[9007199254740993]}`, `9007199254740993`, `9007199254740992`, "enum", ""},
		{"uniqueItems over 2^53", `{"uniqueItems":true}`, `[9007199254740993,9007199254740992]`, `[1,1.0]`, "uniqueItems", ""},
		{"integer of 40 digits", `{"exclusiveMinimum":1e39}`, `1000000000000000000000000000000000000001`, `1000000000000000000000000000000000000000`, "exclusiveMinimum", ""},
		{"multipleOf a tenth", `{"multipleOf":0.1}`, `0.3`, `0.35`, "multipleOf", ""},
		{"minimum", `{"minimum":1.1}`, `1.1`, `1.09`, "minimum", ""},
		{"exclusiveMaximum", `{"exclusiveMaximum":3}`, `2.99`, `3`, "exclusiveMaximum", ""},
		{"minLength counts characters", `{"minLength":2}`, `"日本"`, `"日"`, "minLength", ""},
		{"maxLength counts characters", `{"maxLength":2}`, `"日本"`, `"日本語"`, "maxLength", ""},
		{"pattern is not anchored", `{"pattern":"b"}`, `"abc"`, `"ac"`, "pattern", ""},
		{"properties", `{"properties":{"a":{"type":"string"}}}`, `{"a":"x"}`, `{"a":1}`, "type", "/a"},
		{"escaped pointer", `{"properties":{"a/b~c":{"type":"string"}}}`, `{"a/b~c":"x"}`, `{"a/b~c":1}`, "type", "/a~1b~0c"},
		{"required", `{"required":["a"]}`, `{"a":1}`, `{}`, "required", ""},
		{"required is for objects", `{"required":["a"]}`, `12`, `{}`, "required", ""},
		{"additionalProperties false", `{"properties":{"a":{}},"additionalProperties":false}`, `{"a":1}`, `{"b":1}`, "additionalProperties", "/b"},
		{"additionalProperties schema", `{"properties":{"a":{}},"additionalProperties":{"type":"string"}}`, `{"b":"x"}`, `{"b":1}`, "type", "/b"},
		{"patternProperties", `{"patternProperties":{"^n":{"type":"number"}}}`, `{"n1":1,"x":"y"}`, `{"n1":"y"}`, "type", "/n1"},
		{"propertyNames", `{"propertyNames":{"pattern":"^[a-z]+$"}}`, `{"ab":1}`, `{"aB":1}`, "propertyNames", ""},
		{"propertyNames inside", `{"properties":{"o":{"propertyNames":{"maxLength":1}},"p":{}}}`, `{"o":{"a":1},"p":{"long":1}}`, `{"o":{"ab":1},"p":{"c":1}}`, "propertyNames", "/o"},
		{"minProperties", `{"minProperties":1}`, `{"a":1}`, `{}`, "minProperties", ""},
		{"maxProperties", `{"maxProperties":1}`, `{"a":1}`, `{"a":1,"b":2}`, "maxProperties", ""},
		{"dependentRequired", `{"dependentRequired":{"a":["b"]}}`, `{"a":1,"b":1}`, `{"a":1}`, "dependentRequired", ""},
		{"dependentSchemas", `{"dependentSchemas":{"a":{"required":["b"]}}}`, `{"c":1}`, `{"a":1}`, "required", ""},
		{"items", `{"items":{"type":"number"}}`, `[1,2]`, `[1,"2"]`, "type", "/1"},
		{"prefixItems", `{"prefixItems":[{"type":"string"}],"items":false}`, `["a"]`, `["a",1]`, "false", "/1"},
		{"draft-07 tuple by $schema", `{` + d7 + `"items":[{"type":"string"}],"additionalItems":false}`, `["a"]`, `["a",1]`, "additionalItems", ""},
		{"draft-07 tuple without $schema", `{"items":[{"type":"string"}]}`, `["a",1]`, `[1]`, "type", "/0"},
		{"draft-07 ignores what is beside $ref", `{` + d7 + `"properties":{"a":{"$ref":"#/definitions/s","maxLength":1}},"definitions":{"s":{"type":"string"}}}`, `{"a":"xyz"}`, `{"a":1}`, "type", "/a"},
		{"2020-12 keeps what is beside $ref", `{"properties":{"a":{"$ref":"#/$defs/s","maxLength":1}},"$defs":{"s":{"type":"string"}}}`, `{"a":"x"}`, `{"a":"xyz"}`, "maxLength", "/a"},
		{"draft-04 exclusiveMinimum", `{"$schema":"http://json-schema.org/draft-04/schema#","minimum":1,"exclusiveMinimum":true}`, `2`, `1`, "exclusiveMinimum", ""},
		{"minItems", `{"minItems":1}`, `[1]`, `[]`, "minItems", ""},
		{"maxItems", `{"maxItems":1}`, `[1]`, `[1,2]`, "maxItems", ""},
		{"uniqueItems", `{"uniqueItems":true}`, `[{"a":1},{"a":2}]`, `[{"a":1,"b":2},{"b":2,"a":1}]`, "uniqueItems", ""},
		{"contains", `{"contains":{"const":1}}`, `[0,1]`, `[0]`, "contains", ""},
		{"maxContains", `{"contains":{"const":1},"maxContains":1}`, `[1]`, `[1,1]`, "maxContains", ""},
		{"allOf", `{"allOf":[{"required":["a"]},{"required":["b"]}]}`, `{"a":1,"b":1}`, `{"a":1}`, "required", ""},
		{"anyOf", `{"anyOf":[{"type":"string"},{"type":"null"}]}`, `null`, `1`, "anyOf", ""},
		{"oneOf matches two", `{"oneOf":[{"minimum":1},{"maximum":5}]}`, `0`, `3`, "oneOf", ""},
		{"not", `{"not":{"type":"string"}}`, `1`, `"a"`, "not", ""},
		{"if then", `{"if":{"required":["a"]},"then":{"required":["b"]}}`, `{"b":1}`, `{"a":1}`, "required", ""},
		{"if else", `{"if":{"required":["a"]},"else":{"required":["b"]}}`, `{"a":1}`, `{}`, "required", ""},
		{"unevaluatedProperties", `{"allOf":[{"properties":{"a":{}}}],"unevaluatedProperties":false}`, `{"a":1}`, `{"b":1}`, "unevaluatedProperties", "/b"},
		{"local reference", `{"$ref":"#/$defs/s","$defs":{"s":{"type":"string"}}}`, `"a"`, `1`, "type", ""},
		{"anchor", `{"$ref":"#s","$defs":{"s":{"$anchor":"s","type":"string"}}}`, `"a"`, `1`, "type", ""},
		{"recursive tree", `{"type":"object","properties":{"v":{"type":"number"},"next":{"$ref":"#"}}}`, `{"next":{"next":{"v":1}}}`, `{"next":{"next":{"v":"x"}}}`, "type", "/next/next/v"},
		{"dynamic reference", `{"$dynamicAnchor":"n","type":"object","properties":{"kids":{"type":"array","items":{"$dynamicRef":"#n"}}}}`, `{"kids":[{"kids":[]}]}`, `{"kids":[{"kids":[1]}]}`, "type", "/kids/0/kids/0"},
		{"metaschema by reference", `{"$ref":"https://json-schema.org/draft/2020-12/schema"}`, `{"type":"string"}`, `{"minLength":-1}`, "minimum", "/minLength"},
		{"true", `true`, `1`, ``, "json", ""},
		{"false", `false`, ``, `1`, "false", ""},
		{"empty", `{}`, `[{"a":null}]`, `{"a":}`, "json", ""},
		{"format is an annotation", `{` + d7 + `"format":"email"}`, `"not a mail"`, ``, "json", ""},
		{"nullable", `{"properties":{"a":{"type":"string","nullable":true}}}`, `{"a":null}`, `{"a":1}`, "type", "/a"},
		{"nullable enum", `{"type":"string","nullable":true,"enum":["a"]}`, `null`, `"b"`, "enum", ""},
		{"a property called nullable", `{"properties":{"nullable":true,"type":{"type":"string"}}}`, `{"nullable":1,"type":"x"}`, `{"type":null}`, "type", "/type"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := compile(t, c.schema)
			if c.good != "" {
				if p := problems(t, s, c.good); p != nil {
					t.Errorf("%s: unexpected %v", c.good, p)
				}
			}
			p := problems(t, s, c.bad)
			if len(p) != 1 || p[0].Constraint != c.constraint || p[0].Pointer != c.pointer {
				t.Errorf("%s: got %+v, want one problem %q at %q", c.bad, p, c.constraint, c.pointer)
			}
		})
	}
}

// TestRefusedDocuments holds texts that are not accepted as JSON by any schema.
func TestRefusedDocuments(t *testing.T) {
	s := compile(t, `true`)
	for name, doc := range map[string]string{
		"empty":            ``,
		"two values":       `1 2`,
		"open array":       `[1`,
		"open string":      `"a`,
		"open escape":      `"\`,
		"bad escape":       `"\x"`,
		"short \\u":        `"\u12"`,
		"control":          "\"a\nb\"",
		"leading zero":     `01`,
		"plus":             `+1`,
		"no fraction":      `1.`,
		"no exponent":      `1e`,
		"NaN":              `NaN`,
		"comma":            `[1,]`,
		"name twice":       `{"a":1,"\u0061":2}`,
		"invalid UTF-8":    "\"\xff\"",
		"huge exponent":    `1e401`,
		"absurd exponent":  `1e99999999999999999999`,
		"long number":      strings.Repeat("1", 1001),
		"1e6 nested":       strings.Repeat("[", 1_000_000),
		"65 levels":        strings.Repeat("[", 65) + strings.Repeat("]", 65),
		"too many values":  "[" + strings.Repeat("1,", 200_000) + "1]",
		"too many bytes":   `"` + strings.Repeat("x", schema.MaxDocumentBytes) + `"`,
		"byte order mark":  "\ufeff1",
		"single quotes":    `{'a':1}`,
		"unquoted name":    `{a:1}`,
		"trailing comment": `1 // one`,
	} {
		p := problems(t, s, doc)
		if len(p) != 1 || p[0].Constraint != "json" || len(p[0].Message) > 300 {
			t.Errorf("%s: got %+v, want one problem about the JSON", name, p)
		}
	}
	for name, doc := range map[string]string{
		"64 levels":         strings.Repeat("[", 64) + strings.Repeat("]", 64),
		"exponent 400":      `-1.5E-400`,
		"long number":       strings.Repeat("1", 1000),
		"lone surrogate":    `"\ud800"`,
		"surrogate pair":    `"\ud83d\ude00"`,
		"space all around":  " \t\r\n{ \"a\" : [ 1 , 2 ] } \n",
		"escapes":           `"\"\\\/\b\f\n\r\t\u00e9"`,
		"names that differ": `{"a":1,"A":2}`,
	} {
		if p := problems(t, s, doc); p != nil {
			t.Errorf("%s: unexpected %v", name, p)
		}
	}
}

func TestCompileRefuses(t *testing.T) {
	chain := func(n int) string { // n schemas on one value, each the next one's allOf
		return strings.Repeat(`{"allOf":[`, n) + `true` + strings.Repeat(`]}`, n)
	}
	for name, c := range map[string]struct{ schema, says string }{
		"remote":               {`{"$ref":"https://example.com/a.json"}`, "another document"},
		"file":                 {`{"$ref":"file:///etc/passwd"}`, "another document"},
		"relative file":        {`{"$ref":"other.json"}`, "another document"},
		"remote by $id":        {`{"$id":"https://example.com/","$ref":"a.json"}`, "another document"},
		"remote dialect":       {`{"$schema":"https://example.com/dialect"}`, "another document"},
		"dangling":             {`{"$ref":"#/$defs/none"}`, "not found"},
		"self":                 {`{"$ref":"#"}`, "refers to itself"},
		"cycle of two":         {`{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}`, "refers to itself"},
		"cycle through anyOf":  {`{"anyOf":[{"type":"string"},{"$ref":"#"}]}`, "refers to itself"},
		"cycle below":          {`{"properties":{"a":{"$ref":"#/properties/a"}}}`, "refers to itself"},
		"64 on one value":      {chain(63), ""},
		"65 on one value":      {chain(64), "apply to one value"},
		"bad type":             {`{"type":"strin"}`, "not valid JSON Schema"},
		"bad required":         {`{"required":"a"}`, "not valid JSON Schema"},
		"bad pattern":          {`{"pattern":"("}`, "pattern"},
		"long pattern":         {`{"pattern":"` + strings.Repeat("a", 5000) + `"}`, "pattern"},
		"a number":             {`12`, "not valid JSON Schema"},
		"not JSON":             {`{`, "read the schema"},
		"name twice":           {`{"type":"string","type":"number"}`, "twice"},
		"huge bound":           {`{"maximum":1e999999999}`, "exponent"},
		"too long":             {`{"title":"` + strings.Repeat("x", schema.MaxSchemaBytes) + `"}`, "bytes long"},
		"nested beyond reason": {strings.Repeat(`[`, 1_000_000), "nested deeper"},
	} {
		_, err := schema.Compile([]byte(c.schema))
		if c.says == "" {
			if err != nil {
				t.Errorf("%s: unexpected %v", name, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: got %v, want an error that says %q", name, err, c.says)
		} else if len(err.Error()) > 1000 {
			t.Errorf("%s: the error has %d bytes", name, len(err.Error()))
		}
	}
}

// TestWorkIsBounded holds schemas and documents made to never end. A test that
// comes back has passed; the suite's own deadline is the failure.
func TestWorkIsBounded(t *testing.T) {
	doubling := func(applicator string, levels int) string {
		var b strings.Builder
		b.WriteString(`{"$ref":"#/$defs/s0","$defs":{`)
		for i := range levels {
			fmt.Fprintf(&b, `"s%d":{%s:[{"$ref":"#/$defs/s%d"},{"$ref":"#/$defs/s%d"}]},`, i, applicator, i+1, i+1)
		}
		fmt.Fprintf(&b, `"s%d":{"type":"string"}}}`, levels)
		return b.String()
	}
	numbers := func(n, from int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, ",%d", from+i)
		}
		return "[" + b.String()[1:] + "]"
	}
	deep := func(n int) string { return strings.Repeat("[", n) + "1" + strings.Repeat("]", n) }
	long := `"` + strings.Repeat("a", 200_000) + `!"`
	for name, c := range map[string]struct{ schema, doc, constraint string }{
		"2^30 by allOf":                 {doubling(`"allOf"`, 30), `"x"`, "work"},
		"2^30 by anyOf":                 {doubling(`"anyOf"`, 30), `1`, "work"},
		"2^30 by draft-07":              {strings.Replace(doubling(`"allOf"`, 30), `{`, `{"$schema":"http://json-schema.org/draft-07/schema#","properties":{},`, 1), `"x"`, ""},
		"2^60 by items and contains":    {`{"$ref":"#/$defs/a","$defs":{"a":{"type":"array","contains":{"$ref":"#/$defs/a"},"items":{"$ref":"#/$defs/a"}}}}`, deep(60), "work"},
		"the same under not":            {`{"not":{"$ref":"#/$defs/a"},"$defs":{"a":{"type":"array","contains":{"$ref":"#/$defs/a"},"items":{"$ref":"#/$defs/a"}}}}`, deep(60), "work"},
		"the same by properties":        {`{"not":{"$ref":"#/$defs/a"},"$defs":{"a":{"type":"object","patternProperties":{"":{"$ref":"#/$defs/a"},"x":{"$ref":"#/$defs/a"}},"properties":{"x":{"$ref":"#/$defs/a"}}}}}`, strings.Repeat(`{"x":`, 60) + "1" + strings.Repeat("}", 60), "work"},
		"long enum, long list":          {`{"items":{"enum":` + numbers(10_000, 0) + `}}`, numbers(100_000, 10_000), "work"},
		"long list of wrong types":      {`{"items":{"type":"string"}}`, numbers(100_000, 0), "schema"},
		"wrong at the very end":         {`{"items":{"type":"number"}}`, `[` + strings.Repeat("1,", 30_000) + `"1"]`, "type"},
		"backtracking":                  {`{"pattern":"^(?=a)(a+)+$"}`, long, "pattern: takes too long"},
		"backtracking under not":        {`{"not":{"pattern":"^(?=a)(a+)+$"}}`, long, "pattern: takes too long"},
		"backtracking on names":         {`{"patternProperties":{"^(?=a)(a+)+$":false}}`, `{` + long + `:1}`, "pattern: takes too long"},
		"many slow matches":             {`{"items":{"pattern":"^(?=a)(a+)+$"}}`, `["aaaaaaaaaaaaaaaaaa!"` + strings.Repeat(`,"aaaaaaaaaaaaaaaaaa!"`, 5000) + `]`, "pattern: takes too long"},
		"catastrophic only when naive":  {`{"pattern":"^(a+)+$"}`, long, "pattern"},
		"a million digits of unique":    {`{"uniqueItems":true}`, "[" + strings.Repeat(strings.Repeat("9", 900)+",", 4000) + "1]", "uniqueItems"},
		"many alternatives, many items": {`{"items":{"oneOf":[` + strings.Repeat(`{"type":"string"},`, 2000) + `false]}}`, numbers(50_000, 0), "work"},
	} {
		t.Run(name, func(t *testing.T) {
			p := problems(t, compile(t, c.schema), c.doc)
			constraint, says, _ := strings.Cut(c.constraint, ": ")
			if constraint != "" && (len(p) == 0 || p[0].Constraint != constraint || !strings.Contains(p[0].Message, says)) {
				t.Errorf("got %+v, want %q", p, c.constraint)
			}
		})
	}
}

// A name that is not allowed is shown as what was found, and is told the nearest
// one that is.
func TestNamesThatAreNotAllowed(t *testing.T) {
	s := compile(t, `{"properties":{"o":{"propertyNames":{"anyOf":[{"enum":["alpha","beta"]}]}}},"propertyNames":{"pattern":"^[a-z]+$"}}`)
	for doc, want := range map[string]schema.Problem{
		`{"b1":1}`:         {Constraint: "propertyNames", Message: `the property name "b1" is not allowed: must match the pattern ^[a-z]+$, found string "b1"`},
		`{"o":{"alpa":1}}`: {Pointer: "/o", Constraint: "propertyNames", Message: `the property name "alpa" is not allowed: must be one of "alpha", "beta", found string "alpa" (by the closest of 1 alternatives)`, Nearest: "alpha"},
	} {
		if got := problems(t, s, doc); len(got) != 1 || got[0] != want {
			t.Errorf("%s: got %+v, want %+v", doc, got, want)
		}
	}
}

func TestProblemsAreBounded(t *testing.T) {
	s := compile(t, `{"additionalProperties":false,"properties":{"a":{"type":"string"}}}`)
	var doc strings.Builder
	for i := range 500 {
		fmt.Fprintf(&doc, `,"%03d\u202e%s":1`, i, strings.Repeat("n", 400))
	}
	err := s.Validate([]byte("{" + doc.String()[1:] + "}"))
	var v *schema.ValidationError
	if !errors.As(err, &v) {
		t.Fatalf("got %v", err)
	}
	if len(v.Problems) != schema.MaxProblems || v.Omitted != 500-schema.MaxProblems {
		t.Errorf("got %d problems and %d omitted", len(v.Problems), v.Omitted)
	}
	if n := len(err.Error()); n > schema.MaxProblems*600 {
		t.Errorf("the text has %d bytes", n)
	}
	if strings.ContainsRune(err.Error(), '\u202e') {
		t.Error("the text holds an invisible character")
	}
	if !strings.HasSuffix(err.Error(), "; and 492 more") {
		t.Errorf("the text ends with %q", err.Error()[len(err.Error())-30:])
	}
}

func TestValidateIsDeterministicAndConcurrent(t *testing.T) {
	s := compile(t, `{"properties":{"a":{"type":"string"},"b":{"enum":["x","y"]},"c":{"pattern":"^(?!n)"}},
		"required":["d"],"additionalProperties":false,"propertyNames":{"maxLength":3}}`)
	doc := []byte(`{"a":1,"b":"z","c":"no","e":1,"long":1}`)
	first := s.Validate(doc)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				if again := s.Validate(doc); !reflect.DeepEqual(first, again) {
					t.Errorf("got %v, then %v", first, again)
					return
				}
			}
		})
	}
	wg.Wait()
}
