package provider_test

import (
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/toolsearch/toolsearch/provider"
)

// What is written is read again as one frame, whatever white space its data has.
func TestWriteFrame(t *testing.T) {
	for _, f := range []provider.Frame{
		{Event: "ping", Data: []byte(`{}`)},
		{Data: []byte("{\"a\":\r\n[1,\n 2],\r\"b\":\"c\\nd\"}")},
		{Data: []byte("[DONE]")},
	} {
		var out strings.Builder
		writes := 0
		if err := provider.WriteFrame(writerFunc(func(p []byte) (int, error) { writes++; return out.Write(p) }), f); err != nil {
			t.Fatal(err)
		}
		r := provider.NewFrameReader(strings.NewReader(out.String()))
		got, err := r.Next()
		if err != nil || got.Event != f.Event || writes != 1 {
			t.Errorf("%q is read as %q, %v, after %d writes", out.String(), got, err, writes)
		}
		var want, have any
		if json.Unmarshal(f.Data, &want) == nil && (json.Unmarshal(got.Data, &have) != nil || !same(want, have)) {
			t.Errorf("%s is read as %s", f.Data, got.Data)
		}
		if _, err := r.Next(); err != io.EOF {
			t.Errorf("%q has a second frame: %v", out.String(), err)
		}
	}
	if err := provider.WriteFrame(io.Discard, provider.Frame{Data: []byte("a\nb")}); err == nil {
		t.Error("data that would be two lines is written")
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func same(a, b any) bool {
	x, errx := json.Marshal(a)
	y, erry := json.Marshal(b)
	return errx == nil && erry == nil && string(x) == string(y)
}

// Each block is told once; of texts and thoughts one piece stands for all.
func TestTold(t *testing.T) {
	opaque := func(raw string) provider.Block {
		return provider.Block{Kind: provider.Opaque, Native: provider.Native{Raw: json.RawMessage(raw)}}
	}
	call := func(id string) provider.Block {
		return provider.Block{Kind: provider.ToolCall, Call: provider.Call{ID: id}}
	}
	var told provider.Told
	for _, b := range []provider.Block{{Kind: provider.Text, Text: "a"}, {Kind: provider.Thinking, Text: "a"}, call("1"), call("2"), opaque("1"), opaque("2")} {
		before := told.Clone()
		if told.Has(b) || !told.Add(b) || !told.Has(b) || told.Add(b) {
			t.Errorf("%+v is not told once", b)
		}
		if before.Has(b) {
			t.Errorf("%+v is told in a copy", b)
		}
	}
	if !told.Has(provider.Block{Kind: provider.Text, Text: "b"}) || !told.Text || !told.Thought {
		t.Error("a piece does not stand for all texts")
	}
}
