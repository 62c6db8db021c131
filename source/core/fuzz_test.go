package core_test

import (
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/toolsearch/toolsearch/source/core"
	"github.com/toolsearch/toolsearch/tool"
)

// FuzzArgs gives any JSON, and what is none, to every tool that has no effect
// outside its workspace. Nothing may panic, reach the file beside the workspace,
// or answer with what its schema does not allow.
func FuzzArgs(f *testing.F) {
	names := []string{"read", "write", "edit", "list", "grep", "image"}
	for i, seed := range []string{
		`{"path":"a.txt","offset":2,"limit":1}`, `{"path":"new/x","content":"y"}`, `{"path":"a.txt","oldText":"one","newText":"1"}`,
		`{"depth":3,"glob":"**/*.{go,txt}"}`, `{"pattern":"o.e$","context":2,"glob":"[a-c]*"}`, `{"path":"a.png"}`,
	} {
		f.Add(uint8(i), seed)
	}
	for i := range names {
		for _, seed := range []string{`{"path":"../outside"}`, `{"path":"link"}`, `{"path":null}`, `{"path":"a\u0000b"}`, `[`, `{"path":"/"}`, `{}`} {
			f.Add(uint8(i), seed)
		}
	}
	top := f.TempDir()
	outside := filepath.Join(top, "outside")
	if err := os.WriteFile(outside, []byte(secretOutside), 0o644); err != nil {
		f.Fatal(err)
	}
	dir := filepath.Join(top, "workspace")
	b := open(f, core.Options{Workspace: mkdir(f, dir)})
	_ = os.Symlink("../outside", filepath.Join(dir, "link")) // not possible everywhere
	f.Fuzz(func(t *testing.T, which uint8, raw string) {
		b.put(t, "a.txt", "one\ntwo\nthree\n")
		name := names[int(which)%len(names)]
		res, err := b.tool(t, name).Invoker.Invoke(t.Context(), tool.Call{Args: json.RawMessage(raw)})
		if data, readErr := os.ReadFile(outside); readErr != nil || string(data) != secretOutside {
			t.Fatalf("%s %s changed the outside: %q, %v", name, raw, data, readErr)
		}
		if err != nil {
			if tool.CodeOf(err) != tool.CodeInvalidArgs {
				t.Fatalf("%s %s: %v", name, raw, err)
			}
			return
		}
		if strings.Contains(res.Text(), secretOutside) {
			t.Fatalf("%s %s shows the outside", name, raw)
		}
		if !json.Valid(res.Details) && res.Details != nil {
			t.Fatalf("%s %s: details %q", name, raw, res.Details)
		}
	})
}

const secretOutside = "kept outside 5d1f"

func mkdir(t testing.TB, dir string) string {
	t.Helper()
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// FuzzHTML renders any page: always valid UTF-8, never over the bound by more
// than one word's worth of the page, and always the same.
func FuzzHTML(f *testing.F) {
	for _, seed := range []string{"<p>a<a href=/x>b</a>", "<pre><ul><li>", "</pre></ul></a></title>", "<title><title>x", "<svg><svg></svg>x", "<a href=x><a href=y>", "<base href=//h><img alt='x y'>"} {
		f.Add(seed, true)
	}
	base, err := url.Parse("https://example.com/a/b")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, page string, links bool) {
		page = strings.ToValidUTF8(page, "\uFFFD")
		text, title, cut := core.RenderHTML(page, base, links, 100)
		again, _, _ := core.RenderHTML(page, base, links, 100)
		if text != again {
			t.Fatalf("%q, then %q", text, again)
		}
		if !utf8.ValidString(text) || !utf8.ValidString(title) {
			t.Fatalf("not UTF-8: %q %q", text, title)
		}
		if len(text) < 90 && cut && len(strings.TrimSpace(text)) > 0 && len(page) < 50 {
			t.Fatalf("%q is said to be cut to %q", page, text)
		}
	})
}

// FuzzGlob compiles any glob and matches any path with it.
func FuzzGlob(f *testing.F) {
	for _, seed := range []string{"*.go", "**/x", "a/**", "[a-z]", "[!]]", "[]-a]", "{a,{b,c}}", `\*`, "[z-a]", "[[:alpha:]]", "a**b"} {
		f.Add(seed, "a/b/c.go")
	}
	f.Fuzz(func(_ *testing.T, pattern, path string) { core.GlobMatch(pattern, path) })
}

// FuzzMatcher holds the fast search to the plain one, line by line.
func FuzzMatcher(f *testing.F) {
	for _, p := range []string{"a", "^a|b$", "x.*y", "(ab)+c", "a{2,3}b", "\n", `\s$`, "(?i)k", "(?i:ab)c", "(?s)a.b"} {
		f.Add(p, "a\nab\r\nxay\n\nABc abab\n\u212aK", true)
		f.Add(p, "aab\nxy", false)
	}
	f.Fuzz(func(t *testing.T, pattern, text string, ignoreCase bool) {
		got, ok := core.MatchLines(pattern, text, ignoreCase)
		if !ok || len(text) > 4096 {
			return
		}
		if ignoreCase {
			pattern = "(?i)" + pattern
		}
		re := regexp.MustCompile(pattern)
		var want []int
		for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
			if text != "" && re.MatchString(strings.TrimSuffix(line, "\r")) {
				want = append(want, i)
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%q in %q: lines %v, want %v", pattern, text, got, want)
		}
	})
}
