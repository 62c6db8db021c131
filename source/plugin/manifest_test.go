package plugin_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsearch/toolsearch/hook"
	"github.com/toolsearch/toolsearch/source/plugin"
	"github.com/toolsearch/toolsearch/tool"
)

const full = `// everything at once
{
  id: 'crm-2', name: "  The\nCRM ", description: "Contacts.", version: '1.2',
  start: {
    command: "./bin/serve", args: ["--port", "${PORT:-0}", 'a $${b}'],
    env: { TOKEN: "${CRM_TOKEN}", A: "1" }, cwd: "work",
    startTimeoutMs: 5000, callTimeoutMs: 2e3, idleTimeoutMs: 60000,
  },
  tools: [
    { name: "find_contact", label: "Find", description: "Finds.", parameters: { type: "object", properties: { n: { const: 9007199254740993 } } },
      outputSchema: { type: "array" }, catalogMode: "direct-only", sequential: true,
      annotations: { title: "T", readOnlyHint: true, destructiveHint: false } },
    { name: "Other-1", description: "Others.", parameters: {}, annotations: { title: "Titled" } },
  ],
  hooks: {
    before_tool_call: [
      { name: "no-rm", match: ["exec", "mcp:*"], command: "guard", args: ["x"], timeoutMs: 50 },
      { url: "https://${HOST}/hook", headers: { Authorization: "Bearer ${TOKEN}" } },
    ],
    after_tool_call: [{ command: "./mask" }],
  },
}`

func TestLoadReadsEverything(t *testing.T) {
	p := load(t, full)
	yes, no := true, false
	if p.ID != "crm-2" || p.Name != "The CRM" || p.Description != "Contacts." || p.Version != "1.2" || !filepath.IsAbs(p.Dir) {
		t.Errorf("the head is %+v", p)
	}
	wantStart := &plugin.Start{
		Command: "./bin/serve", Args: []string{"--port", "${PORT:-0}", "a $${b}"}, Cwd: "work",
		Env:          []plugin.Var{{Name: "A", Value: "1"}, {Name: "TOKEN", Value: "${CRM_TOKEN}"}},
		StartTimeout: 5 * time.Second, CallTimeout: 2 * time.Second, IdleTimeout: time.Minute,
	}
	if diff := cmp.Diff(wantStart, p.Start); diff != "" {
		t.Errorf("start (-want +got):\n%s", diff)
	}
	if len(p.Tools) != 2 {
		t.Fatalf("%d tools, want 2", len(p.Tools))
	}
	first, second := p.Tools[0], p.Tools[1]
	if first.ID != "openclaw:crm-2:find_contact" || first.Owner != "crm-2" || first.Source != tool.OpenClaw || first.Label != "Find" ||
		first.Mode != tool.DirectOnly || !first.Sequential || first.Invoker != nil {
		t.Errorf("the first tool is %+v", first)
	}
	if got := string(first.Input.JSON()); got != `{"type":"object","properties":{"n":{"const":9007199254740993}}}` {
		t.Errorf("its input schema is %s", got)
	}
	if got := string(first.Output.JSON()); got != `{"type":"array"}` {
		t.Errorf("its output schema is %s", got)
	}
	if diff := cmp.Diff(tool.Annotations{Title: "T", ReadOnly: &yes, Destructive: &no}, first.Annotations); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
	if second.Label != "Titled" || second.Output != nil || second.Mode != tool.Cataloged || second.Sequential {
		t.Errorf("the second tool is %+v", second)
	}
	if first.Revision == "" || first.Revision == second.Revision {
		t.Errorf("revisions are %q and %q", first.Revision, second.Revision)
	}
	wantHooks := []plugin.Hook{
		{Plugin: "crm-2", Name: "no-rm", Event: hook.Before, Match: []string{"exec", "mcp:*"}, Timeout: 50 * time.Millisecond, Command: "guard", Args: []string{"x"}, Dir: p.Dir},
		{Plugin: "crm-2", Name: "before-2", Event: hook.Before, Match: []string{"*"}, Timeout: 5 * time.Second, URL: "https://${HOST}/hook", Headers: []plugin.Var{{Name: "Authorization", Value: "Bearer ${TOKEN}"}}, Dir: p.Dir},
		{Plugin: "crm-2", Name: "after-1", Event: hook.After, Match: []string{"*"}, Timeout: 5 * time.Second, Command: "./mask", Dir: p.Dir},
	}
	if diff := cmp.Diff(wantHooks, p.Hooks); diff != "" {
		t.Errorf("hooks (-want +got):\n%s", diff)
	}
	if err := p.Check(); err != nil {
		t.Errorf("Check: %v", err)
	}
}

