package cli_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/toolsearch/toolsearch/provider/mock"
)

// A client goes on from a response that the server gave before it was started
// again, and so does one whose call was waiting for its answer. Nobody else can.
func TestPreviousResponseAfterRestart(t *testing.T) {
	first, model := startServe(t, mock.Script{Choose: func(x *mock.Exchange) mock.Step {
		switch body := string(x.Body); {
		case strings.Contains(body, "a.txt"):
			return mock.Text("it is a.txt")
		case strings.Contains(body, "pick a file"):
			return mock.Call("pick", `{}`)
		}
		return mock.Text(fmt.Sprint("answer ", x.N))
	}})
	type answer struct {
		ID     string
		Output []struct {
			CallID string `json:"call_id"`
		}
	}
	ask := func(s *served, key, more string) (int, answer, string) {
		t.Helper()
		status, got := s.post("/v1/responses", key, `{"model":"responses/m","tools":[{"type":"function","name":"pick","parameters":{"type":"object"}}],`+more+`}`)
		var a answer
		if err := json.Unmarshal([]byte(got), &a); err != nil {
			t.Fatalf("%v in %s", err, got)
		}
		return status, a, got
	}
	_, one, _ := ask(first, ciKey, `"input":"the first question","instructions":"be brief"`)
	_, two, _ := ask(first, ciKey, fmt.Sprintf(`"input":"the second question","previous_response_id":%q`, one.ID))
	_, held, got := ask(first, ciKey, `"input":"pick a file"`)
	if len(held.Output) != 1 || held.Output[0].CallID == "" {
		t.Fatal(got)
	}
	_, unstored, _ := ask(first, ciKey, `"input":"forget it","store":false`)
	first.stop()

	again := serveIn(t, first.cmd.Dir)
	asked := model.Total()
	if status, _, got := ask(again, ciKey, fmt.Sprintf(`"input":"the third question","previous_response_id":%q`, two.ID)); status != 200 {
		t.Fatalf("%d %s", status, got)
	}
	x, err := model.Request(t.Context(), asked+1)
	if err != nil {
		t.Fatal(err)
	}
	at := 0
	for _, want := range []string{"the first question", "answer 1", "the second question", "answer 2", "the third question"} {
		i := strings.Index(string(x.Body)[at:], want)
		if i < 0 {
			t.Fatalf("%q is missing, or stands elsewhere: %s", want, x.Body)
		}
		at += i
	}
	if strings.Contains(string(x.Body), "be brief") {
		t.Error("instructions are inherited")
	}
	status, _, got := ask(again, ciKey, fmt.Sprintf(`"input":[{"type":"function_call_output","call_id":%q,"output":"a.txt"}],"previous_response_id":%q`, held.Output[0].CallID, held.ID))
	if status != 200 || !strings.Contains(got, "it is a.txt") {
		t.Errorf("the answer to a call from before: %d %s", status, got)
	}
	for name, c := range map[string]struct{ key, id string }{"another caller's": {coderKey, two.ID}, "not stored": {ciKey, unstored.ID}} {
		if status, _, got := ask(again, c.key, fmt.Sprintf(`"input":"x","previous_response_id":%q`, c.id)); status != 400 || !strings.Contains(got, "previous_response_not_found") {
			t.Errorf("%s: %d %s", name, status, got)
		}
	}
}
