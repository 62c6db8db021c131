package hook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/toolsearch/toolsearch/call"
	"github.com/toolsearch/toolsearch/tool"
)

// Event says when a hook runs.
type Event string

// The events.
const (
	Before Event = "before_tool_call"
	After  Event = "after_tool_call"
)

// Bounds of the documents, in bytes.
const (
	MaxInput  = 16 << 20 // an Input as JSON; a call that needs more is blocked
	MaxAnswer = 4 << 20  // a decision as JSON
	MaxReason = 500      // a reason; the rest is cut off
	MaxNote   = 4000     // a note; a longer one is an error, since half a note may mislead
	MaxBlocks = 256      // content blocks of a replaced result
)

// Input is what a hook is asked about. A Go function must not change what it
// points to.
type Input struct {
	Version int             `json:"version"` // of this format: 1
	Event   Event           `json:"event"`
	Tool    Tool            `json:"tool"`
	Args    json.RawMessage `json:"args"` // the target's arguments, an object
	Origin  Origin          `json:"origin"`
	Result  *Result         `json:"result,omitempty"` // after_tool_call alone
}

// Tool is the target of the call.
type Tool struct {
	ID     tool.ID     `json:"id"`
	Name   string      `json:"name"`
	Source tool.Source `json:"source"` // "openclaw", "mcp" or "client"
	Owner  string      `json:"owner"`  // "core", a plugin's id, an MCP server's name, or "client"
}

// Origin says who asked.
type Origin struct {
	Session string `json:"session,omitempty"`
	Run     string `json:"run,omitempty"`
	Agent   string `json:"agent,omitempty"`
	Caller  string `json:"caller,omitempty"` // the authenticated identity, "" for the local user
	CallID  string `json:"callId,omitempty"`
	Control string `json:"control,omitempty"` // the control that asked, such as "tool_call"; "" for a direct call
	Parent  string `json:"parent,omitempty"`  // the callId of the control's own call
}

// Result is what the target answered, and what may replace it.
type Result struct {
	Content []tool.Content  `json:"content"`           // MCP's content blocks
	Details json.RawMessage `json:"details,omitempty"` // MCP's structuredContent
	IsError bool            `json:"isError,omitempty"`
}

// Verdict is the kind of a Decision.
type Verdict string

// The verdicts. The zero value is none of them and blocks.
const (
	Continue Verdict = "continue"
	Block    Verdict = "block"
	Replace  Verdict = "replace"
	Ask      Verdict = "ask"      // before_tool_call alone
	Annotate Verdict = "annotate" // after_tool_call alone
)

// Decision is a hook's answer.
type Decision struct {
	Verdict Verdict
	Reason  string          // of Block and Ask
	Args    json.RawMessage // of Replace before a call: an object
	Result  *Result         // of Replace after a call
	Note    string          // of Annotate
}

func newInput(event Event, r *call.Request, res *tool.Result) *Input {
	in := &Input{
		Version: 1,
		Event:   event,
		Tool:    Tool{r.Target.ID, r.Target.Name, r.Target.Source, r.Target.Owner},
		Args:    r.Args,
		Origin: Origin{
			Session: r.Origin.Session, Run: r.Origin.Run, Agent: r.Origin.Agent, Caller: r.Origin.Caller,
			CallID: r.Origin.CallID, Control: r.Origin.Control, Parent: r.Origin.Parent,
		},
	}
	if len(in.Args) == 0 {
		in.Args = json.RawMessage("{}")
	}
	if res != nil {
		in.Result = &Result{Content: res.Content, Details: res.Details, IsError: res.IsError}
		if in.Result.Content == nil {
			in.Result.Content = []tool.Content{}
		}
	}
	return in
}

// encode writes the document that commands and endpoints read.
func (in *Input) encode() ([]byte, error) {
	raw, err := tool.Encode(in)
	if err != nil {
		return nil, fmt.Errorf("write the call for the hook: %w", err)
	}
	if len(raw) > MaxInput {
		return nil, fmt.Errorf("write the call for the hook: %d bytes are more than %d", len(raw), MaxInput)
	}
	return raw, nil
}

// check refuses what is no answer to this event, whoever gave it.
func (d *Decision) check(event Event) error {
	var args, result, note bool // what the verdict takes
	switch {
	case d.Verdict == Continue || d.Verdict == Block:
	case d.Verdict == Ask && event == Before:
	case d.Verdict == Replace && event == Before:
		args = true
	case d.Verdict == Replace && event == After:
		result = true
	case d.Verdict == Annotate && event == After:
		note = true
	default:
		expected := "continue, block, ask or replace"
		if event == After {
			expected = "continue, block, replace or annotate"
		}
		return fmt.Errorf("the decision %q is no answer to %s; expected %s", tool.Clean(string(d.Verdict), 40), event, expected)
	}
	switch {
	case args != (d.Args != nil):
		return fmt.Errorf("the decision %q does not go with these args", d.Verdict)
	case result != (d.Result != nil):
		return fmt.Errorf("the decision %q does not go with this result", d.Verdict)
	case note != (d.Note != ""):
		return fmt.Errorf("the decision %q does not go with this note", d.Verdict)
	case len(d.Note) > MaxNote:
		return fmt.Errorf("a note of %d bytes is longer than %d", len(d.Note), MaxNote)
	case args:
		return checkArgs(d.Args)
	case result:
		return d.Result.check()
	}
	return nil
}

