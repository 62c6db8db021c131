package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsearch/toolsearch/internal/config"
)

func load(t *testing.T, text string) *config.Config {
	t.Helper()
	c, err := config.Parse("/etc/t.json5", []byte(text))
	if err != nil {
		t.Fatalf("%s\n%v", text, err)
	}
	return c
}

// The rows of the contract's table for tools.toolSearch.
func TestToolSearchForms(t *testing.T) {
	for _, c := range []struct {
		text string
		on   bool
		mode config.Mode
	}{
		{`{}`, false, config.ModeCode},
		{`{tools: {}}`, false, config.ModeCode},
		{`{tools: {toolSearch: false}}`, false, config.ModeCode},
		{`{tools: {toolSearch: {}}}`, false, config.ModeCode},
		{`{tools: {toolSearch: {enabled: false}}}`, false, config.ModeCode},
		{`{tools: {toolSearch: {enabled: false, mode: "tools", maxSearchLimit: 5}}}`, false, config.ModeTools},
		{`{tools: {toolSearch: true}}`, true, config.ModeCode},
		{`{tools: {toolSearch: {enabled: true}}}`, true, config.ModeCode},
		{`{tools: {toolSearch: {maxSearchLimit: 5}}}`, true, config.ModeCode},
		{`{tools: {toolSearch: {runtime: "node"}}}`, true, config.ModeCode},
		{`{tools: {toolSearch: {mode: "code"}}}`, true, config.ModeCode},
		{`{tools: {toolSearch: {mode: "tools"}}}`, true, config.ModeTools},
		{`{tools: {toolSearch: {mode: "directory"}}}`, true, config.ModeDirectory},
		{`{tools: {toolSearch: {mode: "auto", enabled: true}}}`, true, config.ModeAuto},
	} {
		got := load(t, c.text).Tools.ToolSearch
		if got.Enabled != c.on || got.Mode != c.mode {
			t.Errorf("%s: enabled %v, mode %s; want %v, %s", c.text, got.Enabled, got.Mode, c.on, c.mode)
		}
	}
}

