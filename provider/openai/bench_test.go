package openai_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/provider/openai"
)

// typedChunk is a chunk as a typed SDK has it, for comparison: it loses what it
// does not know.
type typedChunk struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	Model   string `json:"model"`
	Choices []struct {
		Index int `json:"index"`
		Delta struct {
			Role    string `json:"role,omitempty"`
			Content string `json:"content,omitempty"`
		} `json:"delta"`
		Finish *string `json:"finish_reason"`
	} `json:"choices"`
}

// BenchmarkChatDelta passes one delta of text through: read, and written again.
// The ratio is to typed structs that do the same.
func BenchmarkChatDelta(b *testing.B) {
	f := openai.Chat()
	frame := []byte(chatFrames(`{"index":0,"delta":{"content":" word"},"finish_reason":null}`)[0])
	var ours, typed time.Duration
	for b.Loop() {
		start := time.Now()
		d := f.NewStreamDecoder()
		e := f.NewStreamEncoder(io.Discard, provider.Response{ID: "i", Model: "m"}, nil)
		for range 100 {
			events, err := d.Frame(provider.Frame{Data: frame})
			if err != nil {
				b.Fatal(err)
			}
			for _, ev := range events {
				if err := e.Event(ev); err != nil {
					b.Fatal(err)
				}
			}
		}
		ours += time.Since(start)
		start = time.Now()
		for range 100 {
			var c typedChunk
			if err := json.Unmarshal(frame, &c); err != nil {
				b.Fatal(err)
			}
			out, err := json.Marshal(c)
			if err != nil {
				b.Fatal(err)
			}
			fmt.Fprintf(io.Discard, "data: %s\n\n", out)
		}
		typed += time.Since(start)
	}
	b.ReportMetric(float64(ours.Nanoseconds())/float64(b.N*100), "ns/delta")
	b.ReportMetric(float64(ours)/float64(typed), "x-typed")
}

// BenchmarkChatRequest reads and writes a request with 1,000 tools. The ratio is
// to json.Valid over the same bytes, the least that any reader does.
func BenchmarkChatRequest(b *testing.B) {
	var body bytes.Buffer
	body.WriteString(`{"model":"m","messages":[{"role":"user","content":"x"}],"tools":[`)
	for i := range 1000 {
		if i > 0 {
			body.WriteByte(',')
		}
		fmt.Fprintf(&body, `{"type":"function","function":{"name":"tool_%d","description":"Does the thing number %d, and tells what came of it.","parameters":{"type":"object","properties":{"path":{"type":"string","description":"Where."},"n":{"type":"integer"}},"required":["path"]}},"defer_loading":true}`, i, i)
	}
	body.WriteString(`]}`)
	f := openai.Chat()
	var ours, valid time.Duration
	for b.Loop() {
		start := time.Now()
		r, err := f.DecodeRequest(body.Bytes())
		if err != nil {
			b.Fatal(err)
		}
		if _, err := f.EncodeRequest(r); err != nil {
			b.Fatal(err)
		}
		ours += time.Since(start)
		start = time.Now()
		if !json.Valid(body.Bytes()) {
			b.Fatal("the body is not JSON")
		}
		valid += time.Since(start)
	}
	b.ReportMetric(float64(body.Len())/1024, "KiB")
	b.ReportMetric(float64(ours)/float64(valid), "x-valid")
}
