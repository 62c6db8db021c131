package modelapi_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolsearch/toolsearch/internal/config"
	"github.com/toolsearch/toolsearch/internal/modelapi"
	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/provider/mock"
	"github.com/toolsearch/toolsearch/provider/openai"
)

const (
	hi       = `{"role":"user","content":"hi"}`
	pickTool = `{"type":"function","function":{"name":"pick","description":"Pick a file","parameters":{"type":"object","properties":{"kind":{"type":"string"}}}}}`
	callTool = `{"id":"openclaw:test:weather","args":{"city":"Oslo"}}`
)

func chat(extra string, messages ...string) string {
	return `{"model":"mock/small","messages":[` + strings.Join(messages, ",") + `]` + extra + `}`
}

// chatAnswer is what the tests read of an answer of Chat Completions.
type chatAnswer struct {
	ID, Object, Model string
	Choices           []struct {
		FinishReason string `json:"finish_reason"`
		Message      json.RawMessage
	}
}

func (a chatAnswer) message(t *testing.T) (text string, calls []string, raw string) {
	t.Helper()
	var m struct {
		Content   string
		ToolCalls []struct {
			ID       string
			Function struct{ Name, Arguments string }
		} `json:"tool_calls"`
	}
	if len(a.Choices) != 1 {
		t.Fatalf("%d choices", len(a.Choices))
	}
	decode(t, string(a.Choices[0].Message), &m)
	for _, c := range m.ToolCalls {
		calls = append(calls, c.ID+" "+c.Function.Name+" "+c.Function.Arguments)
	}
	return m.Content, calls, string(a.Choices[0].Message)
}

// frames reads the frames of a stream that has ended.
func frames(t *testing.T, body string) []provider.Frame {
	t.Helper()
	var out []provider.Frame
	r := provider.NewFrameReader(strings.NewReader(body))
	for {
		f, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, f)
	}
}

// read puts a stream together as a client does.
func read(t *testing.T, f provider.Format, body string) *provider.Response {
	t.Helper()
	d := f.NewStreamDecoder()
	for _, fr := range frames(t, body) {
		if _, err := d.Frame(fr); err != nil {
			t.Fatalf("%v in %s", err, body)
		}
	}
	resp, err := d.Response()
	if err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	return resp
}

// The model calls a tool of the catalog and then answers: the caller sees the
// answer alone, at every API, whole and streamed.
func TestAnswers(t *testing.T) {
	for _, f := range formats() {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/%v", f.API(), stream), func(t *testing.T) {
				w := start(t, mock.Script{Steps: []mock.Step{mock.Call("tool_call", callTool), mock.Text("It is fine in Oslo.")}}, nil)
				req := &provider.Request{Model: "mock/small", Stream: stream, API: f.API(), Messages: []provider.Message{{Role: provider.User, Blocks: []provider.Block{{Kind: provider.Text, Text: "hi"}}}}}
				body, err := f.EncodeRequest(req)
				if err != nil {
					t.Fatal(err)
				}
				path := "/v1/chat/completions"
				if f.API() == provider.Responses {
					path = "/v1/responses"
				}
				resp, got := w.do(t, "POST", path, string(body), "X-Toolsearch-Session", "talk-1")
				if resp.StatusCode != 200 {
					t.Fatalf("%d %s", resp.StatusCode, got)
				}
				var answer *provider.Response
				if stream {
					if resp.Header.Get("Content-Type") != "text/event-stream" || resp.Header.Get("X-Accel-Buffering") != "no" {
						t.Errorf("headers %v", resp.Header)
					}
					answer = read(t, f, got)
				} else if answer, err = f.DecodeResponse([]byte(got)); err != nil {
					t.Fatal(err)
				}
				if answer.Text() != "It is fine in Oslo." || len(answer.Calls()) > 0 || answer.Stop != provider.StopEnd || answer.Model != "mock/small" || answer.ID == "" || strings.HasPrefix(answer.ID, "mock") {
					t.Errorf("%s", got)
				}
				if s := w.started(); len(s) != 1 || s[0].Caller != (modelapi.Caller{Name: "alice", Who: config.Who{Agent: "main"}}) || s[0].Session != "talk-1" {
					t.Errorf("started %+v", s)
				}
				if second := string(w.model.Requests()[1].Body); !strings.Contains(second, "weather of Oslo: fine") {
					t.Errorf("the model was not told what the tool said: %s", second)
				}
			})
		}
	}
}

