package core_test

import (
	"bufio"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/toolsearch/toolsearch/source/core"
	"github.com/toolsearch/toolsearch/tool"
)

type grepped struct {
	Matches []struct {
		Path          string
		Line          int
		Text          string
		Before, After []string
	}
	Files     int
	Truncated bool
	Notes     []string
}

func (g grepped) places() []string {
	var out []string
	for _, m := range g.Matches {
		out = append(out, fmt.Sprintf("%s:%d", m.Path, m.Line))
	}
	return out
}

func TestGrep(t *testing.T) {
	b := open(t, core.Options{})
	b.put(t, "b.go", "package b\n\nfunc Bee() error {\n\treturn nil\n}\n")
	b.put(t, "a/a.go", "package a\r\n// bee\r\nfunc A() {}\r\n\r\n")
	b.put(t, "c.txt", "no newline at the end: func")
	b.put(t, "bin", "func\x00")
	b.put(t, ".git/x", "func")
	b.put(t, "node_modules/x", "func")
	for _, c := range []struct {
		name string
		args args
		want []string
	}{
		{"plain", args{"pattern": "func"}, []string{"a/a.go:3", "b.go:3", "c.txt:1"}},
		{"case", args{"pattern": "bee", "ignoreCase": true}, []string{"a/a.go:2", "b.go:3"}},
		{"regexp", args{"pattern": `func \w+\(\) error`}, []string{"b.go:3"}},
		{"alternatives", args{"pattern": `nil|// b`}, []string{"a/a.go:2", "b.go:4"}},
		{"literal", args{"pattern": "A() {", "literal": true}, []string{"a/a.go:3"}},
		{"line start", args{"pattern": `^package`}, []string{"a/a.go:1", "b.go:1"}},
		{"line end before CR", args{"pattern": `\{\}$`}, []string{"a/a.go:3"}},
		{"text start is line start", args{"pattern": `\Afunc`}, []string{"a/a.go:3", "b.go:3"}},
		{"empty lines", args{"pattern": `^$`}, []string{"a/a.go:4", "b.go:2"}},
		{"no match across lines", args{"pattern": `b\s+func`}, nil},
		{"line feed", args{"pattern": "b\n"}, nil},
		{"negated class stays in the line", args{"pattern": `error[^x]*nil`}, nil},
		{"glob", args{"pattern": "func", "glob": "*.go"}, []string{"a/a.go:3", "b.go:3"}},
		{"folder", args{"pattern": "func", "path": "a"}, []string{"a/a.go:3"}},
		{"glob from the folder on", args{"pattern": "func", "path": "a", "glob": "./a.go"}, []string{"a/a.go:3"}},
		{"file", args{"pattern": "func", "path": "c.txt"}, []string{"c.txt:1"}},
		{"named folder is entered", args{"pattern": "func", "path": ".git"}, []string{".git/x:1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := details[grepped](t, b.ok(t, "grep", c.args))
			if !slices.Equal(got.places(), c.want) || got.Truncated {
				t.Errorf("%q (truncated %v), want %q", got.places(), got.Truncated, c.want)
			}
		})
	}
	b.refused(t, "grep", args{"pattern": "func", "path": "bin"}, tool.CodeFailed, "binary")
	b.refused(t, "grep", args{"pattern": "("}, tool.CodeInvalidArgs, "missing closing )")
	b.refused(t, "grep", args{"pattern": ""}, tool.CodeInvalidArgs)
	b.refused(t, "grep", args{"pattern": `(\w{900}){1}(\pL{900})(\pN{900})(\pS{900})(\pM{900})`}, tool.CodeInvalidArgs, "complex")
	b.refused(t, "grep", args{"pattern": "x", "context": 11}, tool.CodeInvalidArgs)
	b.refused(t, "grep", args{"pattern": "x", "path": "../"}, tool.CodeBlocked)
	b.refused(t, "grep", args{"pattern": "x", "path": "none"}, tool.CodeFailed, "no such")
}

