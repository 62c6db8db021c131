package code_test

import (
	"strings"
	"testing"

	"github.com/toolsearch/toolsearch/code"
)

// FuzzExplain checks that whatever a body and a child say about it, the text
// around the fence keeps its lines and an error's place stays inside the text.
func FuzzExplain(f *testing.F) {
	f.Add("```js\nreturn 1\n```", 2, 1, "fetch is not defined", "ReferenceError")
	f.Add("a\nb", 99, -3, "x", "SyntaxError")
	f.Add("```", 1, 1, "", "")
	f.Add("``` x\n```\n```", 3, 5, "import", "TypeError")
	f.Add(strings.Repeat("é", 500), 1, 450, "m", "Error")
	f.Fuzz(func(t *testing.T, body string, line, column int, message, name string) {
		source := code.Unfence(body)
		if source != body {
			want, got := strings.Split(body, "\n"), strings.Split(source, "\n")
			for i := 1; i < len(got)-1; i++ {
				if got[i] != "" && got[i] != want[i] {
					t.Fatalf("line %d is %q, was %q", i+1, got[i], want[i])
				}
			}
		}
		r := &code.Report{Error: &code.GuestError{Kind: code.KindThrown, Name: name, Message: message, Line: line, Column: column}}
		code.Explain(r, source)
		if n := strings.Count(source, "\n") + 1; r.Error.Line > n {
			t.Errorf("line %d of %d", r.Error.Line, n)
		}
		if len(r.Error.Snippet) > 1000 || len(r.Error.Message) > 8000 {
			t.Error("a text is not bounded")
		}
	})
}
