package config_test

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsearch/toolsearch/approval"
	"github.com/toolsearch/toolsearch/call"
	"github.com/toolsearch/toolsearch/hook"
	"github.com/toolsearch/toolsearch/internal/config"
	"github.com/toolsearch/toolsearch/pin"
)

// place is where a piece of a text stands, counted independently of the parser.
func place(t *testing.T, text, piece string) config.Pos {
	t.Helper()
	before, _, found := strings.Cut(text, piece)
	if !found {
		t.Fatalf("%s is not in %s", piece, text)
	}
	return config.Pos{File: "/etc/t.json5", Line: 1 + strings.Count(before, "\n"), Column: len(before) - strings.LastIndex(before, "\n")}
}

func TestCallDefaults(t *testing.T) {
	want := config.Calls{
		Approvals:  config.Approvals{Core: "ask", Otherwise: "allow", Expiry: 10 * time.Minute},
		Pins:       "block",
		Output:     call.Limits{Chars: 20000, ImageBytes: 5 << 20, AudioBytes: 5 << 20, BlobBytes: 5 << 20},
		Transcript: config.Transcript{MaxAge: 30 * 24 * time.Hour, MaxBytes: 512 << 20, MaxBody: 16 << 10},
	}
	for _, c := range []*config.Config{config.Default(), load(t, "{}"), load(t, "{tools: {approvals: {}, hooks: [], output: {}, transcript: {redact: []}}}")} {
		if diff := cmp.Diff(want, c.Tools.Calls); diff != "" {
			t.Error(diff)
		}
	}
	// What the defaults say passes where they are used.
	if _, err := call.CheckLimits(want.Output); err != nil {
		t.Error(err)
	}
}

func TestCalls(t *testing.T) {
	yes, no := true, false
	const text = `{tools: {
  pins: "warn",
  transcript: {maxAgeDays: 7, maxBytes: 4194304, maxBodyBytes: 256, redact: ["customerNumber", " iban "]},
  output: {maxChars: 1000, maxImageBytes: 1, maxAudioBytes: 2, maxBlobBytes: 33554432},
  approvals: {core: "deny", otherwise: "ask", expiryMs: 1000, waitMs: 600000, rules: [
    {allow: [" write ", "mcp:docs"], readOnly: true, destructive: false},
    {ask: ["*"], idempotent: false, openWorld: true},
    {deny: ["exec"]},
  ]},
  hooks: [
    {name: "guard", event: "before_tool_call", tools: ["exec"], timeoutMs: 50, command: ["./guard", "${A}"], env: {N: 1, T: "${T}"}, dir: "sub"},
    {name: "mask.1", event: "after_tool_call", url: "https://${HOST}/x", headers: {Authorization: "Bearer ${T}"}},
  ],
}}`
	at := func(piece string) config.Pos { return place(t, text, piece) }
	got := load(t, text)
	want := config.Calls{
		Pins: pin.Warn, Transcript: config.Transcript{MaxAge: 168 * time.Hour, MaxBytes: 4 << 20, MaxBody: 256, Redact: []string{"customerNumber", "iban"}},
		Output: call.Limits{Chars: 1000, ImageBytes: 1, AudioBytes: 2, BlobBytes: 32 << 20},
		Approvals: config.Approvals{Core: approval.RuleDeny, CorePos: at(`"deny", otherwise`), Otherwise: approval.RuleAsk, OtherwisePos: at(`"ask", exp`), Expiry: time.Second, Wait: 10 * time.Minute, Rules: []config.ApprovalRule{
			{Pos: at(`{allow:`), Action: approval.RuleAllow, Tools: []config.Rule{{Pattern: "write", Pos: at(`" write`)}, {Pattern: "mcp:docs", Pos: at(`"mcp:docs`)}},
				Claims: approval.Claims{ReadOnly: &yes, Destructive: &no}},
			{Pos: at(`{ask:`), Action: approval.RuleAsk, Tools: []config.Rule{{Pattern: "*", Pos: at(`"*"`)}}, Claims: approval.Claims{Idempotent: &no, OpenWorld: &yes}},
			{Pos: at(`{deny:`), Action: approval.RuleDeny, Tools: []config.Rule{{Pattern: "exec", Pos: at("\"exec\"]},\n  ]")}}},
		}},
		Hooks: []config.Hook{
			{Name: "guard", Pos: at(`{name: "guard"`), Event: hook.Before, Tools: []config.Rule{{Pattern: "exec", Pos: at(`"exec"], timeout`)}}, Timeout: 50 * time.Millisecond,
				Command: []config.Text{
					{Raw: "./guard", Pos: at(`"./guard`), Key: "tools.hooks[0].command[0]"},
					{Raw: "${A}", Pos: at(`"${A}`), Key: "tools.hooks[0].command[1]"},
				},
				Env: []config.NamedText{
					{Name: "N", Text: config.Text{Raw: "1", Pos: at(`1, T`), Key: "tools.hooks[0].env.N"}},
					{Name: "T", Text: config.Text{Raw: "${T}", Pos: at(`"${T}"}, dir`), Key: "tools.hooks[0].env.T"}},
				},
				Dir: config.Text{Raw: "sub", Pos: at(`"sub"`), Key: "tools.hooks[0].dir"}},
			{Name: "mask.1", Pos: at(`{name: "mask`), Event: hook.After, Timeout: 5 * time.Second,
				URL:     config.Text{Raw: "https://${HOST}/x", Pos: at(`"https:`), Key: "tools.hooks[1].url"},
				Headers: []config.NamedText{{Name: "Authorization", Text: config.Text{Raw: "Bearer ${T}", Pos: at(`"Bearer`), Key: "tools.hooks[1].headers.Authorization"}}}},
		},
	}
	if diff := cmp.Diff(want, got.Tools.Calls); diff != "" {
		t.Error(diff)
	}
	if len(got.Warnings) > 0 {
		t.Errorf("warnings: %v", got.Warnings)
	}
}

