package cli_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/provider/mock"
)

// blockTypes are the types of what the client was answered, in order.
func blockTypes(h clientHeard) (types []string, byType map[string]json.RawMessage) {
	byType = map[string]json.RawMessage{}
	for _, b := range h.Blocks {
		var head struct{ Type string }
		_ = json.Unmarshal(b, &head) // an empty type is what the test then shows
		types = append(types, head.Type)
		byType[head.Type] = b
	}
	return types, byType
}

func offers(x *mock.Exchange, name string) bool {
	return slices.ContainsFunc(x.Request.Tools, func(o provider.Tool) bool { return o.Name == name && !o.Defer })
}

// searches reports an API that has a tool search of its own.
func (s spoken) searches() bool { return s.api != "chat" && s.api != "compatible" }

// The tool search of an API: it is accepted, answered in the API's own blocks,
// and what it finds is a tool of the next request to the model, whose own API
// may be any.
func clientSearches(t *testing.T, s *stage) {
	var hosted map[string]any
	name, want := "tool_search_tool_bm25", "server_tool_use tool_search_tool_result text tool_use"
	switch s.spoken.api {
	case "messages", "beta":
		hosted = map[string]any{"type": "tool_search_tool_bm25_20251119", "name": name}
	case "responses":
		name, want = "tool_search", "tool_search_call tool_search_output message function_call"
		hosted = map[string]any{"type": name}
	}
	for _, model := range upstreams {
		calling := mock.Call("look_up_order", `{"number":"A-17"}`)
		calling.Text = "One moment."
		s.line.will(mock.Call(name, orderSearch), calling, mock.Text("It has been sent."))
		turn := s.begin(t, model, "Where is order A-17?", orderTool(true))
		turn.Hosted = []any{hosted}
		h := s.ask(t, turn)
		s.checkOrderCall(t, h)
		sent := s.sent()
		if len(sent) != 2 || offers(sent[0], "look_up_order") || !offers(sent[0], name) || offers(sent[0], "tool_call") || !offers(sent[1], "look_up_order") {
			t.Fatalf("the model got %d requests, the last with %s", len(sent), s.last().Body)
		}
		if s.spoken.script != "ai" { // it shows blocks in words of its own
			types, blocks := blockTypes(h)
			if got := strings.Join(types, " "); got != want {
				t.Errorf("the answer is %s, want %s", got, want)
			}
			found := string(blocks["tool_search_tool_result"]) + string(blocks["tool_search_output"])
			if !strings.Contains(found, `"look_up_order"`) {
				t.Errorf("the search found %s", found)
			}
		}
		turn = reply(turn, h, "sent on Monday")
		s.checkAnswer(t, s.ask(t, turn), "It has been sent.")
		names, answers := calledIn(s.last().Request)
		if strings.Join(names, " ") != name+" look_up_order" || !strings.Contains(answers[0], "look_up_order") || answers[1] != "sent on Monday" {
			t.Errorf("the model called %q, answered %q", names, answers)
		}
		// A new turn: the messages refer to what was found, which is shown at once.
		s.line.will(mock.Text("You are welcome."))
		turn.Answers, turn.Say = nil, "Thanks."
		s.checkAnswer(t, s.ask(t, turn), "You are welcome.")
		if !offers(s.last(), "look_up_order") || !offers(s.last(), name) {
			t.Errorf("the next turn is %s", s.last().Body)
		}
	}
}

// refersBack reports a client that keeps no messages where the API does.
func (s spoken) refersBack() bool { return s.api == "responses" && s.script == "openai" }

// previous_response_id in the place of the messages before, over a call of the
// client's own tool.
func clientRefersBack(t *testing.T, s *stage) {
	for _, model := range upstreams {
		s.line.will(mock.Text("Good morning."), mock.Call("tool_call", orderCall), mock.Text("It has been sent."), mock.Text("You are welcome."))
		turn := s.begin(t, model, "Hello.", orderTool(true))
		s.checkAnswer(t, s.ask(t, turn), "Good morning.")
		turn.Previous, turn.Say = true, "Where is order A-17?"
		h := s.ask(t, turn)
		s.checkOrderCall(t, h)
		s.checkAnswer(t, s.ask(t, reply(turn, h, "sent on Monday")), "It has been sent.")
		if names, _ := calledIn(s.last().Request); strings.Join(names, " ") != "tool_call" {
			t.Errorf("the answer went to another run: the model called %q", names)
		}
		turn.Say = "Thanks."
		s.checkAnswer(t, s.ask(t, turn), "You are welcome.")
		var said []string
		for _, m := range s.last().Request.Messages {
			for _, b := range m.Blocks {
				said = append(said, b.Text+b.Call.Name)
				for _, c := range b.Answer.Content {
					said = append(said, c.Text)
				}
			}
		}
		want := []string{"Hello.", "Good morning.", "Where is order A-17?", "look_up_order", "", "sent on Monday", "It has been sent.", "Thanks."}
		if !slices.Equal(said, want) {
			t.Errorf("the conversation is %q, want %q", said, want)
		}
	}
}

// runsTools reports a client that calls tools by itself.
func (s spoken) runsTools() bool { return s.script == "ai" || s.api == "beta" }

// The SDK's own loop, which calls the tools that it was given.
func clientRunsTools(t *testing.T, s *stage) {
	for _, model := range upstreams {
		s.line.will(mock.Call("tool_search", orderSearch), mock.Call("tool_call", orderCall), mock.Text("It has been sent."))
		turn := s.begin(t, model, "Where is order A-17?", orderTool(false))
		turn.Runs = "sent on Monday"
		h := s.ask(t, turn)
		if end, _ := s.spoken.stops(); h.Text != "It has been sent." || h.Stop != end || len(h.Ran) != 1 || string(h.Ran[0]) != `{"number":"A-17"}` {
			t.Errorf("the client ran %s and heard %q, %s", h.Ran, h.Text, h.Stop)
		}
		if names, answers := calledIn(s.last().Request); strings.Join(names, " ") != "tool_search tool_call" || !strings.Contains(answers[1], "sent on Monday") {
			t.Errorf("the model called %q, answered %q", names, answers)
		}
	}
}
