package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

func FuzzDecodeCache(f *testing.F) {
	f.Add(encodeCache("s", []json.RawMessage{json.RawMessage(`{"name":"a"}`), json.RawMessage("{\n}")}))
	f.Add(encodeCache("s", nil))
	f.Add([]byte("{\"version\":1}\n99999999999999999999\nx\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		defs, err := decodeCache("s", data)
		if err != nil {
			return
		}
		again, err := decodeCache("s", encodeCache("s", defs))
		if err != nil || len(again) != len(defs) {
			t.Fatalf("what was read cannot be written and read again: %v", err)
		}
		for i := range defs {
			if !bytes.Equal(defs[i], again[i]) {
				t.Fatalf("entry %d changed", i)
			}
		}
	})
}

func FuzzReadEvent(f *testing.F) {
	f.Add([]byte("event: message\nid: 7\nretry: 10\ndata: {}\n\n"))
	f.Add([]byte(": c\r\n\r\ndata:a\r\ndata: b\r\n\r\n"))
	f.Add([]byte("data: unfinished"))
	const limit = 1 << 10
	f.Fuzz(func(t *testing.T, data []byte) {
		r := bufio.NewReaderSize(bytes.NewReader(data), 16)
		for range len(data) + 1 {
			e, err := readEvent(r, limit)
			if err != nil {
				return
			}
			if len(e.data) > limit {
				t.Fatalf("an event has %d bytes of data, the limit is %d", len(e.data), limit)
			}
			e.data = bytes.ReplaceAll(e.data, []byte("\n"), nil)
			e.data = bytes.ReplaceAll(e.data, []byte("\r"), nil)
			got, err := readEvent(bufio.NewReader(bytes.NewReader(e.appendTo(nil))), 2*limit)
			if err != nil {
				if len(e.data) == 0 && e.id == "" && e.name == "" && e.retry == "" {
					continue // an event of comments only
				}
				t.Fatalf("%+v cannot be read again: %v", e, err)
			}
			if !bytes.Equal(got.data, e.data) {
				t.Fatalf("data %q became %q", e.data, got.data)
			}
		}
		t.Fatal("the reader gives more events than there are bytes")
	})
}

func FuzzDefinition(f *testing.F) {
	f.Add([]byte(`{"name":"a","description":"b","inputSchema":{"type":"object"},"_meta":{"anthropic/searchHint":"c"}}`))
	f.Add([]byte(`{"name":"\u200b\u0007","annotations":{"readOnlyHint":"yes"}}`))
	f.Add([]byte("{\"name\":\"\xff\xfe\"}"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		set := newToolSet(&server{cfg: Server{Name: "s"}})
		set.add(raw)
		set.add(raw)
		if len(set.tools) > 1 {
			t.Fatal("the same name was listed twice")
		}
		for _, tl := range set.tools {
			if tl.Name == "" || len(tl.Name) > maxName || len(tl.Label) > maxLabel || len(tl.Description) > maxDescription || len(tl.SearchHint) > maxSearchHint {
				t.Fatalf("a text is out of bounds: %+v", tl)
			}
			for _, text := range []string{tl.Name, tl.Label, tl.Description, tl.SearchHint} {
				if !utf8.ValidString(text) || strings.ContainsAny(text, "\x00\x1b\u200b\u202e") {
					t.Fatalf("text %q is not clean", text)
				}
			}
			if tl.Input == nil || len(tl.Input.JSON()) == 0 || !bytes.Equal(tl.Definition, raw) || tl.Invoker == nil {
				t.Fatalf("tool = %+v", tl)
			}
		}
	})
}

func FuzzDecodeMessage(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"result":{"n":9007199254740993}}`))
	f.Add([]byte(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1}}`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":"x","error":{"code":-1,"message":"m"}}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		msg, err := decodeMessage(data)
		if err != nil {
			return
		}
		traffic := newTraffic(func() {})
		out, err := traffic.inbound(msg)
		if err != nil || out == nil {
			return
		}
		if _, err := jsonrpc.EncodeMessage(out); err != nil {
			t.Fatalf("%s cannot be encoded again: %v", data, err)
		}
	})
}
