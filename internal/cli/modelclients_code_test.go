//go:build linux && !cgo

// Code mode needs a build without cgo.

package cli_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/toolsearch/toolsearch/provider/mock"
)

// A tool of the client that a code body calls ends the response as an ordinary
// call; the answer goes to the body, which goes on.
func TestModelClientsInCode(t *testing.T) {
	openTheatre(t).everyClient(t, nil, func(t *testing.T, s *stage) {
		body, err := json.Marshal(map[string]string{"code": `const [hit] = await openclaw.tools.search("look up an order by its number", {limit: 1});
const {result} = await openclaw.tools.call(hit.id, {number: "A-17"});
const {result: weather} = await openclaw.tools.call("mcp:weather:echo", {city: "Oslo"});
return {order: result.content[0].text.toUpperCase(), weather: weather.details.city};`})
		if err != nil {
			t.Fatal(err)
		}
		for _, model := range upstreams {
			s.line.will(mock.Call("tool_search_code", string(body)), mock.Text("It has been sent."))
			turn := s.begin(t, model, "Where is order A-17?", orderTool(false))
			turn.Key = coderKey
			h := s.ask(t, turn)
			s.checkOrderCall(t, h)
			s.checkAnswer(t, s.ask(t, reply(turn, h, "sent on Monday")), "It has been sent.")
			names, answers := calledIn(s.last().Request)
			if strings.Join(names, " ") != "tool_search_code" || !strings.Contains(answers[0], `"order":"SENT ON MONDAY"`) || !strings.Contains(answers[0], `"weather":"Oslo"`) {
				t.Errorf("the model called %q, answered %q", names, answers)
			}
		}
	})
}