// The revision changes with anything in a tool's block, and with nothing else.
func TestRevision(t *testing.T) {
	revision := func(block string) string {
		return load(t, `{id: "a", start: {command: "x"}, tools: [`+block+`]}`).Tools[0].Revision
	}
	base := revision(`{name: "t", description: "d", parameters: {}}`)
	if got := revision("/* c */ {name: 't',\n description: \"d\", parameters: {},}"); got != base {
		t.Error("another spelling of the same block has another revision")
	}
	for _, other := range []string{
		`{name: "t", description: "e", parameters: {}}`,
		`{name: "t", description: "d", parameters: {type: "object"}}`,
		`{name: "t", description: "d", parameters: {}, outputSchema: {}}`,
		`{name: "t", description: "d", parameters: {}, sequential: true}`,
		`{name: "t", description: "d", parameters: {}, annotations: {readOnlyHint: true}}`,
	} {
		if revision(other) == base {
			t.Errorf("%s has the revision of another block", other)
		}
	}
}

// In each case @ stands just before the place of the fault.
var faults = []struct{ name, manifest, key, problem string }{
	{"not JSON5", "{\n  id: @%,\n}", "", ""},
	{"empty", "@", "", ""},
	{"no object", `@["crm"]`, "", "expected an object"},
	{"unknown key", "{id: 'a',\n  @tool: []}", "tool", "did you mean tools?"},
	{"key twice", "{id: 'a', @id: 'b', hooks: {before_tool_call: [{command: 'x'}]}}", "id", "stands twice"},
	{"schema key twice", `{id: 'a', start: {command: 'x'}, tools: [{name: 't', description: 'd', parameters: {type: 'object', @type: 'array'}}]}`, "tools[0].parameters.type", "stands twice"},
	{"no id", `@{tools: []}`, "id", "missing"},
	{"id of a wrong type", `{id: @7}`, "id", "expected a string"},
	{"id empty", `{id: @''}`, "id", "no id"},
	{"id upper case", `{id: @'Crm'}`, "id", "no id"},
	{"id begins with -", `{id: @'-a'}`, "id", "no id"},
	{"id leaves its folder", `{id: @'../a'}`, "id", "no id"},
	{"id too long", `{id: @'` + strings.Repeat("a", 65) + `'}`, "id", "no id"},
	{"id core", `{id: @'core'}`, "id", "reserved"},
	{"id client", `{id: @'client'}`, "id", "reserved"},
	{"id mcp", `{id: @'mcp'}`, "id", "reserved"},
	{"id openclaw", `{id: @'openclaw'}`, "id", "reserved"},
	{"id of a control", `{id: @'tool_search'}`, "id", "reserved"},
	{"id nearly of a control", `{id: @'tool-search-code'}`, "id", "reserved"},
	{"id of a device", `{id: @'com1'}`, "id", "reserved"},
	{"nothing in it", `@{id: 'a'}`, "", "neither tools nor hooks"},
	{"tools without a process", `@{id: 'a', tools: [{name: 't', description: 'd', parameters: {}}]}`, "start", "missing"},
	{"process without tools", `{id: 'a', start: @{command: 'x'}}`, "start", "never started"},
	{"start without command", `{id: 'a', start: @{}, tools: [{name: 't', description: 'd', parameters: {}}]}`, "start.command", "missing or empty"},
	{"command outside", `{id: 'a', start: {command: @'../x'}, tools: [{name: 't', description: 'd', parameters: {}}]}`, "start.command", "leaves the plugin's folder"},
	{"cwd outside", `{id: 'a', start: {command: 'x', cwd: @'b/../..'}, tools: [{name: 't', description: 'd', parameters: {}}]}`, "start.cwd", "leaves the plugin's folder"},
	{"cwd absolute", `{id: 'a', start: {command: 'x', cwd: @'/tmp'}, tools: [{name: 't', description: 'd', parameters: {}}]}`, "start.cwd", "leaves the plugin's folder"},
	{"malformed variable", `{id: 'a', start: {command: 'x', args: ['ok', @'${A-b}']}, tools: [{name: 't', description: 'd', parameters: {}}]}`, "start.args[1]", "malformed variable"},
	{"NUL in an argument", `{id: 'a', start: {command: 'x', args: [@'a\0b']}, tools: [{name: 't', description: 'd', parameters: {}}]}`, "start.args[0]", "NUL"},
	{"name of a variable", `{id: 'a', start: {command: 'x', env: {'A B': @'1'}}, tools: [{name: 't', description: 'd', parameters: {}}]}`, `start.env["A B"]`, "no name of a variable"},
	{"zero timeout", `{id: 'a', start: {command: 'x', callTimeoutMs: @0}, tools: [{name: 't', description: 'd', parameters: {}}]}`, "start.callTimeoutMs", "expected 100 to 600000"},
	{"huge timeout", `{id: 'a', start: {command: 'x', callTimeoutMs: @9223372036854775807}, tools: [{name: 't', description: 'd', parameters: {}}]}`, "start.callTimeoutMs", "out of bounds"},
	{"fraction", `{id: 'a', start: {command: 'x', idleTimeoutMs: @0.5}, tools: [{name: 't', description: 'd', parameters: {}}]}`, "start.idleTimeoutMs", "integer"},
	{"tool without name", `{id: 'a', start: {command: 'x'}, tools: [@{description: 'd', parameters: {}}]}`, "tools[0].name", "missing"},
	{"name of a tool", `{id: 'a', start: {command: 'x'}, tools: [{name: @'a:b', description: 'd', parameters: {}}]}`, "tools[0].name", "no tool name"},
	{"tool named like a control", `{id: 'a', start: {command: 'x'}, tools: [{name: @'tool_call', description: 'd', parameters: {}}]}`, "tools[0].name", "control"},
	{"tool named nearly like a control", `{id: 'a', start: {command: 'x'}, tools: [{name: @'Tool-Call', description: 'd', parameters: {}}]}`, "tools[0].name", "control"},
	{"tool twice", "{id: 'a', start: {command: 'x'}, tools: [{name: 't', description: 'd', parameters: {}},\n{name: @'t', description: 'd', parameters: {}}]}", "tools[1].name", "declared twice"},
	{"tool nearly twice", "{id: 'a', start: {command: 'x'}, tools: [{name: 'a_t', description: 'd', parameters: {}},\n{name: @'A-T', description: 'd', parameters: {}}]}", "tools[1].name", "only in case or punctuation"},
	{"no description", `{id: 'a', start: {command: 'x'}, tools: [@{name: 't', parameters: {}}]}`, "tools[0].description", "missing or empty"},
	{"no parameters", `{id: 'a', start: {command: 'x'}, tools: [@{name: 't', description: 'd'}]}`, "tools[0].parameters", "missing"},
	{"parameters null", `{id: 'a', start: {command: 'x'}, tools: [{name: 't', description: 'd', parameters: @null}]}`, "tools[0].parameters", "found null"},
	{"parameters true", `{id: 'a', start: {command: 'x'}, tools: [{name: 't', description: 'd', parameters: @true}]}`, "tools[0].parameters", "found boolean"},
	{"parameters of a list", `{id: 'a', start: {command: 'x'}, tools: [{name: 't', description: 'd', parameters: {type: @'array'}}]}`, "tools[0].parameters.type", `expected "object"`},
	{"output schema a string", `{id: 'a', start: {command: 'x'}, tools: [{name: 't', description: 'd', parameters: {}, outputSchema: @'{}'}]}`, "tools[0].outputSchema", "found string"},
	{"infinity in a schema", `{id: 'a', start: {command: 'x'}, tools: [{name: 't', description: 'd', parameters: @{maximum: Infinity}}]}`, "tools[0].parameters", "Infinity"},
	{"catalog mode", `{id: 'a', start: {command: 'x'}, tools: [{name: 't', description: 'd', parameters: {}, catalogMode: @'direct'}]}`, "tools[0].catalogMode", "direct-only"},
	{"annotation", `{id: 'a', start: {command: 'x'}, tools: [{name: 't', description: 'd', parameters: {}, annotations: {readOnlyHint: @'yes'}}]}`, "tools[0].annotations.readOnlyHint", "true or false"},
	{"hook without anything", `{id: 'a', hooks: {before_tool_call: [@{}]}}`, "hooks.before_tool_call[0]", "neither a command nor a url"},
	{"hook with both", `{id: 'a', hooks: {after_tool_call: [{command: 'x', url: @'https://x'}]}}`, "hooks.after_tool_call[0].url", "both"},
	{"hook of another event", `{id: 'a', hooks: {@during_tool_call: []}}`, "hooks.during_tool_call", "unknown key"},
	{"hook's address", `{id: 'a', hooks: {after_tool_call: [{url: @'file:///etc/passwd'}]}}`, "hooks.after_tool_call[0].url", "http"},
	{"hook matches nothing", `{id: 'a', hooks: {after_tool_call: [{command: 'x', match: @[]}]}}`, "hooks.after_tool_call[0].match", "no tool"},
	{"hook's pattern", `{id: 'a', hooks: {after_tool_call: [{command: 'x', match: ['a', @' ']}]}}`, "hooks.after_tool_call[0].match[1]", "tool pattern"},
	{"hook's timeout", `{id: 'a', hooks: {after_tool_call: [{command: 'x', timeoutMs: @60001}]}}`, "hooks.after_tool_call[0].timeoutMs", "50 to 60000"},
	{"hook's name", `{id: 'a', hooks: {after_tool_call: [{command: 'x', name: @'a b'}]}}`, "hooks.after_tool_call[0].name", "no name of a hook"},
	{"hook's name twice", `{id: 'a', hooks: {before_tool_call: [{command: 'x', name: 'h'}], after_tool_call: [{command: 'x', name: @'h'}]}}`, "hooks.after_tool_call[0].name", "two hooks"},
	{"header with a line end", `{id: 'a', hooks: {after_tool_call: [{url: 'https://x', headers: {A: @'b\r\nC: d'}}]}}`, "hooks.after_tool_call[0].headers.A", "line end"},
	{"headers of a command", `{id: 'a', hooks: {after_tool_call: [{command: 'x', headers: @{A: 'b'}}]}}`, "hooks.after_tool_call[0].headers", "only a url"},
	{"arguments of an address", `{id: 'a', hooks: {after_tool_call: [{url: 'https://x', args: @['b']}]}}`, "hooks.after_tool_call[0].args", "only a command"},
}

