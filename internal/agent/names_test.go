package agent_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/toolsearch/toolsearch/internal/agent"
	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/provider/mock"
	"github.com/toolsearch/toolsearch/surface"
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
