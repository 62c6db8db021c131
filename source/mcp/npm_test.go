package mcp_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolsearch/toolsearch/internal/mcptest"
	"github.com/toolsearch/toolsearch/source/mcp"
	"github.com/toolsearch/toolsearch/tool"
)

func published(t testing.TB, name, pkg string, args ...string) mcp.Server {
	command, first := mcptest.NPM(t, pkg)
	return mcp.Server{Name: name, Command: command, Args: append(first, args...), StartTimeout: long, CallTimeout: long}
}

func TestPublishedServers(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "note.txt"), []byte("hello from a file"), 0o600); err != nil {
		t.Fatal(err)
	}
	memory := published(t, "memory", mcptest.Memory)
	memory.Env = []string{"MEMORY_FILE_PATH=" + filepath.Join(dir, "memory.jsonl")}
	m := started(t, mcp.Options{CacheDir: t.TempDir()},
		published(t, "everything", mcptest.Everything),
		published(t, "files", mcptest.Filesystem, dir),
		memory,
	)
	for _, s := range m.Snapshot().Status {
		if s.State != mcp.Ready || s.Tools < 5 || s.Protocol == "" {
			t.Errorf("status = %+v", s)
		}
	}
	t.Run("everything", func(t *testing.T) {
		if res := mustCall(t, m, "echo", `{"message":"caf\u00e9"}`); !strings.Contains(res.Text(), "café") {
			t.Errorf("echo = %s", res.Raw)
		}
		var steps int
		res, err := find(t, m, "trigger-long-running-operation").Invoker.Invoke(deadline(t), tool.Call{
			Args:     json.RawMessage(`{"duration":0.2,"steps":4}`),
			Progress: func(tool.Progress) { steps++ },
		})
		if err != nil || res.IsError || steps != 4 {
			t.Errorf("long running: %v, %d progress reports, want 4", err, steps)
		}
		res = mustCall(t, m, "get-tiny-image", `{}`)
		var types []string
		for _, c := range res.Content {
			types = append(types, c.Type)
		}
		if !strings.Contains(strings.Join(types, " "), tool.TypeImage) {
			t.Errorf("content types = %v", types)
		}
	})
	t.Run("filesystem", func(t *testing.T) {
		args, err := json.Marshal(map[string]string{"path": filepath.Join(dir, "note.txt")})
		if err != nil {
			t.Fatal(err)
		}
		if res := mustCall(t, m, "read_text_file", string(args)); !strings.Contains(res.Text(), "hello from a file") {
			t.Errorf("read = %s", res.Raw)
		}
		if res := mustCall(t, m, "read_text_file", `{"path":"/etc/passwd"}`); !res.IsError {
			t.Errorf("a file outside was read: %s", res.Raw)
		}
		if a := find(t, m, "read_text_file").Annotations; a.MayDestroy() {
			t.Errorf("annotations = %+v", a)
		}
	})
	t.Run("memory", func(t *testing.T) {
		mustCall(t, m, "create_entities", `{"entities":[{"name":"Ada","entityType":"person","observations":["wrote the first program"]}]}`)
		if res := mustCall(t, m, "search_nodes", `{"query":"program"}`); !strings.Contains(res.Text(), "Ada") {
			t.Errorf("search = %s", res.Raw)
		}
	})
}
