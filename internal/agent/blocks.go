package agent

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/provider/openai"
	"github.com/toolsearch/toolsearch/tool"
)

// searchBlock is what is read of a block of a tool search.
type searchBlock struct {
	Type    string `json:"type"`
	Name    string `json:"name"`
	Content struct {
		References []struct {
			Name string `json:"tool_name"`
		} `json:"tool_references"`
	} `json:"content"`
	Tools []json.RawMessage `json:"tools"`
}

// readSearchBlock reads a block of an API's own tool search; false for others.
func readSearchBlock(b provider.Block) (searchBlock, bool) {
	var head struct {
		Type string `json:"type"`
		Name string `json:"name"`
	}
	if b.Kind != provider.Opaque || json.Unmarshal(b.Raw, &head) != nil {
		return searchBlock{}, false
	}
	switch head.Type {
	case "server_tool_use":
		return searchBlock{Type: head.Type}, kindOf(head.Name) != noSearch
	case "tool_search_tool_result", "tool_search_call", "tool_search_output":
	default:
		return searchBlock{}, false
	}
	var s searchBlock
	if json.Unmarshal(b.Raw, &s) != nil {
		s = searchBlock{Type: head.Type} // a block of another shape refers to nothing
	}
	return s, true
}

// references lists the tools that the messages refer to, each once, in order:
// those that an earlier search found, and those that an answer names.
func references(messages []provider.Message) []string {
	var out []string
	seen := map[string]struct{}{} // a request has room for hundreds of thousands
	add := func(name string) {
		if _, known := seen[name]; !known {
			seen[name] = struct{}{}
			out = append(out, name)
		}
	}
	for _, m := range messages {
		for _, b := range m.Blocks {
			for _, name := range b.Answer.References {
				add(name)
			}
			s, _ := readSearchBlock(b)
			for _, r := range s.Content.References {
				add(r.Name)
			}
			for _, t := range toolNames("", s.Tools) {
				add(t)
			}
		}
	}
	return out
}

// itemReference returns the id of an item of Responses that the messages refer
// to without having it, "" when there is none.
func itemReference(messages []provider.Message) string {
	for _, m := range messages {
		for _, b := range m.Blocks {
			var item struct {
				Type string `json:"type"`
				ID   string `json:"id"`
			}
			if b.Kind == provider.Opaque && b.API == provider.Responses && json.Unmarshal(b.Raw, &item) == nil && item.Type == "item_reference" {
				return item.ID
			}
		}
	}
	return ""
}

// toolNames are the full names of functions, also of those in namespaces.
func toolNames(namespace string, defs []json.RawMessage) []string {
	var out []string
	for _, raw := range defs {
		var t struct {
			Type  string            `json:"type"`
			Name  string            `json:"name"`
			Tools []json.RawMessage `json:"tools"`
		}
		if json.Unmarshal(raw, &t) != nil {
			continue
		}
		switch t.Type {
		case "function":
			out = append(out, provider.FullName(namespace, t.Name))
		case "namespace":
			if namespace == "" { // a namespace cannot stand in a namespace
				out = append(out, toolNames(t.Name, t.Tools)...)
			}
		}
	}
	return out
}

// withoutSearchBlocks leaves out the blocks of a search that the model's API
// does not know.
func withoutSearchBlocks(messages []provider.Message) []provider.Message {
	isSearch := func(b provider.Block) bool { _, ok := readSearchBlock(b); return ok }
	var out []provider.Message
	for _, m := range messages {
		if slices.ContainsFunc(m.Blocks, isSearch) {
			m.Blocks = slices.DeleteFunc(slices.Clone(m.Blocks), isSearch)
			m.Native = provider.Native{} // the message as it came holds them
			if len(m.Blocks) == 0 {
				continue
			}
		}
		out = append(out, m)
	}
	return out
}

// addTools adds the tools that items of Responses bring in the middle of a
// conversation to those of the request.
func addTools(req *Request) error {
	if req.API != provider.Responses {
		return nil
	}
	var known map[string]struct{} // by name, once there is something to compare with
	for _, m := range req.Messages {
		for _, b := range m.Blocks {
			var item struct {
				Type  string          `json:"type"`
				Tools json.RawMessage `json:"tools"`
			}
			if b.Kind != provider.Opaque || json.Unmarshal(b.Raw, &item) != nil || item.Type != "additional_tools" {
				continue
			}
			body, err := tool.Encode(map[string]any{"model": "m", "input": "", "tools": item.Tools})
			if err != nil {
				return fmt.Errorf("read additional_tools: %w", err)
			}
			brought, err := openai.Responses().DecodeRequest(body)
			if err != nil {
				return refuse(http.StatusBadRequest, "input", "additional_tools: "+err.Error())
			}
			if known == nil {
				known = make(map[string]struct{}, len(req.Tools)+len(brought.Tools))
				for _, t := range req.Tools {
					known[t.FullName()] = struct{}{}
				}
			}
			for _, t := range brought.Tools {
				if _, twice := known[t.FullName()]; !twice || t.Name == "" {
					known[t.FullName()] = struct{}{}
					req.Tools = append(req.Tools, t)
				}
			}
			if len(req.Tools) > maxTools {
				return tooManyTools(len(req.Tools))
			}
		}
	}
	return nil
}
