package modelapi_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/provider/mock"
)

// In Responses a call and its answer are items of their own. Whichever way a
// client puts those of one response, the run goes on that waits for them; and
// where the answers are not those, the conversation goes on from the messages.
func TestOrderOfAnswers(t *testing.T) {
	call := func(id string) string {
		return fmt.Sprintf(`{"type":"function_call","call_id":%q,"name":"pick","arguments":"{\"id\":\"%[1]s\"}"}`, id)
	}
	answer := func(id string) string {
		return fmt.Sprintf(`{"type":"function_call_output","call_id":%q,"output":"file %[1]s"}`, id)
	}
	const hi, think = `{"role":"user","content":"hi"}`, `{"type":"reasoning","id":"rs_1","summary":[]}`
	const more = `{"role":"user","content":"and quickly"}`
	a, b, c := call("a"), call("b"), call("c")
	ids := []string{"a", "b", "c"}
	for _, count := range []string{"", "0", "call_of_a_vendor_"} { // a name in front: short ids, and long ones
		long := func(items ...string) string {
			all := strings.Join(items, ",")
			for _, id := range ids {
				all = strings.ReplaceAll(all, `call_id":"`+id+`"`, `call_id":"`+count+id+`"`)
			}
			return all
		}
		for _, tt := range []struct {
			name  string
			items string
			runs  int
		}{
			{"all calls first", long(hi, a, b, c, answer("a"), answer("b"), answer("c")), 1},
			{"in another order", long(hi, a, b, c, answer("c"), answer("a"), answer("b")), 1},
			{"each answer behind its call", long(hi, a, answer("a"), b, answer("b"), c, answer("c")), 1},
			{"and a thought in front", long(hi, think, a, answer("a"), b, answer("b"), c, answer("c")), 1},
			{"in part", long(hi, a, b, answer("a"), answer("b"), c, answer("c")), 1},
			{"with a word of the user", long(hi, a, answer("a"), b, answer("b"), c, answer("c"), more), 1},
			{"with a word of the user in between", long(hi, a, answer("a"), b, more, answer("b"), c, answer("c")), 1},
			{"another user's word in front", long(hi, more, a, answer("a"), b, answer("b"), c, answer("c")), 2},
			{"one answer short", long(hi, a, answer("a"), b, c, answer("c")), 2},
			{"one answer twice", long(hi, a, answer("a"), b, answer("b"), c, answer("c"), answer("b")), 2},
			{"an answer to another call", long(hi, a, answer("a"), b, answer("b"), c, answer("c"), `{"type":"function_call_output","call_id":"other","output":"x"}`), 2},
			{"a word of the model in between", long(hi, a, answer("a"), `{"role":"assistant","content":"so far"}`, b, answer("b"), c, answer("c")), 2},
		} {
			t.Run(count+" "+tt.name, func(t *testing.T) {
				w := start(t, mock.Script{Choose: func(x *mock.Exchange) mock.Step {
					if strings.Contains(string(x.Body), "file c") {
						return mock.Text("done")
					}
					var s mock.Step
					for _, id := range ids {
						s.Calls = append(s.Calls, provider.Call{ID: count + id, Name: "pick", Args: []byte(fmt.Sprintf(`{"id":%q}`, id))})
					}
					return s
				}}, nil)
				const body = `{"model":"m","input":[%s],"tools":[{"type":"function","name":"pick","parameters":{"type":"object"}}]}`
				if _, got := w.do(t, "POST", "/v1/responses", fmt.Sprintf(body, hi)); !strings.Contains(got, `"function_call"`) {
					t.Fatal(got)
				}
				_, got := w.do(t, "POST", "/v1/responses", fmt.Sprintf(body, tt.items))
				if n := len(w.started()); n != tt.runs || !strings.Contains(got, "done") {
					t.Fatalf("%d runs, want %d: %s", n, tt.runs, got)
				}
				last := string(w.model.Requests()[1].Body)
				for _, id := range ids {
					if said := strings.Count(last, "file "+id); said != 1 && tt.runs == 1 {
						t.Errorf("the model is told %d times of %s: %s", said, id, last)
					}
				}
				if strings.Contains(tt.items, more) != strings.Contains(last, "and quickly") {
					t.Errorf("the model is told %s", last)
				}
			})
		}
	}
}

// Rounds that follow each other look as the calls of one round do: each goes on
// with the run that waits for it.
func TestRoundsThatFollow(t *testing.T) {
	for _, id := range []string{"call_1", "call_%d"} { // a model that uses one id again, and one that counts up
		w := start(t, mock.Script{Choose: func(x *mock.Exchange) mock.Step {
			if x.N > 3 {
				return mock.Text("done")
			}
			id := strings.ReplaceAll(id, "%d", fmt.Sprint(x.N))
			return mock.Step{Calls: []provider.Call{{ID: id, Name: "pick", Args: []byte(fmt.Sprintf(`{"n":%d}`, x.N))}}}
		}}, nil)
		input := `{"role":"user","content":"hi"}`
		for n := 1; n <= 4; n++ {
			_, got := w.do(t, "POST", "/v1/responses", `{"model":"m","input":[`+input+`],"tools":[{"type":"function","name":"pick","parameters":{"type":"object"}}]}`)
			var r struct {
				Output []struct {
					CallID    string `json:"call_id"`
					Arguments string
				}
			}
			decode(t, got, &r)
			if n == 4 {
				if !strings.Contains(got, "done") || len(w.started()) != 1 {
					t.Errorf("%s: %d runs: %s", id, len(w.started()), got)
				}
				break
			}
			if len(r.Output) != 1 {
				t.Fatal(got)
			}
			c := r.Output[0]
			input += fmt.Sprintf(`,{"type":"function_call","call_id":%q,"name":"pick","arguments":%q},{"type":"function_call_output","call_id":%[1]q,"output":"x"}`, c.CallID, c.Arguments)
		}
	}
}
