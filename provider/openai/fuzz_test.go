package openai_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/provider/openai"
)

var formats = []provider.Format{openai.Chat(), openai.Responses()}

func FuzzChatRequest(f *testing.F) {
	f.Add([]byte(chatRequest))
	f.Add([]byte(`{"model":"m","messages":[{"role":"assistant","tool_calls":[{"function":{"arguments":{"a":"\"{}\""}}}]},{"role":"tool","tool_call_id":"x","content":[{"type":"text"}]}],"tools":[{"function":{"name":"a"}}]}`))
	f.Fuzz(func(t *testing.T, body []byte) { fuzzRequest(t, openai.Chat(), body) })
}

func FuzzResponsesRequest(f *testing.F) {
	f.Add([]byte(responsesRequest))
	f.Add([]byte(`{"model":"m","input":"x","instructions":"\ud800"}`))
	f.Fuzz(func(t *testing.T, body []byte) { fuzzRequest(t, openai.Responses(), body) })
}

// fuzzRequest checks that a request that decodes goes out in both formats, and
// in its own as a request that says the same.
func fuzzRequest(t *testing.T, f provider.Format, body []byte) {
	r, err := f.DecodeRequest(body)
	if err != nil {
		var e *provider.Error
		if !errors.As(err, &e) || e.Status != 400 || !json.Valid(f.EncodeError(e)) {
			t.Fatalf("a request was refused with %#v", err)
		}
		return
	}
	for _, to := range formats {
		out, err := to.EncodeRequest(r)
		if err != nil || !json.Valid(out) {
			t.Fatalf("to %s: %v: %s", to.API(), err, out)
		}
		back, err := to.DecodeRequest(out)
		if to.API() != f.API() {
			continue // what the other format cannot say may leave nothing
		}
		if err != nil {
			t.Fatalf("what was written is refused: %v: %s", err, out)
		}
		if len(back.Messages) != len(r.Messages) || len(back.Tools) != len(r.Tools) || back.Stream != r.Stream || back.Params.Choice != r.Params.Choice {
			t.Fatalf("%d messages and %d tools became %d and %d: %s", len(r.Messages), len(r.Tools), len(back.Messages), len(back.Tools), out)
		}
		for i, m := range r.Messages {
			if !bytes.Equal(m.Raw, back.Messages[i].Raw) {
				t.Fatalf("message %d: %s became %s", i, m.Raw, back.Messages[i].Raw)
			}
		}
	}
}

func FuzzChatStream(f *testing.F) {
	f.Add(strings.Join(append(chatFrames(`{"index":0,"delta":{"role":"assistant","content":"x","reasoning":"y","z":[1]}}`,
		`{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{"}},{"function":{"name":"g"}},{"id":"a","custom":{"name":"c","input":"i"},"type":"custom"}]}}`,
		`{"index":0,"delta":{"refusal":"r"},"finish_reason":"tool_calls"}`), "[DONE]"), "\n"))
	f.Fuzz(func(t *testing.T, s string) { fuzzStream(t, openai.Chat(), s) })
}

func FuzzResponsesStream(f *testing.F) {
	f.Add(strings.Join(responsesStream, "\n"))
	f.Add(`{"type":"response.output_item.added","item":{"type":"function_call"}}` + "\n" + `{"type":"response.function_call_arguments.done","arguments":"\"{}\""}` + "\n" + `{"type":"response.completed","response":{}}`)
	f.Fuzz(func(t *testing.T, s string) { fuzzStream(t, openai.Responses(), s) })
}

// fuzzStream reads each line as a frame; what decodes is written in both
// formats, whole and as a stream, and read back with the same calls.
func fuzzStream(t *testing.T, f provider.Format, s string) {
	d := f.NewStreamDecoder()
	var events []provider.Event
	for line := range strings.SplitSeq(s, "\n") {
		got, err := d.Frame(provider.Frame{Data: []byte(line)})
		if err != nil {
			return
		}
		events = append(events, got...)
	}
	r, err := d.Response()
	if err != nil {
		return
	}
	for _, c := range r.Calls() {
		if c.ID == "" || !json.Valid(c.Args) {
			t.Fatalf("call %+v", c)
		}
	}
	for _, to := range formats {
		out, err := to.EncodeResponse(r)
		if err != nil {
			t.Fatalf("to %s: %v", to.API(), err)
		}
		whole, err := to.DecodeResponse(out)
		if err != nil {
			t.Fatalf("to %s, whole: %v: %s", to.API(), err, out)
		}
		var buf bytes.Buffer
		e := to.NewStreamEncoder(&buf, *r, nil)
		for _, ev := range events {
			if err := e.Event(ev); err != nil {
				t.Fatalf("to %s: event: %v", to.API(), err)
			}
		}
		if err := e.Finish(r); err != nil {
			t.Fatalf("to %s: finish: %v", to.API(), err)
		}
		again := to.NewStreamDecoder()
		for fr := provider.NewFrameReader(&buf); ; {
			frame, err := fr.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err == nil {
				_, err = again.Frame(frame)
			}
			if err != nil {
				t.Fatalf("to %s: read back: %v", to.API(), err)
			}
		}
		streamed, err := again.Response()
		if err != nil {
			t.Fatalf("to %s: read back: %v", to.API(), err)
		}
		if n := len(r.Calls()); len(whole.Calls()) != n || len(streamed.Calls()) != n {
			t.Fatalf("to %s: %d calls became %d whole and %d streamed", to.API(), n, len(whole.Calls()), len(streamed.Calls()))
		}
	}
}
