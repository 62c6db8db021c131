package code_test

import (
	"strings"
	"testing"

	"github.com/toolsearch/toolsearch/code"
)

func TestForms(t *testing.T) {
	fence := "```"
	cases := []struct{ name, body, want string }{
		{"fence", fence + "js\nreturn 1\n" + fence, `1`},
		{"fence with spaces around", "\n  " + fence + "javascript\nreturn 1\n" + fence + "\n\n", `1`},
		{"fence without a language", fence + "\nreturn 1\n" + fence, `1`},
		{"fence inside a string stays", "return '" + fence + "js' + '" + fence + "'", `"` + fence + "js" + fence + `"`},
		{"arrow", `async () => 1`, `1`},
		{"arrow with semicolon and comment before", "// finds it\n/* now */ async () => { return 1 };\n", `1`},
		{"arrow that is not async", `() => 1`, `1`},
		{"arrow with a parameter", `x => typeof x`, `"undefined"`},
		{"async function", `async function main() { return 1 }`, `1`},
		{"anonymous async function", `async function () { return 1 }`, `1`},
		{"generator is an iterator, not a list", `(function* () { yield 1 })`, `{}`},
		{"async function called at once", `(async () => { const r = await openclaw.tools.describe("d"); return r.id })()`, `"d"`},
		{"async function called at once, with semicolon", "(async () => {\n  return 1\n})();", `1`},
		{"parentheses are no return", `(1 + 1)`, `null`},
		{"a request in parentheses is not awaited", `(openclaw.tools.call("x"))`, `null`},
		{"a declaration followed by its call", "async function main() { return 1 }\nreturn main()", `1`},
		{"export default function", `export default async function main() { return 1 }`, `1`},
		{"export default arrow", "const n = 1;\nexport default async () => n;", `1`},
		{"export default value", `export default 1`, `1`},
		{"types on a constant", `const n: number = 1; return n`, `1`},
		{"types on a function", "interface Row { n: number }\ntype Rows = Row[];\nasync function f<T extends Row>(r: T[]): Promise<number> { return r[0]!.n }\nreturn await f([{n: 1}] as Rows)", `1`},
		{"types on an arrow", `async (): Promise<number> => 1`, `1`},
		{"types after export default", `export default async function main(x?: string): Promise<number> { return 1 }`, `1`},
		{"satisfies", `return ({a: 1} satisfies Record<string, number>).a`, `1`},
		{"top-level await", `const r = await Promise.resolve(1); return r`, `1`},
		{"a comment at the end", `return 1 // one`, `1`},
		{"a hashbang is a comment nowhere else", `return "#!"`, `"#!"`},
		{"Windows lines", "const a = 1;\r\nreturn a\r\n", `1`},
		{"empty", ``, `null`},
		{"only a comment", `// nothing`, `null`},
	}
	eachRuntime(t, func(t *testing.T, o code.Options) {
		o.Warm = 2
		r := newRunner(t, o)
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				report := run(t, r, c.body, &host{})
				if !report.OK {
					t.Fatalf("failed: %v", report.Error)
				}
				if string(report.Value) != c.want {
					t.Errorf("value %s, want %s", report.Value, c.want)
				}
			})
		}
	})
}

func TestEnumsAreEmbeddedOnly(t *testing.T) {
	r := newRunner(t, code.Options{})
	if report := run(t, r, "enum E { A = 1, B }\nreturn E.B", &host{}); string(report.Value) != "2" {
		t.Errorf("value %s, error %v", report.Value, report.Error)
	}
}

