package openai

import (
	"encoding/json"
	"slices"

	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/tool"
)

// readBody splits a request's body at its first level.
func readBody(body []byte) (tool.Object, *provider.Error) {
	if !json.Valid(body) {
		return nil, refuse("", "the body is not valid JSON: send one JSON object")
	}
	o, err := tool.SplitObject(body)
	if err != nil {
		return nil, refuse("", "the body must be a JSON object")
	}
	if name, twice := o.Repeated(); twice {
		return nil, refuse(name, "the field stands twice in the body: send it once")
	}
	return o, nil
}

// fields reads typed members of a request, and keeps the first error. Null is
// the same as missing.
type fields struct {
	o   tool.Object
	err *provider.Error
}

func (f *fields) read(name string, into any, want string) bool {
	raw := f.o.Get(name)
	if tool.Absent(raw) {
		return false
	}
	if err := json.Unmarshal(raw, into); err != nil {
		if f.err == nil {
			f.err = refuse(name, "the field "+name+" must be "+want)
		}
		return false
	}
	return true
}

func (f *fields) text(name string) string {
	raw := f.o.Get(name)
	s, ok := tool.ReadString(raw)
	if !ok && !tool.Absent(raw) && f.err == nil {
		f.err = refuse(name, "the field "+name+" must be a string")
	}
	return s
}

func (f *fields) number(name string) *float64 {
	var n float64
	if f.read(name, &n, "a number") {
		return &n
	}
	return nil
}

// tokens reads a number of tokens; 0 is none said.
func (f *fields) tokens(name string) int {
	var n int
	if f.read(name, &n, "a whole number") && n < 1 && f.err == nil {
		f.err = refuse(name, "the field "+name+" must be at least 1")
	}
	return n
}

func (f *fields) boolean(name string) *bool {
	var b bool
	if f.read(name, &b, "true or false") {
		return &b
	}
	return nil
}

// stop reads a string or a list of strings.
func (f *fields) stop(name string) []string {
	if s, ok := tool.ReadString(f.o.Get(name)); ok {
		return []string{s}
	}
	var out []string
	f.read(name, &out, "a string or a list of strings")
	return out
}

// choice reads tool_choice: a word, or an object that names one tool (flat in
// Responses, under "function" in Chat) or a choice of allowed ones.
func (f *fields) choice(name string) provider.ToolChoice {
	raw := f.o.Get(name)
	if tool.Absent(raw) {
		return provider.ChooseAuto
	}
	if word, ok := tool.ReadString(raw); ok {
		return f.choiceWord(name, word)
	}
	o, err := tool.SplitObject(raw)
	if err != nil {
		if f.err == nil {
			f.err = refuse(name, "the field "+name+" must be a string or an object")
		}
		return provider.ChooseAuto
	}
	switch textOf(o, "type") {
	case "function":
		flat := o
		if inner, err := tool.SplitObject(o.Get("function")); err == nil {
			flat = inner
		}
		if n := textOf(flat, "name"); n != "" {
			return provider.ChooseTool(n)
		}
		if f.err == nil {
			f.err = refuse(name, "the field "+name+" must name a function")
		}
	case "allowed_tools":
		if inner, err := tool.SplitObject(o.Get("allowed_tools")); err == nil {
			o = inner
		}
		if textOf(o, "mode") == "required" {
			return provider.ChooseAny
		}
	}
	return provider.ChooseAuto // an API's own tool
}

// allowed reads the functions of a tool_choice that is allowed_tools; what else it
// allows, such as an API's own tools, only that API knows.
func (f *fields) allowed(name string) []string {
	o, err := tool.SplitObject(f.o.Get(name))
	if err != nil || textOf(o, "type") != "allowed_tools" {
		return nil
	}
	if inner, err := tool.SplitObject(o.Get("allowed_tools")); err == nil {
		o = inner
	}
	items, _ := tool.SplitArray(o.Get("tools"))
	var out []string
	for _, item := range items {
		t, err := tool.SplitObject(item)
		if err != nil || textOf(t, "type") != "function" {
			continue
		}
		if inner, err := tool.SplitObject(t.Get("function")); err == nil {
			t = inner
		}
		if n := textOf(t, "name"); n != "" {
			out = append(out, n)
		}
	}
	return out
}

func (f *fields) choiceWord(name, word string) provider.ToolChoice {
	switch word {
	case "auto":
		return provider.ChooseAuto
	case "none":
		return provider.ChooseNone
	case "required":
		return provider.ChooseAny
	}
	if f.err == nil {
		f.err = refuse(name, "the field "+name+` must be "auto", "none", "required" or an object`)
	}
	return provider.ChooseAuto
}

// params reads the settings that all formats share; limits are the names of
// the token limit, the one that counts first.
func (f *fields) params(limits ...string) provider.Params {
	p := provider.Params{
		Temperature: f.number("temperature"),
		TopP:        f.number("top_p"),
		Stop:        f.stop("stop"),
		Choice:      f.choice("tool_choice"),
		Allowed:     f.allowed("tool_choice"),
		Parallel:    f.boolean("parallel_tool_calls"),
	}
	for _, name := range limits {
		if n := f.tokens(name); p.MaxTokens == 0 {
			p.MaxTokens = n
		}
	}
	return p
}

// chooser writes a tool_choice in the words of one format.
type chooser struct {
	one  func(name string) json.RawMessage                    // a tool, also as one of several
	some func(mode string, tools json.RawMessage) tool.Object // allowed_tools, but for its type
}

// writeParams is params the other way; limit names the token limit.
func writeParams(p provider.Params, limit string, c chooser) tool.Object {
	var out tool.Object
	add := func(name string, v any) {
		if raw, err := tool.Encode(v); err == nil {
			out = append(out, tool.Member{Name: name, Value: raw})
		}
	}
	if p.MaxTokens > 0 {
		add(limit, p.MaxTokens)
	}
	if p.Temperature != nil {
		add("temperature", *p.Temperature)
	}
	if p.TopP != nil {
		add("top_p", *p.TopP)
	}
	p.Allowed = nil // few servers of a format know it; a client that says it in that format knows its own
	out = addChoice(out, p, c)
	if p.Parallel != nil {
		add("parallel_tool_calls", *p.Parallel)
	}
	return out
}

// addChoice adds tool_choice where there is something to say, and nothing says
// it yet.
func addChoice(o tool.Object, p provider.Params, c chooser) tool.Object {
	word := map[provider.ToolChoice]string{provider.ChooseAuto: "auto", provider.ChooseNone: "none", provider.ChooseAny: "required"}[p.Choice]
	var said json.RawMessage
	switch {
	case o.Index("tool_choice") >= 0:
		return o
	case word == "":
		said = c.one(string(p.Choice[1:]))
	case len(p.Allowed) > 0 && p.Choice != provider.ChooseNone:
		tools := make([]json.RawMessage, len(p.Allowed))
		for i, name := range p.Allowed {
			tools[i] = c.one(name)
		}
		kind := tool.Member{Name: "type", Value: quote("allowed_tools")}
		said = marshal(append(tool.Object{kind}, c.some(word, tool.JoinArray(tools))...))
	case p.Choice == provider.ChooseAuto:
		return o
	default:
		said = quote(word)
	}
	return append(slices.Clip(o), tool.Member{Name: "tool_choice", Value: said})
}