func TestCallsClamp(t *testing.T) {
	const command = `name: "a", event: "before_tool_call", command: ["x"], `
	for _, c := range []struct {
		text, key    string
		low, high    string
		valueOfCalls func(config.Calls) int64
	}{
		{`approvals: {expiryMs: %s}`, "tools.approvals.expiryMs", "1000", "86400000", func(c config.Calls) int64 { return c.Approvals.Expiry.Milliseconds() }},
		{`approvals: {waitMs: %s}`, "tools.approvals.waitMs", "0", "600000", func(c config.Calls) int64 { return c.Approvals.Wait.Milliseconds() }},
		{`hooks: [{` + command + `timeoutMs: %s}]`, "tools.hooks[0].timeoutMs", "50", "60000", func(c config.Calls) int64 { return c.Hooks[0].Timeout.Milliseconds() }},
		{`output: {maxChars: %s}`, "tools.output.maxChars", "1000", "1000000", func(c config.Calls) int64 { return int64(c.Output.Chars) }},
		{`output: {maxImageBytes: %s}`, "tools.output.maxImageBytes", "1", "33554432", func(c config.Calls) int64 { return int64(c.Output.ImageBytes) }},
		{`output: {maxAudioBytes: %s}`, "tools.output.maxAudioBytes", "1", "33554432", func(c config.Calls) int64 { return int64(c.Output.AudioBytes) }},
		{`output: {maxBlobBytes: %s}`, "tools.output.maxBlobBytes", "1", "33554432", func(c config.Calls) int64 { return int64(c.Output.BlobBytes) }},
		{`transcript: {maxAgeDays: %s}`, "tools.transcript.maxAgeDays", "1", "3650", func(c config.Calls) int64 { return int64(c.Transcript.MaxAge / (24 * time.Hour)) }},
		{`transcript: {maxBytes: %s}`, "tools.transcript.maxBytes", "4194304", "68719476736", func(c config.Calls) int64 { return c.Transcript.MaxBytes }},
		{`transcript: {maxBodyBytes: %s}`, "tools.transcript.maxBodyBytes", "256", "1048576", func(c config.Calls) int64 { return int64(c.Transcript.MaxBody) }},
	} {
		for _, v := range []struct{ given, used string }{{c.low, c.low}, {c.high, c.high}, {"-1", c.low}, {"1e12", c.high}} {
			got := load(t, "{tools: {"+fmt.Sprintf(c.text, v.given)+"}}")
			if used := fmt.Sprint(c.valueOfCalls(got.Tools.Calls)); used != v.used {
				t.Errorf("%s: %s: %s is used, want %s", c.key, v.given, used, v.used)
			}
			var warned []string
			for _, w := range got.Warnings {
				warned = append(warned, w.Key+": "+w.Message)
			}
			var want []string
			if v.given != v.used {
				want = []string{fmt.Sprintf("%s: %s is out of bounds %s–%s; %s is used", c.key, v.given, c.low, c.high, v.used)}
			}
			if diff := cmp.Diff(want, warned); diff != "" {
				t.Errorf("%s: %s: %s", c.key, v.given, diff)
			}
			if _, err := call.CheckLimits(got.Tools.Output); err != nil {
				t.Errorf("%s: %s: %v", c.key, v.given, err)
			}
		}
	}
}

