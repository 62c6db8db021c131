package toolsearch_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolsearch/toolsearch"
	"github.com/toolsearch/toolsearch/code"
	"github.com/toolsearch/toolsearch/surface"
)

// This test binary's main function does not begin with child.Main, as that of a
// program whose author does not know of it.
func TestCodeModeNeedsMain(t *testing.T) {
	if _, err := code.New(t.Context(), code.Options{}); !errors.Is(err, code.ErrNotEnabled) {
		t.Errorf("error %v, want ErrNotEnabled", err)
	}
	set := newSet(t, toolsearch.Options{Mode: surface.Code})
	warnings := strings.Join(set.Warnings(), "; ")
	if !strings.Contains(warnings, `acts as "tools"`) || !strings.Contains(warnings, "child.Main()") {
		t.Errorf("warnings %q, want what mode it is and which call is missing", warnings)
	}
	if set.CodeLayers() != nil {
		t.Error("there are layers of a runtime that did not start")
	}
	var names []string
	for _, v := range set.Visible() {
		names = append(names, v.Name)
	}
	if want := []string{"tool_search", "tool_describe", "tool_call"}; !slices.Equal(names, want) {
		t.Errorf("visible %v, want %v", names, want)
	}
}

// A program that imports the library pays nothing for code mode: the engine and
// the compiler of types are not even in it.
func TestLibraryDoesNotLinkTheEngine(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".", "./code").Output()
	if err != nil {
		t.Skipf("no go command here: %v", err)
	}
	deps := strings.Fields(string(out))
	if !slices.Contains(deps, "github.com/toolsearch/toolsearch/code") {
		t.Fatal("the list of packages is not that of this module")
	}
	for _, d := range deps {
		if strings.Contains(d, "quickjs") || strings.Contains(d, "esbuild") || strings.HasSuffix(d, "code/child") {
			t.Errorf("the library links %s", d)
		}
	}
}

// BenchmarkImport compares the start of programs that do nothing: one that
// imports nothing, one that imports code mode's parent side, one its child side
// too, and one the whole library.
func BenchmarkImport(b *testing.B) {
	const module = "github.com/toolsearch/toolsearch"
	programs := []struct{ name, imports string }{
		{"empty", ""},
		{"code", `import _ "` + module + `/code"`},
		{"child", `import _ "` + module + `/code/child"`},
		{"library", `import _ "` + module + `"`},
	}
	dir := b.TempDir()
	for _, p := range programs {
		buildProgram(b, dir, p.name, p.imports)
	}
	took := make(map[string][]time.Duration)
	for b.Loop() {
		for _, p := range programs {
			began := time.Now()
			if err := exec.Command(filepath.Join(dir, p.name)).Run(); err != nil {
				b.Fatal(err)
			}
			took[p.name] = append(took[p.name], time.Since(began))
		}
	}
	median := func(name string) float64 {
		d := took[name]
		slices.Sort(d)
		return d[len(d)/2].Seconds() * 1e3
	}
	for _, p := range programs {
		b.ReportMetric(median(p.name), p.name+"-ms")
	}
	b.ReportMetric(median("code")/median("empty"), "code/empty")
	b.ReportMetric(0, "ns/op")
}

// buildProgram builds a program of this module with an empty main function from
// a file that is not in the tree.
func buildProgram(b *testing.B, dir, name, imports string) {
	b.Helper()
	source := filepath.Join(dir, name+".go")
	if err := os.WriteFile(source, []byte("package main\n"+imports+"\nfunc main() {}\n"), 0o600); err != nil {
		b.Fatal(err)
	}
	here, err := os.Getwd()
	if err != nil {
		b.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {filepath.Join(here, "internal", "bench-"+name, "main.go"): source}})
	if err != nil {
		b.Fatal(err)
	}
	list := filepath.Join(dir, name+".json")
	if err := os.WriteFile(list, overlay, 0o600); err != nil {
		b.Fatal(err)
	}
	cmd := exec.CommandContext(context.Background(), "go", "build", "-overlay", list, "-o", filepath.Join(dir, name), "./internal/bench-"+name)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("build: %v: %s", err, out)
	}
}
