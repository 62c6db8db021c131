package agent_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/toolsearch/toolsearch/internal/agent"
	"github.com/toolsearch/toolsearch/internal/config"
	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/provider/mock"
	"github.com/toolsearch/toolsearch/surface"
	"github.com/toolsearch/toolsearch/tool"
	"github.com/toolsearch/toolsearch/turn"
)

func hosted(a provider.API, kind, raw string) provider.Tool {
	return provider.Tool{Hosted: kind, Native: provider.Native{API: a, Raw: json.RawMessage(raw)}}
}

// opaque lists the types of the blocks that only one API knows.
func opaque(step *turn.Step) (types []string, text string) {
	for _, m := range step.Response.Output {
		for _, b := range m.Blocks {
			if b.Kind != provider.Opaque {
				continue
			}
			var head struct{ Type string }
			if json.Unmarshal(b.Raw, &head) == nil {
				types = append(types, head.Type)
			}
			text += string(b.Raw)
		}
	}
	return types, text
}

// A request with a tool search of its API is served by a model that has none:
// the model searches, what is found becomes visible, and the caller is told in
// the words of its API.
func TestNativeSearch(t *testing.T) {
	tests := []struct {
		name, search, query string
		api                 provider.API
		hosted              provider.Tool
		types               []string
		found               bool
	}{
		{"bm25", "tool_search_tool_bm25", "pick a file", provider.Messages, hosted(provider.Messages, "tool_search_tool_bm25_20251119", `{"type":"tool_search_tool_bm25_20251119","name":"tool_search_tool_bm25"}`), []string{"server_tool_use", "tool_search_tool_result"}, true},
		{"bm25 without a date", "tool_search_tool_bm25", "pick a file", provider.Messages, hosted(provider.Messages, "tool_search_tool_bm25", `{"type":"tool_search_tool_bm25","name":"tool_search_tool_bm25"}`), []string{"server_tool_use", "tool_search_tool_result"}, true},
		{"regex", "tool_search_tool_regex", "(?i)^PICK_", provider.Messages, hosted(provider.Messages, "tool_search_tool_regex_20251119", `{"type":"tool_search_tool_regex_20251119","name":"tool_search_tool_regex"}`), []string{"server_tool_use", "tool_search_tool_result"}, true},
		{"a regex with look-around", "tool_search_tool_regex", "(?=pick)", provider.Messages, hosted(provider.Messages, "tool_search_tool_regex_20251119", `{"type":"tool_search_tool_regex_20251119","name":"tool_search_tool_regex"}`), []string{"server_tool_use", "tool_search_tool_result"}, false},
		{"a regex of 201 characters", "tool_search_tool_regex", strings.Repeat("p", 201), provider.Messages, hosted(provider.Messages, "tool_search_tool_regex_20251119", `{"type":"tool_search_tool_regex_20251119","name":"tool_search_tool_regex"}`), []string{"server_tool_use", "tool_search_tool_result"}, false},
		{"Responses", "tool_search", "pick a file", provider.Responses, hosted(provider.Responses, "tool_search", `{"type":"tool_search"}`), []string{"tool_search_call", "tool_search_output"}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			query, err := tool.Encode(map[string]string{"query": tt.query})
			if err != nil {
				t.Fatal(err)
			}
			r := newRig(t, rigOptions{
				api: tt.api, tools: []*tool.Tool{core("forecast", "Forecast")},
				script: mock.Script{Steps: []mock.Step{mock.Call(tt.search, string(query)), mock.Call("pick_file", `{}`), mock.Text("done")}},
			})
			pick := function("pick_file", "Pick a file from the user's disk", true)
			pick.Native = provider.Native{API: tt.api, Raw: json.RawMessage(`{"type":"function","name":"pick_file","parameters":{"type":"object","properties":{}},"defer_loading":true}`)}
			if tt.api == provider.Messages {
				pick.Raw = json.RawMessage(`{"name":"pick_file","description":"Pick a file from the user's disk","input_schema":{"type":"object","properties":{}},"defer_loading":true}`)
			}
			run, step := r.ask(t, agent.Request{Request: provider.Request{
				API: tt.api, Messages: []provider.Message{user("pick one")}, Tools: []provider.Tool{tt.hosted, pick, function("other", "Something else", false)},
			}})
			types, text := opaque(step)
			if !slices.Equal(types, tt.types) {
				t.Fatalf("the caller is told %q: %s", types, text)
			}
			// Ours is not shown beside the caller's own search.
			first := r.names(t, 1)
			if slices.Contains(first, "tool_call") || slices.Contains(first, "pick_file") || !slices.Contains(first, tt.search) {
				t.Errorf("the first request has %q", first)
			}
			if second := r.names(t, 2); slices.Contains(second, "pick_file") != tt.found {
				t.Errorf("the second request has %q, want the tool there: %v", second, tt.found)
			}
			if !tt.found {
				if !strings.Contains(text, `"tool_search_tool_result_error"`) || !strings.Contains(text, `"invalid_tool_input"`) {
					t.Errorf("the failure is told as %s", text)
				}
				return
			}
			if !strings.Contains(text, "pick_file") {
				t.Errorf("the caller is told %s", text)
			}
			if len(step.Calls) != 1 || step.Calls[0].Name != "pick_file" {
				t.Fatalf("the calls are %+v", step.Calls)
			}
			if _, err := run.Next(t.Context(), turn.Input{Answers: []provider.Answer{{CallID: step.Calls[0].ID}}}, nil); err != nil {
				t.Fatal(err)
			}
			// The next turn repeats what was said: the tool is visible from the start,
			// and the model does not see blocks that its API may not know.
			messages := append([]provider.Message{user("pick one")}, step.Response.Output...)
			messages = append(messages, provider.Message{Role: provider.User, Blocks: []provider.Block{{Kind: provider.ToolAnswer, Answer: provider.Answer{CallID: step.Calls[0].ID}}}})
			r2 := newRig(t, rigOptions{api: tt.api, script: mock.Agent(), tools: []*tool.Tool{core("forecast", "Forecast")}})
			r2.ask(t, agent.Request{Request: provider.Request{API: tt.api, Messages: messages, Tools: []provider.Tool{tt.hosted, pick}}})
			if names := r2.names(t, 1); !slices.Contains(names, "pick_file") {
				t.Errorf("the next turn has %q", names)
			}
			x, err := r2.model.Request(t.Context(), 1)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(x.Body), tt.types[1]) {
				t.Errorf("the model sees %s", x.Body)
			}
		})
	}
}

