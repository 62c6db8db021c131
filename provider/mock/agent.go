package mock

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/tool"
)

// The controls, as a model knows them from their definitions. They are literals
// and not the product's constants on purpose: a control that is renamed is one
// that this model no longer finds.
const (
	toolSearch     = "tool_search"
	toolCall       = "tool_call"
	toolSearchCode = "tool_search_code"
	// The model APIs' own, as ordinary tools.
	searchBM25  = "tool_search_tool_bm25"
	searchRegex = "tool_search_tool_regex"
)

// Agent is a script that acts as a model does. The last message of the user
// that has a task says which tool is to be called and how:
//
//	Please look at it: target=fake_tool_17 args={"city":"Oslo"} query="read the weather"
//
// args are {} and the queries made of the target's name and of the message
// where they are not given. If the target is among the tools of the request,
// the agent calls it. Else it writes a body for tool_search_code that searches
// and calls, or it asks tool_search for two things at once and passes the id
// that was found to tool_call. A search of a model API's own makes the target
// visible. Then it answers with what the tool said. To a message without a task
// it answers with the message. A target is a name or an id.
//
// It keeps nothing: all that it does follows from the messages of the request.
func Agent() Script {
	return Script{Choose: func(x *Exchange) Step { return act(x.Request) }}
}

// Task is what a message asks the Agent to do.
type Task struct {
	Target  string
	Args    json.RawMessage // an object
	Queries [2]string
}

const maxQuery = 120 // bytes; both fit a batch

// readTask reads a message. ok is false when it names no target.
func readTask(message string) (t Task, ok bool) {
	before, after, found := strings.Cut(message, "target=")
	if !found {
		return Task{}, false
	}
	words := strings.Fields(after)
	if len(words) == 0 {
		return Task{}, false
	}
	t = Task{Target: strings.TrimRight(words[0], ".,;:!?"), Args: json.RawMessage("{}")}
	if _, text, found := strings.Cut(after, "args="); found {
		var args json.RawMessage
		if json.NewDecoder(strings.NewReader(text)).Decode(&args) == nil && args[0] == '{' {
			t.Args = args
		}
	}
	t.Queries = [2]string{strings.NewReplacer("_", " ", ":", " ").Replace(t.Target), strings.TrimSpace(before)}
	for i := range t.Queries {
		var text string
		if _, text, found = strings.Cut(after, "query="); found {
			after = text
			if quoted, err := strconv.QuotedPrefix(text); err == nil {
				t.Queries[i], _ = strconv.Unquote(quoted) // a quoted prefix unquotes
			}
		}
		if t.Queries[i] == "" {
			t.Queries[i] = t.Target
		}
		t.Queries[i] = strings.ToValidUTF8(t.Queries[i][:min(maxQuery, len(t.Queries[i]))], "")
	}
	return t, true
}

// situation is what the agent sees of a conversation.
type situation struct {
	task    Task
	hasTask bool
	said    string // the user's last text
	// The last call since the task, and its answer.
	called   string
	answered bool
	answer   string
}

func look(r *provider.Request) situation {
	var s situation
	names := map[string]string{} // of calls, by id
	for _, m := range r.Messages {
		for _, b := range m.Blocks {
			switch {
			case b.Kind == provider.ToolCall:
				names[b.Call.ID] = b.Call.Name
			case b.Kind == provider.ToolAnswer:
				s.called, s.answered, s.answer = names[b.Answer.CallID], true, answerText(b.Answer)
			case b.Kind == provider.Text && m.Role == provider.User:
				s.said = b.Text
				if t, ok := readTask(b.Text); ok {
					s = situation{task: t, hasTask: true, said: b.Text}
				}
			}
		}
	}
	return s
}

// answerText is the text blocks of an answer, a line for each.
func answerText(a provider.Answer) string {
	var out []string
	for _, b := range a.Content {
		if b.Kind == provider.Text {
			out = append(out, b.Text)
		}
	}
	return strings.Join(out, "\n")
}

const maxSaid = 4000 // bytes of a message or result that the agent repeats

