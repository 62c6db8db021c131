package config_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsearch/toolsearch/internal/config"
	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/turn"
)

func TestModels(t *testing.T) {
	const text = `{models: {
  default: "fast",
  aliases: {fast: "local/small"},
  providers: {
    local: {
      baseUrl: "http://${HOST:-127.0.0.1}:9/v1", api: "openai-completions", apiKey: "${KEY}", headers: {"X-Org": "${ORG}"}, nativeToolSearch: true,
      models: [{id: "small", name: "Small", contextWindow: 8192, maxTokens: 1024, nativeToolSearch: false}, {id: "a/b", api: "openai-responses"}],
    },
    any: {baseUrl: "https://api.example.com", api: "anthropic-messages"},
  },
}}`
	at := func(piece string) config.Pos { return place(t, text, piece) }
	want := config.Models{
		Default: config.ModelRef{Ref: "fast", Pos: at(`"fast",`), Key: "models.default"},
		Aliases: []config.Alias{{Name: "fast", Of: config.ModelRef{Ref: "local/small", Pos: at(`"local/small`), Key: "models.aliases.fast"}}},
		Providers: []config.Provider{
			{
				Name: "local", Pos: at("local: {"), API: provider.Chat, NativeToolSearch: true,
				BaseURL: config.Text{Raw: "http://${HOST:-127.0.0.1}:9/v1", Pos: at(`"http://`), Key: "models.providers.local.baseUrl"},
				APIKey:  config.Text{Raw: "${KEY}", Pos: at(`"${KEY}`), Key: "models.providers.local.apiKey"},
				Headers: []config.NamedText{{Name: "X-Org", Text: config.Text{Raw: "${ORG}", Pos: at(`"${ORG}`), Key: "models.providers.local.headers.X-Org"}}},
				Models: []config.Model{
					{ID: "small", Name: "Small", Pos: at(`{id: "small"`), API: provider.Chat, ContextWindow: 8192, MaxTokens: 1024},
					{ID: "a/b", Pos: at(`{id: "a/b"`), API: provider.Responses, NativeToolSearch: true},
				},
			},
			{
				Name: "any", Pos: at("any: {"), API: provider.Messages,
				BaseURL: config.Text{Raw: "https://api.example.com", Pos: at(`"https://`), Key: "models.providers.any.baseUrl"},
			},
		},
	}
	c := load(t, text)
	if diff := cmp.Diff(want, c.Models); diff != "" || len(c.Warnings) > 0 {
		t.Errorf("%v\n%s", c.Warnings, diff)
	}
	env := func(name string) (string, bool) {
		v, ok := map[string]string{"KEY": "sk-1", "ORG": "acme"}[name]
		return v, ok
	}
	got, err := c.Models.Providers[0].Resolve(env)
	if err != nil {
		t.Fatal(err)
	}
	resolved := config.ResolvedProvider{Name: "local", BaseURL: "http://127.0.0.1:9/v1", APIKey: "sk-1", Headers: []config.Var{{Name: "X-Org", Value: "acme"}}}
	if diff := cmp.Diff(resolved, got); diff != "" {
		t.Error(diff)
	}
	if shown := fmt.Sprintf("%v %+v %#v", got, got, got); strings.Contains(shown, "sk-1") || strings.Contains(shown, "acme") {
		t.Errorf("it prints %s", shown)
	}
	if _, err := c.Models.Providers[0].Resolve(func(string) (string, bool) { return "", false }); err == nil || !strings.Contains(err.Error(), "/etc/t.json5:6:") || !strings.Contains(err.Error(), "KEY") {
		t.Errorf("without the variable: %v", err)
	}
}

