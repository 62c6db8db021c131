package core_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolsearch/toolsearch/source/core"
	"github.com/toolsearch/toolsearch/tool"
)

func TestRead(t *testing.T) {
	b := open(t, core.Options{Limits: core.Limits{ReadBytes: 20}})
	b.put(t, "five.txt", "1\n2\n3\n4\n5\n")
	b.put(t, "crlf.txt", "a\r\nb\r\n")
	b.put(t, "long.txt", "line one\nline two\nline three\n")
	b.put(t, "wide.txt", strings.Repeat("x", 30)+"\nend\n")
	b.put(t, "runes.txt", strings.Repeat("é", 15))
	b.put(t, "empty.txt", "")
	b.put(t, "latin.txt", "caf\xe9\n")
	b.put(t, "sub/deep.txt", "deep")
	abs := filepath.Join(b.dir, "sub", "deep.txt")
	for _, c := range []struct {
		name string
		args args
		text string
		note []string // pieces of the closing note; none means there is no note
	}{
		{"whole", args{"path": "five.txt"}, "1\n2\n3\n4\n5\n", nil},
		{"line endings", args{"path": "crlf.txt"}, "a\r\nb\r\n", nil},
		{"window", args{"path": "five.txt", "offset": 2, "limit": 2}, "2\n3\n", []string{"lines 2 to 3", "offset=4"}},
		{"to the end", args{"path": "five.txt", "offset": 4, "limit": 2}, "4\n5\n", nil},
		{"over the budget", args{"path": "long.txt"}, "line one\nline two\n", []string{"lines 1 to 2", "offset=3", "29 bytes"}},
		{"continued", args{"path": "long.txt", "offset": 3}, "line three\n", nil},
		{"long line", args{"path": "wide.txt"}, strings.Repeat("x", 20), []string{"byteOffset=20"}},
		{"long line continued", args{"path": "wide.txt", "byteOffset": 20}, strings.Repeat("x", 10) + "\nend\n", nil},
		{"whole runes", args{"path": "runes.txt", "byteOffset": 1}, strings.Repeat("é", 10), []string{"byteOffset=22"}},
		{"empty", args{"path": "empty.txt"}, "", []string{"empty"}},
		{"not UTF-8", args{"path": "latin.txt"}, "caf\uFFFD\n", []string{"not valid UTF-8"}},
		{"absolute path inside", args{"path": abs}, "deep", nil},
		{"dots inside", args{"path": "sub/../sub/deep.txt"}, "deep", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			res := b.ok(t, "read", c.args)
			if got := res.Content[0].Text(); got != c.text {
				t.Errorf("text %q, want %q", got, c.text)
			}
			if (len(res.Content) == 2) != (c.note != nil) {
				t.Fatalf("%d blocks: %q", len(res.Content), res.Text())
			}
			for _, w := range c.note {
				if note := res.Content[1].Text(); !strings.Contains(note, w) {
					t.Errorf("note %q does not say %q", note, w)
				}
			}
		})
	}
}

func TestReadRefusals(t *testing.T) {
	b := open(t, core.Options{})
	b.put(t, "src/main.go", "package main\n")
	b.put(t, "data.bin", "ab\x00cd")
	b.put(t, "late.bin", strings.Repeat("a", 20000)+"\x00")
	b.put(t, "utf16.txt", "\xff\xfeh\x00i\x00")
	b.put(t, "shot.png", "\x89PNG\r\n\x1a\nrest")
	for _, c := range []struct {
		args args
		code tool.Code
		want []string
	}{
		{args{"path": "src/mian.go"}, tool.CodeFailed, []string{"no such file", "src/main.go"}},
		{args{"path": "src"}, tool.CodeFailed, []string{"folder", "list"}},
		{args{"path": "src/main.go/x"}, tool.CodeFailed, nil},
		{args{"path": "data.bin"}, tool.CodeFailed, []string{"binary"}},
		{args{"path": "late.bin"}, tool.CodeFailed, []string{"binary"}},
		{args{"path": "utf16.txt"}, tool.CodeFailed, []string{"UTF-16"}},
		{args{"path": "shot.png"}, tool.CodeFailed, []string{"image tool"}},
		{args{"path": "src/main.go", "offset": 2}, tool.CodeFailed, []string{"smaller offset"}},
		{args{"path": "src/main.go", "offset": 900}, tool.CodeFailed, []string{"smaller offset"}},
		{args{"path": "src/main.go", "byteOffset": 900}, tool.CodeFailed, []string{"smaller offset"}},
		{args{"path": "src/main.go", "offset": 1, "byteOffset": 1}, tool.CodeInvalidArgs, nil},
		{args{"path": "src/main.go", "limit": -1}, tool.CodeInvalidArgs, nil},
		{args{"path": ""}, tool.CodeInvalidArgs, nil},
		{args{"path": "a\x00b"}, tool.CodeInvalidArgs, []string{"NUL"}},
		{args{"path": strings.Repeat("a/", 3000)}, tool.CodeInvalidArgs, nil},
		{args{"path": "../x"}, tool.CodeBlocked, []string{"outside"}},
		{args{"path": "src/../../x"}, tool.CodeBlocked, []string{"outside"}},
		{args{"path": "/etc/passwd"}, tool.CodeBlocked, []string{"outside"}},
		{args{"path": b.dir + "x/y"}, tool.CodeBlocked, []string{"outside"}},
	} {
		said := b.refused(t, "read", c.args, c.code, c.want...)
		if c.code == tool.CodeFailed && strings.Contains(said, b.dir) {
			t.Errorf("%v: the answer tells where the workspace is: %s", c.args, said)
		}
	}
}