func TestGrepContextAndLimits(t *testing.T) {
	b := open(t, core.Options{})
	b.put(t, "f", "1\n2\nhit 3\n4\nhit 5\n6\n7\n8\n9\nhit 10\n")
	res := b.ok(t, "grep", args{"pattern": "hit", "context": 2})
	const want = "f-1-1\nf-2-2\nf:3:hit 3\nf-4-4\nf:5:hit 5\nf-6-6\nf-7-7\nf-8-8\nf-9-9\nf:10:hit 10\n"
	if got := res.Text(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	first := details[grepped](t, res).Matches[0]
	if !slices.Equal(first.Before, []string{"1", "2"}) || !slices.Equal(first.After, []string{"4", "hit 5"}) {
		t.Errorf("%+v", first)
	}
	if got := b.ok(t, "grep", args{"pattern": "hit", "context": 1}).Text(); !strings.Contains(got, "f-6-6\n--\nf-9-9\n") {
		t.Errorf("%q", got)
	}
	got := details[grepped](t, b.ok(t, "grep", args{"pattern": "hit", "limit": 2}))
	if len(got.Matches) != 2 || !got.Truncated || !strings.Contains(got.Notes[0], "more matches") {
		t.Errorf("%+v", got)
	}
	if got := details[grepped](t, b.ok(t, "grep", args{"pattern": "hit", "limit": 3})); got.Truncated {
		t.Error("nothing was left out, yet it says so")
	}
	b.put(t, "f", strings.Repeat("é", 300000)+"needle"+strings.Repeat("x", 5000)+"\n")
	for _, p := range []string{"needle", "n.edle", "needle|other", `n[ae]+dle`} {
		m := details[grepped](t, b.ok(t, "grep", args{"pattern": p})).Matches
		if len(m) != 1 || len(m[0].Text) > 420 || !strings.Contains(m[0].Text, "needle") {
			t.Errorf("%s: %d matches, %+v", p, len(m), m)
		}
	}
	many := strings.Repeat(strings.Repeat("y", 399)+"\n", 5000)
	b.put(t, "f", many)
	res = b.ok(t, "grep", args{"pattern": "y", "limit": 5000, "context": 10})
	if n := len(res.Details); n > 600<<10 {
		t.Errorf("%d bytes of details", n)
	}
	if !details[grepped](t, res).Truncated {
		t.Error("does not say that it was cut")
	}
}

// TestGrepLikeLineByLine compares with the plain way, which is slow and right.
func TestGrepLikeLineByLine(t *testing.T) {
	b := open(t, core.Options{})
	texts := map[string]string{
		"code": b.sourceText(t),
		"fold": "ſtring KEY\nSTRING \u212aey\nkEY string\nTIME\ntime\nxTiMe\n\u212a\n",
		"odd":  "\n\n\r\n a\nab\r\nabc\n\nbc a\n \n",
	}
	for name, text := range texts {
		b.put(t, name, text)
		for _, p := range []string{"a", "^a", "a$", "a*", "^$", `\s`, `[^a]`, "b.*c", "func .*error", `(?i)FUNC`, `(?i)string`, `(?i)key`, `(?i)k`, `(?i)time$`, `(?i)[a-z]+im`, `(?i)s`, `i(?i)me`, `(?i)(ti|x)me`, `(?i)error\n`, "(ab)+c?", `\bif\b.*\{$`, "a|b", "(a|b)c", `x{2,}`, `\z`, `\A`, "err(or)?s?", `"(\w+)"`} {
			re := regexp.MustCompile(p)
			var want []string
			sc := bufio.NewScanner(strings.NewReader(text))
			for n := 1; sc.Scan(); n++ {
				if re.MatchString(sc.Text()) {
					want = append(want, fmt.Sprintf("%s:%d", name, n))
				}
			}
			got := details[grepped](t, b.ok(t, "grep", args{"pattern": p, "path": name, "limit": 500}))
			if !slices.Equal(got.places(), want[:min(500, len(want))]) {
				t.Errorf("%s in %s: %d places, want %d", p, name, len(got.places()), len(want))
			}
		}
	}
}

func (b box) sourceText(t testing.TB) string {
	t.Helper()
	src := box{dir: "."}
	return src.get(t, "grep_test.go") + src.get(t, "fetch.go") + src.get(t, "read.go")
}

func TestGrepStopsWhenCancelled(t *testing.T) {
	b := open(t, core.Options{})
	for i := range 50 {
		b.put(t, fmt.Sprintf("d/%d", i), strings.Repeat("some text\n", 20000))
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := b.try(ctx, t, "grep", args{"pattern": `(x+x+)+y`})
		done <- err
	}()
	cancel()
	if err := <-done; err != nil && tool.CodeOf(err) != tool.CodeCancelled {
		t.Error(err)
	}
}
