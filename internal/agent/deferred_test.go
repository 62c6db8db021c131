package agent_test

import (
	"errors"
	"net/http"
	"slices"
	"testing"

	"github.com/toolsearch/toolsearch/internal/agent"
	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/provider/mock"
	"github.com/toolsearch/toolsearch/provider/openai"
	"github.com/toolsearch/toolsearch/surface"
	"github.com/toolsearch/toolsearch/tool"
)

// Tools of the caller are shown or searched for as the mode has it; one that is
// marked defer_loading is never shown.
func TestDeferredTools(t *testing.T) {
	for _, c := range []struct {
		mode   surface.Mode
		plain  bool // shown
		search bool // offered
	}{{surface.Off, true, true}, {surface.Tools, false, true}, {surface.Directory, true, true}} {
		t.Run(string(c.mode), func(t *testing.T) {
			r := newRig(t, rigOptions{mode: c.mode, script: mock.Script{Steps: []mock.Step{
				mock.Call("tool_call", `{"id":"client:client:late","args":{}}`), mock.Text("done"),
			}}, tools: []*tool.Tool{core("forecast", "Forecast")}})
			_, step := r.ask(t, agent.Request{Request: provider.Request{
				Messages: []provider.Message{user("hi")}, Tools: []provider.Tool{function("plain", "Plain", false), function("late", "Late", true)},
			}})
			names := r.names(t, 1)
			if slices.Contains(names, "plain") != c.plain || slices.Contains(names, "late") || slices.Contains(names, "tool_search") != c.search {
				t.Errorf("the model is shown %q", names)
			}
			if len(step.Calls) != 1 || step.Calls[0].Name != "late" {
				t.Errorf("the caller is to answer %+v", step.Calls)
			}
		})
	}
}

// An item that is referred to and kept nowhere is not left out in silence,
// unless the model's own API may have kept it.
func TestUnknownItem(t *testing.T) {
	req, err := openai.Responses().DecodeRequest([]byte(`{"model":"main/mock","input":[{"role":"user","content":"a"},{"type":"item_reference","id":"msg_gone"},{"role":"user","content":"b"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	for api, status := range map[provider.API]int{provider.Chat: http.StatusNotFound, provider.Messages: http.StatusNotFound, provider.Responses: 0} {
		r := newRig(t, rigOptions{api: api, script: mock.Script{Steps: []mock.Step{mock.Text("ok")}}})
		run, err := r.runtime.Start(t.Context(), agent.Request{Request: *req})
		var refused *provider.Error
		if err == nil {
			run.Close()
		}
		if errors.As(err, &refused) != (status != 0) || refused != nil && (refused.Status != status || refused.Param != "input") {
			t.Errorf("%s: %v", api, err)
		}
	}
}
