package cli_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolsearch/toolsearch/internal/mcptest"
	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/provider/mock"
)

// clientTurn is what a published client does once: it says something, or
// answers the calls of the turn before.
type clientTurn struct {
	URL          string         `json:"url"`
	Key          string         `json:"key"`
	API          string         `json:"api"`
	Model        string         `json:"model"`
	Stream       bool           `json:"stream"`
	Conversation string         `json:"conversation"` // kept by the client, by name
	Say          string         `json:"say,omitempty"`
	Answers      []clientAnswer `json:"answers,omitempty"`
	Tools        []clientTool   `json:"tools,omitempty"`
	Hosted       []any          `json:"hosted,omitempty"` // tools of the API's own, such as its tool search
	Extra        map[string]any `json:"extra,omitempty"`  // further parameters
	Previous     bool           `json:"previous,omitempty"`
	Leave        bool           `json:"leave,omitempty"` // abort at the first text
	Runs         string         `json:"runs,omitempty"`  // the SDK runs the tools itself, and they answer this
}

type clientTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	Defer       bool            `json:"defer,omitempty"`
}

type clientAnswer struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Text string `json:"text"`
}

type clientCall struct {
	ID   string          `json:"id"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
}

// clientHeard is what the client makes of the answer.
type clientHeard struct {
	ID, Model, Text, Stop string
	Calls                 []clientCall
	Usage                 struct{ Input, Output int }
	Deltas                []string // texts of the stream, as they came
	Events                []string // kinds of events, neighbours once
	Blocks                []json.RawMessage
	Steps                 int
	Ran                   []json.RawMessage
	Error                 *struct {
		Kind, Name, Message, RetryAfter string
		Status                          int
	}
}

// modelClient is a published client library of model APIs, in a process that
// takes turns. It is for one goroutine.
type modelClient struct {
	t   *testing.T
	in  io.WriteCloser
	out *bufio.Reader
	err *bytes.Buffer
}

// startClient runs a script of testdata/clients.
func startClient(t *testing.T, script string) *modelClient {
	t.Helper()
	node, dir := mcptest.NPMScripts(t, "testdata/clients")
	c := &modelClient{t: t, err: &bytes.Buffer{}}
	cmd := exec.Command(node, script+".mjs")
	cmd.Dir, cmd.Stderr = dir, c.err
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c.in, c.out = in, bufio.NewReader(out)
	t.Cleanup(func() {
		_ = in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s.mjs ended with %v; stderr:\n%s", script, err, c.err)
		}
	})
	return c
}

// turn does one turn, whether it fails or not.
func (c *modelClient) turn(t *testing.T, turn clientTurn) clientHeard {
	t.Helper()
	raw, err := json.Marshal(turn)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.in.Write(append(raw, '\n')); err != nil {
		t.Fatalf("%v; stderr:\n%s", err, c.err)
	}
	line, err := c.out.ReadBytes('\n')
	if err != nil {
		t.Fatalf("%v; stderr:\n%s", err, c.err)
	}
	var h clientHeard
	if err := json.Unmarshal(line, &h); err != nil {
		t.Fatalf("%v in %s", err, line)
	}
	return h
}

// ask does one turn that must succeed.
func (c *modelClient) ask(t *testing.T, turn clientTurn) clientHeard {
	t.Helper()
	h := c.turn(t, turn)
	if h.Error != nil {
		t.Fatalf("the client fails with %+v", *h.Error)
	}
	return h
}

// line is a model whose next answers are told to it.
type line struct {
	mu    sync.Mutex
	steps []mock.Step
}

func (l *line) script() mock.Script {
	return mock.Script{Choose: func(*mock.Exchange) mock.Step {
		l.mu.Lock()
		defer l.mu.Unlock()
		if len(l.steps) == 0 {
			return mock.Status(400, "")
		}
		step := l.steps[0]
		l.steps = l.steps[1:]
		return step
	}}
}

// will replaces what is left of the answers.
func (l *line) will(steps ...mock.Step) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.steps = steps
}

// left is how many answers nobody asked for.
func (l *line) left() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.steps)
}

// spoken is one API as one client library speaks it, whole or streamed.
type spoken struct {
	script, api string
	stream      bool
}

func (s spoken) String() string {
	if s.stream {
		return s.script + " " + s.api + " streamed"
	}
	return s.script + " " + s.api
}

// stops are the words of the client for an answer and for calls.
func (s spoken) stops() (end, calls string) {
	switch {
	case s.script == "ai":
		return "stop", "tool-calls"
	case s.script == "anthropic":
		return "end_turn", "tool_use"
	case s.api == "responses":
		return "completed", "completed"
	}
	return "stop", "tool_calls"
}

var modelClients = map[string][]string{
	"openai": {"chat", "responses"}, "anthropic": {"messages", "beta"}, "ai": {"chat", "responses", "messages", "compatible"},
}

// stage is a served program with a model behind it, and a client before it.
type stage struct {
	*modelClient
	served *served
	model  *mock.Server
	line   *line
	spoken spoken
	before int // requests to the model before this test
	talks  int
}

// everyClient runs a test with every client, over every API that it speaks,
// whole and streamed.
func everyClient(t *testing.T, test func(t *testing.T, s *stage)) {
	l := &line{}
	srv, model := startServe(t, l.script())
	for _, script := range []string{"openai", "anthropic", "ai"} {
		client := startClient(t, script)
		for _, api := range modelClients[script] {
			for _, stream := range []bool{false, true} {
				s := &stage{modelClient: client, served: srv, model: model, line: l, spoken: spoken{script, api, stream}}
				t.Run(strings.ReplaceAll(s.spoken.String(), " ", "/"), func(t *testing.T) {
					s.before = model.Total()
					test(t, s)
					if n := l.left(); n > 0 {
						t.Errorf("the model was not asked for its last %d answers", n)
					}
				})
			}
		}
	}
}

// upstreams are the models of the program, one for each API.
var upstreams = []string{"chat/m", "responses/m", "messages/m"}

// begin is the first turn of a conversation.
func (s *stage) begin(t *testing.T, model, say string, tools ...clientTool) clientTurn {
	s.talks++
	return clientTurn{
		URL: s.served.url, Key: ciKey, API: s.spoken.api, Stream: s.spoken.stream, Model: model,
		Conversation: t.Name() + model + string(rune('a'+s.talks)), Say: say, Tools: tools,
	}
}

// reply is the turn that answers all calls of the last one with a text.
func reply(turn clientTurn, heard clientHeard, text string) clientTurn {
	turn.Say, turn.Answers = "", nil
	for _, c := range heard.Calls {
		turn.Answers = append(turn.Answers, clientAnswer{ID: c.ID, Name: c.Name, Text: text})
	}
	return turn
}

// sent is the requests that the model has got in this test.
func (s *stage) sent() []*mock.Exchange {
	all := s.model.Requests()
	n := s.model.Total() - s.before
	return all[len(all)-n:]
}

// calledIn lists what a conversation holds of calls and answers.
func calledIn(r *provider.Request) (names []string, answers []string) {
	for _, m := range r.Messages {
		for _, b := range m.Blocks {
			switch b.Kind {
			case provider.ToolCall:
				names = append(names, b.Call.Name)
			case provider.ToolAnswer:
				var text string
				for _, c := range b.Answer.Content {
					text += c.Text
				}
				answers = append(answers, text)
			}
		}
	}
	return names, answers
}

func (s *stage) checkAnswer(t *testing.T, h clientHeard, text string) {
	t.Helper()
	end, _ := s.spoken.stops()
	if h.Text != text || len(h.Calls) != 0 || h.Stop != end {
		t.Errorf("the client hears %q and calls %v, and stop %q; want %q and %q", h.Text, h.Calls, h.Stop, text, end)
	}
	if h.Usage.Input <= 0 || h.Usage.Output <= 0 {
		t.Errorf("the usage is %+v", h.Usage)
	}
	if s.spoken.stream && (strings.Join(h.Deltas, "") != text || len(h.Deltas) < 2) {
		t.Errorf("the stream has the pieces %q", h.Deltas)
	}
}

// An answer without tools.
func TestModelClientsText(t *testing.T) {
	everyClient(t, func(t *testing.T, s *stage) {
		for _, model := range upstreams {
			s.line.will(mock.Text("Hello there, friend."), mock.Text("And hello again."))
			turn := s.begin(t, model, "Hello.")
			h := s.ask(t, turn)
			s.checkAnswer(t, h, "Hello there, friend.")
			if h.Model != model || h.ID == "" {
				t.Errorf("the answer is %q of %q", h.ID, h.Model)
			}
			turn.Say = "Hello again."
			s.checkAnswer(t, s.ask(t, turn), "And hello again.")
			sent := s.sent()
			last := sent[len(sent)-1].Request.Messages
			if len(last) != 3 || last[1].Role != provider.Assistant || last[1].Blocks[0].Text != "Hello there, friend." {
				t.Errorf("the conversation is %+v", last)
			}
		}
	})
}

const search = `{"query":"weather forecast for a place"}`

// The model finds and calls a tool of the server: the client sees texts alone.
func TestModelClientsServerTools(t *testing.T) {
	everyClient(t, func(t *testing.T, s *stage) {
		for _, model := range upstreams {
			before := s.model.Total()
			looking := mock.Call("tool_search", search)
			looking.Text = "Let me look. "
			s.line.will(looking, mock.Call("tool_call", `{"id":"mcp:weather:echo","args":{"city":"Oslo"}}`), mock.Text("It is fine in Oslo."))
			h := s.ask(t, s.begin(t, model, "How is the weather?"))
			s.checkAnswer(t, h, "Let me look. It is fine in Oslo.")
			sent := s.sent()[before-s.before:]
			if len(sent) != 3 {
				t.Fatalf("the model got %d requests", len(sent))
			}
			names, answers := calledIn(sent[2].Request)
			if strings.Join(names, " ") != "tool_search tool_call" || !strings.Contains(answers[0], "mcp:weather:echo") || !strings.Contains(answers[1], "Oslo") {
				t.Errorf("the model called %q, answered %q", names, answers)
			}
		}
	})
}

func orderTool(deferred bool) clientTool {
	return clientTool{
		Name: "look_up_order", Description: "Looks up an order of the customer by its number", Defer: deferred,
		Parameters: json.RawMessage(`{"type":"object","properties":{"number":{"type":"string"}},"required":["number"]}`),
	}
}

const (
	orderSearch = `{"query":"look up an order by its number"}`
	orderCall   = `{"id":"client:client:look_up_order","args":{"number":"A-17"}}`
)

func (s *stage) checkOrderCall(t *testing.T, h clientHeard) {
	t.Helper()
	_, calls := s.spoken.stops()
	if len(h.Calls) != 1 || h.Calls[0].Name != "look_up_order" || string(h.Calls[0].Args) != `{"number":"A-17"}` || h.Calls[0].ID == "" || h.Stop != calls {
		t.Fatalf("the client hears %+v, and stop %q", h.Calls, h.Stop)
	}
}

// A tool of the client, found by search and called through a control, ends the
// response as an ordinary call; the answer resumes the same run.
func TestModelClientsOwnTools(t *testing.T) {
	everyClient(t, func(t *testing.T, s *stage) {
		for i, model := range upstreams {
			before := s.model.Total()
			calling := mock.Call("tool_call", orderCall)
			calling.Text = "One moment."
			s.line.will(mock.Call("tool_search", orderSearch), calling, mock.Text("It has been sent."))
			turn := s.begin(t, model, "Where is order A-17?", orderTool(i%2 == 0))
			h := s.ask(t, turn)
			s.checkOrderCall(t, h)
			if h.Text != "One moment." {
				t.Errorf("beside the call the client hears %q", h.Text)
			}
			turn = reply(turn, h, "sent on Monday")
			s.checkAnswer(t, s.ask(t, turn), "It has been sent.")
			sent := s.sent()[before-s.before:]
			if len(sent) != 3 {
				t.Fatalf("the model got %d requests", len(sent))
			}
			for _, x := range sent {
				if slices.ContainsFunc(x.Request.Tools, func(o provider.Tool) bool { return o.Name == "look_up_order" }) {
					t.Error("the model is shown the tool that it should search for")
				}
			}
			// Only the held run knows of the controls: the client never saw them.
			names, answers := calledIn(sent[2].Request)
			if strings.Join(names, " ") != "tool_search tool_call" || !strings.Contains(answers[0], "client:client:look_up_order") || !strings.Contains(answers[1], "sent on Monday") {
				t.Errorf("the model called %q, answered %q", names, answers)
			}
			// The client's own messages do for a turn that is new.
			s.line.will(mock.Text("You are welcome."))
			turn.Answers, turn.Say = nil, "Thanks."
			s.checkAnswer(t, s.ask(t, turn), "You are welcome.")
		}
	})
}

// gone waits, but not for ever.
func gone(t *testing.T, x *mock.Exchange) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if outcome, err := x.Wait(ctx); err != nil || outcome != mock.Gone {
		t.Errorf("the model's answer is %q, %v; want that the client is gone", outcome, err)
	}
}
