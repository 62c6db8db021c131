package plugin_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/toolsearch/toolsearch/call"
	"github.com/toolsearch/toolsearch/internal/mcptest"
	"github.com/toolsearch/toolsearch/schema"
	"github.com/toolsearch/toolsearch/source/plugin"
	"github.com/toolsearch/toolsearch/tool"
)

func TestMain(m *testing.M) {
	mcptest.ServeIfChild()
	goleak.VerifyTestMain(m)
}

// deadline bounds a test that waits for an event; only a failing test reaches
// it.
func deadline(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// folder writes a plugin with that manifest.
func folder(t testing.TB, manifest string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, plugin.ManifestName), []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func load(t testing.TB, manifest string) *plugin.Plugin {
	t.Helper()
	p, err := plugin.Load(t.Context(), folder(t, manifest))
	if err != nil {
		t.Fatalf("Load: %v", err)
	}
	return p
}

// scripted is a plugin of the given id and tools whose process follows a
// script. extra are further keys of its start block, and may be empty.
func scripted(t testing.TB, id string, s mcptest.Script, extra string, tools ...string) *plugin.Plugin {
	t.Helper()
	command, args, env := mcptest.Command(t, s)
	quote := func(v any) string {
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return strings.ReplaceAll(string(raw), "${", "$${")
	}
	vars := map[string]string{}
	for _, kv := range env {
		k, v, _ := strings.Cut(kv, "=")
		vars[k] = v
	}
	var blocks []string
	for _, name := range tools {
		if !strings.HasPrefix(name, "{") {
			name = `{name: "` + name + `", description: "The ` + name + ` tool.", parameters: {type: "object"}}`
		}
		blocks = append(blocks, name)
	}
	return load(t, `{id: "`+id+`", start: {command: `+quote(command)+`, args: `+quote(args)+`, env: `+quote(vars)+`, `+extra+`},
		tools: [`+strings.Join(blocks, ",\n")+`]}`)
}

func open(t testing.TB, opt plugin.Options, plugins ...*plugin.Plugin) *plugin.Source {
	t.Helper()
	s, err := plugin.Open(plugins, opt)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s
}

func find(t testing.TB, s *plugin.Source, name string) *tool.Tool {
	t.Helper()
	for _, tl := range s.Tools() {
		if tl.Name == name {
			return tl
		}
	}
	t.Fatalf("no tool %q", name)
	return nil
}

// invoke calls a tool through a pipeline that validates.
func invoke(ctx context.Context, t testing.TB, s *plugin.Source, name, args string) (*tool.Result, error) {
	t.Helper()
	schemas := schema.NewCache(16)
	pipeline := call.New(call.ValidateOutput(schemas), call.ValidateInput(schemas))
	return pipeline.Call(ctx, call.Request{Target: find(t, s, name), Args: json.RawMessage(args)})
}
