package anthropic_test

import (
	"encoding/json"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/provider/anthropic"
)

// BenchmarkRequest reads and writes a request of 1,000 tools, beside the plain
// way: into Go's own values and back, which keeps neither order nor numbers.
func BenchmarkRequest(b *testing.B) {
	tools := make([]string, 1000)
	for i := range tools {
		tools[i] = `{"name":"tool_` + strconv.Itoa(i) + `","description":"` + strings.Repeat("words of it ", 20) +
			`","input_schema":{"type":"object","properties":{"a":{"type":"string","description":"the first"},"b":{"type":"integer"}},"required":["a"]},"defer_loading":true}`
	}
	body := []byte(`{"model":"m","max_tokens":1,"tools":[` + strings.Join(tools, ",") + `],"messages":[{"role":"user","content":"x"}]}`)
	b.SetBytes(int64(len(body)))
	format := anthropic.Messages()
	var ours, plain time.Duration
	for b.Loop() {
		start := time.Now()
		r, err := format.DecodeRequest(body)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := format.EncodeRequest(r); err != nil {
			b.Fatal(err)
		}
		between := time.Now()
		var v any
		if err := json.Unmarshal(body, &v); err != nil {
			b.Fatal(err)
		}
		if _, err := json.Marshal(v); err != nil {
			b.Fatal(err)
		}
		ours, plain = ours+between.Sub(start), plain+time.Since(between)
	}
	b.ReportMetric(float64(ours)/float64(plain), "times-plain")
}

// BenchmarkStreamText passes one delta from a provider's stream to a client's.
func BenchmarkStreamText(b *testing.B) {
	format := anthropic.Messages()
	begin := []provider.Frame{{Data: []byte(msgStart)}, {Data: []byte(blockStart(0, `{"type":"text","text":""}`))}}
	piece := provider.Frame{Data: []byte(blockDelta(0, `{"type":"text_delta","text":"word "}`))}
	var d provider.StreamDecoder
	var e provider.StreamEncoder
	n := 0
	for b.Loop() {
		if n%10_000 == 0 { // a stream is bounded
			d, e = format.NewStreamDecoder(), format.NewStreamEncoder(io.Discard, provider.Response{}, nil)
			for _, f := range begin {
				if _, err := d.Frame(f); err != nil {
					b.Fatal(err)
				}
			}
		}
		n++
		events, err := d.Frame(piece)
		if err != nil {
			b.Fatal(err)
		}
		for _, event := range events {
			if err := e.Event(event); err != nil {
				b.Fatal(err)
			}
		}
	}
}