func TestLoadNamesThePlaceOfAFault(t *testing.T) {
	for _, c := range faults {
		t.Run(c.name, func(t *testing.T) {
			before, after, marked := strings.Cut(c.manifest, "@")
			if !marked {
				t.Fatal("the case marks no place")
			}
			line := strings.Count(before, "\n") + 1
			column := len(before) - strings.LastIndex(before, "\n")
			dir := folder(t, before+after)
			_, err := plugin.Load(t.Context(), dir)
			var fault *plugin.Error
			if !errors.As(err, &fault) {
				t.Fatalf("Load: %v, want a fault", err)
			}
			if fault.File != filepath.Join(dir, plugin.ManifestName) || fault.Line != line || fault.Column != column || fault.Key != c.key {
				t.Errorf("the fault is %v, want it at %d:%d: %s", fault, line, column, c.key)
			}
			if !strings.Contains(fault.Error(), c.problem) {
				t.Errorf("the fault is %v, want it to say %q", fault, c.problem)
			}
		})
	}
}

func TestAllFaultsComeInOrder(t *testing.T) {
	dir := folder(t, "{\n id: 'core',\n tools: [\n {name: '?', description: 'd', parameters: {}},\n {name: 't', parameters: 1}\n ],\n}")
	_, err := plugin.Load(t.Context(), dir)
	var all plugin.Errors
	if !errors.As(err, &all) {
		t.Fatalf("Load: %v", err)
	}
	var got []string
	for _, f := range all {
		got = append(got, fmt.Sprintf("%d %s", f.Line, f.Key))
	}
	want := []string{"1 start", "2 id", "4 tools[0].name", "5 tools[1].description", "5 tools[1].parameters"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
}

// Check finds what does not compile, at its place.
func TestCheckCompilesSchemas(t *testing.T) {
	p := load(t, "{id: 'a', start: {command: 'x'}, tools: [{name: 't', description: 'd',\n parameters: {properties: {a: {type: 'strin'}}},\n  outputSchema: {$ref: 'https://elsewhere.example/s'}}]}")
	var all plugin.Errors
	if err := p.Check(); !errors.As(err, &all) || len(all) != 2 {
		t.Fatalf("Check: %v, want two faults", err)
	}
	for i, want := range []string{":2:14: tools[0].parameters: ", ":3:17: tools[0].outputSchema: "} {
		if !strings.Contains(all[i].Error(), want) {
			t.Errorf("fault %d is %v, want %q in it", i, all[i], want)
		}
	}
}

func TestHostileManifests(t *testing.T) {
	tools := func(n int) string {
		var b strings.Builder
		b.WriteString(`{id: "a", start: {command: "x"}, tools: [`)
		for i := range n {
			fmt.Fprintf(&b, `{name: "t%d", description: "d", parameters: {}},`, i)
		}
		return b.String() + "]}"
	}
	for _, c := range []struct{ name, manifest, want string }{
		{"10 MB", `{id: "a", description: "` + strings.Repeat("x", 10<<20) + `"}`, "larger than 1048576 bytes"},
		{"deep nesting", `{id: "a", tools: [{parameters: ` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000), "deep"},
		{"deep objects", `{id: "a", tools: [{parameters: ` + strings.Repeat("{a:", 10_000), "deep"},
		{"too many tools", tools(1001), "1001 tools, at most 1000"},
		{"not UTF-8", "{id: \"a\xff\"}", "UTF-8"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := plugin.Load(t.Context(), folder(t, c.manifest))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Load: %.300v, want %q", err, c.want)
			}
		})
	}
	if p := load(t, tools(1000)); len(p.Tools) != 1000 {
		t.Errorf("%d tools, want 1000", len(p.Tools))
	}
	// What hides or reorders text does not reach a prompt.
	p := load(t, "{id: 'a', name: 'a\u202eb', start: {command: 'x'}, tools: [{name: 't', label: 'x\u200by', description: 'd\\u001b[2J', parameters: {}}]}")
	if p.Name != "ab" || p.Tools[0].Label != "xy" || p.Tools[0].Description != "d[2J" {
		t.Errorf("texts are %q, %q and %q", p.Name, p.Tools[0].Label, p.Tools[0].Description)
	}
}