func TestToolSearchDefaults(t *testing.T) {
	for _, c := range []*config.Config{config.Default(), load(t, "{}")} {
		got := c.Tools.ToolSearch
		if n := got.Code.Children; n < 1 || n > 64 {
			t.Errorf("Children = %d", n)
		}
		got.Code.Children = 0
		want := config.ToolSearch{Mode: "code", CodeTimeout: 10 * time.Second, MaxSearchLimit: 20, SearchDefaultLimit: 8, Runtime: "embedded",
			Code: config.CodeLimits{CodeBytes: 256 << 10, LogBytes: 64 << 10, ResultBytes: 256 << 10, MemoryBytes: 64 << 20, InFlight: 16, Calls: 1000}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
}

func TestToolSearchClamps(t *testing.T) {
	for _, c := range []struct {
		fields        string
		timeout       time.Duration
		max, standard int
		warnings      []string
	}{
		{"codeTimeoutMs: 1000", time.Second, 20, 8, nil},
		{"codeTimeoutMs: 60000", time.Minute, 20, 8, nil},
		{"codeTimeoutMs: 999", time.Second, 20, 8, []string{"/etc/t.json5:1:38: tools.toolSearch.codeTimeoutMs: 999 is out of bounds 1000–60000; 1000 is used"}},
		{"codeTimeoutMs: 1e99", time.Minute, 20, 8, []string{"/etc/t.json5:1:38: tools.toolSearch.codeTimeoutMs: 1e99 is out of bounds 1000–60000; 60000 is used"}},
		{"maxSearchLimit: 0", 10 * time.Second, 1, 1, []string{"/etc/t.json5:1:39: tools.toolSearch.maxSearchLimit: 0 is out of bounds 1–50; 1 is used"}},
		{"maxSearchLimit: 51", 10 * time.Second, 50, 8, []string{"/etc/t.json5:1:39: tools.toolSearch.maxSearchLimit: 51 is out of bounds 1–50; 50 is used"}},
		{"maxSearchLimit: 5", 10 * time.Second, 5, 5, nil}, // the default follows silently
		{"searchDefaultLimit: -3", 10 * time.Second, 20, 1, []string{"/etc/t.json5:1:43: tools.toolSearch.searchDefaultLimit: -3 is out of bounds 1–50; 1 is used"}},
		{"searchDefaultLimit: 21", 10 * time.Second, 20, 20, []string{"/etc/t.json5:1:43: tools.toolSearch.searchDefaultLimit: searchDefaultLimit 21 is above maxSearchLimit 20; 20 is used"}},
		{"searchDefaultLimit: 9, maxSearchLimit: 9", 10 * time.Second, 9, 9, nil},
	} {
		got := load(t, "{tools: {toolSearch: {"+c.fields+"}}}")
		var warnings []string
		for _, w := range got.Warnings {
			warnings = append(warnings, w.String())
		}
		ts := got.Tools.ToolSearch
		if ts.CodeTimeout != c.timeout || ts.MaxSearchLimit != c.max || ts.SearchDefaultLimit != c.standard {
			t.Errorf("%s: %v, %d, %d; want %v, %d, %d", c.fields, ts.CodeTimeout, ts.MaxSearchLimit, ts.SearchDefaultLimit, c.timeout, c.max, c.standard)
		}
		if diff := cmp.Diff(c.warnings, warnings); diff != "" {
			t.Errorf("%s: %s", c.fields, diff)
		}
	}
}

// Caps of code mode have hard bounds, and zero is not unlimited.
func TestCodeLimits(t *testing.T) {
	low := load(t, `{tools: {toolSearch: {codeMaxBytes: 0, codeMaxLogBytes: 0, codeMaxResultBytes: 0, codeMaxMemoryBytes: 0, codeMaxInFlight: 0, codeMaxCalls: 0, codeMaxChildren: 0}}}`)
	if want := (config.CodeLimits{CodeBytes: 1 << 10, LogBytes: 1 << 10, ResultBytes: 1 << 10, MemoryBytes: 16 << 20, InFlight: 1, Calls: 1, Children: 1}); low.Tools.ToolSearch.Code != want || len(low.Warnings) != 7 {
		t.Errorf("low: %+v, %d warnings", low.Tools.ToolSearch.Code, len(low.Warnings))
	}
	high := load(t, `{tools: {toolSearch: {codeMaxBytes: 1e9, codeMaxLogBytes: 1e9, codeMaxResultBytes: 1e9, codeMaxMemoryBytes: 1e12, codeMaxInFlight: 1e9, codeMaxCalls: 1e9, codeMaxChildren: 1e9}}}`)
	if want := (config.CodeLimits{CodeBytes: 1 << 20, LogBytes: 1 << 20, ResultBytes: 4 << 20, MemoryBytes: 128 << 20, InFlight: 64, Calls: 10000, Children: 64}); high.Tools.ToolSearch.Code != want || len(high.Warnings) != 7 {
		t.Errorf("high: %+v, %d warnings", high.Tools.ToolSearch.Code, len(high.Warnings))
	}
}

// The agent's block wins over the global one, field by field.
func TestToolSearchOfAgents(t *testing.T) {
	for _, c := range []struct {
		global, agent string
		on            bool
		mode          config.Mode
		max, standard int
		warnings      int
	}{
		{`{mode: "tools", maxSearchLimit: 30, searchDefaultLimit: 10}`, `{searchDefaultLimit: 12}`, true, "tools", 30, 12, 0},
		{`{mode: "tools"}`, `{mode: "directory"}`, true, "directory", 20, 8, 0},
		{`{mode: "tools"}`, `false`, false, "tools", 20, 8, 0},
		{`{mode: "tools"}`, `true`, true, "tools", 20, 8, 0},
		{`true`, `{}`, true, "code", 20, 8, 0},
		{`false`, `true`, true, "code", 20, 8, 0},
		{`false`, `{mode: "tools"}`, false, "tools", 20, 8, 0}, // enabled: false still stands
		{`{}`, `{mode: "tools"}`, true, "tools", 20, 8, 0},
		{`{searchDefaultLimit: 10}`, `{maxSearchLimit: 6}`, true, "code", 6, 6, 1},
		{`{searchDefaultLimit: 30}`, `{maxSearchLimit: 40}`, true, "code", 40, 30, 1}, // the global block's own warning
	} {
		got := load(t, `{tools: {toolSearch: `+c.global+`}, agents: {list: [{id: "Ann", tools: {toolSearch: `+c.agent+`}}]}}`)
		ts := got.ToolSearchFor("ann")
		if ts.Enabled != c.on || ts.Mode != c.mode || ts.MaxSearchLimit != c.max || ts.SearchDefaultLimit != c.standard || len(got.Warnings) != c.warnings {
			t.Errorf("%s over %s: %+v, warnings %v", c.agent, c.global, ts, got.Warnings)
		}
		if d := cmp.Diff(got.ToolSearchFor("bob"), got.Tools.ToolSearch); d != "" {
			t.Errorf("an agent without an entry differs:\n%s", d)
		}
	}
}

// Each fault with its place, its key, what was expected, and a hint.
func TestFaults(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"{tools: {toolSearch: 'on'}}", "1:22: tools.toolSearch: expected true, false or an object, found a string"},
		{"{tools: {toolSearch: null}}", "1:22: tools.toolSearch: expected true, false or an object, found null"},
		{"{tools: {toolSearch: {enabled: 'true'}}}", "1:32: tools.toolSearch.enabled: expected true or false, found a string; write true without quotes"},
		{"{tools: {toolSearch: {mode: 'tool'}}}", `1:29: tools.toolSearch.mode: unknown value "tool"; expected one of code, tools, directory, auto; did you mean tools?`},
		{"{tools: {toolSearch: {mode: 1}}}", "1:29: tools.toolSearch.mode: expected one of code, tools, directory, auto, found a number"},
		{"{tools: {toolSearch: {runtime: 'deno'}}}", `1:32: tools.toolSearch.runtime: unknown value "deno"; expected one of embedded, node`},
		{"{tools: {toolSearch: {maxSearchLimit: '5'}}}", "1:39: tools.toolSearch.maxSearchLimit: expected an integer, found a string"},
		{"{tools: {toolSearch: {maxSearchLimit: 7.5}}}", "1:39: tools.toolSearch.maxSearchLimit: expected an integer, found a number that is none"},
		{"{tools: {toolSearch: {maxSearchLimit: NaN}}}", "1:39: tools.toolSearch.maxSearchLimit: expected an integer, found a number that is none"},
		{"{tools: {toolSearch: {mod: 'code'}}}", "1:23: tools.toolSearch.mod: unknown key; did you mean mode?"},
		{"{tools: {toolSearch: {enabled: false, zzz: 1}}}", "1:39: tools.toolSearch.zzz: unknown key; known here: enabled, mode, runtime, "},
		{"{tools: {toolSearch: {__proto__: {enabled: true}}}}", "1:23: tools.toolSearch.__proto__: unknown key"},
		{"{tools: {\n  profile: 'codign'}}", `2:12: tools.profile: unknown value "codign"; expected one of minimal, coding, messaging, full; did you mean coding?`},
		{"{tools: {allow: ['a'],\n alsoAllow: ['b']}}", "2:2: tools.alsoAllow: allow and alsoAllow stand in one scope; merge alsoAllow into allow"},
		{"{tools: {byProvider: {x: {allow: [], alsoAllow: []}}}}", "1:38: tools.byProvider.x.alsoAllow: allow and alsoAllow"},
		{"{tools: {sandbox: {tools: {allow: [], alsoAllow: []}}}}", "1:39: tools.sandbox.tools.alsoAllow: allow and alsoAllow"},
		{"{tools: {subagents: {tools: {allow: [], alsoAllow: []}}}}", "1:41: tools.subagents.tools.alsoAllow: allow and alsoAllow"},
		{"{agents: {list: [{id: 'a', tools: {allow: [], alsoAllow: []}}]}}", "1:47: agents.list[0].tools.alsoAllow: allow and alsoAllow"},
		{"{tools: {deny: 'exec'}}", "1:16: tools.deny: expected an array, found a string"},
		{"{tools: {deny: ['a', 1]}}", "1:22: tools.deny[1]: expected a string, found a number"},
		{"{tools: {deny: [' ']}}", "1:17: tools.deny[0]: expected a tool pattern of 1–256 bytes"},
		{"{tools: {dney: ['exec']}}", "1:10: tools.dney: unknown key; did you mean deny?"},
		{"{tools: {sandbox: {deny: ['exec']}}}", "1:20: tools.sandbox.deny: unknown key; it belongs into sandbox.tools"},
		{"{agents: {list: [{id: 'a', tools: {subagents: {profile: 'minimal'}}}]}}", "1:48: agents.list[0].tools.subagents.profile: unknown key; it belongs into subagents.tools"},
		{"{agents: {main: {tools: {deny: ['exec']}}}}", `1:11: agents.main: it does not stand here; an agent stands in agents.list, such as {id: "main", tools: {…}}`},
		{"{hooks: [{name: 'a'}]}", "1:2: hooks: it does not stand here; write tools.hooks"},
		{"{approvals: {rules: []}}", "1:2: approvals: it does not stand here; write tools.approvals"},
		{"{tools: {mode: 'tools'}}", "1:10: tools.mode: unknown key; it belongs into tools.toolSearch"},
		{"{tools: {byProvider: {x: {alow: []}}}}", "1:27: tools.byProvider.x.alow: unknown key; did you mean allow?"},
		{"{tools: []}", "1:9: tools: expected an object, found an array"},
		{"{tols: {deny: ['exec']}}", "1:2: tols: unknown key; did you mean tools?"},
		{"{mcpServers: {}}", "1:2: mcpServers: unknown key; servers stand under mcp.servers"},
		{"[]", "1:1: expected an object, found an array"},
		{"", "1:1: the file is empty; write {} for the defaults"},
		{"{\n  tools: {,}\n}", "2:11: unexpected ','; expected a key or '}'"},
		{"{tools: {core: true, core: false}}", "1:22: tools.core: the key stands twice, first at 1:10; remove one of them"},
		{"{tools: {}, tools: {}}", "1:13: tools: the key stands twice"},
		{"{agents: {list: [{name: 'x'}]}}", `1:18: agents.list[0]: expected an id; such as id: "main"`},
		{"{agents: {list: [{id: 'a'}, {id: 'A'}]}}", `1:29: agents.list[1]: the agent "A" stands twice, first at 1:18`},
		{"{agents: {list: [{id: 'a', tool: {deny: ['x']}}]}}", "1:28: agents.list[0].tool: unknown key; did you mean tools?"},
		{"{agents: {list: {a: {}}}}", "1:17: agents.list: expected an array, found an object"},
		{"{mcp: {servers: []}}", "1:17: mcp.servers: expected an object, found an array"},
		{"{mcp: {servers: {a: {}}}}", "1:18: mcp.servers.a: has neither command nor url"},
		{"{mcp: {servers: {a: {command: 'x', url: 'https://y'}}}}", "1:18: mcp.servers.a: has both command and url"},
		{"{mcp: {servers: {a: {comand: 'x'}}}}", "1:22: mcp.servers.a.comand: unknown key; did you mean command?"},
		{"{mcp: {servers: {a: {command: 'x', disabled: true}}}}", "1:36: mcp.servers.a.disabled: unknown key; write enabled: false"},
		{"{mcp: {servers: {a: {command: ' '}}}}", "1:31: mcp.servers.a.command: expected a program"},
		{"{mcp: {servers: {a: {command: ['x']}}}}", "1:31: mcp.servers.a.command: expected a string, found an array"},
		{"{mcp: {servers: {a: {command: 'x', args: 'y'}}}}", "1:42: mcp.servers.a.args: expected an array, found a string"},
		{"{mcp: {servers: {a: {command: 'x', env: {A: null}}}}}", "1:45: mcp.servers.a.env.A: expected a string, found null"},
		{"{mcp: {servers: {a: {command: 'x', env: {'A=B': 'c'}}}}}", `1:42: mcp.servers.a.env["A=…"]: a variable's name`},
		{"{mcp: {servers: {a: {url: 'https://x', headers: {'A B': 'c'}}}}}", `1:50: mcp.servers.a.headers["A …"]: not a header's name`},
		{"{mcp: {servers: {a: {url: 'https://x', headers: {'Authorization: Bearer secret': ''}}}}}", `1:50: mcp.servers.a.headers["Authorization:…"]: not a header's name`},
		{"{mcp: {servers: {a: {url: 'ftp://x'}}}}", "1:27: mcp.servers.a.url: expected an address that begins with http"},
		{"{mcp: {servers: {a: {url: 'x'}}}}", "1:27: mcp.servers.a.url: expected an address such as"},
		{"{mcp: {servers: {a: {command: 'x', type: 'http'}}}}", `1:42: mcp.servers.a.type: "http" needs url`},
		{"{mcp: {servers: {a: {url: 'https://x', transport: 'stdio'}}}}", `1:51: mcp.servers.a.transport: "stdio" needs command`},
		{"{mcp: {servers: {a: {url: 'https://x', type: 'ws'}}}}", `1:46: mcp.servers.a.type: unknown value "ws"`},
		{"{mcp: {servers: {'': {command: 'x'}}}}", `1:18: mcp.servers[""]: a name has 1–128 bytes`},
		{"{mcp: {servers: {'a\\u202e': {command: 'x'}}}}", `1:18: mcp.servers["a\u202e"]: a name may not hold control or invisible characters`},
		{"{mcp: {servers: {'a:b': {command: 'x'}}}}", `1:18: mcp.servers.a:b: the name of a server has no colon`},
		{"{mcp: {server: {}}}", "1:8: mcp.server: unknown key; did you mean servers?"},
	} {
		_, err := config.Parse("/etc/t.json5", []byte(c.text))
		var list *config.Errors
		if !errors.As(err, &list) || len(list.List) != 1 || !strings.HasPrefix(err.Error(), "/etc/t.json5:"+c.want) {
			t.Errorf("%s\n got  %v\n want %s", c.text, err, c.want)
		}
	}
}