// TestErrorsNameThePlace checks line, column, the offending line and the hint.
// Where the runtimes point at different characters of the same expression, the
// columns of both are given.
func TestErrorsNameThePlace(t *testing.T) {
	cases := []struct {
		name, body   string
		kind         code.Kind
		errName      string
		line         int
		columns      [2]int // embedded, node; 0 is not checked
		snippet, tip string
	}{
		{"syntax on line 1", `let = = 1`, code.KindSyntax, "SyntaxError", 1, [2]int{7, 7}, `let = = 1`, ""},
		{"syntax further down", "let a = 1;\nlet b = ;\nreturn a", code.KindSyntax, "SyntaxError", 2, [2]int{9, 9}, `let b = ;`, ""},
		{"the end is missing", "if (true) {\n  return 1", code.KindSyntax, "SyntaxError", 2, [2]int{}, `  return 1`, ""},
		{"inside a fence", "```js\nlet a = 1;\nlet b = ;\n```", code.KindSyntax, "SyntaxError", 3, [2]int{9, 9}, `let b = ;`, ""},
		{"static import", "import fs from 'fs';\nreturn 1", code.KindSyntax, "SyntaxError", 1, [2]int{}, `import fs from 'fs';`, "openclaw.tools"},
		{"a body cannot close itself", "}); globalThis.out = 1; (async () => {", code.KindSyntax, "SyntaxError", 1, [2]int{2, 2}, "}); globalThis.out = 1; (async () => {", ""},
		{"nor with a comma", "}, async x() {", code.KindSyntax, "SyntaxError", 1, [2]int{2, 2}, "}, async x() {", ""},
		{"nor with an assignment", "}[console.log] = async function () {", code.KindSyntax, "SyntaxError", 1, [2]int{}, "}[console.log] = async function () {", ""},
		{"nor with a statement", "} console.log(1); async function y() {", code.KindSyntax, "SyntaxError", 1, [2]int{}, "} console.log(1); async function y() {", ""},
		{"thrown", "const a = 1;\n  throw new RangeError('r')", code.KindThrown, "RangeError", 2, [2]int{0, 9}, "  throw new RangeError('r')", ""},
		{"thrown in a function", "function f() {\n  null.x\n}\nf()", code.KindThrown, "TypeError", 2, [2]int{7, 8}, "  null.x", ""},
		{"after an await", "await null;\nnowhere", code.KindThrown, "ReferenceError", 2, [2]int{1, 1}, "nowhere", ""},
		{"in typed code", "interface A { x: number }\nconst a: A = {x: 1};\nconst b: string = missing.x;", code.KindThrown, "ReferenceError", 3, [2]int{19, 19}, "const b: string = missing.x;", ""},
		{"in typed code on line 1", "const b: string = missing.x;", code.KindThrown, "ReferenceError", 1, [2]int{19, 19}, "const b: string = missing.x;", ""},
		{"in a bare arrow", "async () => {\n  nowhere\n}", code.KindThrown, "ReferenceError", 2, [2]int{3, 3}, "  nowhere", ""},
		{"in a bare arrow on line 1", "async () => nowhere", code.KindThrown, "ReferenceError", 1, [2]int{13, 13}, "async () => nowhere", ""},
		{"a tool's error names its call", "const x = 1;\nawait openclaw.tools.call(5)", code.KindThrown, "TypeError", 2, [2]int{0, 22}, "await openclaw.tools.call(5)", ""},
		{"fetch", `await fetch("http://x")`, code.KindThrown, "ReferenceError", 1, [2]int{7, 1}, `await fetch("http://x")`, "openclaw.tools"},
		{"require", `const fs = require("fs")`, code.KindThrown, "ReferenceError", 1, [2]int{12, 12}, `const fs = require("fs")`, "openclaw.tools"},
		{"process", `return process.env`, code.KindThrown, "ReferenceError", 1, [2]int{}, `return process.env`, "openclaw.tools"},
		{"setTimeout", `setTimeout(() => {}, 1)`, code.KindThrown, "ReferenceError", 1, [2]int{1, 1}, `setTimeout(() => {}, 1)`, "openclaw.tools"},
		{"WebAssembly", `new WebAssembly.Module()`, code.KindThrown, "ReferenceError", 1, [2]int{5, 1}, `new WebAssembly.Module()`, "openclaw.tools"},
		{"eval", `eval("1")`, code.KindThrown, "EvalError", 1, [2]int{}, `eval("1")`, ""},
		{"a long line is cut around the place", strings.Repeat("/*x*/", 100) + "nowhere" + strings.Repeat("/*y*/", 100), code.KindThrown, "ReferenceError", 1, [2]int{501, 501}, "nowhere", ""},
		{"stuck", "await new Promise(() => {})", code.KindStuck, "Error", 0, [2]int{}, "", "openclaw.tools"},
		{"dynamic import", `await import("fs")`, "", "", 0, [2]int{}, "", "openclaw.tools"},
	}
	eachRuntime(t, func(t *testing.T, o code.Options) {
		o.Warm = 2
		r := newRunner(t, o)
		column := 0
		if o.Runtime == code.RuntimeNode {
			column = 1
		}
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				e := run(t, r, c.body, &host{}).Error
				if e == nil {
					t.Fatal("the run did not fail")
				}
				if c.kind != "" && e.Kind != c.kind || c.errName != "" && e.Name != c.errName || c.line != 0 && e.Line != c.line {
					t.Errorf("got %s %q at line %d: %s; want %s %q at line %d", e.Kind, e.Name, e.Line, e.Message, c.kind, c.errName, c.line)
				}
				if want := c.columns[column]; want != 0 && e.Column != want {
					t.Errorf("column %d, want %d", e.Column, want)
				}
				if !strings.Contains(e.Snippet, c.snippet) || len(e.Snippet) > 1000 {
					t.Errorf("snippet %q, want %q", e.Snippet, c.snippet)
				}
				if !strings.Contains(e.Hint, c.tip) || c.tip == "" && e.Hint != "" {
					t.Errorf("hint %q, want one that says %q", e.Hint, c.tip)
				}
			})
		}
	})
}
