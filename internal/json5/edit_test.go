package json5_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/toolsearch/toolsearch/internal/json5"
)

func path(t testing.TB, s string) json5.Path {
	t.Helper()
	p, err := json5.ParsePath(s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

const commented = `// The team's settings.
{
  // Which tools.
  tools: {
    toolSearch: { mode: 'code' }, // for now
    deny: ["exec"],
  },

  /* Servers
     of ours. */
  mcp: {
    servers: {
      github: {
        command: "gh-mcp", // local
        args: ["--stdio"]
      } // no comma here
    },
  },
  // The end.
}
`

func TestSet(t *testing.T) {
	for _, c := range []struct{ name, src, path, value, want string }{
		{"replace a string, in its quotes", commented, "tools.toolSearch.mode", `"tools"`,
			strings.Replace(commented, "'code'", "'tools'", 1)},
		{"add on one line", commented, "tools.toolSearch.maxSearchLimit", "30",
			strings.Replace(commented, "'code' }", "'code', maxSearchLimit: 30 }", 1)},
		{"add to a block", commented, "tools.allow", "['a','b']",
			strings.Replace(commented, `deny: ["exec"],`, "deny: [\"exec\"],\n    allow: ['a', 'b'],", 1)},
		{"add where no comma is, behind a remark", commented, "mcp.servers.docs", `{url: "https://docs.test/mcp"}`,
			strings.Replace(commented, "} // no comma here", "}, // no comma here\n      docs: { url: 'https://docs.test/mcp' }", 1)},
		{"add behind the last member of a block without commas", commented, "mcp.servers.github.cwd", `"/x"`,
			strings.Replace(commented, `["--stdio"]`, "[\"--stdio\"],\n        cwd: '/x'", 1)},
		{"add missing parents", commented, "mcp.servers.github.env.GH-TOKEN", `"${GH_TOKEN}"`,
			strings.Replace(commented, `["--stdio"]`, "[\"--stdio\"],\n        env: {\n          'GH-TOKEN': '${GH_TOKEN}',\n        }", 1)},
		{"add at the root, before its last comment", commented, "agents.list[0].id", `"main"`,
			strings.Replace(commented, "  // The end.", "  agents: {\n    list: [\n      {\n        id: 'main',\n      },\n    ],\n  },\n  // The end.", 1)},
		{"append to an array", commented, "tools.deny[1]", `"write"`,
			strings.Replace(commented, `["exec"]`, `["exec", 'write']`, 1)},
		{"CRLF and tabs", "{\r\n\ta: 1,\r\n}\r\n", "b.c", "2", "{\r\n\ta: 1,\r\n\tb: {\r\n\t\tc: 2,\r\n\t},\r\n}\r\n"},
		{"strict JSON stays strict", "{\n    \"a\": {\n        \"b\": \"x\"\n    }\n}\n", "c", `{d:[1,],'e':'f'}`,
			"{\n    \"a\": {\n        \"b\": \"x\"\n    },\n    \"c\": { \"d\": [1], \"e\": \"f\" }\n}\n"},
		{"compact stays compact", `{"a":1,"b":[1,2]}`, "c", `{d: 'x', e: 1}`, `{"a":1,"b":[1,2],"c":{"d":"x","e":1}}`},
		{"an empty document", "{}", "a.b", "1", "{\n  a: {\n    b: 1,\n  },\n}"},
		{"an empty object with a comment", "{\n  // none yet\n}\n", "a", "1", "{\n  // none yet\n  a: 1,\n}\n"},
		{"an empty object with a comment on its line", "{\n  s: { /* none */ },\n}\n", "s.a", "1", "{\n  s: { /* none */\n    a: 1,\n  },\n}\n"},
		{"a comment inside the value stays", "{\n  a: 1,\n}", "b", "{ // why\n  c: 2 }", "{\n  a: 1,\n  b: { // why\n  c: 2 },\n}"},
		{"a block is indented", "{\n\ta: 1\n}", "b", "{\n  c: [\n 1] }", "{\n\ta: 1,\n\tb: {\n\t\tc: [1]\n\t}\n}"},
		{"trailing comma on one line", "{a: 1, }", "b", "2", "{a: 1, b: 2, }"},
		{"remark on one line", "[1 /* one */]", "[1]", "2", "[1, /* one */ 2]"},
		{"line remark behind one line", "{ a: 1 // one\n}", "b", "2", "{ a: 1, b: 2 // one\n}"},
		{"closing brace on the last line", "{\n  a: 1 }", "b", "2", "{\n  a: 1,\n  b: 2 }"},
		{"behind a remark of several lines", "{\n  a: 1 /* one\n  still */ // more\n}", "b", "2", "{\n  a: 1, /* one\n  still */ // more\n  b: 2\n}"},
		{"repeated key: the one that counts", "{a: 1, a: 2}", "a", "3", "{a: 1, a: 3}"},
		{"the root", "1 // x", "", "2", "2 // x"},
		{"__proto__", "{a: 1}", "__proto__.b", "2", "{a: 1, __proto__: {b: 2}}"},
		{"exact numbers", "{a: 1}", "a", "12345678901234567890", "{a: 12345678901234567890}"},
	} {
		got, err := parse(t, c.src).Set(path(t, c.path), c.value)
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %v\n--- got\n%s\n--- want\n%s", c.name, err, got, c.want)
		}
	}
}

func TestSetRefused(t *testing.T) {
	for _, c := range []struct{ src, path, value, pos, part string }{
		{"{\n  tools: true,\n}", "tools.profile", "1", "2:10", "tools: this is a boolean"},
		{"{a: [1]}", "a[2]", "1", "1:5", "[1] would add one"},
		{"{a: [1]}", "a.b", "1", "1:5", "is no index"},
		{"{a: {}}", "a[0]", "1", "1:5", "this is an object"},
		{"{}", "a[1]", "1", "1:1", "begin with [0]"},
		{"{}", "a", "{b: 1", "1:6", "the text ends"},
		{"{}", "a", "{b: 1, b: 2}", "1:8", "twice"},
	} {
		_, err := parse(t, c.src).Set(path(t, c.path), c.value)
		var e *json5.Error
		if !errors.As(err, &e) || e.Pos.String() != c.pos || !strings.Contains(err.Error(), c.part) {
			t.Errorf("set %s in %q: %v; want %s and %q", c.path, c.src, err, c.pos, c.part)
		}
	}
	deep := strings.Repeat("[", json5.MaxDepth) + strings.Repeat("]", json5.MaxDepth)
	if _, err := parse(t, "{a: 1}").Set(path(t, "b"), deep); err == nil {
		t.Error("a value that nests the document too deep was accepted")
	}
}

func TestUnset(t *testing.T) {
	for _, c := range []struct{ name, src, path, want string }{
		{"a line", commented, "tools.deny", strings.Replace(commented, "    deny: [\"exec\"],\n", "", 1)},
		{"the remark stays", commented, "tools.toolSearch", strings.Replace(commented, "toolSearch: { mode: 'code' }, // for now", "// for now", 1)},
		{"the last without a comma", commented, "mcp.servers.github.args",
			strings.Replace(commented, "\"gh-mcp\", // local\n        args: [\"--stdio\"]\n", "\"gh-mcp\" // local\n", 1)},
		{"the only one", commented, "tools.deny[0]", strings.Replace(commented, `["exec"]`, `[]`, 1)},
		{"first of one line", "{a: 1, b: 2}", "a", "{b: 2}"},
		{"last of one line", "{a: 1, b: 2}", "b", "{a: 1}"},
		{"middle", "[1, 2, 3]", "[1]", "[1, 3]"},
		{"every repetition", "{a: 1, b: 2, a: 3}", "a", "{b: 2}"},
		{"comma on its own", "{\n  a: 1 // x\n  , b: 2\n}", "a", "{\n  // x\n   b: 2\n}"},
		{"CRLF", "{\r\n  a: 1,\r\n  b: 2,\r\n}", "a", "{\r\n  b: 2,\r\n}"},
		{"the only block member", "{\n  a: 1,\n}\n", "a", "{}\n"},
		{"behind a line remark", "{ a: 1, // one\n  b: 2 }", "b", "{ a: 1 // one\n   }"},
		{"not there", "{a: 1}", "b.c", "{a: 1}"},
		{"no such index", "[1]", "[1]", "[1]"},
	} {
		got, was, err := parse(t, c.src).Unset(path(t, c.path))
		if err != nil || string(got) != c.want || was != (c.src != c.want) {
			t.Errorf("%s: %v, %v\n--- got\n%s\n--- want\n%s", c.name, was, err, got, c.want)
		}
	}
	if _, _, err := parse(t, "{}").Unset(nil); err == nil {
		t.Error("unset of the whole document was accepted")
	}
}

// comments returns every comment of a text that Parse accepts.
func comments(src string) []string {
	var all []string
	for i := 0; i < len(src); i++ {
		switch {
		case src[i] == '"' || src[i] == '\'':
			for q := src[i]; i+1 < len(src); {
				if i++; src[i] == '\\' {
					i++
				} else if src[i] == q {
					break
				}
			}
		case strings.HasPrefix(src[i:], "//"):
			end := strings.IndexAny(src[i:], "\n\r\u2028\u2029")
			if end < 0 {
				end = len(src) - i
			}
			all = append(all, src[i:i+end])
			i += end - 1
		case strings.HasPrefix(src[i:], "/*"):
			end := strings.Index(src[i+2:], "*/") + 4
			all = append(all, src[i:i+end])
			i += end - 1
		}
	}
	return all
}

func squeeze(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || r == '\uFEFF' {
			return -1
		}
		return r
	}, s)
}