// TestReadHugeFile reads from a sparse file that would not fit into memory.
func TestReadHugeFile(t *testing.T) {
	b := open(t, core.Options{})
	f, err := os.Create(filepath.Join(b.dir, "huge"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(strings.Repeat("text\n", 100000)); err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(1 << 36); err != nil {
		t.Skipf("no sparse files here: %v", err)
	}
	res := b.ok(t, "read", args{"path": "huge"})
	if n := len(res.Content[0].Text()); n > 256<<10 || n < 255<<10 {
		t.Errorf("%d bytes, want nearly 256 KiB", n)
	}
	b.refused(t, "edit", args{"path": "huge", "oldText": "text", "newText": "x"}, tool.CodeFailed, "exec")
	b.refused(t, "image", args{"path": "huge"}, tool.CodeFailed, "68719476736")
	hits := b.ok(t, "grep", args{"pattern": "tex.$", "limit": 2})
	if got := details[grepped](t, hits); len(got.Matches) != 2 || !got.Truncated {
		t.Errorf("grep: %+v", got)
	}
}

func TestWrite(t *testing.T) {
	b := open(t, core.Options{Limits: core.Limits{WriteBytes: 100}})
	res := b.ok(t, "write", args{"path": "a/b/c.txt", "content": "héllo"})
	if got := res.Text(); got != "Created a/b/c.txt (6 bytes)." {
		t.Error(got)
	}
	script := filepath.Join(b.dir, "run.sh")
	if err := os.WriteFile(script, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(script, 0o751); err != nil {
		t.Fatal(err)
	}
	if got := b.ok(t, "write", args{"path": "run.sh", "content": ""}).Text(); got != "Replaced run.sh (0 bytes)." {
		t.Error(got)
	}
	if info, err := os.Stat(script); err != nil || info.Mode().Perm() != 0o751 || info.Size() != 0 {
		t.Errorf("%v, %v", info, err)
	}
	b.put(t, "locked", "x")
	if err := os.Chmod(filepath.Join(b.dir, "locked"), 0o444); err != nil {
		t.Fatal(err)
	}
	b.refused(t, "write", args{"path": "locked", "content": "y"}, tool.CodeFailed, "read-only")
	b.refused(t, "write", args{"path": "big", "content": strings.Repeat("x", 101)}, tool.CodeInvalidArgs, "101", "100")
	b.refused(t, "write", args{"path": "a", "content": "x"}, tool.CodeFailed, "folder")
	b.refused(t, "write", args{"path": "a/", "content": "x"}, tool.CodeInvalidArgs, "folder")
	b.refused(t, "write", args{"path": "a/..", "content": "x"}, tool.CodeInvalidArgs, "folder")
	b.refused(t, "write", args{"path": "locked/x", "content": "x"}, tool.CodeFailed)
	b.refused(t, "write", args{"path": "../x", "content": "x"}, tool.CodeBlocked)
	b.refused(t, "write", args{"path": "x"}, tool.CodeInvalidArgs, "content")
	entries, err := os.ReadDir(b.dir)
	if err != nil || len(entries) != 3 { // a, run.sh, locked: nothing temporary stays
		t.Errorf("%v, %v", entries, err)
	}
}

func TestEdit(t *testing.T) {
	for _, c := range []struct {
		name, file, before, after string
		all                       bool
		want                      string
	}{
		{"one place", "a b c", "b", "B", false, "a B c"},
		{"delete", "a b c", " b", "", false, "a c"},
		{"every place", "x-x-x", "x", "yy", true, "yy-yy-yy"},
		{"lines", "a\nb\nc\n", "a\nb", "b\na", false, "b\na\nc\n"},
		{"windows endings", "a\r\nb\r\nc\r\n", "a\nb", "1\n2\n3", false, "1\r\n2\r\n3\r\nc\r\n"},
		{"windows endings, one line", "a\r\nb\r\n", "b", "b\nc", false, "a\r\nb\r\nc\r\n"},
		{"windows endings, given", "a\r\nb\r\n", "a\r\nb", "a\r\nc", false, "a\r\nc\r\n"},
		{"both endings, windows place", "a\nb\r\nc\r\n", "b\nc", "B\nC", false, "a\nB\r\nC\r\n"},
		{"both endings, unix place", "a\nb\nc\r\n", "a\nb", "A\nB", false, "A\nB\nc\r\n"},
		{"not UTF-8 elsewhere", "caf\xe9 tea", "tea", "milk", false, "caf\xe9 milk"},
		{"dollar signs", "cost", "cost", "$1 ${0}", false, "$1 ${0}"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := open(t, core.Options{})
			b.put(t, "f", c.file)
			b.ok(t, "edit", args{"path": "f", "oldText": c.before, "newText": c.after, "replaceAll": c.all})
			if got := b.get(t, "f"); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestEditRefusals(t *testing.T) {
	const code = "func a() {\n\treturn 1\n}\n\nfunc b() {\n\treturn 1\n}\n"
	for _, c := range []struct {
		name, file, before, after string
		code                      tool.Code
		want                      []string
	}{
		{"two places", code, "\treturn 1\n", "x", tool.CodeFailed, []string{"lines 2, 6", "replaceAll"}},
		{"overlapping places", "aaa", "aa", "x", tool.CodeFailed, []string{"more than one"}},
		{"white space", code, "    return 1", "x", tool.CodeFailed, []string{"Line 2", "white space", `"\treturn 1"`}},
		{"later line", code, "func b() {\n\treturn 2\n}", "x", tool.CodeFailed, []string{"from line 5", "line 6", `"\treturn 1"`, `"\treturn 2"`}},
		{"similar line", code, "func ab() {", "x", tool.CodeFailed, []string{"nearest line is 1", `"func a() {"`}},
		{"past the end", code, "func b() {\n\treturn 1\n}\nmore", "x", tool.CodeFailed, []string{"file ends"}},
		{"nothing like it", code, "zzz", "x", tool.CodeFailed, []string{"not found"}},
		{"replacement character", "caf\xe9", "caf\uFFFD", "x", tool.CodeFailed, []string{"not UTF-8"}},
		{"same text", code, "a", "a", tool.CodeInvalidArgs, nil},
		{"same but for endings", "a\r\nb\r\n", "a\nb", "a\r\nb", tool.CodeInvalidArgs, []string{"line endings"}},
		{"empty", code, "", "x", tool.CodeInvalidArgs, []string{"write"}},
		{"binary", "a\x00b", "a", "x", tool.CodeFailed, []string{"binary"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := open(t, core.Options{})
			b.put(t, "f", c.file)
			b.refused(t, "edit", args{"path": "f", "oldText": c.before, "newText": c.after}, c.code, c.want...)
			if got := b.get(t, "f"); got != c.file {
				t.Errorf("the file became %q", got)
			}
		})
	}
	b := open(t, core.Options{Limits: core.Limits{EditBytes: 10}})
	b.put(t, "f", "123456789")
	b.refused(t, "edit", args{"path": "f", "oldText": "1", "newText": "111"}, tool.CodeFailed, "11 bytes")
	b.refused(t, "edit", args{"path": "none", "oldText": "1", "newText": "111"}, tool.CodeFailed, "no such file")
}

// TestEditsDoNotLoseOneAnother runs many edits of one file at once.
func TestEditsDoNotLoseOneAnother(t *testing.T) {
	b := open(t, core.Options{})
	const n = 20
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "old%02d\n", i)
	}
	b.put(t, "f", text.String())
	done := make(chan error, n)
	for i := range n {
		go func() {
			res, err := b.try(t.Context(), t, "edit", args{"path": "f", "oldText": fmt.Sprintf("old%02d", i), "newText": fmt.Sprintf("new%02d", i)})
			if err == nil && res.IsError {
				err = fmt.Errorf("%s", res.Text())
			}
			done <- err
		}()
	}
	for range n {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if got, want := b.get(t, "f"), strings.ReplaceAll(text.String(), "old", "new"); got != want {
		t.Errorf("%q", got)
	}
}

type listed struct {
	Path    string
	Entries []struct {
		Path, Type string
		Size       int64
	}
	Omitted   int
	Truncated bool
	Notes     []string
}

func (l listed) paths() []string {
	var out []string
	for _, e := range l.Entries {
		out = append(out, e.Path)
	}
	return out
}

func TestList(t *testing.T) {
	b := open(t, core.Options{})
	for _, f := range []string{"b.go", "a.txt", "a/x.go", "a/y/z.go", "a-1", ".hidden", "node_modules/m/i.js", ".git/HEAD"} {
		b.put(t, f, "12345")
	}
	for _, c := range []struct {
		name  string
		args  args
		want  []string
		notes string
	}{
		{"top", args{}, []string{".git", ".hidden", "a", "a-1", "a.txt", "b.go", "node_modules"}, ""},
		{"two levels", args{"depth": 2}, []string{".git", ".hidden", "a", "a/x.go", "a/y", "a-1", "a.txt", "b.go", "node_modules"}, "not entered: .git, node_modules"},
		{"base glob", args{"depth": 10, "glob": "*.go"}, []string{"a/x.go", "a/y/z.go", "b.go"}, ""},
		{"path glob", args{"depth": 10, "glob": "a/**/*.go"}, []string{"a/x.go", "a/y/z.go"}, ""},
		{"braces", args{"glob": "*.{go,txt}"}, []string{"a.txt", "b.go"}, ""},
		{"class", args{"glob": "[!b]*.*"}, []string{"a.txt"}, ""},
		{"below", args{"path": "a", "depth": 3}, []string{"x.go", "y", "y/z.go"}, ""},
		{"named, so entered", args{"path": "node_modules", "depth": 2}, []string{"m", "m/i.js"}, ""},
		{"cut, deepest first", args{"depth": 3, "limit": 7}, []string{".git", ".hidden", "a", "a-1", "a.txt", "b.go", "node_modules"}, "3 more entries"},
		{"nothing", args{"glob": "*.none"}, nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			res := b.ok(t, "list", c.args)
			got := details[listed](t, res)
			if !slices.Equal(got.paths(), c.want) {
				t.Errorf("%q, want %q", got.paths(), c.want)
			}
			if !strings.Contains(strings.Join(got.Notes, "\n"), c.notes) || !strings.Contains(res.Text(), c.notes) {
				t.Errorf("notes %q, want %q", got.Notes, c.notes)
			}
			for _, e := range got.Entries {
				if (e.Type == "file") != (e.Size == 5) {
					t.Errorf("%+v", e)
				}
			}
		})
	}
	b.refused(t, "list", args{"path": "none"}, tool.CodeFailed, "no such")
	b.refused(t, "list", args{"path": "b.go"}, tool.CodeFailed, "read")
	b.refused(t, "list", args{"path": ".."}, tool.CodeBlocked)
	b.refused(t, "list", args{"depth": 11}, tool.CodeInvalidArgs)
	for _, g := range []string{"[", "{a", "[]", strings.Repeat("a", 300), strings.Repeat("{", 20)} {
		b.refused(t, "list", args{"glob": g}, tool.CodeInvalidArgs, "glob")
	}
}

func TestImage(t *testing.T) {
	b := open(t, core.Options{Limits: core.Limits{ImageBytes: 64}})
	for name, c := range map[string]struct{ data, mime string }{
		"a.jpg":  {"\x89PNG\r\n\x1a\n\x00\x01\xff", "image/png"}, // the bytes decide, not the name
		"b.jpg":  {"\xff\xd8\xff\xe0rest", "image/jpeg"},
		"c.gif":  {"GIF89a....", "image/gif"},
		"d.gif":  {"GIF87a....", "image/gif"},
		"e.webp": {"RIFF\x10\x00\x00\x00WEBPVP8 ", "image/webp"},
	} {
		b.put(t, name, c.data)
		res := b.ok(t, "image", args{"path": name})
		want := tool.Binary(tool.TypeImage, c.mime, []byte(c.data))
		if len(res.Content) != 1 || string(res.Content[0].Raw) != string(want.Raw) {
			t.Errorf("%s: %s", name, res.Content[0].Raw)
		}
	}
	b.put(t, "fake.png", "not an image")
	b.put(t, "x.svg", "<svg/>")
	b.put(t, "wave.webp", "RIFF\x10\x00\x00\x00WAVEfmt ")
	b.put(t, "big.png", "\x89PNG\r\n\x1a\n"+strings.Repeat("x", 60))
	for _, name := range []string{"fake.png", "x.svg", "wave.webp"} {
		b.refused(t, "image", args{"path": name}, tool.CodeFailed, "not a PNG")
	}
	b.refused(t, "image", args{"path": "big.png"}, tool.CodeFailed, "68 bytes", "64")
	b.refused(t, "image", args{"path": "none.png"}, tool.CodeFailed, "no such")
	b.refused(t, "image", args{"path": "../x.png"}, tool.CodeBlocked)
}
