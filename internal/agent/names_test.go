package agent_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/toolsearch/toolsearch/internal/agent"
	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/provider/mock"
	"github.com/toolsearch/toolsearch/provider/openai"
	"github.com/toolsearch/toolsearch/surface"
	"github.com/toolsearch/toolsearch/tool"
	"github.com/toolsearch/toolsearch/turn"
)

// A name that the model's API might not take is another one on the wire, wherever
// the request says it: among the tools, in tool_choice, and in the calls that the
// conversation begins with. The caller reads its own.
func TestChangedNames(t *testing.T) {
	long := strings.Repeat("a", surface.ModelNameLimit+1)
	for _, name := range []string{"web.search", long} {
		asked := map[provider.API]string{
			provider.Chat: fmt.Sprintf(`{"model":"main/mock","messages":[{"role":"user","content":"hi"},
				{"role":"assistant","tool_calls":[{"id":"call_before","type":"function","function":{"name":%[1]q,"arguments":"{}"}}]},
				{"role":"tool","tool_call_id":"call_before","content":"x"},{"role":"user","content":"again"}],
				"tools":[{"type":"function","function":{"name":%[1]q,"parameters":{"type":"object"}}}],
				"tool_choice":{"type":"function","function":{"name":%[1]q}}}`, name),
			provider.Responses: fmt.Sprintf(`{"model":"main/mock","input":[{"role":"user","content":"hi"},
				{"type":"function_call","call_id":"call_before","name":%[1]q,"arguments":"{}"},
				{"type":"function_call_output","call_id":"call_before","output":"x"},{"role":"user","content":"again"}],
				"tools":[{"type":"function","name":%[1]q,"parameters":{"type":"object"}}],
				"tool_choice":{"type":"function","name":%[1]q}}`, name),
			provider.Messages: fmt.Sprintf(`{"model":"main/mock","max_tokens":100,"messages":[{"role":"user","content":"hi"},
				{"role":"assistant","content":[{"type":"tool_use","id":"call_before","name":%[1]q,"input":{}}]},
				{"role":"user","content":[{"type":"tool_result","tool_use_id":"call_before","content":"x"},{"type":"text","text":"again"}]}],
				"tools":[{"name":%[1]q,"input_schema":{"type":"object"}}],
				"tool_choice":{"type":"tool","name":%[1]q,"disable_parallel_tool_use":true}}`, name),
		}
		for client, body := range asked {
			for upstream := range asked {
				t.Run(fmt.Sprintf("%s from %s to %s", name[:3], client, upstream), func(t *testing.T) {
					r := newRig(t, rigOptions{api: upstream, script: mock.Script{Choose: callsDemanded}})
					req, err := agent.Format(client).DecodeRequest([]byte(body))
					if err != nil {
						t.Fatal(err)
					}
					run, step := r.ask(t, agent.Request{Request: *req})
					x, err := r.model.Request(t.Context(), 1)
					if err != nil {
						t.Fatal(err)
					}
					if strings.Contains(string(x.Body), name) {
						t.Errorf("the model's API is told of %q: %s", name, x.Body)
					}
					wire, one := strings.CutPrefix(string(x.Request.Params.Choice), "=")
					if names := r.names(t, 1); !one || !slices.Contains(names, wire) {
						t.Errorf("the model is to call %q of the tools %q", wire, names)
					}
					if single := x.Request.Params.Parallel; (single != nil && !*single) != (client == provider.Messages) {
						t.Errorf("parallel calls are %v", single)
					}
					before := ""
					for _, m := range x.Request.Messages {
						for _, b := range m.Blocks {
							before += b.Call.Name
						}
					}
					if before != wire {
						t.Errorf("the call before is of %q, want %q", before, wire)
					}
					if len(step.Calls) != 1 || step.Calls[0].Name != name {
						t.Fatalf("the caller is to answer %+v", step.Calls)
					}
					// What was demanded has been done: the model may answer now.
					if _, err := run.Next(t.Context(), turn.Input{Answers: []provider.Answer{{CallID: step.Calls[0].ID}}}, nil); err != nil {
						t.Fatal(err)
					}
					if x, err = r.model.Request(t.Context(), 2); err != nil || x.Request.Params.Choice != provider.ChooseAuto {
						t.Errorf("the second request demands %q, %v", x.Request.Params.Choice, err)
					}
				})
			}
		}
	}
}

// callsDemanded calls the tool that the request demands, and else answers.
func callsDemanded(x *mock.Exchange) mock.Step {
	if name, one := strings.CutPrefix(string(x.Request.Params.Choice), "="); one {
		return mock.Call(name, `{}`)
	}
	return mock.Text("done")
}