func subsequence(part, whole string) bool {
	for i := 0; i < len(whole) && part != ""; i++ {
		if whole[i] == part[0] {
			part = part[1:]
		}
	}
	return part == ""
}

func FuzzEdit(f *testing.F) {
	f.Add(commented, "tools.deny[1]", "'x'")
	f.Add(commented, "mcp.servers.a.b", "{c: [1, // one\n2]}")
	f.Add("{\r\n\t'a': 1 /* x */ }", "b", "[]")
	f.Add("[1, // x\n 2 ]", "[2]", "{a:\n1}")
	f.Add("{/**/}", "a.b.c", "\"\\u2028\"")
	f.Add("{a:{}, }", "a.b", "0x1F")
	f.Add("{\n'a': 1 /* x\n*/ // y\n}", "b", "[]")
	f.Fuzz(func(t *testing.T, src, where, value string) {
		d, err := json5.Parse([]byte(src))
		p, perr := json5.ParsePath(where)
		v, verr := json5.Parse([]byte(value))
		if err != nil || perr != nil || verr != nil || len(p) == 0 || len(d.Duplicates) > 0 {
			return
		}
		old := d.Get(p)
		out, err := d.Set(p, value)
		if err != nil {
			var e *json5.Error
			if !errors.As(err, &e) {
				t.Fatalf("set %s = %s in %q: %v", p, value, src, err)
			}
			return
		}
		after, err := json5.Parse(out)
		if err != nil || !json5.Equal(after.Get(p), v.Root) {
			t.Fatalf("set %s = %s in %q gave %q: %v", p, value, src, out, err)
		}
		if old != nil { // a replacement touches its span alone
			if !strings.HasPrefix(string(out), src[:old.Start]) || !strings.HasSuffix(string(out), src[old.End:]) {
				t.Fatalf("set %s = %s in %q changed more: %q", p, value, src, out)
			}
			return
		}
		if !subsequence(squeeze(src), squeeze(string(out))) {
			t.Fatalf("set %s = %s in %q lost something: %q", p, value, src, out)
		}
		rest := comments(string(out))
		for _, c := range comments(src) {
			if !subsequence(c, strings.Join(rest, "")) {
				t.Fatalf("set %s = %s in %q lost the comment %q: %q", p, value, src, c, out)
			}
		}
		restored(t, d, after, p, src)
	})
}