func TestFaultsTogether(t *testing.T) {
	text := "{\n  mcp: {servers: {a: {}}},\n  tools: {\n    toolSearch: {mode: 1, x: 2},\n    deny: 3,\n  },\n}"
	_, err := config.Parse("/f", []byte(text))
	var places []string
	var list *config.Errors
	if errors.As(err, &list) {
		for _, e := range list.List {
			places = append(places, e.Pos.String()+" "+e.Key)
		}
	}
	want := []string{"/f:2:19 mcp.servers.a", "/f:4:24 tools.toolSearch.mode", "/f:4:27 tools.toolSearch.x", "/f:5:11 tools.deny"}
	if diff := cmp.Diff(want, places); diff != "" {
		t.Error(diff)
	}
	_, err = config.Parse("/f", []byte("{tools: {deny: ["+strings.Repeat("1,", 50)+"]}}"))
	if !errors.As(err, &list) || len(list.List) != 20 || list.More != 30 || !strings.HasSuffix(err.Error(), "\nand 30 more") {
		t.Errorf("many faults: %v", err)
	}
}

func TestOpenClawFile(t *testing.T) {
	file := filepath.Join("testdata", "openclaw-2025.json")
	c, err := config.Load(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	abs, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	var warnings []string
	for _, w := range c.Warnings {
		warnings = append(warnings, w.String())
	}
	want := []string{abs + ":2:3: ignored, since this program does not use them: meta, wizard, agents.list[1].tools.elevated, tools.web, tools.media, tools.exec, " +
		"tools.elevated, tools.agentToAgent, tools.loopDetection, tools.fs, tools.subagents.model, mcp.sessionIdleTtlMs, " +
		`mcp.servers["Outlook Graph"].supportsParallelToolCalls, mcp.servers["Outlook Graph"].auth, mcp.servers["Outlook Graph"].oauth, channels, gateway, plugins, skills`}
	if diff := cmp.Diff(want, warnings); diff != "" {
		t.Error(diff)
	}
	at := func(line, column int) config.Pos { return config.Pos{File: abs, Line: line, Column: column} }
	rules := c.Tools.Policy
	if rules.Profile != "coding" || rules.ProfilePos != at(38, 16) || rules.AlsoAllow[1] != (config.Rule{Pattern: "mcp:github", Pos: at(39, 32)}) || len(rules.Deny) != 2 ||
		rules.ByProvider[0].Name != "anthropic" || rules.ByProvider[0].Profile != "minimal" || rules.BySender[0].Deny[0].Pattern != "exec" ||
		rules.Sandbox.Allow[1].Pattern != "bundle-mcp" || rules.Subagents.Deny[0].Pattern != "cron" {
		t.Errorf("global policy: %+v", rules)
	}
	family, ok := c.Agent("family")
	if !ok || family.Policy.Profile != "messaging" || family.Policy.Deny[1].Pattern != "group:fs" || family.Policy.ByProvider[0].Allow[0].Pattern != "message" || family.Policy.Sandbox.AlsoAllow[0].Pattern != "bundle-mcp" {
		t.Errorf("family: %+v", family)
	}
	if ts := c.ToolSearchFor("family"); !ts.Enabled || ts.Mode != config.ModeDirectory || ts.MaxSearchLimit != 30 || ts.SearchDefaultLimit != 4 {
		t.Errorf("family's tool search: %+v", ts)
	}
	openClawServers(t, c.MCP.Servers)
}

func openClawServers(t *testing.T, servers []config.Server) {
	if len(servers) != 3 || servers[0].Name != "github" || servers[1].Name != "Outlook Graph" || servers[2].Name != "legacy" {
		t.Fatalf("servers: %+v", servers)
	}
	github, outlook, legacy := servers[0], servers[1], servers[2]
	if github.Transport != config.Stdio || len(github.Args) != 6 || github.Env[0].Raw != "${GITHUB_TOKEN}" || github.Env[1].Raw != "50" || github.Env[2].Raw != "true" ||
		github.Cwd.Raw != "/srv" || github.StartTimeout != 5*time.Second || github.CallTimeout != time.Minute || !github.Enabled || github.TrustSchemas {
		t.Errorf("github: %+v", github)
	}
	if outlook.Transport != config.HTTP || outlook.CallTimeout != 20*time.Second || outlook.StartTimeout != 30*time.Second || outlook.Headers[0].Raw != "Bearer ${OUTLOOK_TOKEN}" ||
		outlook.Include[0].Pattern != "mail_*" || outlook.Exclude[0].Pattern != "mail_delete" {
		t.Errorf("outlook: %+v", outlook)
	}
	if legacy.Transport != config.SSE || legacy.Enabled {
		t.Errorf("legacy: %+v", legacy)
	}
}

func TestOpenClawEntries(t *testing.T) {
	c, err := config.Load(t.Context(), filepath.Join("testdata", "openclaw-entries.json5"))
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Warnings) != 1 || !strings.Contains(c.Warnings[0].Message, "agents.ownership, bindings, tools.codeMode, mcp.servers.docs.codex") {
		t.Errorf("warnings: %v", c.Warnings)
	}
	public, ok := c.Agent("public")
	if !ok || len(c.Agents) != 2 || public.Policy.Deny[0].Pattern != "exec" || public.Policy.Allow[0].Pattern != "session_status" {
		t.Errorf("agents: %+v", c.Agents)
	}
}

