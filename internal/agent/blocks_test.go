package agent_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolsearch/toolsearch/internal/agent"
	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/provider/mock"
	"github.com/toolsearch/toolsearch/provider/openai"
	"github.com/toolsearch/toolsearch/surface"
	"github.com/toolsearch/toolsearch/tool"
	"github.com/toolsearch/toolsearch/turn"
)

// Items that bring tools are read as the request's own tools are: those of a
// namespace too, each once, and what is wrong is refused as part of the input.
func TestAdditionalToolsAreTools(t *testing.T) {
	for _, tt := range []struct{ name, tools, want string }{
		{"a namespace", `[{"type":"namespace","name":"crm","description":"x","tools":[{"type":"function","name":"list"}]}]`, "forecast here crm__list"},
		{"one that is there", `[{"type":"function","name":"here"},{"type":"function","name":"late"},{"type":"function","name":"late"}]`, "forecast here late"},
		{"none", `null`, "forecast here"},
		{"no list", `{}`, "the field tools must be a list"},
		{"no name", `[{"type":"function"}]`, "a tool must have a name"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			req, err := openai.Responses().DecodeRequest([]byte(`{"model":"main/mock","input":[{"role":"user","content":"hi"},{"type":"additional_tools","role":"developer","tools":` + tt.tools + `}],
				"tools":[{"type":"function","name":"here"}]}`))
			if err != nil {
				t.Fatal(err)
			}
			r := newRig(t, rigOptions{mode: surface.Off, script: mock.Agent(), tools: []*tool.Tool{core("forecast", "Forecast")}})
			run, err := r.runtime.Start(t.Context(), agent.Request{Request: *req})
			if err != nil {
				var refused *provider.Error
				if !errors.As(err, &refused) || refused.Status != http.StatusBadRequest || refused.Param != "input" || !strings.Contains(refused.Message, tt.want) {
					t.Errorf("got %v, want %q", err, tt.want)
				}
				return
			}
			defer run.Close()
			if _, err := run.Next(t.Context(), turn.Input{}, nil); err != nil {
				t.Fatal(err)
			}
			if names := strings.Join(fullNames(t, r, 1), " "); names != tt.want {
				t.Errorf("the request has %s, want %s", names, tt.want)
			}
		})
	}
}

// BenchmarkOpaqueItems compares what a request costs before the model is asked
// with the one reading of its bytes that nobody can save: it has 200 items of 10
// KB that only its API knows.
func BenchmarkOpaqueItems(b *testing.B) {
	item := fmt.Sprintf(`{"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search","query":%q}}`, strings.Repeat("where ", 1700))
	body := []byte(`{"model":"main/mock","input":[{"role":"user","content":"hi"},` + strings.Join(slices.Repeat([]string{item}, 200), ",") + `]}`)
	r := newRig(b, rigOptions{api: provider.Responses, script: mock.Agent()})
	var decoding, starting time.Duration
	for b.Loop() {
		began := time.Now()
		req, err := openai.Responses().DecodeRequest(body)
		if err != nil {
			b.Fatal(err)
		}
		decoding += time.Since(began)
		began = time.Now()
		run, err := r.runtime.Start(b.Context(), agent.Request{Request: *req})
		if err != nil {
			b.Fatal(err)
		}
		starting += time.Since(began)
		run.Close()
	}
	b.ReportMetric(float64(starting)/float64(decoding), "start/decode")
}
