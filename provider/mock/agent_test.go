package mock_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/provider/mock"
	"github.com/toolsearch/toolsearch/provider/openai"
	"github.com/toolsearch/toolsearch/surface"
)

const task = `Read the weather for me: target=fake_tool_17 args={"city":"Oslo"} query="the weather" query="a forecast".`

// A batch as tool_search answers it, with a note behind.
const found = `{"results":[{"query":"the weather","candidates":[{"id":"openclaw:p:fake_tool_1","source":"openclaw","name":"fake_tool_1"}]},` +
	`{"query":"a forecast","candidates":[{"id":"openclaw:p:fake_tool_17","source":"openclaw","name":"fake_tool_17"}]}]}` + "\nOne server is down."

// turn plays a conversation: the tools stay, and each of the agent's calls is
// answered with the next text. It returns what the agent did.
func turn(t *testing.T, tools []string, message string, answers ...string) []string {
	t.Helper()
	_, client := start(t, mock.Agent(), openai.Chat())
	r := &provider.Request{Model: "m", Stream: true, Messages: []provider.Message{userSays(message)}}
	for _, name := range tools {
		r.Tools = append(r.Tools, provider.Tool{Name: name, Parameters: json.RawMessage(`{"type":"object"}`)})
	}
	var did []string
	for {
		resp, err := client.Generate(t.Context(), r, nil)
		if err != nil {
			t.Fatal(err)
		}
		if text := resp.Text(); text != "" {
			did = append(did, text)
		}
		r.Messages = append(r.Messages, resp.Output...)
		calls := resp.Calls()
		for _, c := range calls {
			did = append(did, c.Name+" "+string(c.Args))
			if len(answers) == 0 {
				t.Fatalf("a call too many: %s", strings.Join(did, "\n"))
			}
			r.Messages = append(r.Messages, provider.Message{Role: provider.User, Blocks: []provider.Block{{Kind: provider.ToolAnswer,
				Answer: provider.Answer{CallID: c.ID, Content: []provider.Block{{Kind: provider.Text, Text: answers[0]}}}}}})
			answers = answers[1:]
		}
		if len(calls) == 0 {
			return did
		}
	}
}

func TestAgent(t *testing.T) {
	const search = `tool_search {"queries":[{"query":"the weather","limit":5},{"query":"a forecast","limit":5}]}`
	controls := []string{surface.ToolSearch, surface.ToolDescribe, surface.ToolCall, "ask_user"}
	for _, c := range []struct {
		name    string
		tools   []string
		message string
		answers []string
		want    []string
	}{
		{"directly", []string{"fake_tool_1", "fake_tool_17", surface.ToolSearch}, task, []string{"sunny"},
			[]string{`fake_tool_17 {"city":"Oslo"}`, "The tool answered: sunny"}},
		{"by a server's wire name", []string{"w__fake_tool_17"}, task, []string{"sunny"},
			[]string{`w__fake_tool_17 {"city":"Oslo"}`, "The tool answered: sunny"}},
		{"by search", controls, task, []string{found, "sunny"},
			[]string{search, `tool_call {"id":"openclaw:p:fake_tool_17","args":{"city":"Oslo"}}`, "The tool answered: sunny"}},
		{"one list of hits", controls, task, []string{`[{"id":"i","name":"fake_tool_17"}]`, "sunny"},
			[]string{search, `tool_call {"id":"i","args":{"city":"Oslo"}}`, "The tool answered: sunny"}},
		{"by its id", controls, `target=openclaw:p:fake_tool_17 query="the weather" query="a forecast"`, []string{found, "sunny"},
			[]string{search, `tool_call {"id":"openclaw:p:fake_tool_17","args":{}}`, "The tool answered: sunny"}},
		{"by a model API's own search", []string{"tool_search_tool_bm25"}, task, []string{"nothing"},
			[]string{`tool_search_tool_bm25 {"query":"the weather"}`, "I found no tool named fake_tool_17: nothing"}},
		{"nothing found", controls, task, []string{`{"results":[]}`},
			[]string{search, `I found no tool named fake_tool_17: {"results":[]}`}},
		{"a search that failed", controls, task, []string{`no catalog`},
			[]string{search, `I found no tool named fake_tool_17: no catalog`}},
		{"no queries given", controls, "read the weather target=fake_tool_17.", []string{`[]`},
			[]string{`tool_search {"queries":[{"query":"fake tool 17","limit":5},{"query":"read the weather","limit":5}]}`, "I found no tool named fake_tool_17: []"}},
		{"no tool", nil, task, nil, []string{"I have no tool named fake_tool_17, and none to search for it."}},
		{"no task", controls, "hello", nil, []string{"You said: hello"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := turn(t, c.tools, c.message, c.answers...)
			if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", c.want) {
				t.Errorf("the agent did\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

func TestAgentWritesCode(t *testing.T) {
	got := turn(t, []string{surface.ToolSearchCode}, task, `{"ok":true}`)
	if len(got) != 2 || got[1] != `The tool answered: {"ok":true}` {
		t.Fatalf("the agent did %q", got)
	}
	args, ok := strings.CutPrefix(got[0], surface.ToolSearchCode+" ")
	var in struct{ Code string }
	if err := json.Unmarshal([]byte(args), &in); !ok || err != nil {
		t.Fatalf("the agent did %q (%v)", got[0], err)
	}
	for _, part := range []string{
		`openclaw.tools.search("the weather", {limit: 5})`, `openclaw.tools.search("a forecast", {limit: 5})`,
		`h.name === "fake_tool_17"`, `openclaw.tools.call(hit.id, {"city":"Oslo"})`,
	} {
		if !strings.Contains(in.Code, part) {
			t.Errorf("the body lacks %s:\n%s", part, in.Code)
		}
	}
}

// A second task in the same conversation begins anew.
func TestAgentFollowsTheLastTask(t *testing.T) {
	_, client := start(t, mock.Agent(), openai.Chat())
	r := &provider.Request{Model: "m", Messages: []provider.Message{
		userSays("target=one"),
		{Role: provider.Assistant, Blocks: []provider.Block{{Kind: provider.ToolCall, Call: provider.Call{ID: "1", Name: "one", Args: json.RawMessage("{}")}}}},
		{Role: provider.User, Blocks: []provider.Block{{Kind: provider.ToolAnswer, Answer: provider.Answer{CallID: "1"}}}},
		userSays("target=two"),
	}, Tools: []provider.Tool{{Name: "one"}, {Name: "two"}}}
	resp, err := client.Generate(t.Context(), r, nil)
	if err != nil || len(resp.Calls()) != 1 || resp.Calls()[0].Name != "two" {
		t.Errorf("got %+v (%v), want a call of two", resp, err)
	}
}
