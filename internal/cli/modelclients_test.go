package cli_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

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
	Previous     bool           `json:"previous,omitempty"`
	AbortAtText  bool           `json:"abortAtText,omitempty"` // abort at the first text of a stream
	Runs         string         `json:"runs,omitempty"`        // the SDK runs the tools itself, and they answer this
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

func (c *modelClient) tell(t *testing.T, what any) {
	t.Helper()
	raw, err := json.Marshal(what)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.in.Write(append(raw, '\n')); err != nil {
		t.Fatalf("%v; stderr:\n%s", err, c.err)
	}
}

// hear waits for the end of a turn.
func (c *modelClient) hear(t *testing.T) clientHeard {
	t.Helper()
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

// turn does one turn, whether it fails or not.
func (c *modelClient) turn(t *testing.T, turn clientTurn) clientHeard {
	t.Helper()
	c.tell(t, turn)
	return c.hear(t)
}

// abort aborts the turn that is going on, as the user of a client does.
func (c *modelClient) abort(t *testing.T) {
	t.Helper()
	c.tell(t, map[string]bool{"abort": true})
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
		return s.script + "/" + s.api + "/streamed"
	}
	return s.script + "/" + s.api + "/whole"
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
	before int // requests to the model before this conversation
}

// theatre has a stage for every client.
type theatre struct {
	served  *served
	model   *mock.Server
	line    *line
	clients map[string]*modelClient
}

func openTheatre(t *testing.T) *theatre {
	w := &theatre{line: &line{}, clients: map[string]*modelClient{}}
	for script := range modelClients {
		w.clients[script] = startClient(t, script)
	}
	w.served, w.model = startServe(t, w.line.script())
	return w
}

// everyClient runs a test with every client, over every API that it speaks,
// whole and streamed; only those that fit, where fits is not nil.
func (w *theatre) everyClient(t *testing.T, fits func(spoken) bool, test func(t *testing.T, s *stage)) {
	for _, script := range slices.Sorted(maps.Keys(modelClients)) {
		for _, api := range modelClients[script] {
			for _, stream := range []bool{false, true} {
				s := &stage{modelClient: w.clients[script], served: w.served, model: w.model, line: w.line, spoken: spoken{script, api, stream}}
				if fits != nil && !fits(s.spoken) {
					continue
				}
				t.Run(s.spoken.String(), func(t *testing.T) {
					test(t, s)
					if n := w.line.left(); n > 0 {
						t.Errorf("the model was not asked for its last %d answers", n)
					}
				})
			}
		}
	}
}

// What users of the published clients do, with each of them.
func TestModelClients(t *testing.T) {
	w := openTheatre(t)
	for _, c := range []struct {
		name string
		fits func(spoken) bool
		test func(t *testing.T, s *stage)
	}{
		{"text", nil, clientHearsText},
		{"server tools", nil, clientHearsTextAlone},
		{"own tools", nil, clientAnswersCalls},
		{"two calls", nil, clientAnswersTwo},
		{"own tools by itself", spoken.runsTools, clientRunsTools},
		{"native search", spoken.searches, clientSearches},
		{"previous response", spoken.refersBack, clientRefersBack},
		{"refusals", nil, clientIsRefused},
		{"cut answers", nil, clientHearsHalf},
		{"abort", nil, clientAborts},
	} {
		t.Run(c.name, func(t *testing.T) { w.everyClient(t, c.fits, c.test) })
	}
	for _, script := range []string{"openai", "anthropic"} {
		t.Run("models/"+script, func(t *testing.T) {
			h := w.clients[script].ask(t, clientTurn{URL: w.served.url, Key: ciKey, API: "models", Model: "chat/m"})
			if h.Text != strings.Join(w.served.models, " ") || h.Model != "chat/m" {
				t.Errorf("the client finds %q, and %q", h.Text, h.Model)
			}
		})
	}
}

// upstreams are the models of the program, one for each API.
var upstreams = []string{"chat/m", "responses/m", "messages/m"}

