package json5_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/toolsearch/toolsearch/internal/json5"
)

func parse(t *testing.T, src string) *json5.Document {
	t.Helper()
	d, err := json5.Parse([]byte(src))
	if err != nil {
		t.Fatalf("Parse(%q): %v", src, err)
	}
	return d
}

// The values are those that https://spec.json5.org gives, written as JSON.
func TestValues(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"null", "null"}, {"true", "true"}, {" false ", "false"},
		{"0", "0"}, {"-0", "-0"}, {"+1", "1"}, {".5", "0.5"}, {"5.", "5"}, {"-.5e-3", "-0.5e-3"}, {"5.e3", "5e3"},
		{"0xdecaf", "912559"}, {"-0XC0FFEE", "-12648430"},
		{"9007199254740993", "9007199254740993"},
		{"123456789012345678901234567890", "123456789012345678901234567890"},
		{"0xFFFFFFFFFFFFFFFFFF", "4722366482869645213695"},
		{`'it"s'`, `"it\"s"`}, {`"it's"`, `"it's"`},
		{`'\x41\u0042\C\'\"\\\/\b\f\n\r\t\v\0'`, `"ABC'\"\\/\u0008\u000c\n\r\t\u000b\u0000"`},
		{"'one \\\ntwo \\\r\nthree \\\rfour \\\u2028five'", `"one two three four five"`},
		{"'\u2028\u2029'", `"\u2028\u2029"`}, {"'\t'", `"\t"`},
		{`'\uD83D\uDE00'`, `"😀"`}, {`'\uD83D'`, "\"\uFFFD\""}, {`'\uDE00\uD83D\u0041'`, "\"\uFFFD\uFFFDA\""},
		{"[]", "[]"}, {"[1,2,]", "[1,2]"}, {"{}", "{}"}, {"{a:1,}", `{"a":1}`},
		{`{$_a1:1,'b':2,"c":3,ünïcode:4,\u0061b:5,null:6,true:7,if:8}`,
			`{"$_a1":1,"b":2,"c":3,"ünïcode":4,"ab":5,"null":6,"true":7,"if":8}`},
		{`{__proto__:{a:1},constructor:2}`, `{"__proto__":{"a":1},"constructor":2}`},
		{"\uFEFF// first\n/* second **/ [ /**/ 1 //\r , \v\f\u00A0\u2003 2 ] // last", "[1,2]"},
		{"// ends with a separator\u2028 1", "1"},
		{"{a:1,b:2,a:3}", `{"b":2,"a":3}`},
	} {
		got, err := parse(t, c.src).Root.JSON()
		if err != nil || string(got) != c.want {
			t.Errorf("%q: got %s, %v; want %s", c.src, got, err, c.want)
		}
	}
}

func TestRefused(t *testing.T) {
	for _, c := range []struct {
		src, pos, part string
	}{
		{"", "1:1", "the text ends"},
		{"  // only a comment", "1:20", "the text ends"},
		{"{a:1", "1:5", "expected ',' or '}'"},
		{"{\n  a: 1\n  b: 2\n}", "3:3", `unexpected 'b'`},
		{"{\r\n  a: 1,\r\n  b 2\r\n}", "3:5", `expected ':'`},
		{"{\r  a: 1,\r  é: x\r}", "3:6", `unexpected 'x'`},
		{"\uFEFF{é: 'ü', b}", "1:11", "expected ':'"},
		{"[1,,2]", "1:4", "expected a value"},
		{"[,]", "1:2", "expected a value"},
		{"{,}", "1:2", "expected a key"},
		{"[1] 2", "1:5", "the end of the text"},
		{"nul", "1:1", "expected a value"}, {"nullx", "1:5", "the end of the word"},
		{"01", "1:1", "octal"}, {"-09", "1:2", "octal"}, {"1e", "1:3", "exponent"}, {"0x", "1:3", "hexadecimal"},
		{".", "1:2", "a digit"}, {"+", "1:2", "a digit"}, {"- 1", "1:2", "a digit"}, {"--1", "1:2", "a digit"},
		{"1a", "1:2", "the end of the word"}, {"infinity", "1:1", "expected a value"}, {"0x1.5", "1:4", "the end of the text"},
		{`'\1'`, "1:2", "octal"}, {`'\01'`, "1:2", "octal"}, {`'\x4'`, "1:5", "2 hexadecimal"}, {`"\u12G4"`, "1:6", "4 hexadecimal"},
		{"'abc", "1:1", "never ends"}, {"'a\nb'", "1:3", "the line ends"}, {"'a\\", "1:3", "inside a string"},
		{"/* a", "1:1", "never ends"}, {"/", "1:1", "unexpected '/'"},
		{"{1a: 2}", "1:2", "expected a key"}, {"{a-b: 2}", "1:3", "expected ':'"},
		{`{\u0031a: 2}`, "1:2", "may not stand"}, {`{a\x62: 2}`, "1:3", `only \u`}, {"{a\u2029.b:1}", "1:4", "expected ':'"},
		{"\xff", "1:1", "not UTF-8"}, {"['a\xc3']", "1:4", "not UTF-8"},
		{"[" + strings.Repeat("1", 1001) + "]", "1:2", "1001 characters"},
	} {
		_, err := json5.Parse([]byte(c.src))
		var e *json5.Error
		if !errors.As(err, &e) {
			t.Errorf("%q: error %v, want an *Error", c.src, err)
			continue
		}
		if e.Pos.String() != c.pos || !strings.Contains(e.Problem, c.part) {
			t.Errorf("%q: got %v; want %s and %q", c.src, e, c.pos, c.part)
		}
	}
}