// Each fault is named with its place and key, and nothing of the file is used.
func TestCallFaults(t *testing.T) {
	for _, c := range []struct{ text, want string }{ // the text stands inside {tools: {…}}, and @ where the fault is
		{`@pin: "off"`, "tools.pin: unknown key; did you mean pins?"},
		{`pins: @true`, "tools.pins: expected one of block, warn, off, found a boolean"},
		{`pins: @"of"`, `tools.pins: unknown value "of"; expected one of block, warn, off`},
		{`output: @2000`, "tools.output: expected an object"},
		{`output: {maxChars: @"2000"}`, "tools.output.maxChars: expected an integer, found a string"},
		{`output: {maxChars: @1000.5}`, "tools.output.maxChars: expected an integer"},
		{`output: {@maxChar: 1}`, "tools.output.maxChar: unknown key; did you mean maxChars?"},
		{`output: {@bytes: 1}`, "tools.output.bytes: unknown key; known here: maxChars, "},

		{`transcript: @[]`, "tools.transcript: expected an object"},
		{`transcript: {@maxAgeDay: 1}`, "tools.transcript.maxAgeDay: unknown key; did you mean maxAgeDays?"},
		{`transcript: {redact: @"iban"}`, "tools.transcript.redact: expected an array, found a string"},
		{`transcript: {redact: ["a", @"-_ "]}`, "tools.transcript.redact[1]: expected a member's name of 1–128 bytes"},
		{`transcript: {redact: @[` + strings.Repeat(`"a",`, 257) + `]}`, "tools.transcript.redact: 257 entries; at most 256 are read"},

		{`approvals: @true`, "tools.approvals: expected an object"},
		{`approvals: {core: @"never"}`, `tools.approvals.core: unknown value "never"; expected one of ask, allow, deny`},
		{`approvals: {otherwise: @null}`, "tools.approvals.otherwise: expected one of ask, allow, deny, found null"},
		{`approvals: {@expiry: 1}`, "tools.approvals.expiry: unknown key"},
		{`approvals: {rules: @{}}`, "tools.approvals.rules: expected an array"},
		{`approvals: {rules: [@"exec"]}`, "tools.approvals.rules[0]: expected an object"},
		{`approvals: {rules: [@{}]}`, "tools.approvals.rules[0]: expected exactly one of allow, ask and deny, found none of them"},
		{`approvals: {rules: [@{readOnly: true}]}`, "tools.approvals.rules[0]: expected exactly one of allow, ask and deny, found none of them"},
		{`approvals: {rules: [{ask: ["a"]}, @{deny: ["a"], allow: ["a"]}]}`, "tools.approvals.rules[1]: expected exactly one of allow, ask and deny, found allow and deny"},
		{`approvals: {rules: [{deny: @[]}]}`, `tools.approvals.rules[0].deny: the rule names no tool; "*" means every tool`},
		{`approvals: {rules: [{deny: [@" "]}]}`, "tools.approvals.rules[0].deny[0]: expected a tool pattern"},
		{`approvals: {rules: [{deny: @"exec"}]}`, "tools.approvals.rules[0].deny: expected an array"},
		{`approvals: {rules: [{deny: ["a"], readOnly: @"true"}]}`, "tools.approvals.rules[0].readOnly: expected true or false, found a string; write true without quotes"},
		{`approvals: {rules: [{deny: ["a"], @readonly: true}]}`, "tools.approvals.rules[0].readonly: unknown key; did you mean readOnly?"},
		{`approvals: {rules: [{@action: "ask"}]}`, "tools.approvals.rules[0].action: unknown key; write the action as the key"},
		{`approvals: {rules: @[` + strings.Repeat(`{ask: ["a"]},`, 257) + `]}`, "tools.approvals.rules: 257 entries; at most 256 are read"},

		{`hooks: @{}`, "tools.hooks: expected an array"},
		{`hooks: [@{event: "before_tool_call", command: ["x"]}]`, "tools.hooks[0]: has no name"},
		{`hooks: [@{name: "a", command: ["x"]}]`, "tools.hooks[0]: has no event"},
		{`hooks: [{name: @"a b"}]`, "tools.hooks[0].name: no name of a hook"},
		{`hooks: [{name: @"` + strings.Repeat("n", 65) + `"}]`, "tools.hooks[0].name: no name of a hook"},
		{`hooks: [{name: "a", event: @"before"}]`, `tools.hooks[0].event: unknown value "before"; expected one of before_tool_call, after_tool_call`},
		{`hooks: [@{name: "a", event: "after_tool_call"}]`, "tools.hooks[0]: has neither command nor url"},
		{`hooks: [@{name: "a", event: "after_tool_call", command: ["x"], url: "https://x"}]`, "tools.hooks[0]: has both command and url"},
		{`hooks: [{name: "a", event: "after_tool_call", command: @"x"}]`, "tools.hooks[0].command: expected an array, found a string"},
		{`hooks: [{name: "a", event: "after_tool_call", command: [@7]}]`, "tools.hooks[0].command[0]: expected a string"},
		{`hooks: [@{name: "a", event: "after_tool_call", command: []}]`, "tools.hooks[0].command: expected a program and its arguments"},
		{`hooks: [@{name: "a", event: "after_tool_call", command: [" "]}]`, "tools.hooks[0].command: expected a program and its arguments"},
		{`hooks: [{name: "a", event: "after_tool_call", url: @"file://x/y"}]`, "tools.hooks[0].url: expected an address that begins with"},
		{`hooks: [{name: "a", event: "after_tool_call", url: "https://x", env: @{A: "b"}}]`, "tools.hooks[0].env: only a command has env"},
		{`hooks: [{name: "a", event: "after_tool_call", url: "https://x", dir: @"b"}]`, "tools.hooks[0].dir: only a command has dir"},
		{`hooks: [{name: "a", event: "after_tool_call", command: ["x"], headers: @{A: "b"}}]`, "tools.hooks[0].headers: only a url has headers"},
		{`hooks: [{name: "a", event: "after_tool_call", command: ["x"], env: {@"A=B": "b"}}]`, "a variable's name may not be empty"},
		{`hooks: [{name: "a", event: "after_tool_call", command: ["x"], tools: @[]}]`, "tools.hooks[0].tools: the hook is asked about no tool; leave tools out for every tool"},
		{`hooks: [{name: "a", event: "after_tool_call", command: ["x"], @args: ["y"]}]`, "tools.hooks[0].args: unknown key; write them into command"},
		{`hooks: [{name: "a", event: "after_tool_call", command: ["x"], @timeoutMS: 5}]`, "tools.hooks[0].timeoutMS: unknown key; did you mean timeoutMs?"},
		{`hooks: [{name: "a", event: "after_tool_call", command: ["x"]}, @{name: "a", event: "before_tool_call", command: ["x"]}]`,
			`tools.hooks[1]: the hook "a" stands twice, first at 1:18; give each hook its own name`},
		{`hooks: @[` + strings.Repeat(`{},`, 65) + `]`, "tools.hooks: 65 entries; at most 64 are read"},
	} {
		before, after, _ := strings.Cut(c.text, "@")
		text := "{tools: {" + before + after + "}}"
		want := fmt.Sprintf("/etc/t.json5:1:%d: ", len("{tools: {"+before)+1)
		got, err := config.Parse("/etc/t.json5", []byte(text))
		if err == nil {
			t.Errorf("%.200s: read as %+v", text, got.Tools.Calls)
			continue
		}
		if message := err.Error(); !strings.HasPrefix(message, want) || !strings.Contains(message, c.want) || strings.Contains(message, "\n") {
			t.Errorf("%.200s\n got  %.300v\n want %s%s", text, err, want, c.want)
		}
	}
}