// begin is the first turn of a conversation.
func (s *stage) begin(t *testing.T, model, say string, tools ...clientTool) clientTurn {
	s.before = s.model.Total()
	return clientTurn{
		URL: s.served.url, Key: ciKey, API: s.spoken.api, Stream: s.spoken.stream, Model: model,
		Conversation: fmt.Sprint(t.Name(), s.before, model), Say: say, Tools: tools,
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

// sent is the requests that the model has got in this conversation.
func (s *stage) sent() []*mock.Exchange {
	all := s.model.Requests()
	n := s.model.Total() - s.before
	return all[len(all)-n:]
}

// last is the latest request that the model has got.
func (s *stage) last() *mock.Exchange {
	all := s.model.Requests()
	return all[len(all)-1]
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

// eventsOf are the events of a streamed text, in the order in which the API's
// reference has them; nil for clients that show others.
func (s spoken) eventsOf() []string {
	switch {
	case s.script == "anthropic":
		return []string{"message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta", "message_stop"}
	case s.script == "openai" && s.api == "responses":
		return []string{
			"response.created", "response.in_progress", "response.output_item.added", "response.content_part.added", "response.output_text.delta",
			"response.output_text.done", "response.content_part.done", "response.output_item.done", "response.completed",
		}
	}
	return nil
}

// An answer without tools.
func clientHearsText(t *testing.T, s *stage) {
	for _, model := range upstreams {
		s.line.will(mock.Text("Hello there, friend."), mock.Text("And hello again."))
		turn := s.begin(t, model, "Hello.")
		h := s.ask(t, turn)
		s.checkAnswer(t, h, "Hello there, friend.")
		if h.Model != model || h.ID == "" {
			t.Errorf("the answer is %q of %q", h.ID, h.Model)
		}
		if want := s.spoken.eventsOf(); s.spoken.stream && want != nil && !slices.Equal(h.Events, want) {
			t.Errorf("the events are %q", h.Events)
		}
		turn.Say = "Hello again."
		s.checkAnswer(t, s.ask(t, turn), "And hello again.")
		last := s.last().Request.Messages
		if len(last) != 3 || last[1].Role != provider.Assistant || last[1].Blocks[0].Text != "Hello there, friend." {
			t.Errorf("the conversation is %+v", last)
		}
	}
}

const search = `{"query":"weather forecast for a place"}`

// The model finds and calls a tool of the server: the client sees texts alone.
func clientHearsTextAlone(t *testing.T, s *stage) {
	for _, model := range upstreams {
		looking := mock.Call("tool_search", search)
		looking.Text = "Let me look. "
		s.line.will(looking, mock.Call("tool_call", `{"id":"mcp:weather:echo","args":{"city":"Oslo"}}`), mock.Text("It is fine in Oslo."))
		h := s.ask(t, s.begin(t, model, "How is the weather?"))
		s.checkAnswer(t, h, "Let me look. It is fine in Oslo.")
		if types, _ := blockTypes(h); slices.ContainsFunc(types, func(kind string) bool { return kind != "text" && kind != "message" }) {
			t.Errorf("the client is shown %q", types)
		}
		sent := s.sent()
		if len(sent) != 3 {
			t.Fatalf("the model got %d requests", len(sent))
		}
		names, answers := calledIn(sent[2].Request)
		if strings.Join(names, " ") != "tool_search tool_call" || !strings.Contains(answers[0], "mcp:weather:echo") || !strings.Contains(answers[1], "Oslo") {
			t.Errorf("the model called %q, answered %q", names, answers)
		}
	}
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
func clientAnswersCalls(t *testing.T, s *stage) {
	for i, model := range upstreams {
		calling := mock.Call("tool_call", orderCall)
		calling.Text = "One moment."
		s.line.will(mock.Call("tool_search", orderSearch), calling, mock.Text("It has been sent."))
		turn := s.begin(t, model, "Where is order A-17?", orderTool(i%2 == 0))
		h := s.ask(t, turn)
		s.checkOrderCall(t, h)
		if h.Text != "One moment." {
			t.Errorf("beside the call the client hears %q", h.Text)
		}
		again := turn
		again.Conversation += " again"
		s.tell(t, map[string]any{"copy": map[string]string{"from": turn.Conversation, "to": again.Conversation}})
		turn = reply(turn, h, "sent on Monday")
		s.checkAnswer(t, s.ask(t, turn), "It has been sent.")
		sent := s.sent()
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

		// The same answer once more: the run is gone, and the messages go on.
		s.line.will(mock.Text("As I said."))
		s.checkAnswer(t, s.ask(t, reply(again, h, "sent on Monday")), "As I said.")
		names, answers = calledIn(s.last().Request)
		if strings.Join(names, " ") != "look_up_order" || answers[0] != "sent on Monday" {
			t.Errorf("without the run the model called %q, answered %q", names, answers)
		}
	}
}

// Two calls of one round are two calls of the client's, beside one that runs
// here; the answers find their calls.
func clientAnswersTwo(t *testing.T, s *stage) {
	for _, model := range upstreams {
		s.line.will(mock.Step{Calls: []provider.Call{
			{Name: "tool_call", Args: json.RawMessage(orderCall)},
			{Name: "tool_call", Args: json.RawMessage(`{"id":"mcp:weather:echo","args":{"city":"Oslo"}}`)},
			{Name: "tool_call", Args: json.RawMessage(strings.ReplaceAll(orderCall, "A-17", "B-2"))},
		}}, mock.Text("Both have been sent."))
		turn := s.begin(t, model, "Where are orders A-17 and B-2?", orderTool(false))
		h := s.ask(t, turn)
		if len(h.Calls) != 2 || h.Calls[0].ID == h.Calls[1].ID {
			t.Fatalf("the client hears %+v", h.Calls)
		}
		turn = reply(turn, h, "")
		for i, c := range h.Calls {
			turn.Answers[i].Text = "sent as " + string(c.Args)
		}
		slices.Reverse(turn.Answers)
		s.checkAnswer(t, s.ask(t, turn), "Both have been sent.")
		_, answers := calledIn(s.last().Request)
		for i, want := range []string{"A-17", "Oslo", "B-2"} {
			if len(answers) != 3 || !strings.Contains(answers[i], want) {
				t.Errorf("the model was answered %q", answers)
				break
			}
		}
	}
}