// A call to the caller's own tool ends the response, and the answer resumes the
// same run.
func TestHeldRun(t *testing.T) {
	for _, stream := range []bool{false, true} {
		t.Run(fmt.Sprint(stream), func(t *testing.T) {
			w := start(t, mock.Script{Steps: []mock.Step{mock.Call("tool_call", callTool), mock.Call("pick", `{"kind":"any"}`), mock.Text("a.txt it is")}}, nil)
			extra := `,"tools":[` + pickTool + `]`
			if stream {
				extra += `,"stream":true`
			}
			_, got := w.do(t, "POST", "/v1/chat/completions", chat(extra, hi))
			call := callOf(t, got, stream)
			if call.Name != "pick" || string(call.Args) != `{"kind":"any"}` {
				t.Fatalf("%s", got)
			}
			said := assistant(call)
			_, got = w.do(t, "POST", "/v1/chat/completions", chat(extra, hi, said, answerTo(call.ID, "a.txt")))
			var text string
			if stream {
				text = read(t, openai.Chat(), got).Text()
			} else {
				var a chatAnswer
				decode(t, got, &a)
				text, _, _ = a.message(t)
			}
			if text != "a.txt it is" || len(w.started()) != 1 {
				t.Errorf("%d runs, answer %s", len(w.started()), got)
			}
			// The same run: the model still knows what the control was asked.
			last := string(w.model.Requests()[2].Body)
			if !strings.Contains(last, "weather of Oslo") || !strings.Contains(last, "a.txt") {
				t.Errorf("the model was asked %s", last)
			}
		})
	}
}

func callOf(t *testing.T, body string, stream bool) provider.Call {
	t.Helper()
	var resp *provider.Response
	if stream {
		resp = read(t, openai.Chat(), body)
	} else {
		var err error
		if resp, err = openai.Chat().DecodeResponse([]byte(body)); err != nil {
			t.Fatal(err)
		}
	}
	if len(resp.Calls()) != 1 || resp.Stop != provider.StopCalls {
		t.Fatalf("no call in %s", body)
	}
	return resp.Calls()[0]
}

func assistant(c provider.Call) string {
	return fmt.Sprintf(`{"role":"assistant","content":null,"tool_calls":[{"id":%q,"type":"function","function":{"name":%q,"arguments":%q}}]}`, c.ID, c.Name, c.Args)
}

func answerTo(id, text string) string {
	return fmt.Sprintf(`{"role":"tool","tool_call_id":%q,"content":%q}`, id, text)
}

// Several calls of one round are answered together. Where an answer is missing,
// the conversation goes on from the messages, and the run is not spent.
func TestCallsOfOneRound(t *testing.T) {
	w := start(t, mock.Script{Choose: func(x *mock.Exchange) mock.Step {
		if n := strings.Count(string(x.Body), `"role":"tool"`); n > 0 {
			return mock.Text(fmt.Sprint(n, " answers"))
		}
		return mock.Step{Calls: []provider.Call{{ID: "c1", Name: "pick", Args: []byte(`{"kind":"a"}`)}, {ID: "c2", Name: "pick", Args: []byte(`{"kind":"b"}`)}}}
	}}, nil)
	extra := `,"tools":[` + pickTool + `]`
	_, got := w.do(t, "POST", "/v1/chat/completions", chat(extra, hi))
	var a chatAnswer
	decode(t, got, &a)
	_, calls, said := a.message(t)
	if len(calls) != 2 {
		t.Fatal(got)
	}
	for _, c := range []struct {
		answers []string
		says    string
		runs    int
	}{
		{[]string{answerTo("c1", "x")}, "1 answers", 2},
		{[]string{answerTo("c2", "y"), answerTo("c1", "x")}, "2 answers", 2},
	} {
		_, got := w.do(t, "POST", "/v1/chat/completions", chat(extra, append([]string{hi, said}, c.answers...)...))
		if !strings.Contains(got, c.says) || len(w.started()) != c.runs {
			t.Errorf("%d answers: %d runs, %s", len(c.answers), len(w.started()), got)
		}
	}
}

