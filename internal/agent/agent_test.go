package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolsearch/toolsearch"
	"github.com/toolsearch/toolsearch/internal/agent"
	"github.com/toolsearch/toolsearch/internal/config"
	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/provider/mock"
	"github.com/toolsearch/toolsearch/surface"
	"github.com/toolsearch/toolsearch/tool"
	"github.com/toolsearch/toolsearch/transcript"
	"github.com/toolsearch/toolsearch/turn"
)

// rig is a runtime between a mock of a model API and some tools.
type rig struct {
	model   *mock.Server
	runtime *agent.Runtime
}

type rigOptions struct {
	mode       surface.Mode
	api        provider.API
	native     bool
	script     mock.Script
	likely     bool
	tools      []*tool.Tool
	transcript *transcript.Transcript
}

func newRig(t testing.TB, o rigOptions) *rig {
	t.Helper()
	if o.mode == "" {
		o.mode = surface.Tools
	}
	if o.api == "" {
		o.api = provider.Chat
	}
	model := mock.New(o.script)
	url, stop, err := model.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	path := filepath.Join(t.TempDir(), "toolsearch.json5")
	text := fmt.Sprintf(`{models: {
		default: "main/mock", aliases: {fast: "main/mock"},
		providers: {
			main: {baseUrl: %q, apiKey: "${MODEL_KEY}", api: %q, nativeToolSearch: %v, models: [{id: "mock"}, {id: "twice"}]},
			other: {baseUrl: %q, api: %q, models: [{id: "twice"}, {id: "own"}]},
			bare: {baseUrl: "${NOWHERE}", api: %q, models: [{id: "broken"}]},
		},
	}, agents: {list: [{id: "helper", model: "other/own"}]}}`, url, o.api, o.native, url, o.api, o.api)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	set, err := toolsearch.New(t.Context(), toolsearch.Options{Tools: o.tools, Mode: surface.Tools, Transcript: o.transcript})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := set.Close(); err != nil {
			t.Error(err)
		}
	})
	runtime, err := agent.New(agent.Options{
		Config: cfg, Tools: set,
		Lookup: func(name string) (string, bool) { return "key-of-the-model", name == "MODEL_KEY" },
		Rules: func(agent.Kind) (agent.Rules, error) {
			return agent.Rules{ScopeOptions: toolsearch.ScopeOptions{Mode: o.mode}, Likely: o.likely}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return &rig{model, runtime}
}

func user(text string) provider.Message {
	return provider.Message{Role: provider.User, Blocks: []provider.Block{{Kind: provider.Text, Text: text}}}
}

func core(name, description string) *tool.Tool {
	return &tool.Tool{
		ID: tool.NewID(tool.OpenClaw, "weather", name), Source: tool.OpenClaw, Owner: "weather", Name: name, Description: description, Revision: "1",
		Input: tool.RawSchema(`{"type":"object","properties":{"place":{"type":"string"}}}`),
		Invoker: tool.InvokerFunc(func(context.Context, tool.Call) (*tool.Result, error) {
			return tool.TextResult("it rains in " + name), nil
		}),
	}
}

// ask runs one request to its first step.
func (r *rig) ask(t *testing.T, req agent.Request) (*agent.Run, *turn.Step) {
	t.Helper()
	run, err := r.runtime.Start(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(run.Close)
	step, err := run.Next(t.Context(), turn.Input{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return run, step
}

// names are those of the tools in request n to the provider, from 1 on.
func (r *rig) names(t *testing.T, n int) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	x, err := r.model.Request(ctx, n)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, tl := range x.Request.Tools {
		out = append(out, tl.Name+tl.Hosted)
	}
	return out
}

func TestModel(t *testing.T) {
	r := newRig(t, rigOptions{})
	tests := []struct {
		name, ref, agent, want string
		status                 int
	}{
		{name: "the default", want: "main/mock"},
		{name: "the agent's", agent: "helper", want: "other/own"},
		{name: "asked for", agent: "helper", ref: "main/mock", want: "main/mock"},
		{name: "an alias", ref: "fast", want: "main/mock"},
		{name: "a bare id", ref: "own", want: "other/own"},
		{name: "an id of two", ref: "twice", status: http.StatusBadRequest},
		{name: "unknown", ref: "gpt-1", status: http.StatusNotFound},
		{name: "not of its provider, though another takes any id", ref: "main/gpt-1", status: http.StatusNotFound},
		{name: "unknown of a provider", ref: "main/gpt-1", status: http.StatusNotFound},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, err := r.runtime.Model(tt.ref, tt.agent)
			var refused *provider.Error
			switch {
			case errors.As(err, &refused):
				if refused.Status != tt.status {
					t.Errorf("refused with %d (%v), want %d", refused.Status, err, tt.status)
				}
			case err != nil || m.Ref() != tt.want:
				t.Errorf("got %s, %v; want %s", m.Ref(), err, tt.want)
			}
		})
	}
	_, err := r.runtime.Start(t.Context(), agent.Request{Request: provider.Request{Model: "bare/broken", Messages: []provider.Message{user("hi")}}})
	var refused *provider.Error
	if !errors.As(err, &refused) || refused.Status != http.StatusBadGateway || strings.Contains(refused.Message, "NOWHERE") {
		t.Errorf("a client is told of a provider without its variable: %v", refused)
	}
	if !strings.Contains(err.Error(), "NOWHERE") {
		t.Errorf("the operator is told %v", err)
	}
}

// Providers without a list of models take any id, but none that begins with
// another provider's name.
func TestModelOfARouter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "toolsearch.json5")
	text := `{models: {providers: {
		listed: {baseUrl: "http://127.0.0.1:1/v1", api: "openai-completions", models: [{id: "own"}, {id: "vendor/both"}]},
		router: {baseUrl: "http://127.0.0.1:1/v1", api: "openai-completions"},
	}}}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	set, err := toolsearch.New(t.Context(), toolsearch.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	r, err := agent.New(agent.Options{Config: cfg, Tools: set, Rules: func(agent.Kind) (agent.Rules, error) { return agent.Rules{}, nil }})
	if err != nil {
		t.Fatal(err)
	}
	for ref, want := range map[string]string{
		"router/x": "router/x", "x": "router/x", "vendor/x": "router/vendor/x", "vendor/both": "listed/vendor/both", "own": "listed/own",
		"listed/x": "", // and not router/listed/x
	} {
		m, err := r.Model(ref, "")
		got := ""
		if err == nil {
			got = m.Ref()
		}
		if got != want {
			t.Errorf("%s is %q (%v), want %q", ref, got, err, want)
		}
	}
}

// Each mode calls the same tool, and the key reaches the model's API alone.
func TestModes(t *testing.T) {
	const message = `What is the weather? target=forecast query="weather forecast"`
	for _, mode := range []surface.Mode{surface.Off, surface.Tools, surface.Directory} {
		for _, api := range []provider.API{provider.Chat, provider.Responses, provider.Messages} {
			t.Run(fmt.Sprintf("%s %s", mode, api), func(t *testing.T) {
				r := newRig(t, rigOptions{mode: mode, api: api, script: mock.Agent(), tools: []*tool.Tool{core("forecast", "Forecast the weather of a place"), core("radio", "Play the radio")}})
				_, step := r.ask(t, agent.Request{Request: provider.Request{Messages: []provider.Message{user(message)}}})
				if text := step.Response.Text(); !strings.Contains(text, "it rains in forecast") {
					t.Errorf("the answer is %q", text)
				}
				first, err := r.model.Request(t.Context(), 1)
				if err != nil {
					t.Fatal(err)
				}
				if auth := first.Header.Get("Authorization") + first.Header.Get("X-Api-Key"); !strings.Contains(auth, "key-of-the-model") {
					t.Error("the request has no key")
				}
				if listed := strings.Contains(string(first.Body), "- forecast (weather)"); listed != (mode == surface.Directory) {
					t.Errorf("the tool is listed in the prompt: %v", listed)
				}
			})
		}
	}
}

// A conversation without a name begins with the same bytes at each turn, and
// another one does not share them.
func TestConversations(t *testing.T) {
	r := newRig(t, rigOptions{script: mock.Agent(), tools: []*tool.Tool{core("forecast", "Forecast")}})
	first, _ := r.ask(t, agent.Request{Request: provider.Request{Messages: []provider.Message{user("hello")}}})
	again, _ := r.ask(t, agent.Request{Request: provider.Request{Messages: []provider.Message{user("hello"), {Role: provider.Assistant, Blocks: []provider.Block{{Kind: provider.Text, Text: "hi"}}}, user("more")}}})
	other, _ := r.ask(t, agent.Request{Request: provider.Request{Messages: []provider.Message{user("good day")}}})
	theirs, _ := r.ask(t, agent.Request{Request: provider.Request{Messages: []provider.Message{user("hello")}}, Caller: "somebody"})
	if first.Origin.Session != again.Origin.Session || first.Origin.Run == again.Origin.Run {
		t.Errorf("two turns of a conversation are %+v and %+v", first.Origin, again.Origin)
	}
	if other.Origin.Session == first.Origin.Session || theirs.Origin.Session == first.Origin.Session {
		t.Error("conversations of others share a session")
	}
}

// Tools that the message is about stand behind all others, and only where the
// configuration wants it.
func TestLikely(t *testing.T) {
	for _, likely := range []bool{false, true} {
		r := newRig(t, rigOptions{mode: surface.Directory, likely: likely, script: mock.Agent(), tools: []*tool.Tool{core("forecast", "Forecast the weather of a place"), core("radio", "Play the radio")}})
		r.ask(t, agent.Request{Request: provider.Request{Messages: []provider.Message{user("forecast the weather of this place")}}})
		names := r.names(t, 1)
		if shown := slices.Contains(names, "forecast"); shown != likely || likely && slices.Index(names, "forecast") < len(names)-2 {
			t.Errorf("likely %v: the request has %q", likely, names)
		}
	}
}

func function(name, description string, deferred bool) provider.Tool {
	return provider.Tool{Name: name, Description: description, Parameters: json.RawMessage(`{"type":"object","properties":{}}`), Defer: deferred}
}

// A request that is wrong is refused in the words of a model API.
func TestRefusals(t *testing.T) {
	r := newRig(t, rigOptions{tools: []*tool.Tool{core("forecast", "Forecast")}})
	tests := []struct {
		name  string
		req   provider.Request
		param string
	}{
		{"a control's name", provider.Request{Tools: []provider.Tool{function("tool_search", "x", false)}}, "tools"},
		{"the same name twice", provider.Request{Tools: []provider.Tool{function("x", "x", false), function("x", "y", false)}}, "tools"},
		{"a tool of another API", provider.Request{Tools: []provider.Tool{{Hosted: "web_search_20250305", Native: provider.Native{API: provider.Messages}}}}, "tools"},
		{"a reference to nothing", provider.Request{Messages: []provider.Message{{Role: provider.User, Blocks: []provider.Block{{Kind: provider.ToolAnswer, Answer: provider.Answer{CallID: "1", References: []string{"gone"}}}}}}}, "messages"},
		{"a search at the client's", provider.Request{Tools: []provider.Tool{{Hosted: "tool_search", Native: provider.Native{API: provider.Responses, Raw: json.RawMessage(`{"type":"tool_search","execution":"client"}`)}}}}, "tools"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.req.Messages = append(tt.req.Messages, user("hi"))
			_, err := r.runtime.Start(t.Context(), agent.Request{Request: tt.req})
			var refused *provider.Error
			if !errors.As(err, &refused) || refused.Status != http.StatusBadRequest || refused.Param != tt.param {
				t.Errorf("got %v, want a refusal of %s", err, tt.param)
			}
		})
	}
}

// Planning the tools of one kind of run keeps nobody else waiting, and whoever
// waits for it may give up. What failed is tried again.
func TestScopesAreMadeBesideEachOther(t *testing.T) {
	set, err := toolsearch.New(t.Context(), toolsearch.Options{Tools: []*tool.Tool{core("forecast", "Forecast")}, Mode: surface.Tools})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	asked, release := make(chan struct{}, 2), make(chan error)
	runtime, err := agent.New(agent.Options{Config: &config.Config{}, Tools: set, Rules: func(k agent.Kind) (agent.Rules, error) {
		if k.Sender == "slow" {
			asked <- struct{}{}
			return agent.Rules{}, <-release
		}
		return agent.Rules{}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	slow := make(chan error, 1)
	go func() {
		_, err := runtime.Scope(t.Context(), config.Who{Sender: "slow"})
		slow <- err
	}()
	<-asked
	if _, err := runtime.Scope(t.Context(), config.Who{Sender: "quick"}); err != nil {
		t.Error(err)
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	if _, err := runtime.Scope(gone, config.Who{Sender: "slow"}); !errors.Is(err, context.Canceled) {
		t.Errorf("a run that was cancelled: %v", err)
	}
	broken := errors.New("no rules")
	release <- broken
	if err := <-slow; !errors.Is(err, broken) {
		t.Errorf("rules that cannot be made: %v", err)
	}
	go func() { release <- nil }()
	if _, err := runtime.Scope(t.Context(), config.Who{Sender: "slow"}); err != nil {
		t.Errorf("the next run: %v", err)
	}
}
