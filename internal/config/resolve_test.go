package config_test

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsearch/toolsearch/internal/config"
)

func lookup(env map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		v, ok := env[name]
		return v, ok
	}
}

const secret = "s3cr3t-value"

func server(t *testing.T, fields string) config.Server {
	t.Helper()
	return load(t, "{mcp: {servers: {s: {"+fields+"}}}}").MCP.Servers[0]
}

func TestResolve(t *testing.T) {
	env := lookup(map[string]string{"TOKEN": secret, "EMPTY": "", "HOST": "h.test:8080", "_a1": "x"})
	for _, c := range []struct{ raw, want string }{
		{"plain", "plain"}, {"${TOKEN}", secret}, {"a${_a1}b${_a1}c", "axbxc"}, {"${EMPTY}", ""},
		{"${NONE:-d}", "d"}, {"${EMPTY:-d}", "d"}, {"${TOKEN:-d}", secret}, {"${NONE:-}", ""}, {"${NONE:-a:-b $ x}", "a:-b $ x"},
		{"$TOKEN $ $$", "$TOKEN $ $$"}, {"$${TOKEN}", "${TOKEN}"}, {"$${${TOKEN}", "${" + secret},
		{"${NONE:-${TOKEN}", "${TOKEN"}, // a default ends at the first brace and holds no variables
	} {
		s := server(t, `command: "run", args: [`+fmt.Sprintf("%q", c.raw)+`]`)
		got, err := s.Resolve(env)
		if err != nil || got.Args[0] != c.want {
			t.Errorf("%s: got %q, %v; want %q", c.raw, got.Args, err, c.want)
		}
		if s.Args[0].Raw != c.raw {
			t.Errorf("%s: the server itself changed to %q", c.raw, s.Args[0].Raw)
		}
	}
	s := server(t, `url: "https://${HOST}/mcp", headers: {Authorization: "Bearer ${TOKEN}", "X-B": "b"}`)
	got, err := s.Resolve(env)
	want := config.Resolved{Name: "s", Transport: config.HTTP, URL: "https://h.test:8080/mcp", Headers: []config.Var{{Name: "Authorization", Value: "Bearer " + secret}, {Name: "X-B", Value: "b"}}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
}

func TestResolveFolder(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	for _, c := range []struct{ raw, want string }{
		{"", ""}, {"sub/dir", filepath.FromSlash("/etc/sub/dir")}, {".", filepath.FromSlash("/etc")}, {"/abs/x", filepath.FromSlash("/abs/x")}, {"~", home}, {"~/x", filepath.Join(home, "x")}, {"~bob", filepath.FromSlash("/etc/~bob")},
	} {
		s := server(t, `command: "run", cwd: "`+c.raw+`"`)
		if got, err := s.Resolve(lookup(nil)); err != nil || got.Dir != c.want {
			t.Errorf("cwd %q: got %q, %v; want %q", c.raw, got.Dir, err, c.want)
		}
	}
}

// A failing text is named by key, place and variable; no value is in the error.
func TestResolveFaults(t *testing.T) {
	env := lookup(map[string]string{"TOKEN": secret, "LINES": secret + "\r\nX: y", "NUL": secret + "\x00", "BLANK": " ", "BADURL": "gopher://" + secret, "BIG": strings.Repeat("x", 1<<20)})
	for _, c := range []struct{ fields, want string }{
		{`command: "run", env: {A: "${TOKEN}", B: "x${MISSING}"}`, "/etc/t.json5:1:62: mcp.servers.s.env.B: the variable MISSING is not set; set MISSING in the environment, or write ${MISSING:-default}"},
		{`command: "${MISSING}"`, "/etc/t.json5:1:31: mcp.servers.s.command: the variable MISSING is not set"},
		{`command: "run", args: ["a", "${TOKEN}${unclosed"]`, "mcp.servers.s.args[1]: a malformed variable"},
		{`command: "run", args: ["${input:id}"]`, "mcp.servers.s.args[0]: a malformed variable"},
		{`command: "run", args: ["${}"]`, "mcp.servers.s.args[0]: a malformed variable"},
		{`command: "run", args: ["${1A}"]`, "mcp.servers.s.args[0]: a malformed variable"},
		{`command: "run", args: ["${BIG}${BIG}"]`, "mcp.servers.s.args[0]: more than 1048576 bytes"},
		{`command: "${BLANK}"`, "mcp.servers.s.command: the program is empty"},
		{`command: "run", env: {A: "${NUL}"}`, "mcp.servers.s.env.A: a variable may not hold NUL"},
		{`url: "https://x", headers: {A: "${LINES}"}`, "mcp.servers.s.headers.A: a header may not hold a line end"},
		{`url: "${BADURL}"`, "mcp.servers.s.url: expected an address that begins with http:// or https:// once"},
		{`url: "https://${TOKEN}:%zz/"`, "mcp.servers.s.url: expected an address such as"},
	} {
		s := server(t, c.fields)
		_, err := s.Resolve(env)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), `server "s"`) {
			t.Errorf("%s\n got  %v\n want %s", c.fields, err, c.want)
		} else if strings.Contains(err.Error(), secret) {
			t.Errorf("%s: the error holds a secret: %v", c.fields, err)
		}
	}
	s := server(t, `command: "${A}", args: ["${B}"], env: {C: "${C}"}`)
	_, err := s.Resolve(env)
	var one *config.Error
	if !errors.As(err, &one) || one.Key != "mcp.servers.s.command" || strings.Count(err.Error(), "is not set") != 3 {
		t.Errorf("not all faults are reported: %v", err)
	}
}

// A malformed variable is warned of when the file is read.
func TestMalformedVariableWarns(t *testing.T) {
	c := load(t, "{mcp: {servers: {s: {command: 'x', args: ['${input:id}', '${OK}']}}}}")
	if len(c.Warnings) != 1 || c.Warnings[0].Key != "mcp.servers.s.args[0]" {
		t.Errorf("warnings: %v", c.Warnings)
	}
}

func TestResolvedPrintsNoSecret(t *testing.T) {
	s := server(t, `url: "https://x/?key=${TOKEN}", headers: {A: "${TOKEN}"}`)
	got, err := s.Resolve(lookup(map[string]string{"TOKEN": secret}))
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("start", "server", got, "header", got.Headers[0])
	slog.New(slog.NewJSONHandler(&log, nil)).Info("start", "server", got, "header", got.Headers[0])
	for _, printed := range []string{fmt.Sprint(got), fmt.Sprintf("%v %+v %#v", got, got, got), fmt.Sprintf("%+v %#v", got.Headers, got.Headers), log.String()} {
		if strings.Contains(printed, secret) {
			t.Errorf("printed: %s", printed)
		}
	}
}