func TestServerSettings(t *testing.T) {
	c := load(t, `{tools: {core: true}, mcp: {servers: {
		b: {command: "x", startTimeoutMs: 1, callTimeoutMs: 1e9, trustSchemas: true, enabled: false},
		a: {url: "https://${HOST}/mcp", requestTimeoutMs: 500, callTimeoutMs: 700},
		c: {command: "x", callTimeoutMs: 700, requestTimeoutMs: 500, type: "stdio"},
	}}}`)
	if c.Tools.Core == nil || !*c.Tools.Core || load(t, "{}").Tools.Core != nil {
		t.Error("tools.core")
	}
	b, a, last := c.MCP.Servers[0], c.MCP.Servers[1], c.MCP.Servers[2]
	if b.Name != "b" || b.StartTimeout != 100*time.Millisecond || b.CallTimeout != time.Hour || !b.TrustSchemas || b.Enabled || len(c.Warnings) != 2 {
		t.Errorf("b: %+v, %v", b, c.Warnings)
	}
	if a.CallTimeout != 700*time.Millisecond || last.CallTimeout != 700*time.Millisecond {
		t.Errorf("our own key does not win over its other name: %v, %v", a.CallTimeout, last.CallTimeout)
	}
	if s, ok := c.Server("c"); !ok || s.Name != "c" {
		t.Errorf("Server: %+v, %v", s, ok)
	}
}