// Tools of one name in several namespaces, and in none, are told apart: by the
// model, whatever its API, and by the caller, in its own words.
func TestNamespaces(t *testing.T) {
	long := strings.Repeat("n", 64) // the longest that Responses takes
	body := fmt.Sprintf(`{"model":"main/mock","input":[{"role":"user","content":"hi"}],"tools":[
		{"type":"function","name":"list","description":"Of nothing","parameters":{"type":"object"}},
		{"type":"namespace","name":"crm","description":"Customers","tools":[{"type":"function","name":"list","parameters":{"type":"object"}}]},
		{"type":"namespace","name":"mail","description":"Mail","tools":[{"type":"function","name":"list","parameters":{"type":"object"}},
			{"type":"function","name":"tool_search","parameters":{"type":"object"}}]},
		{"type":"namespace","name":%q,"description":"Much","tools":[{"type":"function","name":%q,"parameters":{"type":"object"}}]}]}`, long, strings.Repeat("f", 128))
	req, err := openai.Responses().DecodeRequest([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, tl := range req.Tools {
		want = append(want, tl.Namespace+"/"+tl.Name)
	}
	for _, mode := range []surface.Mode{surface.Off, surface.Directory} {
		for _, api := range []provider.API{provider.Chat, provider.Responses, provider.Messages} {
			t.Run(fmt.Sprintf("%s %s", mode, api), func(t *testing.T) {
				r := newRig(t, rigOptions{mode: mode, api: api, script: mock.Script{Choose: callsAll}, tools: []*tool.Tool{core("forecast", "Forecast")}})
				run, step := r.ask(t, agent.Request{Request: *req})
				var asked []string
				var in turn.Input
				for _, c := range step.Calls {
					asked = append(asked, c.Namespace+"/"+c.Name)
					in.Answers = append(in.Answers, provider.Answer{CallID: c.ID, Content: []provider.Block{{Kind: provider.Text, Text: c.Namespace + "/" + c.Name}}})
				}
				if !slices.Equal(asked, want) {
					t.Fatalf("the caller is to answer %q, want %q", asked, want)
				}
				if _, err := run.Next(t.Context(), in, nil); err != nil {
					t.Fatal(err)
				}
				x, err := r.model.Request(t.Context(), 2)
				if err != nil {
					t.Fatal(err)
				}
				asked = nil
				for _, m := range x.Request.Messages {
					for _, b := range m.Blocks {
						for _, c := range b.Answer.Content {
							asked = append(asked, c.Text)
						}
					}
				}
				if !slices.Equal(asked, want) {
					t.Errorf("the model is answered %q, want %q", asked, want)
				}
			})
		}
	}
}

// callsAll calls what is offered but our controls and the catalog's tool, and
// then answers.
func callsAll(x *mock.Exchange) mock.Step {
	if x.N > 1 {
		return mock.Text("done")
	}
	var out mock.Step
	for _, t := range x.Request.Tools {
		if t.Name != "forecast" && !surface.IsControl(t.FullName()) {
			out.Calls = append(out.Calls, provider.Call{Name: t.Name, Namespace: t.Namespace, Args: []byte("{}")})
		}
	}
	return out
}

// A choice names a tool without its namespace, where one tool only bears the name.
func TestChoiceInNamespaces(t *testing.T) {
	const tools = `[{"type":"namespace","name":"crm","description":"x","tools":[{"type":"function","name":"list"},{"type":"function","name":"get"}]},
		{"type":"namespace","name":"mail","description":"x","tools":[{"type":"function","name":"list"}]}]`
	for choice, want := range map[string]string{"get": "crm__get", "crm__list": "crm__list", "list": ""} {
		for _, api := range []provider.API{provider.Chat, provider.Responses, provider.Messages} {
			r := newRig(t, rigOptions{api: api, script: mock.Script{Choose: callsDemanded}})
			req, err := openai.Responses().DecodeRequest([]byte(`{"model":"main/mock","input":"hi","tools":` + tools + `,"tool_choice":{"type":"function","name":"` + choice + `"}}`))
			if err != nil {
				t.Fatal(err)
			}
			if want == "" {
				_, err := r.runtime.Start(t.Context(), agent.Request{Request: *req})
				var refused *provider.Error
				if !errors.As(err, &refused) || refused.Status != http.StatusBadRequest || refused.Param != "tool_choice" || !strings.Contains(refused.Message, `"crm__list" or "mail__list"`) {
					t.Errorf("%s: two tools of one name: %v", api, err)
				}
				continue
			}
			r.ask(t, agent.Request{Request: *req})
			x, err := r.model.Request(t.Context(), 1)
			if err != nil {
				t.Fatal(err)
			}
			got, ok, err := x.Request.Demanded()
			if err != nil || !ok || got.FullName() != want {
				t.Errorf("%s: %s: the model is to call %q, %v: %s", api, choice, got.FullName(), err, x.Body)
			}
		}
	}
}

// Responses' search finds tools of namespaces, and the next turn knows which.
func TestSearchInNamespaces(t *testing.T) {
	const tools = `[{"type":"tool_search"},
		{"type":"namespace","name":"crm","description":"x","tools":[{"type":"function","name":"list","description":"List customers","defer_loading":true}]},
		{"type":"namespace","name":"mail","description":"x","tools":[{"type":"function","name":"list","description":"Read letters","defer_loading":true}]}]`
	ask := func(r *rig, input string) *turn.Step {
		req, err := openai.Responses().DecodeRequest([]byte(`{"model":"main/mock","input":` + input + `,"tools":` + tools + `}`))
		if err != nil {
			t.Fatal(err)
		}
		_, step := r.ask(t, agent.Request{Request: *req})
		return step
	}
	for _, api := range []provider.API{provider.Chat, provider.Responses} {
		r := newRig(t, rigOptions{api: api, script: mock.Script{Steps: []mock.Step{mock.Call("tool_search", `{"query":"letters"}`), mock.Text("done")}}})
		step := ask(r, `"hi"`)
		if names := fullNames(t, r, 2); !slices.Contains(names, "mail__list") || slices.Contains(names, "crm__list") {
			t.Errorf("%s: what was found is shown as %q", api, names)
		}
		var items []json.RawMessage
		for _, m := range step.Response.Output {
			for _, b := range m.Blocks {
				if b.Kind == provider.Opaque {
					items = append(items, b.Raw)
				}
			}
		}
		again := newRig(t, rigOptions{api: api, script: mock.Script{Steps: []mock.Step{mock.Text("done")}}})
		ask(again, `[{"role":"user","content":"hi"},`+string(items[0])+`,`+string(items[1])+`,{"role":"user","content":"more"}]`)
		if names := fullNames(t, again, 1); !slices.Contains(names, "mail__list") || slices.Contains(names, "crm__list") {
			t.Errorf("%s: the next turn has %q", api, names)
		}
	}
}

func fullNames(t *testing.T, r *rig, n int) []string {
	t.Helper()
	x, err := r.model.Request(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, tl := range x.Request.Tools {
		out = append(out, tl.FullName())
	}
	return out
}

// A choice of allowed tools names them as the wire does, and has them shown. It
// holds in every round. Another format is told its mode alone: few servers know
// more.
func TestAllowedTools(t *testing.T) {
	const defs = `{"type":"function","name":"plain"},{"type":"function","name":"odd.name"},{"type":"function","name":"other"},
		{"type":"namespace","name":"crm","description":"x","tools":[{"type":"function","name":"list"}]}`
	asked := map[provider.API]string{
		provider.Responses: `{"model":"main/mock","input":"hi","tools":[` + defs + `],"tool_choice":{"type":"allowed_tools","mode":"required",
			"tools":[{"type":"function","name":"plain"},{"type":"function","name":"odd.name"},{"type":"function","name":"list"}]}}`,
		provider.Chat: `{"model":"main/mock","messages":[{"role":"user","content":"hi"}],
			"tools":[{"type":"function","function":{"name":"plain"}},{"type":"function","function":{"name":"odd.name"}},{"type":"function","function":{"name":"other"}}],
			"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"required","tools":[{"type":"function","function":{"name":"plain"}},{"type":"function","function":{"name":"odd.name"}}]}}}`,
	}
	for client, body := range asked {
		for upstream := range asked {
			r := newRig(t, rigOptions{api: upstream, script: mock.Script{Choose: func(x *mock.Exchange) mock.Step {
				if x.N == 1 {
					return mock.Call("plain", `{}`)
				}
				return mock.Text("done")
			}}})
			req, err := agent.Format(client).DecodeRequest([]byte(body))
			if err != nil {
				t.Fatal(err)
			}
			run, step := r.ask(t, agent.Request{Request: *req})
			if len(step.Calls) != 1 {
				t.Fatalf("%s to %s: the caller is to answer %+v", client, upstream, step.Calls)
			}
			if _, err := run.Next(t.Context(), turn.Input{Answers: []provider.Answer{{CallID: step.Calls[0].ID}}}, nil); err != nil {
				t.Fatal(err)
			}
			for n, mode := range []provider.ToolChoice{provider.ChooseAny, provider.ChooseAuto} {
				x, err := r.model.Request(t.Context(), n+1)
				if err != nil {
					t.Fatal(err)
				}
				names := fullNames(t, r, n+1)
				allowed := x.Request.AllowedTools()
				want := len(req.Params.Allowed)
				if client != upstream {
					want = 0
				}
				if len(allowed) != want || x.Request.Params.Choice != mode || strings.Contains(string(x.Body), "odd.name") {
					t.Errorf("%s to %s, round %d: %q are allowed, %q: %s", client, upstream, n+1, allowed, x.Request.Params.Choice, x.Body)
				}
				for _, name := range append(allowed, "plain") {
					if !slices.Contains(names, name) {
						t.Errorf("%s to %s, round %d: %s is allowed and not shown among %q", client, upstream, n+1, name, names)
					}
				}
				if slices.Contains(names, "other") {
					t.Errorf("%s to %s: what is not needed is shown", client, upstream)
				}
			}
		}
	}
}
