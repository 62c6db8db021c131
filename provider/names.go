package provider

import (
	"fmt"
	"net/http"
)

// FullName is what a tool of a namespace of Responses is called where there are
// no namespaces, and what tells it from another namespace's tool of that name.
// Without a namespace it is the name.
func FullName(namespace, name string) string {
	if namespace == "" || name == "" {
		return name
	}
	return namespace + "__" + name
}

// FullName is the tool's name with its namespace; see FullName.
func (t Tool) FullName() string { return FullName(t.Namespace, t.Name) }

// FullName is the name of the tool that is called, with its namespace; see
// FullName.
func (c Call) FullName() string { return FullName(c.Namespace, c.Name) }

// Demanded is the tool of the request that its choice names, if it names one of
// them. Responses has no word for the namespace in a choice: there a bare name
// will do where one tool bears it, and an *Error tells of several.
func (r *Request) Demanded() (t Tool, ok bool, err error) {
	for _, o := range r.Tools {
		if o.Name != "" && r.Params.Choice == ChooseTool(o.FullName()) {
			return o, true, nil
		}
	}
	for _, o := range r.Tools {
		if o.Name == "" || r.Params.Choice != ChooseTool(o.Name) {
			continue
		}
		if ok {
			return Tool{}, false, &Error{Status: http.StatusBadRequest, Type: "invalid_request_error", Param: "tool_choice",
				Message: fmt.Sprintf("tool_choice names a tool that more than one namespace has; write %q or %q", t.FullName(), o.FullName())}
		}
		t, ok = o, true
	}
	return t, ok, nil
}

// AllowedTools are Params.Allowed with full names, each once: a bare one is that of
// every tool that bears it, whatever its namespace.
func (r *Request) AllowedTools() []string {
	if len(r.Params.Allowed) == 0 {
		return nil
	}
	full, bare := map[string]bool{}, map[string][]string{}
	for _, t := range r.Tools {
		if t.Name != "" {
			full[t.FullName()] = true
			bare[t.Name] = append(bare[t.Name], t.FullName())
		}
	}
	var out []string
	seen := map[string]bool{}
	for _, name := range r.Params.Allowed {
		if seen[name] {
			continue
		}
		seen[name] = true
		if names := bare[name]; !full[name] && len(names) > 0 {
			out = append(out, names...)
		} else {
			out = append(out, name)
		}
	}
	return out
}
