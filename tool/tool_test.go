package tool_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/toolsearch/toolsearch/tool"
)

func TestClean(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"plain", "a\nb\tc é 漢 😀", "a\nb\tc é 漢 😀"},
		{"escape sequence", "\x1b[31mred", "[31mred"},
		{"nul and delete", "a\x00b\x7fc\u0085d", "abcd"},
		{"zero width", "pass\u200bword\u2060\ufeff", "password"},
		{"bidirectional override", "abc\u202edef\u2066", "abcdef"},
		{"tag characters", "hi\U000E0041\U000E0042", "hi"},
		{"line separators", "a\u2028b\u2029c", "abc"},
		{"invalid UTF-8", "a\xffb", "a\uFFFDb"},
	}
	for _, tt := range tests {
		if got := tool.Clean(tt.in, 1000); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
	if got := tool.Clean("ééé", 5); got != "é…" {
		t.Errorf("cut inside a rune: %q", got)
	}
}

func TestCleanLine(t *testing.T) {
	for _, tt := range []struct {
		in   string
		max  int
		want string
	}{
		{" a\n\t b\u00a0c ", 100, "a b c"}, {"\x1b[1ma\u200bb", 100, "[1mab"}, {"a\xff", 4, "a\uFFFD"}, {"\n", 1, ""},
		{"one two three", 9, "one tw…"}, {strings.Repeat("word ", 1000), 12, "word word…"},
	} {
		if got := tool.CleanLine(tt.in, tt.max); got != tt.want {
			t.Errorf("CleanLine(%.20q, %d) = %q, want %q", tt.in, tt.max, got, tt.want)
		}
	}
}

func FuzzClean(f *testing.F) {
	f.Add("a\u202eb\xff😀", 5)
	f.Fuzz(func(t *testing.T, s string, max int) {
		if max < 0 || max > 1<<20 {
			t.Skip()
		}
		got := tool.Clean(s, max)
		if len(got) > max || !utf8.ValidString(got) || strings.ContainsAny(got, "\x00\x1b\u200b\u202e") {
			t.Errorf("Clean(%q, %d) = %q", s, max, got)
		}
		if again := tool.Clean(got, max); again != got {
			t.Errorf("cleaning twice changes %q to %q", got, again)
		}
	})
}

// A character is a UTF-16 code unit: what JavaScript's length counts.
func TestCutChars(t *testing.T) {
	tests := []struct {
		in   string
		max  int
		want string
		cut  bool
	}{
		{"abc", 3, "abc", false},
		{"abcd", 3, "ab…", true},
		{"漢字仮名", 4, "漢字仮名", false},
		{"漢字仮名", 3, "漢字…", true},
		{"😀😀", 4, "😀😀", false},
		{"😀😀", 3, "😀…", true},
		{"😀😀", 2, "…", true},
		{"abc", 0, "", true},
	}
	for _, tt := range tests {
		got, cut := tool.CutChars(tt.in, tt.max)
		if got != tt.want || cut != tt.cut {
			t.Errorf("CutChars(%q, %d) = %q, %v; want %q, %v", tt.in, tt.max, got, cut, tt.want, tt.cut)
		}
	}
}

func FuzzCutChars(f *testing.F) {
	f.Add("a😀\xff漢", 3)
	f.Fuzz(func(t *testing.T, s string, max int) {
		if max < 0 {
			t.Skip()
		}
		got, cut := tool.CutChars(s, max)
		if tool.Chars(got) > max {
			t.Errorf("CutChars(%q, %d) = %q has %d characters", s, max, got, tool.Chars(got))
		}
		if cut != (got != s) {
			t.Errorf("CutChars(%q, %d) = %q, %v", s, max, got, cut)
		}
	})
}