func TestBounds(t *testing.T) {
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	parse(t, deep(json5.MaxDepth))
	for name, src := range map[string]string{
		"one too deep":     deep(json5.MaxDepth + 1),
		"a million deep":   strings.Repeat("[", 1_000_000),
		"deep objects":     strings.Repeat("{a:", 1_000_000),
		"too many values":  "[" + strings.Repeat("0,", json5.MaxNodes) + "]",
		"too large":        strings.Repeat(" ", json5.MaxSize) + "1",
		"many open quotes": strings.Repeat("['", 1_000_000),
	} {
		if _, err := json5.Parse([]byte(src)); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestDuplicates(t *testing.T) {
	d := parse(t, "{\n  a: {x: 1, 'x': 2},\n  b: 1,\n  \"b\": 2,\n}")
	if len(d.Duplicates) != 2 {
		t.Fatalf("duplicates: %v, want 2", d.Duplicates)
	}
	first, second := d.Duplicates[0], d.Duplicates[1]
	if first.Path.String() != "a.x" || d.Pos(first.First) != (json5.Pos{Line: 2, Column: 7}) || d.Pos(first.Second) != (json5.Pos{Line: 2, Column: 13}) {
		t.Errorf("first: %v at %v and %v", first.Path, d.Pos(first.First), d.Pos(first.Second))
	}
	if second.Path.String() != "b" || d.Pos(second.Second) != (json5.Pos{Line: 4, Column: 3}) {
		t.Errorf("second: %v at %v", second.Path, d.Pos(second.Second))
	}
	if got := d.Root.Member("b").Literal(); got != "2" {
		t.Errorf("b = %s, want the last one, 2", got)
	}
}

func TestInt64(t *testing.T) {
	for _, c := range []struct {
		src  string
		want int64
		err  error
	}{
		{"9007199254740993", 9007199254740993, nil}, {"-0x10", -16, nil}, {"+0xFF", 255, nil}, {"1e3", 1000, nil}, {"2.0", 2, nil}, {"-0", 0, nil},
		{"9223372036854775807", math.MaxInt64, nil}, {"9223372036854775808", math.MaxInt64, json5.ErrRange},
		{"-9223372036854775809", math.MinInt64, json5.ErrRange}, {"1e999999", math.MaxInt64, json5.ErrRange}, {"-1e30", math.MinInt64, json5.ErrRange},
		{"0x8000000000000000", math.MaxInt64, json5.ErrRange},
		{"1.5", 0, json5.ErrNotInteger}, {"NaN", 0, json5.ErrNotInteger}, {"-NaN", 0, json5.ErrNotInteger}, {"-Infinity", 0, json5.ErrNotInteger}, {"'1'", 0, json5.ErrNotInteger},
	} {
		got, err := parse(t, c.src).Root.Int64()
		if got != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s: got %d, %v; want %d, %v", c.src, got, err, c.want, c.err)
		}
	}
}

func TestNoJSON(t *testing.T) {
	for _, src := range []string{"NaN", "-Infinity", "[1,+NaN]", "{a:Infinity}"} {
		if _, err := parse(t, src).Root.JSON(); !errors.Is(err, json5.ErrNoJSON) {
			t.Errorf("%s: error %v, want ErrNoJSON", src, err)
		}
	}
}

func TestPath(t *testing.T) {
	for _, c := range []struct{ in, out string }{
		{"a", "a"}, {"mcp.servers.my-server.env.TOKEN", "mcp.servers.my-server.env.TOKEN"},
		{"agents.list[0].tools", "agents.list[0].tools"}, {`a["b.c"]['d'].e`, `a["b.c"].d.e`}, {`["a b"][12]`, `["a b"][12]`},
		{"list.0", "list.0"}, {`["\u202e"]`, `["\u202e"]`}, {"", ""},
	} {
		p, err := json5.ParsePath(c.in)
		if err != nil || p.String() != c.out {
			t.Errorf("%q: got %q, %v; want %q", c.in, p, err, c.out)
		}
	}
	for _, in := range []string{".", "a.", ".a", "a..b", "a[", "a[]", "a[x]", "a[-1]", `a["b`, `a["b"`, "a]", "a b", "a[0]b", `a."b"`, "a.[0]", "a\xff",
		strings.Repeat("a.", json5.MaxDepth) + "a"} {
		if p, err := json5.ParsePath(in); err == nil {
			t.Errorf("%q: accepted as %v", in, p)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"{a:1,/*x*/'b':[+.5,0xF,NaN],}", "[\"\\u0041\\\n\"]", "{\\u0061:1}", "// x\r\n-Infinity", strings.Repeat("[", 200)} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		d, err := json5.Parse(src)
		if err != nil {
			var e *json5.Error
			if !errors.As(err, &e) || e.Pos.Line < 1 || e.Pos.Column < 1 || e.Offset > len(src) {
				t.Fatalf("%q: error without a place: %v", src, err)
			}
			return
		}
		raw, err := d.Root.JSON()
		if err != nil {
			return
		}
		// Strict JSON is JSON5, and stands for itself.
		again, err := json5.Parse(raw)
		if err != nil {
			t.Fatalf("%q: its JSON %s is refused: %v", src, raw, err)
		}
		if twice, err := again.Root.JSON(); err != nil || string(twice) != string(raw) {
			t.Fatalf("%q: %s became %s, %v", src, raw, twice, err)
		}
	})
}

func FuzzPath(f *testing.F) {
	for _, s := range []string{"a.b[0]", `["x\u0041"].y`, "a..b", "[[]]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := json5.ParsePath(s)
		if err != nil {
			return
		}
		q, err := json5.ParsePath(p.String())
		if err != nil || q.String() != p.String() {
			t.Fatalf("%q prints as %q, which reads as %q, %v", s, p, q, err)
		}
	})
}