// What holds for every call cannot be set for one agent: it would hold for none.
func TestCallsOfAgentsAreFaults(t *testing.T) {
	for _, key := range []string{"approvals", "hooks", "pins", "output", "transcript"} {
		_, err := config.Parse("/etc/t.json5", []byte(`{agents: {list: [{id: "a", tools: {`+key+`: {}}}]}}`))
		want := "/etc/t.json5:1:36: agents.list[0].tools." + key + ": unknown key; it holds for every agent: write tools." + key
		if err == nil || err.Error() != want {
			t.Errorf("%s:\n got  %v\n want %s", key, err, want)
		}
	}
}

// The top-level sections of these names belong to another program.
func TestForeignApprovalsAndHooks(t *testing.T) {
	c := load(t, `{approvals: {exec: {enabled: true}}, hooks: {enabled: true, token: "x"}}`)
	if diff := cmp.Diff(config.Default().Tools.Calls, c.Tools.Calls); diff != "" || len(c.Warnings) != 1 || !strings.Contains(c.Warnings[0].Message, "approvals, hooks") {
		t.Errorf("%s warnings %v", diff, c.Warnings)
	}
}

func TestHookResolve(t *testing.T) {
	env := lookup(map[string]string{"TOKEN": secret, "HOST": "h.test", "BIN": "/opt/bin", "LINES": secret + "\n", "NUL": secret + "\x00", "BLANK": " "})
	hookOf := func(fields string) *config.Hook {
		return &load(t, `{tools: {hooks: [{name: "h", event: "before_tool_call", `+fields+`}]}}`).Tools.Hooks[0]
	}
	for _, c := range []struct {
		fields string
		want   config.ResolvedHook
	}{
		{`command: ["guard", "./a", "${TOKEN}"], env: {A: "${TOKEN}"}`, config.ResolvedHook{Command: []string{"guard", "./a", secret}, Env: []config.Var{{Name: "A", Value: secret}}}},
		{`command: ["./guard"], dir: "sub"`, config.ResolvedHook{Command: []string{filepath.FromSlash("/etc/guard")}, Dir: filepath.FromSlash("/etc/sub")}},
		{`command: ["${BIN}/guard"]`, config.ResolvedHook{Command: []string{filepath.FromSlash("/opt/bin/guard")}}},
		{`url: "https://${HOST}/x", headers: {A: "Bearer ${TOKEN}"}`, config.ResolvedHook{URL: "https://h.test/x", Headers: []config.Var{{Name: "A", Value: "Bearer " + secret}}}},
	} {
		c.want.Name = "h"
		got, err := hookOf(c.fields).Resolve(env)
		if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v %s", c.fields, err, diff)
		}
		var log strings.Builder
		slog.New(slog.NewJSONHandler(&log, nil)).Info("hook", "hook", got)
		if printed := fmt.Sprintf("%v %+v %#v", got, got, got) + log.String(); strings.Contains(printed, secret) {
			t.Errorf("printed: %s", printed)
		}
	}
	for _, c := range []struct{ fields, want string }{
		{`command: ["guard", "${NONE}"]`, "/etc/t.json5:1:76: tools.hooks[0].command[1]: the variable NONE is not set"},
		{`command: ["${BLANK}"]`, "tools.hooks[0].command[0]: the program is empty"},
		{`command: ["x", "${NUL}"]`, "tools.hooks[0].command[1]: a command may not hold NUL"},
		{`command: ["x"], env: {A: "${NUL}"}`, "tools.hooks[0].env.A: a variable may not hold NUL"},
		{`url: "https://x", headers: {A: "${LINES}"}`, "tools.hooks[0].headers.A: a header may not hold a line end"},
		{`url: "gopher://${HOST}"`, "tools.hooks[0].url: expected an address that begins with"},
	} {
		_, err := hookOf(c.fields).Resolve(env)
		var one *config.Error
		if err == nil || !errors.As(err, &one) || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), `hook "h"`) || strings.Contains(err.Error(), secret) {
			t.Errorf("%s\n got  %v\n want %s", c.fields, err, c.want)
		}
	}
}