// An openclaw.json names its models its own way, and has more than is read.
func TestModelsOfAnotherProgram(t *testing.T) {
	c := load(t, `{
  models: {mode: "merge", providers: {
    openai: {baseUrl: "https://api.openai.com/v1", api: "openai-responses", apiKey: {source: "env", provider: "default", id: "OPENAI_API_KEY"}, auth: "api-key",
      models: [{id: "gpt-5", reasoning: true, input: ["text"], cost: {input: 1}, compat: {}}]},
    google: {baseUrl: "https://g.example.com", api: "google-generative-ai", models: []},
  }},
  agents: {defaults: {model: {primary: "openai/gpt-5", fallbacks: []}, models: {"openai/gpt-5": {alias: "gpt"}, "other/x": {alias: "x"}}, workspace: "~/w"},
    list: [{id: "main", model: "openai/gpt-5"}, {id: "second", model: {primary: "gpt"}}, {id: "third"}]},
}`)
	m := c.Models
	if m.Default.Ref != "openai/gpt-5" || len(m.Aliases) != 1 || m.Aliases[0].Name != "gpt" || m.Aliases[0].Of.Ref != "openai/gpt-5" {
		t.Errorf("default %+v, aliases %+v", m.Default, m.Aliases)
	}
	if len(m.Providers) != 2 || m.Providers[0].APIKey.Raw != "${OPENAI_API_KEY}" || m.Providers[1].API != "" {
		t.Errorf("%+v", m.Providers)
	}
	var models []string
	for _, a := range c.Agents {
		models = append(models, a.Model.Ref)
	}
	if diff := cmp.Diff([]string{"openai/gpt-5", "gpt", ""}, models); diff != "" {
		t.Error(diff)
	}
	text := fmt.Sprint(c.Warnings)
	for _, want := range []string{"google-generative-ai", "models.mode", "models.providers.openai.auth"} {
		if !strings.Contains(text, want) {
			t.Errorf("no warning of %s in %s", want, text)
		}
	}
}

func TestServe(t *testing.T) {
	def := config.Serve{
		Listen: "127.0.0.1:8787", Held: config.Held{Max: 256, Time: 10 * time.Minute},
		Limits:  turn.Limits{Rounds: 25, Calls: 100, Time: 10 * time.Minute, Tokens: 1_000_000},
		MaxBody: 16 << 20, MaxRequests: 512, Drain: 30 * time.Second, MemoryLimit: 320 << 20,
	}
	for _, c := range []*config.Config{config.Default(), load(t, "{}"), load(t, "{serve: {heldRuns: {}, limits: {}, keys: []}}")} {
		if diff := cmp.Diff(def, c.Serve); diff != "" {
			t.Error(diff)
		}
	}
	sum := sha256.Sum256([]byte("0123456789abcdef"))
	text := `{serve: {listen: "[::1]:0", maxBodyBytes: 1, maxRequests: 2, drainSeconds: 3, memoryLimitMiB: 64,
  heldRuns: {max: 4, seconds: 5}, limits: {rounds: 6, calls: 7, wallSeconds: 8, tokens: 1000000},
  keys: [{name: "ci", sha256: "` + strings.ToUpper(hex.EncodeToString(sum[:])) + `", agent: "Main", sender: "alice"}, {name: "dev", key: "${DEV}", metrics: true}],
}, agents: {list: [{id: "main"}]}}`
	c := load(t, text)
	want := config.Serve{
		Listen: "[::1]:0", ListenPos: place(t, text, `"[::1]`), Held: config.Held{Max: 4, Time: 5 * time.Second},
		Limits:  turn.Limits{Rounds: 6, Calls: 7, Time: 8 * time.Second, Tokens: 1_000_000},
		MaxBody: 1024, MaxRequests: 2, Drain: 3 * time.Second, MemoryLimit: 64 << 20,
		Keys: []config.ServeKey{
			{Name: "ci", Pos: place(t, text, `{name: "ci"`), SHA256: hex.EncodeToString(sum[:]), Who: config.Who{Agent: "Main", Sender: "alice"}},
			{Name: "dev", Pos: place(t, text, `{name: "dev"`), Key: config.Text{Raw: "${DEV}", Pos: place(t, text, `"${DEV}`), Key: "serve.keys[1].key"}, Metrics: true},
		},
	}
	if diff := cmp.Diff(want, c.Serve); diff != "" {
		t.Error(diff)
	}
	if len(c.Warnings) != 1 || c.Warnings[0].Key != "serve.maxBodyBytes" {
		t.Errorf("warnings: %v", c.Warnings)
	}
	for i, k := range c.Serve.Keys {
		got, err := k.Sum(func(string) (string, bool) { return "0123456789abcdef", true })
		if err != nil || got != sum {
			t.Errorf("key %d: %x, %v", i, got, err)
		}
	}
	for _, short := range []string{"", "secret-too"} {
		if _, err := c.Serve.Keys[1].Sum(func(string) (string, bool) { return short, true }); err == nil || strings.Contains(err.Error(), "secret-too") {
			t.Errorf("a key of %d bytes: %v", len(short), err)
		}
	}
}