// A command that downloads its server first gets longer, unless the file says.
func TestStartTimeoutOfDownloads(t *testing.T) {
	c := load(t, `{mcp: {servers: {
		a: {command: "npx"}, b: {command: "/usr/bin/uvx"}, c: {command: "C:\\node\\NPX.CMD"}, d: {command: "bunx"},
		e: {command: "npx", startTimeoutMs: 500}, f: {command: "npx", connectionTimeoutMs: 600}, g: {command: "node"},
		h: {command: "my-npx"}, i: {url: "https://example.com/npx"},
	}}}`)
	want := []time.Duration{120_000, 120_000, 120_000, 120_000, 500, 600, 30_000, 30_000, 30_000}
	for i, s := range c.MCP.Servers {
		if s.StartTimeout != want[i]*time.Millisecond {
			t.Errorf("%s may take %v to start, want %v", s.Name, s.StartTimeout, want[i]*time.Millisecond)
		}
	}
}

func TestDuplicatesElsewhere(t *testing.T) {
	load(t, `{channels: {a: 1, a: 2}}`) // not ours to judge
}

func TestLoadRefuses(t *testing.T) {
	dir := t.TempDir()
	big := filepath.Join(dir, "big.json5")
	if err := os.WriteFile(big, []byte("{}"+strings.Repeat(" ", 4<<20)), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, file := range map[string]string{"missing": filepath.Join(dir, "none"), "folder": dir, "too large": big} {
		if c, err := config.Load(t.Context(), file); err == nil {
			t.Errorf("%s: loaded %+v", name, c)
		} else if !strings.Contains(err.Error(), file) {
			t.Errorf("%s: the error does not name the file: %v", name, err)
		}
	}
	if _, err := config.Load(t.Context(), filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	for _, name := range []string{"openclaw-2025.json", "openclaw-entries.json5"} {
		src, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(src)
	}
	f.Add([]byte("{tools: {toolSearch: {mode: 'x', maxSearchLimit: -1e9}, deny: [1]}, agents: {list: [1, {id: ''}]}}"))
	f.Add([]byte(`{tools: {pins: "off", output: {maxChars: 0}, approvals: {core: "ask", waitMs: -1, rules: [{deny: ["a"], readOnly: true}]},
		hooks: [{name: "h", event: "before_tool_call", command: ["x", "${Y:-z}"], env: {A: 1}}, {name: "u", event: "after_tool_call", url: "http://x", tools: ["*"]}]}}`))
	f.Fuzz(func(t *testing.T, src []byte) {
		c, err := config.Parse("/f", src)
		var list *config.Errors
		switch {
		case err == nil:
			ts := c.Tools.ToolSearch
			if ts.SearchDefaultLimit < 1 || ts.SearchDefaultLimit > ts.MaxSearchLimit || ts.MaxSearchLimit > 50 || ts.CodeTimeout < time.Second || ts.CodeTimeout > time.Minute {
				t.Fatalf("%q: out of bounds: %+v", src, ts)
			}
			checkCalls(t, c.Tools.Calls)
			for _, s := range c.MCP.Servers {
				if (s.Command.Raw == "") == (s.URL.Raw == "") {
					t.Fatalf("%q: server %+v", src, s)
				}
			}
		case !errors.As(err, &list) || len(list.List) == 0:
			t.Fatalf("%q: %v", src, err)
		}
	})
}