// When the held run is not the caller's, or is gone, the turn goes on from the
// messages alone, in a new run.
func TestRunIsGone(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*modelapi.Options)
		first  []string // further requests before the answer
		header []string
		user   string
	}{
		{name: "another caller", header: []string{"Authorization", "Bearer " + bobKey}},
		{name: "another conversation", user: `{"role":"user","content":"hello"}`},
		{name: "expired", change: func(o *modelapi.Options) { o.HeldTime = time.Nanosecond }},
		{name: "too many", change: func(o *modelapi.Options) { o.HeldRuns = 1 }, first: []string{`{"role":"user","content":"other"}`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := start(t, mock.Script{Choose: func(x *mock.Exchange) mock.Step {
				if strings.Contains(string(x.Body), "a.txt") {
					return mock.Text("from the messages")
				}
				return mock.Call("pick", `{}`)
			}}, c.change)
			extra := `,"tools":[` + pickTool + `]`
			_, got := w.do(t, "POST", "/v1/chat/completions", chat(extra, hi))
			call := callOf(t, got, false)
			for _, m := range c.first {
				w.do(t, "POST", "/v1/chat/completions", chat(extra, m))
			}
			before := len(w.started())
			user := hi
			if c.user != "" {
				user = c.user
			}
			resp, got := w.do(t, "POST", "/v1/chat/completions", chat(extra, user, assistant(call), answerTo(call.ID, "a.txt")), c.header...)
			if resp.StatusCode != 200 || !strings.Contains(got, "from the messages") || len(w.started()) != before+1 {
				t.Errorf("%d runs before and %d after; %d %s", before, len(w.started()), resp.StatusCode, got)
			}
		})
	}
}

// previous_response_id goes on from a response: its caller's alone, and also
// where the run is held.
func TestPreviousResponse(t *testing.T) {
	w := start(t, mock.Script{Steps: []mock.Step{mock.Text("one"), mock.Call("pick", `{}`), mock.Text("three"), mock.Text("four")}}, nil)
	ask := func(body string, header ...string) (int, string, string) {
		resp, got := w.do(t, "POST", "/v1/responses", body, header...)
		var r struct {
			ID     string
			Output []struct {
				Type   string
				CallID string `json:"call_id"`
			}
		}
		decode(t, got, &r)
		call := ""
		for _, o := range r.Output {
			if o.Type == "function_call" {
				call = o.CallID
			}
		}
		return resp.StatusCode, r.ID, call + got
	}
	_, first, got := ask(`{"model":"m","input":"first question","instructions":"be brief"}`)
	if !strings.HasPrefix(first, "resp_") {
		t.Fatal(got)
	}
	tools := `,"tools":[{"type":"function","name":"pick","parameters":{"type":"object"}}]`
	_, second, got := ask(fmt.Sprintf(`{"model":"m","input":"second question","previous_response_id":%q%s}`, first, tools))
	call, _, _ := strings.Cut(got, "{")
	asked := string(w.model.Requests()[1].Body)
	if i, j, k := strings.Index(asked, "first question"), strings.Index(asked, `one`), strings.Index(asked, "second question"); i < 0 || j < i || k < j || strings.Contains(asked, "be brief") {
		t.Errorf("the model was asked %s", asked)
	}
	if call == "" {
		t.Fatal(got)
	}
	status, _, got := ask(fmt.Sprintf(`{"model":"m","input":[{"type":"function_call_output","call_id":%q,"output":"a.txt"}],"previous_response_id":%q%s}`, call, second, tools))
	if status != 200 || !strings.Contains(got, "three") || len(w.started()) != 2 {
		t.Errorf("%d runs; %s", len(w.started()), got)
	}
	for name, c := range map[string]struct{ id, key string }{"another caller": {first, bobKey}, "unknown": {"resp_x", aliceKey}} {
		status, _, got := ask(fmt.Sprintf(`{"model":"m","input":"x","previous_response_id":%q}`, c.id), "Authorization", "Bearer "+c.key)
		if status != 400 || !strings.Contains(got, "previous_response_not_found") {
			t.Errorf("%s: %d %s", name, status, got)
		}
	}
	_, unstored, _ := ask(`{"model":"m","input":"x","store":false}`)
	if status, _, got := ask(fmt.Sprintf(`{"model":"m","input":"x","previous_response_id":%q}`, unstored)); status != 400 {
		t.Errorf("stored all the same: %s", got)
	}
}

