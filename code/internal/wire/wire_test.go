package wire_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/toolsearch/toolsearch/code/internal/wire"
)

func TestFrameRoundTrip(t *testing.T) {
	var buf bytes.Buffer
	want := wire.Frame{Type: wire.Call, ID: 7, Payload: []byte(`["x",{}]`)}
	if err := wire.Write(&buf, want); err != nil {
		t.Fatal(err)
	}
	// Length, type, id, little-endian, then the payload as it is.
	if head := buf.Bytes()[:12]; !bytes.Equal(head, []byte{8, 0, 0, 0, 20, 0, 0, 0, 7, 0, 0, 0}) {
		t.Errorf("header %v", head)
	}
	got, err := wire.Read(&buf, 100)
	if err != nil || got.Type != want.Type || got.ID != want.ID || !bytes.Equal(got.Payload, want.Payload) {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err := wire.Read(&buf, 100); err != io.EOF {
		t.Errorf("at the end: %v, want io.EOF", err)
	}
}

func TestReadRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		stream string
		err    error
	}{
		"4 GB":                 {"\xff\xff\xff\xff\x15\x00\x00\x00\x01\x00\x00\x00", wire.ErrTooLong},
		"one over":             {"\x65\x00\x00\x00\x15\x00\x00\x00\x01\x00\x00\x00", wire.ErrTooLong},
		"truncated header":     {"\x01\x00", wire.ErrTruncated},
		"no payload":           {"\x05\x00\x00\x00\x15\x00\x00\x00\x01\x00\x00\x00", wire.ErrTruncated},
		"half of the payload":  {"\x05\x00\x00\x00\x15\x00\x00\x00\x01\x00\x00\x00abc", wire.ErrTruncated},
		"nothing at all is ok": {"", io.EOF},
	} {
		if _, err := wire.Read(strings.NewReader(c.stream), 100); !errors.Is(err, c.err) {
			t.Errorf("%s: %v, want %v", name, err, c.err)
		}
	}
	if err := wire.Write(io.Discard, wire.Frame{Payload: make([]byte, wire.MaxToChild+1)}); !errors.Is(err, wire.ErrTooLong) {
		t.Errorf("write: %v, want ErrTooLong", err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("\x02\x00\x00\x00\x15\x00\x00\x00\x01\x00\x00\x00{}"))
	f.Add([]byte("\xff\xff\xff\xff\x15\x00\x00\x00\x01\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, stream []byte) {
		r := bytes.NewReader(stream)
		for {
			frame, err := wire.Read(r, 1000)
			if err != nil {
				return
			}
			if len(frame.Payload) > 1000 {
				t.Fatalf("%d bytes of payload, at most 1000", len(frame.Payload))
			}
			var out bytes.Buffer
			if err := wire.Write(&out, frame); err != nil {
				t.Fatal(err)
			}
			if end := len(stream) - r.Len(); !bytes.Equal(out.Bytes(), stream[end-out.Len():end]) {
				t.Fatal("written again it is another frame")
			}
		}
	})
}

// FuzzCheck compares with encoding/json, which is right about everything but
// depth.
func FuzzCheck(f *testing.F) {
	for _, s := range []string{`{"a":[1,"]\"[{"]}`, `[`, `"\`, `]`, ``, `[[[1]]] x`, strings.Repeat("[", 1001) + strings.Repeat("]", 1001), strings.Repeat("[", 1000) + strings.Repeat("]", 1000)} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		err := wire.Check(b)
		if err == nil != json.Valid(b) && !errors.Is(err, wire.ErrTooDeep) {
			t.Errorf("Check says %v, json.Valid %v", err, json.Valid(b))
		}
		if errors.Is(err, wire.ErrTooDeep) && bytes.Count(b, []byte("["))+bytes.Count(b, []byte("{")) <= wire.MaxDepth {
			t.Error("too deep with too few brackets")
		}
	})
}
