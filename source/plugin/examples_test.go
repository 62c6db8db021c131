package plugin_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolsearch/toolsearch/call"
	"github.com/toolsearch/toolsearch/catalog"
	"github.com/toolsearch/toolsearch/hook"
	"github.com/toolsearch/toolsearch/rank"
	"github.com/toolsearch/toolsearch/schema"
	"github.com/toolsearch/toolsearch/source/plugin"
	"github.com/toolsearch/toolsearch/tool"
)

// example installs a plugin that ships with the product, as a user would.
func example(t *testing.T, root, id string) {
	t.Helper()
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("the example plugins need go in PATH")
	}
	folder := filepath.Join("..", "..", "examples", "plugins", id)
	// Compiled here, where it may take as long as it takes: with nothing in Go's
	// cache a busy machine needs longer than a plugin has to start.
	compile := exec.Command("go", "build", "-o", os.DevNull, "main.go")
	compile.Dir = folder
	if out, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("compile the example %s: %v\n%s", id, err, out)
	}
	if _, err := install(t, root, folder, false); err != nil {
		t.Fatal(err)
	}
}

// goCache keeps what the examples compile where go test keeps it.
func goCache(t *testing.T) {
	t.Helper()
	out, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Skipf("ask go for its cache: %v", err)
	}
	t.Setenv("GOCACHE", strings.TrimSpace(string(out)))
}

func opened(t *testing.T, root string) *plugin.Source {
	t.Helper()
	plugins, problems := plugin.Installed(t.Context(), root)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return open(t, plugin.Options{}, plugins...)
}

func TestExampleCRM(t *testing.T) {
	goCache(t)
	root := t.TempDir()
	example(t, root, "crm")
	s := opened(t, root)
	cat, err := catalog.Build(catalog.Input{Tools: s.Tools()})
	if err != nil {
		t.Fatal(err)
	}
	hits := cat.Search(rank.Query{Text: "find a customer by email", Limit: 5}).Hits
	if len(hits) == 0 || hits[0].ID != "openclaw:crm:find_contact" {
		t.Fatalf("the search finds %+v", hits)
	}
	// The signatures that the manifest's schemas have by the contract.
	if want := `{ query: string; limit?: number }`; hits[0].Input != want {
		t.Errorf("input is %s, want %s", hits[0].Input, want)
	}
	if want := `{ contacts: Array<{ company: string; email: string; id: string; name: string; stage: "lead" | "customer" | "lost" }>; total: number }`; hits[0].Output != want {
		t.Errorf("output is %s, want %s", hits[0].Output, want)
	}
	d, err := cat.Describe("update_contact")
	if err != nil {
		t.Fatal(err)
	}
	raw, err := d.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	var described struct {
		ID           string
		Output       string
		OutputSchema struct{ Required []string }
	}
	if err := json.Unmarshal(raw, &described); err != nil {
		t.Fatal(err)
	}
	if described.Output != `{ changed: Array<"email" | "stage">; id: string }` || len(described.OutputSchema.Required) != 2 {
		t.Errorf("described as %s", raw)
	}

	ctx := deadline(t)
	found := func() string {
		t.Helper()
		res, err := invoke(ctx, t, s, "find_contact", `{"query":"ADA"}`)
		if err != nil {
			t.Fatal(err)
		}
		return string(res.Details)
	}
	before := `{"contacts":[{"id":"c1","name":"Ada Byron","company":"Analytical Engines","email":"ada@engines.example","stage":"customer"}],"total":1}`
	if got := found(); got != before {
		t.Errorf("found %s, want %s", got, before)
	}
	if res, err := invoke(ctx, t, s, "update_contact", `{"id":"c1","stage":"lost"}`); err != nil || string(res.Details) != `{"id":"c1","changed":["stage"]}` {
		t.Errorf("the update: %v", err)
	}
	if res, err := invoke(ctx, t, s, "update_contact", `{"id":"c9","stage":"lost"}`); err != nil || !res.IsError || !strings.Contains(res.Text(), `"c9"`) {
		t.Errorf("the update of nobody: %v", err)
	}
	refused(ctx, t, s, "update_contact", `{"id":"c1","stage":"friend"}`, tool.CodeInvalidArgs)
	refused(ctx, t, s, "find_contact", `{"query":""}`, tool.CodeInvalidArgs)

	// What was changed outlives the process.
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = opened(t, root)
	if got, want := found(), strings.Replace(before, `"customer"`, `"lost"`, 1); got != want {
		t.Errorf("after a restart found %s, want %s", got, want)
	}
}

func TestExampleGuard(t *testing.T) {
	goCache(t)
	root := t.TempDir()
	example(t, root, "guard")
	s := opened(t, root)
	if len(s.Tools()) != 0 || len(s.Hooks()) != 2 {
		t.Fatalf("%d tools and %d hooks", len(s.Tools()), len(s.Hooks()))
	}
	hooks, err := s.ReadyHooks()
	if err != nil {
		t.Fatal(err)
	}
	set, warnings, err := hook.New(hooks, nil)
	if err != nil || len(warnings) > 0 {
		t.Fatalf("hook.New: %v, warnings %v", err, warnings)
	}
	t.Cleanup(func() { _ = set.Close() })

	ran := ""
	answer := &tool.Result{Content: []tool.Content{tool.Text("ok")}}
	target := func(name string) *tool.Tool {
		return &tool.Tool{
			ID: tool.NewID(tool.OpenClaw, tool.CoreOwner, name), Source: tool.OpenClaw, Owner: tool.CoreOwner, Name: name,
			Input: tool.RawSchema(`{"type":"object"}`),
			Invoker: tool.InvokerFunc(func(_ context.Context, c tool.Call) (*tool.Result, error) {
				ran = string(c.Args)
				return answer, nil
			}),
		}
	}
	schemas := schema.NewCache(4)
	pipeline := call.New(set.Stage(), call.ValidateOutput(schemas), call.ValidateInput(schemas))
	do := func(name, args string) (*tool.Result, error) {
		ran = ""
		return pipeline.Call(deadline(t), call.Request{Target: target(name), Args: json.RawMessage(args)})
	}
	for command, blocked := range map[string]bool{
		"rm -rf /": true, "cd x && sudo rm -r --force y": true, "echo hi; /bin/rm -fR .": true,
		"rm file": false, "ls -rf": false, "rm -r empty": false, "git log": false,
	} {
		args, err := json.Marshal(map[string]string{"command": command})
		if err != nil {
			t.Fatal(err)
		}
		_, err = do("exec", string(args))
		var te *tool.Error
		switch {
		case !blocked && (err != nil || ran != string(args)):
			t.Errorf("%s: %v", command, err)
		case blocked && (!errors.As(err, &te) || te.Code != tool.CodeBlocked || !strings.Contains(te.By, "guard.no-rm-rf") || ran != ""):
			t.Errorf("%s: %v, and it ran with %q", command, err, ran)
		}
	}
	// A made-up token in the documented form of one.
	token := "ghp_" + strings.Repeat("a1", 20)
	answer = &tool.Result{Content: []tool.Content{tool.Text("token: " + token + "\nn: 1")}, Details: json.RawMessage(`{"n":9007199254740993,"t":"` + token + `"}`)}
	res, err := do("read", `{}`)
	if err != nil {
		t.Fatal(err)
	}
	if res.Text() != "token: [hidden]\nn: 1" || string(res.Details) != `{"n":9007199254740993,"t":"[hidden]"}` {
		t.Errorf("the result is %q with %s", res.Text(), res.Details)
	}
}