// Past responses are bounded: the oldest is forgotten.
func TestPastResponsesAreBounded(t *testing.T) {
	w := start(t, mock.Script{Choose: func(*mock.Exchange) mock.Step { return mock.Text("ok") }}, nil)
	ask := func(previous string) (int, string) {
		resp, got := w.do(t, "POST", "/v1/responses", fmt.Sprintf(`{"model":"m","input":"x"%s}`, previous))
		var r struct{ ID string }
		decode(t, got, &r)
		return resp.StatusCode, r.ID
	}
	_, first := ask("")
	_, second := ask("")
	for range 1023 {
		ask("")
	}
	for id, want := range map[string]int{first: 400, second: 200} {
		if status, _ := ask(fmt.Sprintf(`,"previous_response_id":%q`, id)); status != want {
			t.Errorf("%s: %d, want %d", id, status, want)
		}
	}
}

// What a model API refuses is passed on with its status, body and Retry-After,
// also when the caller wants a stream and nothing of it has begun.
func TestRefusalsOfTheModel(t *testing.T) {
	for _, stream := range []string{"", `,"stream":true`} {
		w := start(t, mock.Script{Steps: []mock.Step{mock.Status(429, "7"), {Text: "half an answer", Fault: mock.Fault{Cut: 900}}}}, nil)
		resp, got := w.do(t, "POST", "/v1/chat/completions", chat(stream, hi))
		if resp.StatusCode != 429 || resp.Header.Get("Retry-After") != "7" || !strings.Contains(got, "the script answers 429") || resp.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%d %v %s", resp.StatusCode, resp.Header, got)
		}
		if stream == "" {
			continue
		}
		// What is cut in the middle ends in an error frame, not as if it were whole.
		_, got = w.do(t, "POST", "/v1/chat/completions", chat(stream, hi))
		d := openai.Chat().NewStreamDecoder()
		var failed error
		for _, f := range frames(t, got) {
			if _, err := d.Frame(f); err != nil {
				failed = err
			}
		}
		var e *provider.Error
		if _, err := d.Response(); failed == nil && err == nil || !errors.As(errors.Join(failed, err), &e) {
			t.Errorf("a stream that was cut came as %s", got)
		}
		// The client knows that it has a part, and what to do.
		if e == nil || e.Code != "stream_cut" || !strings.Contains(e.Message, "only a part of it") || !strings.Contains(e.Message, "send the request again") {
			t.Errorf("a stream that was cut is told as %v", e)
		}
	}
}

// A model that cannot be asked again once the client has read what it said first is
// no answer that never began.
func TestRefusalInALaterRound(t *testing.T) {
	search := provider.Call{Name: "tool_search", Args: []byte(`{"query":"weather"}`)}
	for stream, want := range map[string]string{`,"stream":true`: "only a part of it", "": "the model could not be asked"} {
		w := start(t, mock.Script{Steps: []mock.Step{{Text: "Let me look.", Calls: []provider.Call{search}}, {Fault: mock.Fault{Cut: -1}}}}, nil)
		_, got := w.do(t, "POST", "/v1/chat/completions", chat(stream, hi))
		if !strings.Contains(got, want) || strings.Contains(got, "look.") != (stream != "") {
			t.Errorf("%q: %s", stream, got)
		}
	}
}

// That a model API does not take our key is no word about the caller's.
func TestModelTakesNoKey(t *testing.T) {
	w := start(t, mock.Script{Choose: func(*mock.Exchange) mock.Step { return mock.Status(401, "") }}, nil)
	resp, got := w.do(t, "POST", "/v1/chat/completions", chat("", hi))
	if resp.StatusCode != 502 || resp.Header.Get("WWW-Authenticate") != "" || strings.Contains(got, "the script answers") {
		t.Errorf("%d %s", resp.StatusCode, got)
	}
}