func TestLoadOfOddFolders(t *testing.T) {
	if _, err := plugin.Load(t.Context(), filepath.Join(t.TempDir(), "missing")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing folder: %v", err)
	}
	if _, err := plugin.Load(t.Context(), t.TempDir()); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), plugin.ManifestName) {
		t.Errorf("a folder without a manifest: %v", err)
	}
	outside := folder(t, full)
	dir := t.TempDir()
	if err := os.Symlink(filepath.Join(outside, plugin.ManifestName), filepath.Join(dir, plugin.ManifestName)); err != nil {
		t.Skipf("no symbolic links here: %v", err)
	}
	if _, err := plugin.Load(t.Context(), dir); err == nil {
		t.Error("a manifest that is a link out of the folder was read")
	}
}

func TestExpand(t *testing.T) {
	vars := map[string]string{"PORT": "80", "EMPTY": "", "UP": "../.."}
	lookup := func(name string) (string, bool) { v, ok := vars[name]; return v, ok }
	for _, c := range []struct{ in, want, err string }{
		{"plain $x", "plain $x", ""},
		{"${PORT}:${PORT}", "80:80", ""},
		{"${EMPTY}", "", ""},
		{"${EMPTY:-d}", "d", ""},
		{"${GONE:-d:-e}", "d:-e", ""},
		{"$${PORT} ${PORT}", "${PORT} 80", ""},
		{"a${GONE}", "", "GONE is not set"},
	} {
		start := plugin.Start{Command: "x", Args: []string{c.in}}
		got, err := start.Expand("/plugin", lookup)
		switch {
		case c.err != "":
			if err == nil || !strings.Contains(err.Error(), c.err) || !strings.Contains(err.Error(), "start.args[0]") {
				t.Errorf("%q: %v, want %q", c.in, err, c.err)
			}
		case err != nil || got.Args[0] != c.want:
			t.Errorf("%q becomes %q, %v; want %q", c.in, got.Args, err, c.want)
		}
	}
	for _, s := range []plugin.Start{{Command: "${UP}/x"}, {Command: "x", Cwd: "${UP}"}} {
		if _, err := s.Expand("/plugin", lookup); err == nil || !strings.Contains(err.Error(), "folder") {
			t.Errorf("%+v left the folder: %v", s, err)
		}
	}
	dir := t.TempDir()
	for command, want := range map[string]string{"node": "node", "./serve": filepath.Join(dir, "serve"), "bin/serve": filepath.Join(dir, "bin", "serve")} {
		if got, err := (&plugin.Start{Command: command}).Expand(dir, lookup); err != nil || got.Command != want || got.Cwd != dir {
			t.Errorf("%s becomes %s in %s, %v; want %s in %s", command, got.Command, got.Cwd, err, want, dir)
		}
	}
}

func FuzzLoad(f *testing.F) {
	f.Add(full)
	for _, c := range faults {
		f.Add(strings.Replace(c.manifest, "@", "", 1))
	}
	dir := f.TempDir()
	file := filepath.Join(dir, plugin.ManifestName)
	f.Fuzz(func(t *testing.T, manifest string) {
		if err := os.WriteFile(file, []byte(manifest), 0o600); err != nil {
			t.Fatal(err)
		}
		p, err := plugin.Load(t.Context(), dir)
		if err != nil {
			return
		}
		if !plugin.ValidID(p.ID) || len(p.Tools) > 0 && p.Start == nil || len(p.Tools)+len(p.Hooks) == 0 {
			t.Errorf("accepted: %+v", p)
		}
		seen := map[tool.ID]bool{}
		for _, tl := range p.Tools {
			if seen[tl.ID] || tl.Input == nil || tl.Owner != p.ID || tl.Revision == "" {
				t.Errorf("accepted the tool %+v", tl)
			}
			seen[tl.ID] = true
		}
	})
}
