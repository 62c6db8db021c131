package provider_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/toolsearch/toolsearch/provider"
)

func frame(event, data string) provider.Frame {
	return provider.Frame{Event: event, Data: []byte(data)}
}

func readFrames(r io.Reader) ([]provider.Frame, error) {
	fr := provider.NewFrameReader(r)
	var out []provider.Frame
	for {
		f, err := fr.Next()
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		out = append(out, f)
	}
}

// The first cases are the examples of the event stream format in the HTML
// standard, section 9.2.6.
var streams = []struct {
	name, text string
	want       []provider.Frame
}{
	{"stocks", "data: YHOO\ndata: +2\ndata: 10\n\n", []provider.Frame{frame("", "YHOO\n+2\n10")}},
	{"comment, ids, space kept", ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n",
		[]provider.Frame{frame("", "first event"), frame("", "second event"), frame("", " third event")}},
	{"empty data", "data\n\ndata\ndata\n\ndata:\n\n", []provider.Frame{frame("", ""), frame("", "\n"), frame("", "")}},
	{"space or none", "data:test\n\ndata: test\n\n", []provider.Frame{frame("", "test"), frame("", "test")}},
	{"named", "event: add\ndata: 73857293\n\nevent: remove\ndata: 2153\n\n",
		[]provider.Frame{frame("add", "73857293"), frame("remove", "2153")}},
	{"name without data is nothing, and is forgotten", "event: lost\n\ndata: x\n\n", []provider.Frame{frame("", "x")}},
	{"last name wins", "event: a\nevent: b\ndata: x\n\n", []provider.Frame{frame("b", "x")}},
	{"CRLF", "event: a\r\ndata: 1\r\ndata: 2\r\n\r\ndata: 3\r\n\r\n", []provider.Frame{frame("a", "1\n2"), frame("", "3")}},
	{"CR", "event: a\rdata: 1\rdata: 2\r\rdata: 3\r\r", []provider.Frame{frame("a", "1\n2"), frame("", "3")}},
	{"mixed ends", "data: 1\r\ndata: 2\rdata: 3\n\r\ndata: 4\n\r", []provider.Frame{frame("", "1\n2\n3"), frame("", "4")}},
	{"byte order mark", "\xEF\xBB\xBFdata: x\n\ndata: \xEF\xBB\xBFy\n\n", []provider.Frame{frame("", "x"), frame("", "\xEF\xBB\xBFy")}},
	{"a mark in the middle is part of a name", "data: x\n\n\xEF\xBB\xBFdata: y\n\n", []provider.Frame{frame("", "x")}},
	{"retry and unknown fields", "retry: 10\nfoo: bar\nDATA: no\ndata: x\n\n", []provider.Frame{frame("", "x")}},
	{"colons in the value", "data: {\"a\":\"b: c\"}\n\n", []provider.Frame{frame("", `{"a":"b: c"}`)}},
	{"no blank line at the end", "data: 1\n\ndata: [DONE]\n", []provider.Frame{frame("", "1"), frame("", "[DONE]")}},
	{"no line end at the end", "data: 1\n\nevent: e\ndata: [DONE]", []provider.Frame{frame("", "1"), frame("e", "[DONE]")}},
	{"keep-alive comments only", ": ping\n\n:\n\n", nil},
	{"empty", "", nil},
}

func TestFrames(t *testing.T) {
	for _, c := range streams {
		t.Run(c.name, func(t *testing.T) {
			for _, r := range []io.Reader{
				strings.NewReader(c.text), iotest.OneByteReader(strings.NewReader(c.text)),
				iotest.DataErrReader(strings.NewReader(c.text)),
			} {
				got, err := readFrames(r)
				if err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff(c.want, got, cmpopts.EquateEmpty()); d != "" {
					t.Errorf("frames (-want +got):\n%s", d)
				}
			}
		})
	}
}

// A frame is there when its blank line has begun, though nothing follows: a
// reader that wanted to see whether an LF comes behind a CR would hang.
func TestFrameIsReturnedAtItsEnd(t *testing.T) {
	for _, end := range []string{"\n\n", "\r\n\r\n", "\r\r"} {
		pr, pw := io.Pipe()
		fr := provider.NewFrameReader(pr)
		got := make(chan provider.Frame)
		go func() {
			defer close(got)
			for {
				f, err := fr.Next()
				if err != nil {
					return
				}
				got <- f
			}
		}()
		for _, text := range []string{"1", "2"} {
			if _, err := io.WriteString(pw, "data: "+text+end); err != nil {
				t.Fatal(err)
			}
			if f := <-got; string(f.Data) != text {
				t.Errorf("with %q: got %q, want %q", end, f.Data, text)
			}
		}
		pw.Close()
		if f, ok := <-got; ok {
			t.Errorf("with %q: another frame: %q", end, f.Data)
		}
	}
}

