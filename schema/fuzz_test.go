package schema_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/toolsearch/toolsearch/schema"
)

// checkSignature checks what must hold of every signature.
func checkSignature(t *testing.T, sig string, longest int) {
	t.Helper()
	if n := utf8.RuneCountInString(sig); n == 0 || n > longest {
		t.Errorf("signature of %d characters, at most %d allowed", n, longest)
	}
	if !utf8.ValidString(sig) {
		t.Errorf("signature is not UTF-8: %q", sig)
	}
	if i := strings.IndexFunc(sig, func(r rune) bool { return !unicode.IsPrint(r) }); i >= 0 {
		t.Errorf("signature has something invisible at %d: %q", i, sig)
	}
}

// seeds are schemas that between them use every keyword the package reads.
var seeds = []string{
	`true`, `{}`, `{"type":"object"}`, `{"type":["string","null"]}`, `[`, "\xff", `{"type":"string","nullable":true}`,
	`{"type":"object","required":["id"],"properties":{"id":{"type":"string"},"mode":{"enum":["drip","flood"]}}}`,
	`{"type":"array","items":{"type":"object","additionalProperties":false,"properties":{"a b\u202e":{"const":1}}}}`,
	`{"anyOf":[{"type":"string"},{"type":"null"}]}`, `{"oneOf":[{"const":"a"},{"const":1e5}]}`,
	`{"$ref":"#/$defs/a","$defs":{"a":{"properties":{"n":{"$ref":"#"}}}}}`,
	`{"$schema":"http://json-schema.org/draft-07/schema#","items":[{"type":"string"}],"additionalItems":false}`,
	`{"allOf":[{"if":{"required":["a"]},"then":{"not":{"const":{}}}}],"unevaluatedProperties":false}`,
	`{"patternProperties":{"^(?=a)(a+)+$":{"type":"integer"}},"propertyNames":{"pattern":"^[^\\s]\\d.$"},"minProperties":1}`,
	`{"$dynamicAnchor":"n","properties":{"k":{"items":{"$dynamicRef":"#n"}}},"dependentSchemas":{"a":{"required":["b"]}}}`,
	`{"$recursiveAnchor":true,"$schema":"https://json-schema.org/draft/2019-09/schema","properties":{"k":{"$recursiveRef":"#"}}}`,
	`{"contains":{"type":"number","multipleOf":0.1},"uniqueItems":true,"prefixItems":[{"minLength":1}],"maxContains":1}`,
	`{"$id":"http://a/","$ref":"b","$defs":{"b":{"$id":"b","$anchor":"x"}},"dependencies":{"a":["b"],"c":{"type":"null"}}}`,
}

func FuzzSignature(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		in := schema.Input(raw)
		checkSignature(t, in, schema.MaxInputSignature)
		out, complete := schema.Output(raw)
		checkSignature(t, out, schema.MaxOutputSignature)
		if complete {
			if bare := withoutLiterals(out); strings.Contains(bare, "...") || strings.Contains(bare, ": unknown") || strings.Contains(bare, "<unknown") || bare == "unknown" {
				t.Errorf("complete, but %s", out)
			}
		}
		again, sure := schema.Output(raw)
		if in != schema.Input(raw) || out != again || complete != sure {
			t.Error("the same schema gives different signatures")
		}
	})
}

// withoutLiterals empties the JSON strings of a signature.
func withoutLiterals(sig string) string {
	var b strings.Builder
	inside := false
	for i := 0; i < len(sig); i++ {
		switch {
		case inside && sig[i] == '\\':
			i++
		case sig[i] == '"':
			inside = !inside
		case !inside:
			b.WriteByte(sig[i])
		}
	}
	return b.String()
}

func FuzzText(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		names, descriptions := schema.Text(raw)
		if len(names) > schema.MaxNamesText || len(descriptions) > schema.MaxDescriptionsText {
			t.Errorf("%d bytes of names, %d of descriptions", len(names), len(descriptions))
		}
		hidden := func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }
		if strings.ContainsFunc(names+descriptions, hidden) || !utf8.ValidString(names+descriptions) {
			t.Errorf("something invisible in %q, %q", names, descriptions)
		}
		n, d := schema.Text(raw)
		if n != names || d != descriptions {
			t.Error("the same schema gives different texts")
		}
	})
}

func FuzzValidate(f *testing.F) {
	docs := []string{`null`, `{"a":1,"aa":[1,1.0,"x"]}`, `[{"k":[[]]},"a"]`, `"aaaa!"`, `9007199254740993`, `{"a":1,"a":2}`, `1e500`}
	for i, s := range seeds {
		f.Add([]byte(s), []byte(docs[i%len(docs)]))
	}
	f.Fuzz(func(t *testing.T, raw, doc []byte) {
		c, err := schema.Compile(raw)
		if err != nil {
			if len(err.Error()) > 6000 {
				t.Errorf("an error of %d bytes", len(err.Error()))
			}
			return
		}
		if !json.Valid(raw) {
			t.Errorf("compiled %q, which is not JSON", raw)
		}
		err = c.Validate(doc)
		if err == nil {
			if !json.Valid(doc) {
				t.Errorf("let %q through, which is not JSON", doc)
			}
			return
		}
		var v *schema.ValidationError
		if !errors.As(err, &v) || len(v.Problems) == 0 || len(v.Problems) > schema.MaxProblems {
			t.Fatalf("got %T with %+v", err, v)
		}
		if v.Err != nil {
			t.Errorf("the validator failed: %v", v.Err)
		}
		for _, p := range v.Problems {
			if p.Constraint == "" || p.Message == "" || len(p.Message) > 300 || len(p.Pointer) > 200 {
				t.Errorf("a problem out of bounds: %+v", p)
			}
			if strings.ContainsFunc(p.Pointer+p.Message+p.Nearest, func(r rune) bool { return !unicode.IsPrint(r) }) {
				t.Errorf("something invisible in %+v", p)
			}
		}
		if p := v.Problems[0].Constraint; p == "pattern" || p == "work" || p == "schema" {
			return // may depend on the clock
		}
		if again := c.Validate(doc); again == nil || again.Error() != err.Error() {
			t.Errorf("got %v, then %v", err, again)
		}
	})
}
