package schema_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/toolsearch/toolsearch/schema"
)

// typical is a tool of ordinary size, and a call of it.
const (
	typical = `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","required":["calendarId","summary","start"],"additionalProperties":false,"properties":{
		"calendarId":{"type":"string","description":"Calendar to add to"},
		"summary":{"type":"string","minLength":1,"maxLength":1024},
		"start":{"type":"string","pattern":"^\\d{4}-\\d{2}-\\d{2}"},
		"attendees":{"type":"array","maxItems":50,"items":{"type":"object","required":["email"],"properties":{"email":{"type":"string"},"optional":{"type":"boolean"}}}},
		"visibility":{"type":"string","enum":["default","public","private"]},
		"minutes":{"type":"integer","minimum":5,"maximum":1440}}}`
	typicalCall = `{"calendarId":"primary","summary":"Planning","start":"2026-05-09T14:00:00Z","attendees":[{"email":"a@example.com"},{"email":"b@example.com","optional":true}],"minutes":30}`
)

func BenchmarkInput(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		schema.Input([]byte(typical))
	}
}

func BenchmarkText(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		schema.Text([]byte(typical))
	}
}

// BenchmarkInputReal renders every schema of the real catalog once a round.
func BenchmarkInputReal(b *testing.B) {
	all := realSchemas(b)
	total := 0
	for _, raw := range all {
		total += len(raw)
	}
	b.SetBytes(int64(total))
	b.ReportAllocs()
	for b.Loop() {
		for _, raw := range all {
			schema.Input(raw)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(all)), "ns/schema")
}

// BenchmarkValidate validates one typical call with a schema from the cache,
// and compares with compiling each time and with the bare validator, which has
// no bounds.
func BenchmarkValidate(b *testing.B) {
	cache := schema.NewCache(16)
	doc := []byte(typicalCall)
	cached := func() {
		s, err := cache.Get([]byte(typical))
		if err != nil {
			b.Fatal(err)
		}
		if err := s.Validate(doc); err != nil {
			b.Fatal(err)
		}
	}
	anew := func() {
		s, err := schema.Compile([]byte(typical))
		if err != nil {
			b.Fatal(err)
		}
		if err := s.Validate(doc); err != nil {
			b.Fatal(err)
		}
	}
	raw, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(typical)))
	if err != nil {
		b.Fatal(err)
	}
	jc := jsonschema.NewCompiler()
	if err := jc.AddResource("bare:///schema", raw); err != nil {
		b.Fatal(err)
	}
	compiled, err := jc.Compile("bare:///schema")
	if err != nil {
		b.Fatal(err)
	}
	bare := func() {
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(doc))
		if err != nil {
			b.Fatal(err)
		}
		if err := compiled.Validate(v); err != nil {
			b.Fatal(err)
		}
	}
	cost := func(n int, f func()) float64 {
		f()
		start := time.Now()
		for range n {
			f()
		}
		return float64(time.Since(start).Nanoseconds()) / float64(n)
	}
	b.ReportAllocs()
	for b.Loop() {
		cached()
	}
	one := float64(b.Elapsed().Nanoseconds()) / float64(b.N)
	b.ReportMetric(cost(200, anew)/one, "anew/cached")
	b.ReportMetric(cost(20_000, bare)/one, "bare/cached")
}

// BenchmarkRefuse formulates the answer to a broken call.
func BenchmarkRefuse(b *testing.B) {
	s := compile(b, typical)
	doc := []byte(`{"calendarid":"primary","summary":"","start":"tomorrow","minutes":"30"}`)
	b.ReportAllocs()
	for b.Loop() {
		if s.Validate(doc) == nil {
			b.Fatal("let through")
		}
	}
}
