package cli_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolsearch/toolsearch/internal/mcptest"
)

// npmServers is the configuration of three published servers.
func npmServers(t *testing.T, home string) string {
	t.Helper()
	folder := filepath.Join(home, "folder")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "poem.txt"), []byte("roses are red\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	servers := map[string]any{}
	for name, pkg := range map[string]string{"everything": mcptest.Everything, "files": mcptest.Filesystem, "memory": mcptest.Memory} {
		command, args := mcptest.NPM(t, pkg)
		entry := map[string]any{"command": command, "args": args, "env": map[string]string{}}
		switch name {
		case "files":
			entry["args"] = append(args, folder)
		case "memory":
			entry["env"] = map[string]string{"MEMORY_FILE_PATH": filepath.Join(home, "memory.jsonl")}
		}
		servers[name] = entry
	}
	raw, err := json.Marshal(servers)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf(`{tools:{toolSearch:{mode:"tools"}}, mcp:{servers:%s}}`, raw)
}

// Published servers, found and called through the gateway in both eras.
func TestPublishedServers(t *testing.T) {
	eras(t, func(t *testing.T, modern bool) {
		home := t.TempDir()
		g := startGateway(t, home, npmServers(t, home))
		g.connect(modern)
		awaitServers(t, g)
		for query, want := range map[string]string{
			"read a text file":                    "mcp:files:read_text_file",
			"create entities in knowledge graph":  "mcp:memory:create_entities",
			"echo back the input":                 "mcp:everything:echo",
			"list the contents of a directory":    "mcp:files:list_directory",
			"delete relations between the things": "mcp:memory:delete_relations",
		} {
			args, err := json.Marshal(map[string]any{"name": "tool_search", "arguments": map[string]any{"query": query, "limit": 3}})
			if err != nil {
				t.Fatal(err)
			}
			if found := content(t, g.result("tools/call", string(args)))[0]; !strings.Contains(found, `"`+want+`"`) {
				t.Errorf("%q found %s, want %s among 3", query, found, want)
			}
		}
		call := func(id, args string) string {
			t.Helper()
			return string(g.result("tools/call", fmt.Sprintf(`{"name":"tool_call","arguments":{"id":%q,"args":%s}}`, id, args)))
		}
		if res := call("mcp:files:read_text_file", fmt.Sprintf(`{"path":%q}`, filepath.Join(home, "folder", "poem.txt"))); !strings.Contains(res, "roses are red") {
			t.Errorf("read_text_file answered %s", res)
		}
		if res := call("mcp:everything:echo", `{"message":"hello there"}`); !strings.Contains(res, "hello there") {
			t.Errorf("echo answered %s", res)
		}
		if res := call("mcp:memory:create_entities", `{"entities":"none"}`); !strings.Contains(res, "/entities") {
			t.Errorf("wrong arguments answered %s, want the place of the fault", res)
		}
	})
}

// awaitServers asks until no search says that a server is missing. The gateway
// itself goes on without one that takes more than a few seconds, as three
// programs that start on a busy machine do.
func awaitServers(t *testing.T, g *gateway) {
	t.Helper()
	again := time.NewTicker(200 * time.Millisecond)
	defer again.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for {
		found := content(t, g.result("tools/call", `{"name":"tool_search","arguments":{"query":"read a text file"}}`))
		missing := slices.IndexFunc(found, func(text string) bool { return strings.HasPrefix(text, "Note: server") })
		if missing < 0 {
			return
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			t.Fatalf("the servers did not start: %s", found[missing])
		}
	}
}

// The inspector's command line is a client that knows nothing of us.
func TestInspector(t *testing.T) {
	command, args := mcptest.NPM(t, mcptest.Inspector)
	home := t.TempDir()
	file := filepath.Join(home, "toolsearch.json5")
	if err := os.WriteFile(file, []byte(npmServers(t, home)), 0o600); err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// The inspector passes little of its environment on: the program's own
	// variables go onto its command line.
	start := filepath.Join(home, "toolsearch.sh")
	script := "#!/bin/sh\nexec env " + strings.Join(quoteAll(env(home)), " ") + " " + strings.Join(quoteAll([]string{exe, "mcp", "--config", file}), " ") + "\n"
	if err := os.WriteFile(start, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	inspect := func(more ...string) string {
		t.Helper()
		out, err := exec.Command(command, append(append(append([]string{}, args...), "--cli", start), more...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", more, err, out)
		}
		return string(out)
	}
	// What the servers have is known from here on, however slowly they start.
	known := exec.Command(exe, "servers", "--config", file)
	known.Env = env(home)
	if out, err := known.CombinedOutput(); err != nil {
		t.Fatalf("servers: %v\n%s", err, out)
	}
	list := inspect("--method", "tools/list")
	for _, name := range []string{"tool_search", "tool_describe", "tool_call"} {
		if !strings.Contains(list, `"name": "`+name+`"`) {
			t.Errorf("the inspector does not list %s:\n%s", name, list)
		}
	}
	found := inspect("--method", "tools/call", "--tool-name", "tool_search", "--tool-arg", "query=read a text file", "--tool-arg", "limit=1")
	if !strings.Contains(found, "mcp:files:read_text_file") {
		t.Errorf("the inspector's search found:\n%s", found)
	}
}