func act(r *provider.Request) Step {
	s := look(r)
	switch {
	case !s.hasTask:
		return Text("You said: " + tool.Clean(s.said, maxSaid))
	case !s.answered:
		return begin(r, s.task)
	case s.called == searchBM25 || s.called == searchRegex || s.called == toolSearch && !batches(r):
		if name, ok := visible(r, s.task); ok {
			return Call(name, string(s.task.Args))
		}
		return Text(fmt.Sprintf("I found no tool named %s: %s", s.task.Target, tool.Clean(s.answer, maxSaid)))
	case s.called == toolSearch:
		id := findID(s.answer, s.task.Target)
		if id == "" {
			return Text(fmt.Sprintf("I found no tool named %s: %s", s.task.Target, tool.Clean(s.answer, maxSaid)))
		}
		return callWith(toolCall, struct {
			ID   string          `json:"id"`
			Args json.RawMessage `json:"args"`
		}{id, s.task.Args})
	}
	return Text("The tool answered: " + tool.Clean(s.answer, maxSaid))
}

// begin is the first step of a task.
func begin(r *provider.Request, t Task) Step {
	if name, ok := visible(r, t); ok {
		return Call(name, string(t.Args))
	}
	offered := map[string]bool{}
	for _, o := range r.Tools {
		offered[o.Name] = true
	}
	type one struct {
		Query string `json:"query"`
	}
	switch {
	case offered[searchBM25]:
		return callWith(searchBM25, one{t.Queries[0]})
	case offered[searchRegex]:
		return callWith(searchRegex, one{regexp.QuoteMeta(t.name())})
	case offered[toolSearch] && !batches(r):
		return callWith(toolSearch, one{t.Queries[0]})
	case offered[toolSearchCode]:
		return callWith(toolSearchCode, struct {
			Code string `json:"code"`
		}{t.body()})
	case offered[toolSearch]:
		type query struct {
			Query string `json:"query"`
			Limit int    `json:"limit"`
		}
		return callWith(toolSearch, struct {
			Queries []query `json:"queries"`
		}{[]query{{t.Queries[0], 5}, {t.Queries[1], 5}}})
	}
	return Text("I have no tool named " + t.Target + ", and none to search for it.")
}

// visible finds the target among the tools of the request.
func visible(r *provider.Request, t Task) (name string, ok bool) {
	for _, o := range r.Tools {
		if o.Name == t.name() || strings.HasSuffix(o.Name, "__"+t.name()) {
			return o.Name, true
		}
	}
	return "", false
}

// name is the target's, also where the task gives an id.
func (t Task) name() string { return t.Target[strings.LastIndexByte(t.Target, ':')+1:] }

// batches reports whether tool_search is ours, which takes several queries.
func batches(r *provider.Request) bool {
	for _, o := range r.Tools {
		if o.Name == toolSearch {
			return bytes.Contains(o.Parameters, []byte(`"queries"`)) || !bytes.Contains(o.Parameters, []byte(`"query"`))
		}
	}
	return true
}

// body is a program for tool_search_code.
func (t Task) body() string {
	return fmt.Sprintf(`const groups = await Promise.all([
  openclaw.tools.search(%[1]s, {limit: 5}),
  openclaw.tools.search(%[2]s, {limit: 5}),
]);
const hit = groups.flat().find((h) => h.name === %[3]s || h.id === %[3]s);
if (!hit) return {error: "no such tool was found", groups};
const {tool, result} = await openclaw.tools.call(hit.id, %[4]s);
return {tool: tool.id, result: result.details ?? result.content};
`, quote(t.Queries[0]), quote(t.Queries[1]), quote(t.Target), t.Args)
}

func quote(s string) []byte {
	out, err := tool.Encode(s)
	if err != nil { // not of a string
		return []byte(`""`)
	}
	return out
}

func callWith(name string, args any) Step {
	raw, err := tool.Encode(args)
	if err != nil {
		return Text("I cannot write the arguments: " + err.Error())
	}
	return Call(name, string(raw))
}

// findID returns the id of the tool of that name in an answer of tool_search,
// to one query or to a batch.
func findID(answer, name string) string {
	type hit struct{ ID, Name string }
	var raw json.RawMessage // notes may stand behind it
	if json.NewDecoder(strings.NewReader(answer)).Decode(&raw) != nil {
		return ""
	}
	var hits []hit
	if bytes.HasPrefix(raw, []byte{'['}) {
		_ = json.Unmarshal(raw, &hits) // other shapes hold no hit
	} else {
		var batch struct{ Results []struct{ Candidates []hit } }
		_ = json.Unmarshal(raw, &batch)
		for _, g := range batch.Results {
			hits = append(hits, g.Candidates...)
		}
	}
	for _, h := range hits {
		if h.Name == name || h.ID == name {
			return h.ID
		}
	}
	return ""
}