func checkArgs(raw json.RawMessage) error {
	if len(raw) > MaxAnswer {
		return fmt.Errorf("args of %d bytes are longer than %d", len(raw), MaxAnswer)
	}
	if !json.Valid(raw) {
		return errors.New("args are not valid JSON")
	}
	return uniqueObject("args", raw)
}

// uniqueObject refuses what is no object, and one that says a thing twice.
func uniqueObject(what string, raw json.RawMessage) error {
	o, err := tool.ReadObject(raw)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if name, twice := o.Repeated(); twice {
		return fmt.Errorf("%s: %q stands twice", what, tool.Clean(name, 100))
	}
	return nil
}

// check holds a replaced result to MCP's content format, as far as a model's
// client relies on it.
func (r *Result) check() error {
	if len(r.Content) > MaxBlocks {
		return fmt.Errorf("a result of %d blocks is longer than %d", len(r.Content), MaxBlocks)
	}
	size := len(r.Details)
	if r.Details != nil && !json.Valid(r.Details) {
		return errors.New("the result's details are not valid JSON")
	}
	for i, c := range r.Content {
		if size += len(c.Raw); size > MaxAnswer {
			return fmt.Errorf("a result of more than %d bytes is too long", MaxAnswer)
		}
		if err := checkBlock(c); err != nil {
			return fmt.Errorf("content block %d of the result: %w", i, err)
		}
	}
	return nil
}

// needs lists the string members that a block of a type must have.
func needs(typ string) ([]string, bool) {
	switch typ {
	case tool.TypeText:
		return []string{"text"}, true
	case tool.TypeImage, tool.TypeAudio:
		return []string{"data", "mimeType"}, true
	case tool.TypeResourceLink:
		return []string{"uri", "name"}, true
	case tool.TypeResource:
		return nil, true
	}
	return nil, false
}

func checkBlock(c tool.Content) error {
	if !json.Valid(c.Raw) {
		return errors.New("not valid JSON")
	}
	o, err := tool.ReadObject(c.Raw)
	if err != nil {
		return err
	}
	var typ string
	if json.Unmarshal(o.Get("type"), &typ) != nil || typ != c.Type {
		return errors.New("type must be a string")
	}
	names, known := needs(typ)
	if !known {
		return fmt.Errorf("the type %q is unknown", tool.Clean(typ, 40))
	}
	if name, twice := o.Repeated(); twice {
		return fmt.Errorf("%q stands twice", tool.Clean(name, 100))
	}
	for _, name := range names {
		if v := o.Get(name); len(v) == 0 || v[0] != '"' {
			return fmt.Errorf("%s must be a string", name)
		}
	}
	if typ == tool.TypeResource {
		return uniqueObject("resource", o.Get("resource"))
	}
	return nil
}

// parseDecision reads the JSON object that commands and endpoints answer with.
func parseDecision(raw []byte) (Decision, error) {
	var d Decision
	if len(raw) > MaxAnswer {
		return d, fmt.Errorf("the answer is longer than %d bytes", MaxAnswer)
	}
	raw = bytes.TrimSpace(raw)
	switch {
	case len(raw) == 0:
		return d, errors.New("the answer is empty")
	case !json.Valid(raw):
		return d, errors.New("the answer is not one JSON document")
	}
	if err := uniqueObject("the answer", raw); err != nil {
		return d, err
	}
	members, err := tool.ReadObject(raw)
	if err != nil {
		return d, err
	}
	for _, m := range members {
		var err error
		switch m.Name {
		case "decision":
			err = readString(m.Value, (*string)(&d.Verdict))
		case "reason":
			err = readString(m.Value, &d.Reason)
		case "note":
			err = readString(m.Value, &d.Note)
		case "args":
			d.Args = m.Value
		case "result":
			d.Result, err = readResult(m.Value)
		default:
			return d, fmt.Errorf("the answer has the unknown member %q", tool.Clean(m.Name, 100))
		}
		if err != nil {
			return d, fmt.Errorf("%s of the answer: %w", m.Name, err)
		}
	}
	return d, nil
}

func readString(raw json.RawMessage, into *string) error {
	if raw[0] != '"' {
		return errors.New("expected a string")
	}
	return json.Unmarshal(raw, into)
}

// readResult reads a result by the exact names of its members.
func readResult(raw json.RawMessage) (*Result, error) {
	if err := uniqueObject("result", raw); err != nil {
		return nil, err
	}
	members, err := tool.ReadObject(raw)
	if err != nil {
		return nil, err
	}
	r := &Result{}
	for _, m := range members {
		var err error
		switch m.Name {
		case "content":
			err = json.Unmarshal(m.Value, &r.Content)
		case "details":
			r.Details = m.Value
		case "isError":
			err = json.Unmarshal(m.Value, &r.IsError)
		default:
			err = errors.New("unknown member")
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", tool.Clean(m.Name, 100), err)
		}
	}
	if r.Content == nil {
		return nil, errors.New("content is missing")
	}
	return r, nil
}