func TestObjectKeepsBytes(t *testing.T) {
	const in = `{"z":1.0,"a":{"y":9007199254740993,"x":null},"z":"\u0041"}`
	o, err := tool.ReadObject(json.RawMessage(in))
	if err != nil {
		t.Fatal(err)
	}
	if name, twice := o.Repeated(); !twice || name != "z" {
		t.Errorf("Repeated gave %q, %v", name, twice)
	}
	out, err := o.MarshalJSON()
	if err != nil || string(out) != in {
		t.Errorf("got %s (%v), want %s", out, err, in)
	}
	out, _ = o.Set("a", json.RawMessage("2")).Set("new", json.RawMessage("3")).MarshalJSON()
	if want := `{"z":1.0,"a":2,"z":"\u0041","new":3}`; string(out) != want {
		t.Errorf("got %s, want %s", out, want)
	}
	for _, bad := range []string{``, `[]`, `null`, `{`, `{"a"}`, `{"a":}`, `{"a":1`} {
		if _, err := tool.ReadObject(json.RawMessage(bad)); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}

func TestParseMCPResultKeepsUnknown(t *testing.T) {
	const in = `{"content":[{"type":"hologram","v":9007199254740993},{"type":"text","text":"hi","x":1}],"structuredContent":{"n":12345678901234567890},"isError":true,"x":0}`
	r, err := tool.ParseMCPResult(json.RawMessage(in))
	if err != nil {
		t.Fatal(err)
	}
	if string(r.Raw) != in || !r.IsError || r.Text() != "hi" || string(r.Details) != `{"n":12345678901234567890}` {
		t.Errorf("got %+v", r)
	}
	if got := string(r.Content[0].Raw); got != `{"type":"hologram","v":9007199254740993}` {
		t.Errorf("an unknown block became %s", got)
	}
	if _, err := tool.ParseMCPResult(json.RawMessage(`[1]`)); err == nil {
		t.Error("an array was read as a result")
	}
}

// A result that one reader would understand in one way and the next in another is
// made one that all understand alike: who budgets, records and hooks a result
// sees what the client gets.
func TestParseMCPResultHasOneReading(t *testing.T) {
	for name, c := range map[string]struct{ in, raw, text string }{
		"content in other letters after it": {
			`{"content":[{"type":"text","text":"a"}],"CONTENT":[]}`, `{"content":[{"type":"text","text":"a"}]}`, "a"},
		"content in other letters before it": {
			`{"Content":[{"type":"text","text":"b"}],"content":[{"type":"text","text":"a"}]}`, `{"content":[{"type":"text","text":"a"}]}`, "a"},
		"content in other letters alone": {
			`{"Content":[{"type":"text","text":"b"}],"x":1}`, `{"x":1}`, ""},
		"content twice": {
			`{"content":[{"type":"text","text":"b"}],"content":[{"type":"text","text":"a"}]}`, `{"content":[{"type":"text","text":"a"}]}`, "a"},
		"a letter that folds to s": {
			`{"content":[],"i\u017fError":true,"re\u017fultType":"input_required"}`, `{"content":[]}`, ""},
		"the kind of result in other letters": {
			`{"resultType":"complete","RESULTTYPE":"input_required","InputRequests":{},"content":[]}`, `{"resultType":"complete","content":[]}`, ""},
		"a block's text": {
			`{"content":[{"type":"text","text":"a","TEXT":"b"}]}`, `{"content":[{"type":"text","text":"a"}]}`, "a"},
		"a block's type": {
			`{"content":[{"type":"image","TYPE":"text","data":"eA==","Data":"","mimeType":"image/png"}]}`,
			`{"content":[{"type":"image","data":"eA==","mimeType":"image/png"}]}`, ""},
		"a resource's text": {
			`{"content":[{"type":"resource","resource":{"uri":"u:","text":"a","Text":"b"}}]}`,
			`{"content":[{"type":"resource","resource":{"uri":"u:","text":"a"}}]}`, ""},
		"what the protocol does not know": {
			`{"content":[{"type":"text","text":"a","x":1,"X":2}],"y":1,"Y":2}`, `{"content":[{"type":"text","text":"a","x":1,"X":2}],"y":1,"Y":2}`, "a"},
	} {
		r, err := tool.ParseMCPResult(json.RawMessage(c.in))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if string(r.Raw) != c.raw || r.Text() != c.text || r.IsError {
			t.Errorf("%s: raw %s, text %q, isError %v; want raw %s, text %q, no error", name, r.Raw, r.Text(), r.IsError, c.raw, c.text)
		}
		blocks, err := json.Marshal(r.Content)
		if err != nil {
			t.Fatal(err)
		}
		o, err := tool.ReadObject(r.Raw)
		if err != nil {
			t.Fatal(err)
		}
		if got := o.Get("content"); got != nil && string(got) != string(blocks) {
			t.Errorf("%s: the blocks are %s, and raw says %s", name, blocks, got)
		}
	}
	for _, bad := range []string{`{"content":{}}`, `{"content":["x"]}`, `{"content":[{"type":1}]}`, `{"isError":"no"}`, `{"content":[`} {
		if r, err := tool.ParseMCPResult(json.RawMessage(bad)); err == nil {
			t.Errorf("%s was read as %+v", bad, r)
		}
	}
}

// A refusal is machine-readable, bounded and clean, and shows no cause.
func TestErrorIsOneText(t *testing.T) {
	for want, e := range map[string]tool.Error{
		"it failed":                  {Reason: "it failed"},
		"it failed. Try again.":      {Reason: "it failed", Next: "Try again."},
		"did you mean a? Mend it.":   {Reason: "did you mean a?", Next: "Mend it."},
		"The server said no. Use b.": {Reason: "The server said no.", Next: "Use b."},
	} {
		if got := e.Error(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestErrorJSON(t *testing.T) {
	e := &tool.Error{
		Code: tool.CodeBlocked, By: "approval", Reason: "no\x1b[31m " + strings.Repeat("x", 5000), Next: "ask",
		Err: &json.SyntaxError{},
	}
	raw, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	var got struct{ Status, Code, Reason, Next, BlockedBy string }
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	if got.Status != "blocked" || got.Code != "blocked" || got.BlockedBy != "approval" || got.Next != "ask" {
		t.Errorf("got %s", raw)
	}
	if len(got.Reason) > tool.MaxErrorText || strings.Contains(got.Reason, "\x1b") {
		t.Errorf("the reason is not bounded and clean: %d bytes", len(got.Reason))
	}
	if r := e.Result(); !r.IsError || tool.CodeOf(e) != tool.CodeBlocked {
		t.Errorf("as a result: %+v", r)
	}
}

// What a model reads of errors and of values has <, > and & as they are: an escape
// of six characters costs it tokens, and it may copy one into its next call.
func TestTextsForModelsAreNotEscaped(t *testing.T) {
	const text = "a <b> & c"
	value, err := tool.JSONResult(map[string]string{"said": text})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []*tool.Result{value, (&tool.Error{Code: tool.CodeFailed, Reason: text}).Result()} {
		if !strings.Contains(r.Text(), text) || !strings.Contains(string(r.Details), text) {
			t.Errorf("the text is %s, and the details %s", r.Text(), r.Details)
		}
	}
}

// A hostile body has as many members as fit: comparing each with each other one
// would take hours.
func TestRepeatedAmongMany(t *testing.T) {
	o := make(tool.Object, 1_000_000)
	for i := range o {
		o[i].Name = "m" + strconv.Itoa(i)
	}
	if name, twice := o.Repeated(); twice {
		t.Errorf("%q stands once", name)
	}
	o = append(o, tool.Member{Name: "m7"})
	if name, twice := o.Repeated(); !twice || name != "m7" {
		t.Errorf("Repeated gave %q, %v", name, twice)
	}
}
