package toolsearch_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/toolsearch/toolsearch"
	"github.com/toolsearch/toolsearch/source/mcp"
	"github.com/toolsearch/toolsearch/surface"
	"github.com/toolsearch/toolsearch/tool"
	"github.com/toolsearch/toolsearch/turn"
)

func funcs(t *testing.T, n int) []*tool.Tool {
	t.Helper()
	var out []*tool.Tool
	for i := range n {
		f, err := toolsearch.Func("desk", fmt.Sprintf("stamp_%03d", i), "Puts a stamp on a letter. "+strings.Repeat("Long. ", 60),
			func(context.Context, struct{}) (string, error) { return "stamped", nil })
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, f)
	}
	return out
}

// A library user of mode Directory sends View().Listing with the prompt, and
// answers a call of a listed name like any other.
func TestModeDirectory(t *testing.T) {
	command, args, env := weatherServer()
	set := newSet(t, toolsearch.Options{
		Mode: surface.Directory, Tools: funcs(t, 5), Servers: []mcp.Server{{Name: "weather", Command: command, Args: args, Env: env}},
		Directory: turn.DirectoryConfig{Required: []string{"stamp_001"}},
	})
	listing := set.Surface().View().Listing
	if !strings.Contains(listing, "- stamp_004 (desk): Puts a stamp") || !strings.Contains(listing, "weather (1)") || strings.Contains(listing, "forecast") {
		t.Errorf("the listing is:\n%s", listing)
	}
	var names []string
	for _, v := range set.Visible() {
		names = append(names, v.Name)
	}
	if got := strings.Join(names, " "); got != "tool_search tool_describe tool_call stamp_001" {
		t.Errorf("visible are %q", got)
	}
	for _, name := range []string{"stamp_001", "stamp_004", "echo", "weather__echo"} {
		if res, err := set.Handle(t.Context(), name, nil); err != nil || res.IsError {
			t.Errorf("%s: %+v, %v", name, res, err)
		}
	}
	likely := turn.Likely(set.Surface().View(), "put a stamp on this letter", 2)
	if len(likely) != 2 || likely[0].Name == "stamp_001" {
		t.Errorf("likely are %v", likely)
	}
}

// A scope for a model with a small context has a small listing, and a session of
// it shows the caller's own tools.
func TestDirectoryOfAScope(t *testing.T) {
	set := newSet(t, toolsearch.Options{Mode: surface.Directory, Tools: funcs(t, 200)})
	scope, err := set.Scope(t.Context(), toolsearch.ScopeOptions{ContextTokens: 8192})
	if err != nil {
		t.Fatal(err)
	}
	pick := &tool.Tool{
		ID: tool.NewID(tool.Client, tool.ClientOwner, "pick_file"), Source: tool.Client, Owner: tool.ClientOwner, Name: "pick_file",
		Description: "SECRET", Input: tool.RawSchema(`{"type":"object"}`),
	}
	session, err := scope.Session(toolsearch.SessionOptions{Client: []*tool.Tool{pick}})
	if err != nil {
		t.Fatal(err)
	}
	front := session.Front()
	if n := tool.Chars(front.Listing); n == 0 || n > 3276 || strings.Contains(front.Listing, "SECRET") {
		t.Errorf("%d characters: %s", n, front.Listing)
	}
	if large := tool.Chars(set.Surface().View().Listing); large <= 3276 || large > 18000 {
		t.Errorf("without a known context the listing has %d characters", large)
	}
	visible := session.Visible()
	if last := visible[len(visible)-1]; last.Name != "pick_file" {
		t.Errorf("the last visible tool is %s", last.Name)
	}
	pick.Name, pick.ID = "stamp_007", tool.NewID(tool.Client, tool.ClientOwner, "stamp_007")
	if _, err := scope.Session(toolsearch.SessionOptions{Client: []*tool.Tool{pick}}); err == nil {
		t.Error("a client tool bears the name of a cataloged one")
	}
}

func TestModeAuto(t *testing.T) {
	for _, tt := range []struct {
		tools int
		want  surface.Mode
	}{{3, surface.Off}, {100, surface.Tools}} {
		// No isolated runtime starts here, since the test's main does not begin with
		// child.Main: where search is better, it is tools.
		set := newSet(t, toolsearch.Options{Mode: surface.Auto, Tools: funcs(t, tt.tools)})
		plan, err := set.Plan()
		if err != nil {
			t.Fatal(err)
		}
		if plan.View.Mode != tt.want || plan.Auto == nil || len(set.Warnings()) > 0 {
			t.Errorf("%d tools: mode %s, %+v, warnings %q", tt.tools, plan.View.Mode, plan.Auto, set.Warnings())
		}
	}
}

// In mode Off nothing is indexed until somebody searches, and then once.
func TestCatalogOfModeOff(t *testing.T) {
	set := newSet(t, toolsearch.Options{Mode: surface.Off, Tools: funcs(t, 20)})
	first, err := set.Catalog(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, ref := range []string{"stamp_007", "no_such_tool"} {
		_, err := set.Resolve(t.Context(), ref)
		if known := err == nil; known != (ref == "stamp_007") {
			t.Errorf("%s: %v", ref, err)
		}
	}
	if second, err := set.Catalog(t.Context()); err != nil || second != first {
		t.Errorf("the catalog was built twice (%v)", err)
	}
}
