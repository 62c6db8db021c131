package agent_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/toolsearch/toolsearch/internal/agent"
	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/provider/mock"
	"github.com/toolsearch/toolsearch/tool"
)

// A request of 16 MiB has room for hundreds of thousands of names. Refusing it must not take a
// time that grows with their square: that would be minutes.
func TestNamesByTheHundredThousand(t *testing.T) {
	const many = 400_000
	r := newRig(t, rigOptions{api: provider.Responses, script: mock.Agent(), tools: []*tool.Tool{core("forecast", "Forecast")}})
	names := make([]string, many)
	var defs strings.Builder
	for i := range names {
		names[i] = "t" + strconv.Itoa(i)
		if i > 0 {
			defs.WriteByte(',')
		}
		defs.WriteString(`{"type":"function","name":"` + names[i] + `"}`)
	}
	item := provider.Block{Kind: provider.Opaque, Type: "additional_tools", Native: provider.Native{API: provider.Responses, Raw: json.RawMessage(`{"type":"additional_tools","tools":[` + defs.String() + `]}`)}}
	tests := map[string]struct {
		block provider.Block
		param string
	}{
		"references of an answer": {provider.Block{Kind: provider.ToolAnswer, Answer: provider.Answer{CallID: "1", References: names}}, "messages"},
		"additional_tools":        {item, "tools"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := r.runtime.Start(t.Context(), agent.Request{Request: provider.Request{
				API: provider.Responses, Messages: []provider.Message{{Role: provider.User, Blocks: []provider.Block{tt.block}}, user("hi")},
			}})
			var refused *provider.Error
			if !errors.As(err, &refused) || refused.Status != http.StatusBadRequest || refused.Param != tt.param {
				t.Errorf("got %v, want a refusal of %s", err, tt.param)
			}
		})
	}
}

// What the API of a model does not keep is refused: the model would hear the new
// messages alone. The API that keeps it is asked.
func TestConversationsThatNobodyKeeps(t *testing.T) {
	for _, tt := range []struct {
		api    provider.API
		field  string
		value  string
		refuse bool
	}{
		{provider.Chat, "conversation", `"conv_1"`, true},
		{provider.Chat, "conversation", `{"id":"conv_1"}`, true},
		{provider.Messages, "prompt", `{"id":"pmpt_1"}`, true},
		{provider.Messages, "conversation", `null`, false},
		{provider.Responses, "conversation", `"conv_1"`, false},
	} {
		r := newRig(t, rigOptions{api: tt.api, script: mock.Agent(), tools: []*tool.Tool{core("forecast", "Forecast")}})
		run, err := r.runtime.Start(t.Context(), agent.Request{Request: provider.Request{
			API: provider.Responses, Messages: []provider.Message{user("hi")}, Fields: tool.Object{{Name: tt.field, Value: json.RawMessage(tt.value)}},
		}})
		if err == nil {
			run.Close()
		}
		var refused *provider.Error
		errors.As(err, &refused)
		if got := refused != nil && refused.Status == http.StatusBadRequest && refused.Param == tt.field; got != tt.refuse || err != nil && !tt.refuse {
			t.Errorf("%s %s for a model of %v: %v, want a refusal: %t", tt.field, tt.value, tt.api, err, tt.refuse)
		}
	}
}
