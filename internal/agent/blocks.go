package agent

import (
	"encoding/json"
	"net/http"

	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/provider/anthropic"
	"github.com/toolsearch/toolsearch/provider/openai"
	"github.com/toolsearch/toolsearch/tool"
)

// said is what the messages of a request say in the words of one API alone, as
// far as it is heeded here. They are read once.
type said struct {
	// references are tools that the messages refer to, each once, in order: those
	// that an earlier search found, and those that an answer names.
	references []string
	missing    string            // the id of the first item that is referred to without being there
	tools      []json.RawMessage // lists of tools that were brought in between
	search     map[place]bool    // the blocks of searches
}

// place is where a block stands among the messages.
type place struct{ message, block int }

// readSaid reads the messages.
func readSaid(messages []provider.Message) *said {
	s := &said{search: map[place]bool{}}
	seen := map[string]bool{} // a request has room for hundreds of thousands
	add := func(names ...string) {
		for _, name := range names {
			if !seen[name] {
				seen[name] = true
				s.references = append(s.references, name)
			}
		}
	}
	for i, m := range messages {
		for j, b := range m.Blocks {
			add(b.Answer.References...)
			if b.Kind == provider.Opaque && s.block(b, add) {
				s.search[place{i, j}] = true
			}
		}
	}
	return s
}

// block reads an opaque block, and reports whether it is one of a search. A block
// of another shape than its type has says nothing.
func (s *said) block(b provider.Block, refer func(...string)) (search bool) {
	switch b.Type {
	case "server_tool_use":
		o, err := tool.SplitObject(b.Raw)
		return err == nil && kindOf(text(o, "name")) != noSearch
	case "tool_search_call":
		return true
	case "tool_search_tool_result":
		refer(anthropic.Searched(b.Raw)...)
		return true
	case "tool_search_output":
		o, _ := tool.SplitObject(b.Raw)
		refer(toolNames("", o.Get("tools"))...)
		return true
	case "additional_tools":
		o, _ := tool.SplitObject(b.Raw)
		s.tools = append(s.tools, o.Get("tools"))
	case "item_reference":
		if o, err := tool.SplitObject(b.Raw); err == nil && s.missing == "" {
			s.missing = text(o, "id")
		}
	}
	return false
}

// text reads a member that is a string, and "" for anything else.
func text(o tool.Object, name string) string {
	v, _ := tool.ReadString(o.Get(name))
	return v
}

// toolNames are the full names of functions, also of those in namespaces.
func toolNames(namespace string, defs json.RawMessage) []string {
	var out []string
	items, _ := tool.SplitArray(defs)
	for _, raw := range items {
		t, err := tool.SplitObject(raw)
		if err != nil {
			continue
		}
		switch name := text(t, "name"); text(t, "type") {
		case "function":
			out = append(out, provider.FullName(namespace, name))
		case "namespace":
			if namespace == "" { // a namespace cannot stand in a namespace
				out = append(out, toolNames(name, t.Get("tools"))...)
			}
		}
	}
	return out
}

// withoutSearch leaves out the blocks of a search, which the model's API does not
// know. The messages are those that were read.
func (s *said) withoutSearch(messages []provider.Message) []provider.Message {
	if len(s.search) == 0 {
		return messages
	}
	var out []provider.Message
	for i, m := range messages {
		kept := make([]provider.Block, 0, len(m.Blocks))
		for j, b := range m.Blocks {
			if !s.search[place{i, j}] {
				kept = append(kept, b)
			}
		}
		if len(kept) < len(m.Blocks) {
			m.Blocks, m.Native = kept, provider.Native{} // the message as it came holds them
			if len(kept) == 0 {
				continue
			}
		}
		out = append(out, m)
	}
	return out
}

// addTools adds the tools that items of Responses bring in the middle of a
// conversation to those of the request.
func (s *said) addTools(req *Request) error {
	if req.API != provider.Responses {
		return nil
	}
	var known map[string]struct{} // by name, once there is something to compare with
	for _, list := range s.tools {
		brought, err := openai.ResponsesTools(list)
		if err != nil {
			return refuse(http.StatusBadRequest, "input", "additional_tools: "+err.Error())
		}
		if known == nil {
			known = make(map[string]struct{}, len(req.Tools)+len(brought))
			for _, t := range req.Tools {
				known[t.FullName()] = struct{}{}
			}
		}
		for _, t := range brought {
			if _, twice := known[t.FullName()]; !twice || t.Name == "" {
				known[t.FullName()] = struct{}{}
				req.Tools = append(req.Tools, t)
			}
		}
		if len(req.Tools) > maxTools {
			return tooManyTools(len(req.Tools))
		}
	}
	return nil
}