func TestModelAndServeFaults(t *testing.T) {
	const ok = `baseUrl: "https://x.example.com", api: "openai-completions"`
	for _, c := range []struct{ text, key, problem string }{
		{`{models: {provider: {}}}`, "models.provider", "did you mean providers?"},
		{`{models: {providers: {a: {` + ok + `, apikey: "x"}}}}`, "models.providers.a.apikey", "did you mean apiKey?"},
		{`{models: {providers: {a: {` + ok + `, wholly: 1}}}}`, "models.providers.a.wholly", "known here"},
		{`{models: {providers: {a: {api: "openai-completions"}}}}`, "models.providers.a", "no baseUrl"},
		{`{models: {providers: {a: {baseUrl: "https://x.example.com"}}}}`, "models.providers.a", "no api"},
		{`{models: {providers: {a: {baseUrl: "ftp://x", api: "openai-completions"}}}}`, "models.providers.a.baseUrl", "http"},
		{`{models: {providers: {a: {baseUrl: "https://x.example.com", api: "openai-complete"}}}}`, "models.providers.a.api", "unknown value"},
		{`{models: {providers: {"a/b": {` + ok + `}}}}`, "models.providers.a/b", "'/'"},
		{`{models: {providers: {a: {` + ok + `, models: [{name: "x"}]}}}}`, "models.providers.a.models[0]", "no id"},
		{`{models: {providers: {a: {` + ok + `, models: [{id: "x"}, {id: "x"}]}}}}`, "models.providers.a.models[1]", "twice"},
		{`{models: {providers: {a: {` + ok + `, apiKey: {source: "file", id: "/x"}}}}}`, "models.providers.a.apiKey", "variable"},
		{`{models: {providers: {a: {` + ok + `}}, default: "b/x"}}`, "models.default", "no configured model"},
		{`{models: {providers: {a: {` + ok + `, models: [{id: "x"}]}}, aliases: {f: "a/y"}}}`, "models.aliases.f", "no configured model"},
		{`{serve: {listen: "8787"}}`, "serve.listen", "host:port"},
		{`{serve: {listen: "localhost:http"}}`, "serve.listen", "host:port"},
		{`{serve: {port: 1}}`, "serve.port", "write listen"},
		{`{serve: {keys: [{key: "${A}"}]}}`, "serve.keys[0]", "no name"},
		{`{serve: {keys: [{name: "a"}]}}`, "serve.keys[0]", "either sha256 or key"},
		{`{serve: {keys: [{name: "a", key: ""}]}}`, "serve.keys[0].key", "empty key"},
		{`{serve: {keys: [{name: "a", key: "${A}", sha256: "` + strings.Repeat("0", 64) + `"}]}}`, "serve.keys[0]", "either sha256 or key"},
		{`{serve: {keys: [{name: "a", sha256: "00"}]}}`, "serve.keys[0].sha256", "64"},
		{`{serve: {keys: [{name: "a b", key: "${A}"}]}}`, "serve.keys[0].name", "name"},
		{`{serve: {keys: [{name: "a", key: "${A}"}, {name: "a", key: "${B}"}]}}`, "serve.keys[1]", "twice"},
		{`{serve: {keys: [{name: "a", key: "${A}", agent: "ghost"}]}}`, "serve.keys", "not configured"},
		{`{serve: {heldRuns: {many: 1}}}`, "serve.heldRuns.many", "unknown key"},
		{`{serve: {limits: {rounds: "x"}}}`, "serve.limits.rounds", "an integer"},
	} {
		_, err := config.Parse("/etc/t.json5", []byte(c.text))
		if err == nil {
			t.Errorf("%s is taken", c.text)
			continue
		}
		if msg := err.Error(); !strings.HasPrefix(msg, "/etc/t.json5:1:") || !strings.Contains(msg, ": "+c.key+": ") || !strings.Contains(msg, c.problem) || strings.Contains(msg, "\n") {
			t.Errorf("%s\n%v", c.text, err)
		}
	}
}