// A pattern that would take minutes ends in the API's own words.
func TestNativeSearchTakesTooLong(t *testing.T) {
	query, err := tool.Encode(map[string]string{"query": strings.Repeat(".{0,999}", 20) + "#$"})
	if err != nil {
		t.Fatal(err)
	}
	const search = "tool_search_tool_regex"
	tools := []provider.Tool{hosted(provider.Messages, search, `{"type":"tool_search_tool_regex","name":"tool_search_tool_regex"}`)}
	for i := range 2000 {
		tools = append(tools, function(fmt.Sprintf("tool_%d", i), strings.Repeat("x", 4<<10), true))
	}
	r := newRig(t, rigOptions{api: provider.Messages, script: mock.Script{Steps: []mock.Step{mock.Call(search, string(query)), mock.Text("done")}}})
	_, step := r.ask(t, agent.Request{Request: provider.Request{API: provider.Messages, Messages: []provider.Message{user("find it")}, Tools: tools}})
	if _, text := opaque(step); !strings.Contains(text, `"execution_time_exceeded"`) {
		t.Errorf("the caller is told %s", text)
	}
}

// A model whose API searches tools gets the tools, deferred where the API knows
// that, and none of our controls.
func TestNativeModel(t *testing.T) {
	for api, search := range map[provider.API]string{provider.Chat: "", provider.Responses: "tool_search", provider.Messages: "tool_search_tool_bm25_20251119"} {
		r := newRig(t, rigOptions{api: api, native: true, script: mock.Agent(), tools: []*tool.Tool{core("forecast", "Forecast")}})
		// The caller's own tool is deferred as well, by its own wish.
		r.ask(t, agent.Request{Request: provider.Request{Messages: []provider.Message{user("hi")}, Tools: []provider.Tool{function("pick_file", "Pick a file", true)}}})
		x, err := r.model.Request(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		names := r.names(t, 1)
		for _, name := range []string{"forecast", "pick_file"} {
			i := slices.IndexFunc(x.Request.Tools, func(tl provider.Tool) bool { return tl.Name == name })
			if i < 0 {
				t.Errorf("%s: the request has %q, without %s", api, names, name)
			} else if got := x.Request.Tools[i].Defer; got != (api != provider.Chat) {
				t.Errorf("%s: %s is deferred: %v", api, name, got)
			}
		}
		if slices.Contains(names, surface.ToolCall) || search != "" && !slices.Contains(names, search) {
			t.Errorf("%s: the request has %q", api, names)
		}
	}
}

// A caller that searches tools itself gets them all, and none of our controls.
func TestNativeCaller(t *testing.T) {
	r := newRig(t, rigOptions{script: mock.Agent(), tools: []*tool.Tool{core("forecast", "Forecast")}})
	r.ask(t, agent.Request{Who: config.Who{NativeToolSearch: true}, Request: provider.Request{Messages: []provider.Message{user("hi")}, Tools: []provider.Tool{function("pick_file", "Pick a file", true)}}})
	if names := r.names(t, 1); !slices.Equal(names, []string{"forecast", "pick_file"}) {
		t.Errorf("the request has %q", names)
	}
}

// The mock can try a search of its API without a real model.
func TestNativeSearchByTheMock(t *testing.T) {
	for _, search := range []provider.Tool{
		hosted(provider.Messages, "tool_search_tool_bm25_20251119", `{"type":"tool_search_tool_bm25_20251119","name":"tool_search_tool_bm25"}`),
		hosted(provider.Messages, "tool_search_tool_regex_20251119", `{"type":"tool_search_tool_regex_20251119","name":"tool_search_tool_regex"}`),
		hosted(provider.Responses, "tool_search", `{"type":"tool_search"}`),
	} {
		r := newRig(t, rigOptions{script: mock.Agent(), tools: []*tool.Tool{core("forecast", "Forecast")}})
		pick := function("pick_file", "Pick a file from the user's disk", true)
		pick.Native = provider.Native{API: search.API, Raw: json.RawMessage(`{"type":"function","name":"pick_file","parameters":{"type":"object"},"defer_loading":true}`)}
		_, step := r.ask(t, agent.Request{Request: provider.Request{API: search.API, Messages: []provider.Message{user("I need a file. target=pick_file")}, Tools: []provider.Tool{search, pick}}})
		if len(step.Calls) != 1 || step.Calls[0].Name != "pick_file" {
			t.Errorf("%s: the calls are %+v, and the answer %q", search.Hosted, step.Calls, step.Response.Text())
		}
	}
}

// A search that a request brings leaves nothing behind for the conversation's
// other turns.
func TestNativeSearchThenNone(t *testing.T) {
	r := newRig(t, rigOptions{api: provider.Responses, script: mock.Agent(), tools: []*tool.Tool{core("forecast", "Forecast")}})
	said := []provider.Message{user("the same words")}
	search := hosted(provider.Responses, "tool_search", `{"type":"tool_search"}`)
	for n, tools := range [][]provider.Tool{nil, {search}, nil} {
		r.ask(t, agent.Request{Request: provider.Request{API: provider.Responses, Messages: said, Tools: tools}})
		want := []string{surface.ToolSearch, surface.ToolDescribe, surface.ToolCall}
		if tools != nil {
			want = []string{"tool_search"}
		}
		if names := r.names(t, n+1); !slices.Equal(names, want) {
			t.Errorf("request %d has %q, want %q", n+1, names, want)
		}
	}
}

// additional_tools bring tools in the middle of a conversation.
func TestAdditionalTools(t *testing.T) {
	r := newRig(t, rigOptions{mode: surface.Off, api: provider.Responses, script: mock.Agent()})
	item := provider.Message{Role: provider.User, Blocks: []provider.Block{{Kind: provider.Opaque, Type: "additional_tools", Native: provider.Native{
		API: provider.Responses, Raw: json.RawMessage(`{"type":"additional_tools","tools":[{"type":"function","name":"late","parameters":{"type":"object"}}]}`),
	}}}}
	r.ask(t, agent.Request{Request: provider.Request{API: provider.Responses, Messages: []provider.Message{item, user("hi")}}})
	if names := r.names(t, 1); !slices.Contains(names, "late") {
		t.Errorf("the request has %q", names)
	}
}