// restored checks that unsetting what was just added gives the old text back,
// byte for byte where the container had members before.
func restored(t *testing.T, before, after *json5.Document, p json5.Path, src string) {
	parent := before.Get(p[:len(p)-1])
	if parent == nil {
		return // parents were added too
	}
	back, was, err := after.Unset(p)
	if err != nil || !was {
		t.Fatalf("unset %s in %q: %v, %v", p, after.Bytes(), was, err)
	}
	if len(parent.Members)+len(parent.Elems) > 0 {
		if string(back) != src {
			t.Fatalf("set and unset %s changed\n%q to\n%q and\n%q", p, src, after.Bytes(), back)
		}
		return
	}
	d, err := json5.Parse(back)
	if err != nil || !json5.Equal(d.Root, before.Root) {
		t.Fatalf("set and unset %s changed the value of\n%q to\n%q: %v", p, src, back, err)
	}
}

func FuzzUnset(f *testing.F) {
	f.Add(commented, "mcp.servers.github")
	f.Add("[1 // x\n, /*a*/ 2 /*b*/ , 3]", "[1]")
	f.Add("{\n a:1, // x\n b:2 }", "b")
	f.Fuzz(func(t *testing.T, src, where string) {
		d, err := json5.Parse([]byte(src))
		p, perr := json5.ParsePath(where)
		if err != nil || perr != nil || len(p) == 0 || len(d.Duplicates) > 0 {
			return
		}
		parent := d.Get(p[:len(p)-1])
		old := d.Get(p)
		out, was, err := d.Unset(p)
		if err != nil || was != (old != nil) {
			t.Fatalf("unset %s in %q: %v, %v", p, src, was, err)
		}
		if !was {
			return
		}
		after, err := json5.Parse(out)
		if err != nil {
			t.Fatalf("unset %s in %q gave %q: %v", p, src, out, err)
		}
		left := after.Get(p[:len(p)-1])
		if got, want := len(left.Members)+len(left.Elems), len(parent.Members)+len(parent.Elems)-1; got != want {
			t.Fatalf("unset %s in %q left %d members, want %d: %q", p, src, got, want, out)
		}
		if !subsequence(squeeze(string(out)), squeeze(src)) {
			t.Fatalf("unset %s in %q added something: %q", p, src, out)
		}
		// Comments outside the removed member survive, in their order.
		start := old.Start
		for _, m := range parent.Members {
			if m.Value == old {
				start = m.KeyStart
			}
		}
		want := append(comments(src[:start]), comments(src[old.End:])...)
		if got := comments(string(out)); !slices.Equal(got, want) {
			t.Fatalf("unset %s in %q has the comments %q, want %q: %q", p, src, got, want, out)
		}
	})
}
