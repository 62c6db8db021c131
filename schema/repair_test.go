package schema_test

import (
	"strings"
	"testing"

	"github.com/toolsearch/toolsearch/schema"
)

// TestRepairHints holds mistakes that models make in calls. What is checked is
// what a retry needs: where, which constraint, what was expected, what was
// found, and the nearest name.
func TestRepairHints(t *testing.T) {
	const weather = `{"type":"object","required":["city"],"additionalProperties":false,"properties":{
		"city":{"type":"string","minLength":1},
		"days":{"type":"integer","minimum":1,"maximum":14},
		"units":{"type":"string","enum":["celsius","fahrenheit","kelvin"]},
		"detailed":{"type":"boolean"},
		"tags":{"type":"array","items":{"type":"string"},"maxItems":3},
		"when":{"type":["string","null"],"pattern":"^\\d{4}-\\d{2}-\\d{2}$"},
		"location":{"type":"object","required":["lat","lon"],"properties":{"lat":{"type":"number"},"lon":{"type":"number"}}}}}`
	const search = `{"type":"object","required":["query","max_results"],"properties":{"query":{"type":"string"},"max_results":{"type":"integer"}}}`
	const shapes = `{"type":"object","properties":{"shape":{"oneOf":[
		{"type":"object","required":["kind","radius"],"properties":{"kind":{"const":"circle"},"radius":{"type":"number"}}},
		{"type":"object","required":["kind","width","height"],"properties":{"kind":{"const":"box"},"width":{"type":"number"},"height":{"type":"number"}}}]}}}`
	const edits = `{"type":"object","required":["edits"],"properties":{"edits":{"type":"array","items":{
		"type":"object","required":["oldText","newText"],"additionalProperties":false,
		"properties":{"oldText":{"type":"string"},"newText":{"type":"string"}}}}}}`
	const closedByComposition = `{"allOf":[{"properties":{"recipient":{"type":"string"}}},{"properties":{"subject":{"type":"string"}}}],"unevaluatedProperties":false}`
	const either = `{"properties":{"to":{"anyOf":[{"type":"string"},{"type":"array","items":{"type":"string"}}]}}}`

	cases := []struct {
		name, schema, doc string
		pointer           string
		constraint        string
		says              []string // all of them
		nearest           string
	}{
		{"number as text", weather, `{"city":"Oslo","days":"3"}`, "/days", "type", []string{"expected integer", `found string "3"`, "without quotes"}, ""},
		{"text as number", weather, `{"city":12}`, "/city", "type", []string{"expected string", "found number 12", "put it in quotes"}, ""},
		{"boolean as text", weather, `{"city":"Oslo","detailed":"true"}`, "/detailed", "type", []string{"expected boolean", "without quotes"}, ""},
		{"fraction for integer", weather, `{"city":"Oslo","days":1.5}`, "/days", "type", []string{"expected integer", "found number 1.5"}, ""},
		{"null for text", weather, `{"city":null}`, "/city", "type", []string{"expected string", "found null"}, ""},
		{"list as text", weather, `{"city":"Oslo","tags":"[\"a\"]"}`, "/tags", "type", []string{"expected array", "without quotes"}, ""},
		{"single item for list", weather, `{"city":"Oslo","tags":"a"}`, "/tags", "type", []string{"expected array", `found string "a"`, "in an array"}, ""},
		{"object as text", weather, `{"city":"Oslo","location":"{\"lat\":1,\"lon\":2}"}`, "/location", "type", []string{"expected object", "without quotes"}, ""},
		{"whole call as text", weather, `"{\"city\":\"Oslo\"}"`, "", "type", []string{"expected object", "without quotes"}, ""},
		{"call in a list", weather, `[{"city":"Oslo"}]`, "", "type", []string{"expected object", "array of 1 items"}, ""},
		{"missing", search, `{"query":"a"}`, "", "required", []string{`required property "max_results" is missing`}, ""},
		{"missing, misspelt in an open object", search, `{"query":"a","maxResults":5}`, "", "required", []string{`"max_results" is missing`, `given as "maxResults"`}, "maxResults"},
		{"missing, letters swapped", search, `{"qurey":"a","max_results":5}`, "", "required", []string{`"query" is missing`, `given as "qurey"`}, "qurey"},
		{"unknown, misspelt", weather, `{"city":"Oslo","unit":"kelvin"}`, "/unit", "additionalProperties", []string{`"unit" is not allowed`, `did you mean "units"`}, "units"},
		{"unknown, nothing like it", weather, `{"city":"Oslo","verbosity":"kelvin"}`, "/verbosity", "additionalProperties", []string{"not allowed", `allowed: "city", "days", "detailed"`}, ""},
		{"enum, near miss", weather, `{"city":"Oslo","units":"celcius"}`, "/units", "enum", []string{`one of "celsius", "fahrenheit", "kelvin"`, `found string "celcius"`}, "celsius"},
		{"enum, other case", weather, `{"city":"Oslo","units":"Kelvin"}`, "/units", "enum", []string{`"kelvin"`}, "kelvin"},
		{"enum, nothing like it", weather, `{"city":"Oslo","units":"metric"}`, "/units", "enum", []string{`"celsius"`}, ""},
		{"too large", weather, `{"city":"Oslo","days":30}`, "/days", "maximum", []string{"at most 14", "found number 30"}, ""},
		{"too short", weather, `{"city":""}`, "/city", "minLength", []string{"at least 1 characters", "has 0"}, ""},
		{"too many", weather, `{"city":"Oslo","tags":["a","b","c","d"]}`, "/tags", "maxItems", []string{"at most 3 items", "has 4"}, ""},
		{"wrong item", weather, `{"city":"Oslo","tags":["a",2]}`, "/tags/1", "type", []string{"expected string", "found number 2"}, ""},
		{"pattern", weather, `{"city":"Oslo","when":"tomorrow"}`, "/when", "pattern", []string{`^\d{4}-\d{2}-\d{2}$`, `found string "tomorrow"`}, ""},
		{"nested, missing", weather, `{"city":"Oslo","location":{"lat":1,"longitude":2}}`, "/location", "required", []string{`"lon" is missing`, `given as "longitude"`}, "longitude"},
		{"nested in a list", edits, `{"edits":[{"oldText":"a","newText":"b"},{"oldText":"a","newText":"b","new_text":"c"}]}`, "/edits/1/new_text", "additionalProperties", []string{"not allowed"}, ""},
		{"closed by composition", closedByComposition, `{"recipent":"a"}`, "/recipent", "unevaluatedProperties", []string{`did you mean "recipient"`}, "recipient"},
		{"alternatives by their constant", shapes, `{"shape":{"kind":"box","width":1}}`, "/shape", "required", []string{`"height" is missing`, "closest of 2"}, ""},
		{"alternatives, none of the types", either, `{"to":5}`, "/to", "anyOf", []string{"expected array or string", "found number 5"}, ""},
		{"alternatives, inside the one that fits", either, `{"to":["a",5]}`, "/to/1", "type", []string{"expected string", "closest of 2"}, ""},
		{"not JSON at all", weather, `{city: "Oslo"}`, "", "json", []string{"at byte 1", "property name in double quotes"}, ""},
		{"name twice", weather, `{"city":"Oslo","city":"Bergen"}`, "", "json", []string{`"city" is given twice`}, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			p := problems(t, compile(t, c.schema), c.doc)
			if len(p) != 1 {
				t.Fatalf("got %d problems: %+v", len(p), p)
			}
			if p[0].Pointer != c.pointer || p[0].Constraint != c.constraint || p[0].Nearest != c.nearest {
				t.Errorf("got %+v; want %s at %q, nearest %q", p[0], c.constraint, c.pointer, c.nearest)
			}
			for _, s := range c.says {
				if !strings.Contains(p[0].Message, s) {
					t.Errorf("the message %q does not say %q", p[0].Message, s)
				}
			}
		})
	}
}

