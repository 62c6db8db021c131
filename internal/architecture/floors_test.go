// Package architecture checks the house rules that a compiler does not.
package architecture

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/toolsearch/toolsearch"

// floors lists every package; a package imports only from floors below its
// own, or from its own room: a folder stands for the folders in it that are not
// listed themselves.
var floors = [][]string{
	{"tool", "internal/editdistance", "internal/headtail", "internal/legible", "internal/procgroup", "internal/variables"},
	{"internal/json5"},
	{"rank", "schema", "policy"},
	{"catalog"},
	{"call"},
	{"approval", "hook", "pin", "transcript", "code", "source/core", "source/jsonl", "source/mcp"},
	{"source/plugin", "source/client"}, // a plugin's processes are servers of source/mcp; a client's answer stops the clock of code
	{"surface", "provider"},
	{"provider/openai", "provider/anthropic"},
	{"turn", "provider/mock"},
	{"."},
	{"internal/mcptest", "internal/architecture", "internal/eval", "internal/telemetry", "internal/config"},
	{"internal/store", "internal/server", "internal/modelapi"},
	{"internal/agent", "internal/qa", "store"},
	{"internal/cli"},
	{"cmd"},
}

// roomOf returns the listed package that dir is or lies in, and its floor; -1
// when there is none.
func roomOf(dir string) (room string, floor int) {
	for p := dir; ; p = path.Dir(p) {
		for i, names := range floors {
			for _, name := range names {
				if name == p && (name != "." || dir == ".") {
					return name, i
				}
			}
		}
		if p == "." {
			return "", -1
		}
	}
}

// goFiles calls f for every Go file of the module.
func goFiles(t *testing.T, f func(dir, file string, parsed *ast.File)) {
	t.Helper()
	root := filepath.Join("..", "..")
	fset := token.NewFileSet()
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			if name := d.Name(); rel != "." && (strings.HasPrefix(name, ".") || name == "testdata" || name == "tools" || name == "node_modules" || name == "examples") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(rel, ".go") {
			return nil
		}
		parsed, err := parser.ParseFile(fset, p, nil, 0)
		if err != nil {
			return err
		}
		f(path.Dir(rel), rel, parsed)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestFloors(t *testing.T) {
	seen := 0
	goFiles(t, func(dir, file string, parsed *ast.File) {
		if strings.HasSuffix(file, "_test.go") {
			return // tests may use what is above, such as real servers
		}
		seen++
		room, from := roomOf(dir)
		if from < 0 {
			t.Errorf("%s stands on no floor: add its package to floors", file)
			return
		}
		for _, spec := range parsed.Imports {
			target, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if target != module && !strings.HasPrefix(target, module+"/") {
				continue
			}
			to := strings.TrimPrefix(strings.TrimPrefix(target, module), "/")
			if to == "" {
				to = "."
			}
			if other, floor := roomOf(to); other != room && (floor < 0 || floor >= from) {
				t.Errorf("%s imports %s, which is not below it", file, target)
			}
		}
	})
	if seen < 20 {
		t.Fatalf("only %d files were looked at", seen)
	}
}

// One way to a tool: only the pipeline calls an Invoker, and a source may wrap
// its own: a plugin's tool is a tool of the plugin's process under another id.
func TestOnlyThePipelineInvokes(t *testing.T) {
	found := map[string]bool{}
	goFiles(t, func(dir, file string, parsed *ast.File) {
		if strings.HasSuffix(file, "_test.go") {
			return
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			c, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			if sel, ok := c.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == "Invoke" {
				found[dir] = true
				if dir != "call" && dir != "source/plugin" {
					t.Errorf("%s calls Invoke: a call must go through call.Pipeline", file)
				}
			}
			return true
		})
	})
	if !found["call"] {
		t.Error("the pipeline does not call Invoke either: this test looks for the wrong thing")
	}
}

// No file grows past the size at which a second idea wants out.
func TestFileSizes(t *testing.T) {
	const most = 600
	goFiles(t, func(_, file string, _ *ast.File) {
		if strings.HasSuffix(file, "_test.go") {
			return
		}
		b, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(file)))
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(b), "\n"); n > most {
			t.Errorf("%s has %d lines, more than %d", file, n, most)
		}
	})
}
