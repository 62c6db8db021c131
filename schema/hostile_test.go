package schema_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/dlclark/regexp2"
	"github.com/toolsearch/toolsearch/schema"
)

// many joins n texts with commas; every %d in format is the number.
func many(n int, format string) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strings.ReplaceAll(format, "%d", fmt.Sprint(i)))
	}
	return b.String()
}

// TestCompileBounds meets the bounds on a schema's size from both sides, with
// the shapes that cost the compiler most.
func TestCompileBounds(t *testing.T) {
	refs := func(n int) string {
		return `{"x":{` + many(n, `"p%d":{}`) + `},"properties":{` + many(n, `"p%d":{"$ref":"#/x/p%d"}`) + `}}`
	}
	patterns := func(n int) string {
		return `{"patternProperties":{` + many(n, `"^(a{1,400}b){1,2}%d":{}`) + `}}`
	}
	for name, c := range map[string]struct{ takes, refuses string }{
		"objects":    {`{"properties":{` + many(7998, `"p%d":{"type":"null"}`) + `}}`, `{"properties":{` + many(7999, `"p%d":{"type":"null"}`) + `}}`},
		"booleans":   {`{"properties":{` + many(7998, `"p%d":true`) + `}}`, `{"properties":{` + many(7999, `"p%d":true`) + `}}`},
		"references": {refs(1000), refs(4000)},
		"patterns":   {patterns(256), patterns(257)},
		"values":     {`{"enum":[` + many(49_998, `%d`) + `]}`, `{"enum":[` + many(49_999, `%d`) + `]}`},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := schema.Compile([]byte(c.takes)); err != nil {
				t.Errorf("at the bound: %v", err)
			}
			if _, err := schema.Compile([]byte(c.refuses)); err == nil {
				t.Error("beyond the bound it compiles")
			}
		})
	}
}

// patterns pairs what ECMAScript and RE2 read alike with what they do not.
var patterns = []string{
	`^[a-z]+$`, `a.c`, `^\d{4}-\d{2}$`, `\bfoo\b`, `[^\]x]`, `[]a]`, `[^]`, `[[:alpha:]]`, `[\w.-]+@`, `\s`, `\S+`, `(?:a|b)*c`,
	`(?=a)`, `(?<n>a)\k<n>`, `(a)\1`, `a{2,}`, `a{,2}`, `{`, `}`, `\/`, `\-`, `\u0041`, `\x41`, `\cA`, `\0`, `$a`, `a|`, `(?i)a`,
	`[\d-z]`, `[a-\d]`, `é+`, `\p{L}`, `\Qa.b\E`, `\A`, `\z`, `\_`, `[\b]`, `^*`, `a**`, `a++`, `.`, `[.]`, `\.`, `x{1001}`, `[a&&b]`, `[^\n]`,
}

// TestDot holds the line terminators of ECMA-262, which "." does not match.
func TestDot(t *testing.T) {
	s := compile(t, `{"pattern":"^.$"}`)
	for _, doc := range []string{`"\n"`, `"\r"`, `"\u2028"`, `"\u2029"`, `""`, `"ab"`} {
		if problems(t, s, doc) == nil {
			t.Errorf("%s: let through", doc)
		}
	}
	for _, doc := range []string{`"a"`, `"\u0085"`, `"é"`, `"\t"`} {
		if p := problems(t, s, doc); p != nil {
			t.Errorf("%s: unexpected %v", doc, p)
		}
	}
}

// FuzzPattern compares the verdict with the backtracking engine alone, for
// every pattern and text that it decides.
func FuzzPattern(f *testing.F) {
	for _, p := range patterns {
		for _, s := range []string{"", "a", "abc", "a.b\n", "2026-05", "]", "[:a:]", "\u2028", "é", "A", "aa{"} {
			f.Add(p, s)
		}
	}
	f.Fuzz(func(t *testing.T, pattern, s string) {
		if len(pattern) > 60 || len(s) > 60 || strings.ContainsAny(s, "\r\u2028\u2029") {
			return // the engine lets "." match line terminators, against ECMA-262
		}
		if strings.Contains(strings.ToLower(pattern), `\b`) && strings.ContainsFunc(s, func(r rune) bool { return r > 0x7F }) {
			return // the engine's word boundaries know letters beyond ASCII, against ECMA-262
		}
		p, errPattern := json.Marshal(pattern)
		doc, errDoc := json.Marshal(s)
		if errPattern != nil || errDoc != nil || !utf8.ValidString(pattern) || !utf8.ValidString(s) {
			return
		}
		alone, err := regexp2.Compile(pattern, regexp2.ECMAScript)
		c, compiles := schema.Compile([]byte(`{"pattern":` + string(p) + `}`))
		if err != nil || compiles != nil {
			return
		}
		alone.MatchTimeout = 50 * time.Millisecond
		want, err := alone.MatchString(s)
		if err != nil {
			return
		}
		if got := c.Validate(doc) == nil; got != want {
			t.Errorf("pattern %q on %q: got %v, the engine says %v", pattern, s, got, want)
		}
	})
}