// A piece of text reaches the caller while the model is still silent behind it,
// signs of life come meanwhile, and a caller who leaves cancels the model.
func TestStreamAsItComes(t *testing.T) {
	w := start(t, mock.Script{Steps: []mock.Step{{Text: "early", Fault: mock.Fault{Hang: true}}}}, func(o *modelapi.Options) { o.KeepAlive = time.Millisecond })
	ctx, leave := context.WithCancel(t.Context())
	resp := w.send(t, ctx, "POST", "/v1/chat/completions", chat(`,"stream":true`, hi))
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	var early, alive bool
	for !(early && alive) && lines.Scan() {
		early = early || strings.Contains(lines.Text(), "early")
		alive = alive || early && strings.HasPrefix(lines.Text(), ":")
	}
	if !early || !alive {
		t.Fatalf("early %v, alive %v: %v", early, alive, lines.Err())
	}
	x, err := w.model.Request(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	leave()
	if outcome, err := x.Wait(t.Context()); err != nil || outcome != mock.Gone {
		t.Errorf("the model's request ended as %q, %v", outcome, err)
	}
}

// A shutdown refuses what is new, lets what goes on come to its end, and
// cancels what takes too long.
func TestDrain(t *testing.T) {
	for _, c := range []struct {
		name   string
		drain  time.Duration
		status int
	}{{"in time", time.Minute, 200}, {"too late", time.Nanosecond, 503}} {
		t.Run(c.name, func(t *testing.T) {
			finish := make(chan struct{})
			w := start(t, mock.Script{Choose: func(*mock.Exchange) mock.Step {
				<-finish
				return mock.Text("done")
			}}, func(o *modelapi.Options) { o.Drain = c.drain })
			type answer struct {
				status int
				body   string
			}
			going := make(chan answer, 1)
			go func() {
				resp, body := w.do(t, "POST", "/v1/chat/completions", chat("", hi))
				going <- answer{resp.StatusCode, body}
			}()
			if _, err := w.model.Request(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
			w.stop()
			if c.status == 200 {
				for {
					resp, body := w.do(t, "GET", "/v1/models", "")
					if resp.StatusCode == 200 {
						continue // the signal has not come to the server yet
					}
					if resp.StatusCode != 503 || !strings.Contains(body, "shutting down") {
						t.Errorf("while it drains: %d %s", resp.StatusCode, body)
					}
					break
				}
				if resp, _ := w.do(t, "GET", "/readyz", ""); resp.StatusCode != 503 {
					t.Errorf("it is still ready: %d", resp.StatusCode)
				}
				if resp, _ := w.do(t, "GET", "/healthz", ""); resp.StatusCode != 200 {
					t.Errorf("it is not healthy: %d", resp.StatusCode)
				}
				close(finish)
			}
			if got := <-going; got.status != c.status {
				t.Errorf("the request that went on: %+v", got)
			}
			if c.status != 200 {
				close(finish)
			}
		})
	}
}

// One request more than the bound is refused, in the words of the API.
func TestTooManyRequests(t *testing.T) {
	finish := make(chan struct{})
	w := start(t, mock.Script{Choose: func(*mock.Exchange) mock.Step {
		<-finish
		return mock.Text("done")
	}}, func(o *modelapi.Options) { o.MaxRequests = 2 })
	statuses := make(chan int, 2)
	for i := range 2 {
		go func() {
			resp, _ := w.do(t, "POST", "/v1/chat/completions", chat("", hi))
			statuses <- resp.StatusCode
		}()
		if _, err := w.model.Request(t.Context(), i+1); err != nil {
			t.Fatal(err)
		}
	}
	resp, got := w.do(t, "POST", "/v1/chat/completions", chat("", hi))
	if resp.StatusCode != http.StatusTooManyRequests || resp.Header.Get("Retry-After") != "1" || !strings.Contains(got, `"error"`) {
		t.Errorf("%d %s", resp.StatusCode, got)
	}
	close(finish)
	if got := []int{<-statuses, <-statuses}; !slices.Equal(got, []int{200, 200}) {
		t.Errorf("the others: %v", got)
	}
}
