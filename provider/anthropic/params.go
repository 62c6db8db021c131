package anthropic

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/tool"
)

// decodeParams reads the settings that other APIs know as well. max_tokens may be
// 0: the vendor fills its prompt cache with such a request.
func decodeParams(o tool.Object) (provider.Params, error) {
	var p provider.Params
	raw := o.Get("max_tokens")
	if tool.Absent(raw) {
		return p, wrong("max_tokens", "Field required")
	}
	var ok bool
	if p.MaxTokens, ok = readInt(raw); !ok {
		return p, wrong("max_tokens", "Input should be a whole number, 0 or more")
	}
	var err error
	if p.Temperature, err = readShare(o, "temperature"); err != nil {
		return p, err
	}
	if p.TopP, err = readShare(o, "top_p"); err != nil {
		return p, err
	}
	if raw := o.Get("stop_sequences"); !tool.Absent(raw) {
		items, ok := tool.SplitArray(raw)
		if !ok {
			return p, wrong("stop_sequences", "Input should be an array")
		}
		for i, item := range items {
			s, ok := tool.ReadString(item)
			if !ok {
				return p, wrong(at("stop_sequences", i), "Input should be a string")
			}
			p.Stop = append(p.Stop, s)
		}
	}
	if raw := o.Get("tool_choice"); !tool.Absent(raw) {
		return p, decodeChoice(&p, raw)
	}
	return p, nil
}

// readShare reads a number from 0 to 1.
func readShare(o tool.Object, name string) (*float64, error) {
	raw := o.Get(name)
	if tool.Absent(raw) {
		return nil, nil
	}
	var v float64
	if json.Unmarshal(raw, &v) != nil || v < 0 || v > 1 {
		return nil, wrong(name, "Input should be a number from 0 to 1")
	}
	return &v, nil
}

func decodeChoice(p *provider.Params, raw json.RawMessage) error {
	o, err := readStrict("tool_choice", raw)
	if err != nil {
		return err
	}
	switch kindOf(o) {
	case "auto":
		p.Choice = provider.ChooseAuto
	case "any":
		p.Choice = provider.ChooseAny
	case "none":
		p.Choice = provider.ChooseNone
	case "tool":
		name, err := needName("tool_choice", o, "name")
		if err != nil {
			return err
		}
		p.Choice = provider.ChooseTool(name)
	default:
		return wrong("tool_choice.type", "Input should be 'auto', 'any', 'tool' or 'none'")
	}
	if raw := o.Get("disable_parallel_tool_use"); !tool.Absent(raw) {
		disabled, ok := readBool(raw)
		if !ok {
			return wrong("tool_choice.disable_parallel_tool_use", "Input should be true or false")
		}
		parallel := !disabled
		p.Parallel = &parallel
	}
	return nil
}

// writeParams writes the settings in this API's words: the token limit that it
// requires, a temperature of at most 1, and stop sequences that are more than
// white space.
func writeParams(f *fields, r *provider.Request) error {
	p := r.Params
	if p.MaxTokens > 0 {
		f.set("max_tokens", p.MaxTokens)
	} else {
		f.set("max_tokens", defaultMaxTokens)
	}
	if p.Temperature != nil {
		f.set("temperature", min(*p.Temperature, 1))
	}
	if p.TopP != nil {
		f.set("top_p", *p.TopP)
	}
	var stop []string
	for _, s := range p.Stop {
		if strings.TrimSpace(s) != "" {
			stop = append(stop, s)
		}
	}
	if len(stop) > 0 {
		f.set("stop_sequences", stop)
	}
	return addChoice(f, r)
}

// addChoice adds tool_choice where there is something to say.
func addChoice(f *fields, r *provider.Request) error {
	if !slices.ContainsFunc(r.Tools, sayable) { // a choice without tools is refused
		return nil
	}
	choice, err := writeChoice(r.Params)
	if choice != nil {
		f.raw("tool_choice", choice)
	}
	return err
}

// writeChoice writes tool_choice, or nil where nothing is to be said.
func writeChoice(p provider.Params) (json.RawMessage, error) {
	single := p.Parallel != nil && !*p.Parallel
	var f *fields
	name, one := strings.CutPrefix(string(p.Choice), "=")
	switch {
	case one:
		f = object("tool")
		f.set("name", name)
	case p.Choice == provider.ChooseAny:
		f = object("any")
	case p.Choice == provider.ChooseNone:
		return object("none").json() // it has no word on parallel calls
	case single:
		f = object("auto")
	default:
		return nil, nil
	}
	if single {
		f.set("disable_parallel_tool_use", true)
	}
	return f.json()
}
