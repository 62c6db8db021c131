package modelapi_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/toolsearch/toolsearch/internal/modelapi"
	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/provider/anthropic"
	"github.com/toolsearch/toolsearch/provider/mock"
)

// An item of an answer can be referred to by its id alone, as clients do that
// rely on answers being stored; by its caller alone.
func TestItemReference(t *testing.T) {
	for _, stream := range []string{"false", "true"} {
		w := start(t, mock.Script{Choose: func(*mock.Exchange) mock.Step { return mock.Text("the first answer") }}, nil)
		ask := func(input, more string, header ...string) (int, string) {
			resp, got := w.do(t, "POST", "/v1/responses", fmt.Sprintf(`{"model":"m","stream":%s,"input":[%s]%s}`, stream, input, more), header...)
			return resp.StatusCode, got
		}
		itemOf := func(answer string) string {
			_, rest, _ := strings.Cut(answer, `"id":"msg_`)
			id, _, _ := strings.Cut(rest, `"`)
			if id == "" {
				t.Fatalf("no message in %s", answer)
			}
			return `{"type":"item_reference","id":"msg_` + id + `"}`
		}
		_, first := ask(`{"role":"user","content":"one"}`, "")
		item := itemOf(first)
		_, unstored := ask(`{"role":"user","content":"one"}`, `,"store":false`)
		for _, c := range []struct {
			name, item, key string
			known           bool
		}{{"kept", item, aliceKey, true}, {"kept, and the type left out", strings.Replace(item, `"type":"item_reference",`, "", 1), aliceKey, true}, {"another caller's", item, bobKey, false}, {"not stored", itemOf(unstored), aliceKey, false}} {
			if status, got := ask(`{"role":"user","content":"one"},`+c.item+`,{"role":"user","content":"two"}`, "", "Authorization", "Bearer "+c.key); status != 200 {
				t.Fatalf("%s: %d %s", c.name, status, got)
			}
			w.backend.mu.Lock()
			messages := w.backend.starts[len(w.backend.starts)-1].Messages
			w.backend.mu.Unlock()
			said := messages[1].Blocks[0]
			if len(messages) != 3 || messages[1].Role != provider.Assistant || (said.Kind == provider.Text && said.Text == "the first answer") != c.known {
				t.Errorf("stream %s, %s: the run has %+v", stream, c.name, messages)
			}
		}
	}
}

// References are short and what they stand for may be long: a small request does
// not become one of gigabytes.
func TestItemReferencesAreBounded(t *testing.T) {
	w := start(t, mock.Script{Choose: func(*mock.Exchange) mock.Step { return mock.Text(strings.Repeat("long ", 1<<18)) }}, nil)
	_, first := w.do(t, "POST", "/v1/responses", `{"model":"m","input":"one"}`)
	_, rest, _ := strings.Cut(first, `"id":"msg_`)
	id, _, _ := strings.Cut(rest, `"`)
	item := `{"type":"item_reference","id":"msg_` + id + `"},`
	for refs, want := range map[int]int{2: 200, 60: 413} {
		resp, got := w.do(t, "POST", "/v1/responses", `{"model":"m","input":[`+strings.Repeat(item, refs)+`{"role":"user","content":"two"}]}`)
		if resp.StatusCode != want {
			t.Errorf("%d references: %d %.200s", refs, resp.StatusCode, got)
		}
	}
}

// A conversation that the Messages API would keep is refused, in the words that
// make Anthropic's client send the whole of it.
func TestThreadIsRefused(t *testing.T) {
	w := start(t, mock.Script{Steps: []mock.Step{mock.Text("ok")}}, func(o *modelapi.Options) { o.Formats = []provider.Format{anthropic.Messages()} })
	const body = `{"model":"m","max_tokens":10,"messages":[{"role":"user","content":"x"}],"thread":%s}`
	resp, got := w.do(t, "POST", "/v1/messages", fmt.Sprintf(body, `{"type":"continue","previous_message_id":"msg_1"}`))
	var refused struct {
		Type  string
		Error struct {
			Type    string
			Details struct {
				ErrorCode   string `json:"error_code"`
				Unsupported []string
			}
		}
	}
	decode(t, got, &refused)
	if resp.StatusCode != 400 || refused.Type != "error" || refused.Error.Type != "invalid_request_error" ||
		refused.Error.Details.ErrorCode != "thread_unsupported_request" || len(refused.Error.Details.Unsupported) == 0 {
		t.Errorf("%d %s", resp.StatusCode, got)
	}
	if resp, got := w.do(t, "POST", "/v1/messages", fmt.Sprintf(body, "null")); resp.StatusCode != 200 {
		t.Errorf("without a thread: %d %s", resp.StatusCode, got)
	}
}

// Whoever asks much pushes out its own past responses, and not those of others.
func TestPastResponsesOfOthersStay(t *testing.T) {
	w := start(t, mock.Script{Choose: func(*mock.Exchange) mock.Step { return mock.Text("ok") }}, nil)
	bob := []string{"Authorization", "Bearer " + bobKey}
	idOf := func(answer string) string {
		var a struct{ ID string }
		decode(t, answer, &a)
		return a.ID
	}
	_, first := w.do(t, "POST", "/v1/responses", `{"model":"m","input":"one"}`, bob...)
	var floods []string
	for range 1024 { // as many as are kept of all
		_, got := w.do(t, "POST", "/v1/responses", `{"model":"m","input":"more"}`)
		floods = append(floods, idOf(got))
	}
	goOn := func(id string, header ...string) int {
		resp, _ := w.do(t, "POST", "/v1/responses", `{"model":"m","input":"more","store":false,"previous_response_id":"`+id+`"}`, header...)
		return resp.StatusCode
	}
	if status := goOn(idOf(first), bob...); status != 200 {
		t.Errorf("bob's response is gone: %d", status)
	}
	if oldest, last := goOn(floods[0]), goOn(floods[1023]); oldest != 400 || last != 200 {
		t.Errorf("alice's oldest and last: %d and %d, want 400 and 200", oldest, last)
	}
}
