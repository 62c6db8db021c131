package anthropic_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/provider/anthropic"
)

// neutral takes the bytes away, as if the request had come from another API.
func neutral(messages []provider.Message) []provider.Message {
	out := slices.Clone(messages)
	for i, m := range out {
		out[i].Native, out[i].Blocks = provider.Native{}, bare(m.Blocks)
	}
	return out
}

func bare(blocks []provider.Block) []provider.Block {
	out := slices.Clone(blocks)
	for i := range out {
		out[i].Native, out[i].Answer.Content = provider.Native{}, bare(out[i].Answer.Content)
	}
	return out
}

// FuzzRequest: no request makes the decoder panic; what it takes is written to
// the same API with each message in its bytes, and to it as if it came from
// another one, and is taken again.
func FuzzRequest(f *testing.F) {
	f.Add([]byte(everything))
	f.Add([]byte(`{"model":"m","max_tokens":1,"system":"s","messages":[{"role":"user","content":"x"}]}`))
	f.Add([]byte(`{"model":"m","max_tokens":1,"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"a:b","name":"n","input":"{"}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a:b","is_error":true}]}]}`))
	f.Add([]byte(`{"model":1}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		format := anthropic.Messages()
		r, err := format.DecodeRequest(body)
		if err != nil {
			var e *provider.Error
			if !errors.As(err, &e) || e.Status != 400 || e.Param == "" {
				t.Fatalf("refused with %v", err)
			}
			return
		}
		out, err := format.EncodeRequest(r)
		if err != nil {
			t.Fatalf("taken, but not written: %v", err)
		}
		again, err := format.DecodeRequest(out)
		if err != nil {
			t.Fatalf("written as %s, and refused: %v", out, err)
		}
		if len(again.Messages) != len(r.Messages) || len(again.Tools) != len(r.Tools) || len(again.Fields) != len(r.Fields) {
			t.Fatalf("written as %s", out)
		}
		for i, m := range r.Messages {
			if !bytes.Equal(m.Raw, again.Messages[i].Raw) {
				t.Fatalf("message %d changed from %s to %s", i, m.Raw, again.Messages[i].Raw)
			}
		}
		foreign := &provider.Request{Model: r.Model, Messages: neutral(r.Messages), Params: r.Params}
		if out, err = format.EncodeRequest(foreign); err != nil || !json.Valid(out) {
			t.Fatalf("in neutral words: %v: %s", err, out)
		}
		if bytes.Contains(out, []byte(`"messages":[]`)) {
			return // nothing of it can be said
		}
		if _, err = format.DecodeRequest(out); err != nil {
			t.Fatalf("in neutral words written as %s, and refused: %v", out, err)
		}
	})
}

// FuzzStream: no stream makes the decoder panic; what it takes is written again,
// whole and streamed, and says the same.
func FuzzStream(f *testing.F) {
	f.Add(strings.Join(everyFrame, "\n"))
	f.Add(strings.Join([]string{msgStart, blockStart(0, `{"type":"tool_use","id":"","name":"x","input":"{"}`), blockDelta(0, `{"type":"input_json_delta","partial_json":"{\"k\":"}`), msgDelta("end_turn", 1)}, "\n"))
	f.Add(strings.Join([]string{msgStart, blockDelta(3, `{"type":"text_delta","text":"a"}`), msgStop}, "\n"))
	f.Add(`{"type":"error","error":{}}`)
	f.Fuzz(func(t *testing.T, lines string) {
		format := anthropic.Messages()
		d := format.NewStreamDecoder()
		var buf bytes.Buffer
		e := format.NewStreamEncoder(&buf, provider.Response{ID: "i", Model: "m"}, nil)
		for line := range strings.SplitSeq(lines, "\n") {
			events, err := d.Frame(provider.Frame{Data: []byte(line)})
			if err != nil {
				return
			}
			for _, event := range events {
				if err := e.Event(event); err != nil {
					t.Fatalf("told, but not written: %v", err)
				}
			}
		}
		r, err := d.Response()
		if err != nil {
			return
		}
		out, err := format.EncodeResponse(r)
		if err != nil || !json.Valid(out) {
			t.Fatalf("read, but not written: %v: %s", err, out)
		}
		if err := e.Finish(r); err != nil {
			t.Fatalf("read, but not streamed: %v", err)
		}
		d = format.NewStreamDecoder()
		for _, frame := range frames(t, buf.String()) {
			if _, err := d.Frame(frame); err != nil {
				t.Fatalf("streamed as %s, and refused: %v", buf.String(), err)
			}
		}
		again, err := d.Response()
		if err != nil {
			t.Fatalf("streamed as %s, and refused: %v", buf.String(), err)
		}
		if again.Text() != r.Text() || len(again.Calls()) != len(r.Calls()) || again.Stop != r.Stop || again.Usage != r.Usage {
			t.Fatalf("%+v became %+v by %s", r, again, buf.String())
		}
	})
}