// checkCalls holds what was read of any file to what its users rely on.
func checkCalls(t *testing.T, c config.Calls) {
	t.Helper()
	if _, err := call.CheckLimits(c.Output); err != nil {
		t.Fatal(err)
	}
	if _, err := pin.New(pin.Config{Store: &pin.Memory{}, Mode: c.Pins}); err != nil || c.Pins == "" {
		t.Fatalf("pins %q: %v", c.Pins, err)
	}
	if k := c.Transcript; k.MaxAge < 24*time.Hour || k.MaxAge > 3650*24*time.Hour || k.MaxBytes < 4<<20 || k.MaxBytes > 64<<30 || k.MaxBody < 256 || k.MaxBody > 1<<20 || len(k.Redact) > 256 {
		t.Fatalf("transcript: %+v", k)
	}
	a := c.Approvals
	if a.Expiry < time.Second || a.Expiry > 24*time.Hour || a.Wait < 0 || a.Wait > 10*time.Minute || len(a.Rules) > 256 {
		t.Fatalf("approvals: %+v", a)
	}
	for _, r := range a.Rules {
		if len(r.Tools) == 0 || r.Action == "" || r.Pos.Line == 0 {
			t.Fatalf("rule %+v", r)
		}
	}
	seen := map[string]bool{}
	for _, h := range c.Hooks {
		if (len(h.Command) == 0) == (h.URL.Raw == "") || h.Event == "" || h.Name == "" || seen[h.Name] || h.Timeout < 50*time.Millisecond || h.Timeout > time.Minute {
			t.Fatalf("hook %+v", h)
		}
		seen[h.Name] = true
	}
}
