package agent_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/toolsearch/toolsearch"
	"github.com/toolsearch/toolsearch/internal/agent"
	"github.com/toolsearch/toolsearch/internal/config"
	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/provider/mock"
	"github.com/toolsearch/toolsearch/source/mcp"
	"github.com/toolsearch/toolsearch/tool"
	"github.com/toolsearch/toolsearch/transcript"
)

// recorder keeps the runs that began.
type recorder struct {
	mu   sync.Mutex
	runs []string
}

func (r *recorder) Begin(context.Context, transcript.Intent) (transcript.Ref, error) { return 1, nil }
func (r *recorder) End(context.Context, transcript.Ref, transcript.Outcome) error    { return nil }
func (r *recorder) Count(context.Context, transcript.RunKey, transcript.Counts) error {
	return nil
}

func (r *recorder) StartRun(_ context.Context, run transcript.Run) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.runs = append(r.runs, run.Run)
	return nil
}

// A request that is refused is no run.
func TestRefusedRunsAreNotRecorded(t *testing.T) {
	runs := &recorder{}
	record, err := transcript.New(transcript.Config{Recorder: runs, Counter: runs})
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, rigOptions{api: provider.Messages, script: mock.Agent(), transcript: record, tools: []*tool.Tool{core("forecast", "Forecast")}})
	search := hosted(provider.Messages, "tool_search_tool_bm25_20251119", `{"type":"tool_search_tool_bm25_20251119","name":"pick"}`)
	for _, tools := range [][]provider.Tool{
		{search, {Name: "pick", Description: "Pick", Parameters: json.RawMessage(`{"type":"object"}`)}},
		{{Name: "tool_search", Parameters: json.RawMessage(`{"type":"object"}`)}},
	} {
		req := provider.Request{API: provider.Messages, Messages: []provider.Message{user("hi")}, Tools: tools,
			Params: provider.Params{Choice: provider.ChooseTool("pick")}}
		if run, err := r.runtime.Start(t.Context(), agent.Request{Request: req}); err == nil {
			run.Close()
			t.Errorf("a name that is taken twice was not refused: %+v", tools)
		}
	}
	if len(runs.runs) > 0 {
		t.Errorf("%d refused runs are recorded", len(runs.runs))
	}
	run, _ := r.ask(t, agent.Request{Request: provider.Request{Messages: []provider.Message{user("hi")}}})
	if len(runs.runs) != 1 || runs.runs[0] != run.Origin.Run {
		t.Errorf("%q are recorded, want %s", runs.runs, run.Origin.Run)
	}
}

// waiting tells when somebody waits for its end.
type waiting struct {
	context.Context
	on func()
}

func (w waiting) Done() <-chan struct{} {
	w.on()
	return w.Context.Done()
}

// A caller that leaves ends the wait for servers for itself alone.
func TestWaitingForServers(t *testing.T) {
	release := make(chan struct{})
	var released atomic.Bool
	free := sync.OnceFunc(func() { released.Store(true); close(release) })
	defer free()
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		<-release
		http.Error(w, "gone", http.StatusNotFound)
	}))
	defer slow.Close()
	set, err := toolsearch.New(t.Context(), toolsearch.Options{Tools: []*tool.Tool{core("forecast", "Forecast")}, Servers: []mcp.Server{{Name: "slow", URL: slow.URL}}})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	defer free()
	runtime, err := agent.New(agent.Options{Config: &config.Config{}, Tools: set, Rules: func(k agent.Kind) (agent.Rules, error) {
		if k.Sender == "patient" && !released.Load() {
			t.Error("the patient caller was not kept waiting for a server")
		}
		return agent.Rules{}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	_, _, _ = runtime.CallTool(gone, agent.ToolCall{Who: config.Who{Sender: "gone"}, Ref: "forecast"}) // it may be answered or not
	if released.Load() {
		t.Error("a caller that had left was kept waiting")
	}
	patient := waiting{t.Context(), free}
	if _, _, err := runtime.CallTool(patient, agent.ToolCall{Who: config.Who{Sender: "patient"}, Ref: "forecast", Args: json.RawMessage(`{}`)}); err != nil {
		t.Error(err)
	}
}