func TestFrameTooLong(t *testing.T) {
	long := strings.Repeat("x", provider.MaxFrame)
	half := long[:provider.MaxFrame/2]
	for name, text := range map[string]string{
		"a line":        "data: " + long + "\n\n",
		"a comment":     ":" + long + "\n\n",
		"several lines": "data: " + half + "\ndata: " + half + "\n\n",
		"without end":   "data: " + long,
	} {
		if _, err := readFrames(strings.NewReader(text)); !errors.Is(err, provider.ErrFrameTooLong) {
			t.Errorf("%s: error %v, want ErrFrameTooLong", name, err)
		}
	}
	fits := "data: " + long[:provider.MaxFrame-6] + "\n\n"
	got, err := readFrames(strings.NewReader(fits + fits))
	if err != nil || len(got) != 2 || len(got[1].Data) != provider.MaxFrame-6 {
		t.Errorf("two frames of the largest size: %d frames, error %v", len(got), err)
	}
}

// A connection that breaks is an error, and what had begun is no frame.
func TestFramesOfABrokenStream(t *testing.T) {
	broken := errors.New("broken")
	r := io.MultiReader(strings.NewReader("data: 1\n\ndata: 2\n"), iotest.ErrReader(broken))
	got, err := readFrames(r)
	if !errors.Is(err, broken) || len(got) != 1 {
		t.Errorf("got %d frames and %v, want 1 and the reader's error", len(got), err)
	}
}

var lineEnds = regexp.MustCompile("\r\n|\r|\n")

// oracle reads a whole stream in the words of the standard's grammar: lines,
// then blocks between blank lines.
func oracle(text []byte) []provider.Frame {
	text = bytes.TrimPrefix(text, []byte("\xEF\xBB\xBF"))
	var out []provider.Frame
	var event string
	var data []string
	flush := func() {
		if data != nil {
			out = append(out, frame(event, strings.Join(data, "\n")))
		}
		event, data = "", nil
	}
	for _, line := range lineEnds.Split(string(text), -1) {
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "":
			flush()
		case name == "event":
			event = value
		case name == "data":
			data = append(data, value)
		}
	}
	flush()
	return out
}

// However a stream is split, its frames are the same, and they are those of an
// independent reading of the whole text.
func FuzzFrames(f *testing.F) {
	for _, c := range streams {
		f.Add([]byte(c.text), 3)
	}
	f.Fuzz(func(t *testing.T, text []byte, at int) {
		want := oracle(text)
		split := 0
		if len(text) > 0 {
			split = int(uint(at) % uint(len(text)))
		}
		for _, r := range []io.Reader{
			bytes.NewReader(text),
			iotest.OneByteReader(bytes.NewReader(text)),
			io.MultiReader(bytes.NewReader(text[:split]), bytes.NewReader(text[split:])),
		} {
			got, err := readFrames(r)
			if err != nil {
				t.Fatalf("read %q: %v", text, err)
			}
			if !slices.EqualFunc(got, want, func(a, b provider.Frame) bool {
				return a.Event == b.Event && bytes.Equal(a.Data, b.Data)
			}) {
				t.Fatalf("read %q: got %q, want %q", text, got, want)
			}
		}
	})
}

// What FrameReader costs beside reading the lines alone.
func BenchmarkFrames(b *testing.B) {
	var text bytes.Buffer
	for range 2000 {
		text.WriteString("event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"word \"}}\n\n")
	}
	b.SetBytes(int64(text.Len()))
	var frames, lines time.Duration
	for b.Loop() {
		start := time.Now()
		got, err := readFrames(bytes.NewReader(text.Bytes()))
		frames += time.Since(start)
		if err != nil || len(got) != 2000 {
			b.Fatalf("%d frames: %v", len(got), err)
		}
		start = time.Now()
		s, n := bufio.NewScanner(bytes.NewReader(text.Bytes())), 0
		for s.Scan() {
			n++
		}
		lines += time.Since(start)
		if n != 6000 {
			b.Fatalf("%d lines", n)
		}
	}
	b.ReportMetric(float64(frames)/float64(lines), "x-lines-alone")
	b.ReportMetric(float64(frames.Nanoseconds())/float64(b.N)/2000, "ns/frame")
}
