//go:build linux && !cgo

// Code mode needs a build without cgo.

package cli_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/provider/anthropic"
	"github.com/toolsearch/toolsearch/provider/mock"
	"github.com/toolsearch/toolsearch/provider/openai"
)

// A body of code calls a tool of the caller: the response ends with an ordinary
// call, and the answer goes into the very body that waits for it.
func TestServeCallerInCode(t *testing.T) {
	const body = `const r = await openclaw.tools.call("client:client:pick", {kind: "any"}); console.log("still here"); return {picked: r.result.content[0].text}`
	code, err := json.Marshal(map[string]string{"code": body})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []provider.Format{openai.Chat(), openai.Responses(), anthropic.Messages()} {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/%v", f.API(), stream), func(t *testing.T) {
				s, model := startServe(t, mock.Script{Steps: []mock.Step{mock.Call("tool_search_code", string(code)), mock.Text("a.txt it is")}})
				req := &provider.Request{Model: "chat/m", Stream: stream, Messages: userSays("pick one"),
					Tools: []provider.Tool{{Name: "pick", Description: "Let the user pick a file", Parameters: json.RawMessage(`{"type":"object","properties":{"kind":{"type":"string"}}}`)}}}
				resp := s.ask(f, coderKey, req)
				calls := resp.Calls()
				if len(calls) != 1 || calls[0].Name != "pick" || string(calls[0].Args) != `{"kind":"any"}` || resp.Stop != provider.StopCalls {
					t.Fatalf("answered %+v", resp)
				}
				req.Messages = append(append(req.Messages, resp.Output...), provider.Message{Role: provider.User, Blocks: []provider.Block{{
					Kind: provider.ToolAnswer, Answer: provider.Answer{CallID: calls[0].ID, Content: []provider.Block{{Kind: provider.Text, Text: "a.txt"}}},
				}}})
				if resp = s.ask(f, coderKey, req); resp.Text() != "a.txt it is" {
					t.Errorf("answered %q", resp.Text())
				}
				x := model.Requests()[1]
				if b := string(x.Body); !strings.Contains(b, "still here") || !strings.Contains(b, `picked`) || model.Total() != 2 {
					t.Errorf("after %d requests the model was told %s", model.Total(), b)
				}
			})
		}
	}
}

// A caller whose agent has code mode sees its one control, also over MCP.
func TestServeCodeOverMCP(t *testing.T) {
	s, _ := startServe(t, mock.Agent())
	if got := strings.Join(listOverMCP(t, s.url, coderKey), " "); got != "tool_search_code" {
		t.Errorf("over MCP, coder sees %q", got)
	}
}