// TestSeveralMistakes checks that one answer carries all of them, in order.
func TestSeveralMistakes(t *testing.T) {
	s := compile(t, `{"type":"object","required":["a","b"],"additionalProperties":false,
		"properties":{"a":{"type":"string"},"b":{"type":"number"},"count":{"type":"integer"}}}`)
	err := s.Validate([]byte(`{"a":1,"cuont":2}`))
	const want = `(root): the required property "b" is missing; ` +
		`/a: expected string, found number 1; put it in quotes; ` +
		`/cuont: the property "cuont" is not allowed; did you mean "count"?`
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestText(t *testing.T) {
	const raw = `{"type":"object","title":"Not mine","description":"Not mine either","properties":{
		"zone":{"type":"string","description":"  Time zone\nof the event "},
		"attendees":{"type":"array","description":"Who comes","items":{"type":"object","description":"A person","properties":{"email":{"type":"string","title":"E-mail"}}}},
		"when":{"anyOf":[{"type":"object","properties":{"start":{"description":"Begin"}}},{"type":"string","description":"A day"}]},
		"a\u200bb":{"$ref":"#/$defs/x"}},
		"$defs":{"x":{"description":"never read","properties":{"hidden":{}}}}}`
	names, descriptions := schema.Text([]byte(raw))
	if want := "attendees\na b\nwhen\nzone\nemail\nstart"; names != want {
		t.Errorf("names: got %q, want %q", names, want)
	}
	if want := "Who comes\nTime zone of the event\nA person\nE-mail\nBegin\nA day"; descriptions != want {
		t.Errorf("descriptions: got %q, want %q", descriptions, want)
	}

	long := `{"properties":{"a":{"description":"` + strings.Repeat("é", 5000) + `"},` + properties(3000, "name_%04d")[len(`"properties":{`):] + `}`
	names, descriptions = schema.Text([]byte(long))
	if len(names) > schema.MaxNamesText || len(names) < schema.MaxNamesText-20 {
		t.Errorf("%d bytes of names", len(names))
	}
	if len(descriptions) != 1024 {
		t.Errorf("%d bytes of one description", len(descriptions))
	}

	if n, d := schema.Text([]byte(strings.Repeat("[", 1_000_000))); n != "" || d != "" {
		t.Errorf("an unreadable schema gave %q, %q", n, d)
	}
}
