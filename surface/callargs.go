package surface

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/toolsearch/toolsearch/tool"
)

// Models bend the shape of tool_call's arguments. Each bend that has one
// meaning is accepted; one with two is an error that says how to say it.
//
//	{id, args: {…}}                    the shape asked for
//	{id, args: "{…}"}                  args as JSON text
//	{id, input|arguments|parameters}   an alias of args
//	{id, "args.city": …}               dotted
//	{id, city: …}                      flattened, also beside args: {}
//
// The target is named by id, else by one of the other reference keys.

// containers are the keys that may hold the target's arguments, in order.
var containers = [...]string{"args", "input", "arguments", "parameters"}

// references are the keys that may name the target, in order.
var references = [...]string{"id", "toolId", "tool_id", "name", "tool_name", "tool"}

// readObject reads an object whose members stand once: which of two counts
// would be a guess.
func readObject(raw json.RawMessage) (tool.Object, error) {
	o, err := tool.ReadObject(raw)
	if err != nil {
		return nil, err
	}
	if name, twice := o.Repeated(); twice {
		return nil, fmt.Errorf("member %q stands twice", tool.Clean(name, 100))
	}
	return o, nil
}

// asObject returns v when it is an object, or JSON text of one; null is {}.
func asObject(v json.RawMessage) (json.RawMessage, bool) {
	v = bytes.TrimSpace(v)
	switch {
	case len(v) == 0:
		return nil, false
	case v[0] == '{':
		return v, true
	case string(v) == "null":
		return json.RawMessage("{}"), true
	case v[0] == '"':
		var inner string
		if json.Unmarshal(v, &inner) != nil {
			return nil, false
		}
		b := bytes.TrimSpace([]byte(inner))
		if len(b) == 0 {
			return json.RawMessage("{}"), true
		}
		if b[0] == '{' && json.Valid(b) {
			return b, true
		}
	}
	return nil, false
}

// callShape is what tool_call's arguments say, before the target is known.
type callShape struct {
	ref    string      // what names the target
	fields tool.Object // every other member, in order
}

func readCall(raw json.RawMessage) (callShape, error) {
	fields, err := readObject(raw)
	if err != nil {
		return callShape{}, inputError("tool_call: "+err.Error(), "Pass {\"id\": …, \"args\": {…}}.")
	}
	for _, key := range references {
		i := fields.Index(key)
		if i < 0 {
			continue
		}
		var ref string
		if json.Unmarshal(fields[i].Value, &ref) != nil || strings.TrimSpace(ref) == "" {
			return callShape{}, inputError(fmt.Sprintf("tool_call: %s must be a non-empty string", key),
				"Pass the id of a tool from tool_search, and its own arguments under args.")
		}
		return callShape{ref: ref, fields: slices.Delete(fields, i, i+1)}, nil
	}
	return callShape{}, inputError("tool_call: id is missing", "Pass the id of a tool from tool_search, and its arguments under args.")
}

// arguments decides what the target's arguments are. declared reports whether
// the target declares a property, and fits whether arguments meet its schema.
func (c callShape) arguments(t *tool.Tool, declared func(string) bool, fits func(json.RawMessage) bool) (json.RawMessage, error) {
	container, rest := c.split()
	rest = slices.DeleteFunc(rest, func(f tool.Member) bool { return namesTarget(f, t) && !(declared(f.Name) && container == nil) })
	flat, err := flatten(rest)
	if err != nil {
		return nil, err
	}
	switch {
	case container == nil:
		if i := slices.IndexFunc(rest, func(f tool.Member) bool { return f.Name == "args" && !declared("args") }); i >= 0 {
			return nil, inputError("tool_call: args must be an object, or JSON text of one", "Pass {\"id\": …, \"args\": {…}}.")
		}
		return flat, nil
	case len(rest) == 0 && (container.Name == "args" || !declared(container.Name)):
		obj, _ := asObject(container.Value)
		return obj, nil
	}
	obj, _ := asObject(container.Value)
	if container.Name == "args" {
		if isEmptyObject(obj) {
			return flat, nil
		}
		return nil, ambiguous(fmt.Sprintf("args is beside %q", rest[0].Name))
	}
	// The alias is also a property of the target: only the schema can tell
	// which was meant, and only when exactly one reading fits.
	whole, err := flatten(append(tool.Object{*container}, rest...))
	if err != nil {
		return nil, err
	}
	asAlias := len(rest) == 0 && fits(obj)
	asField := declared(container.Name) && fits(whole)
	switch {
	case asAlias != asField && asAlias:
		return obj, nil
	case asAlias != asField:
		return whole, nil
	case isEmptyObject(obj) && !declared(container.Name):
		return flat, nil
	}
	return nil, ambiguous(fmt.Sprintf("%q may hold the arguments or be one of them", container.Name))
}

// split takes the member that holds the arguments, if any, from the rest.
func (c callShape) split() (*tool.Member, tool.Object) {
	for _, key := range containers {
		i := c.fields.Index(key)
		if i < 0 {
			continue
		}
		if _, ok := asObject(c.fields[i].Value); !ok {
			continue // a plain value: one of the target's own fields
		}
		container := c.fields[i]
		return &container, slices.Delete(slices.Clone(c.fields), i, i+1)
	}
	return nil, slices.Clone(c.fields)
}

// namesTarget reports a member that only repeats the target's name or id, as
// models like to add.
func namesTarget(f tool.Member, t *tool.Tool) bool {
	if !slices.Contains(references[:], f.Name) {
		return false
	}
	var s string
	return json.Unmarshal(f.Value, &s) == nil && (s == t.Name || s == string(t.ID))
}

// flatten builds an object of the members; "args.a.b" becomes a: {b}.
func flatten(fields tool.Object) (json.RawMessage, error) {
	root := &node{}
	for _, f := range fields {
		path := []string{f.Name}
		for _, c := range containers {
			if rest, ok := strings.CutPrefix(f.Name, c+"."); ok && rest != "" {
				path = strings.Split(rest, ".")
				break
			}
		}
		if !root.set(path, f.Value) {
			return nil, ambiguous(fmt.Sprintf("%q is given twice", f.Name))
		}
	}
	return root.append(nil), nil
}

// node is an object under construction, members in order.
type node struct {
	names []string
	kids  []*node
	index map[string]int // of names, once there are more than a few
	value json.RawMessage
}

// fewNames is how many names are compared one by one.
const fewNames = 16

// kid returns the member of that name, and makes it if there is none. The names
// come from a model: many of them must not take the square of the time of few.
func (n *node) kid(name string) *node {
	i, known := n.index[name]
	if n.index == nil {
		i = slices.Index(n.names, name)
		known = i >= 0
	}
	if known {
		return n.kids[i]
	}
	made := &node{}
	n.names, n.kids = append(n.names, name), append(n.kids, made)
	switch {
	case n.index != nil:
		n.index[name] = len(n.kids) - 1
	case len(n.names) > fewNames:
		n.index = make(map[string]int, 2*fewNames)
		for i, name := range n.names {
			n.index[name] = i
		}
	}
	return made
}

// maxDots bounds how deep a dotted name may nest.
const maxDots = 16

func (n *node) set(path []string, v json.RawMessage) bool {
	if len(path) > maxDots {
		return false
	}
	for _, p := range path {
		if n.value != nil {
			return false
		}
		n = n.kid(p)
	}
	if n.value != nil || n.names != nil {
		return false
	}
	n.value = v
	return true
}

func (n *node) append(b []byte) []byte {
	if n.value != nil {
		return append(b, n.value...)
	}
	b = append(b, '{')
	for i, name := range n.names {
		if i > 0 {
			b = append(b, ',')
		}
		key, _ := tool.Encode(name) // a string always marshals
		b = append(append(b, key...), ':')
		b = n.kids[i].append(b)
	}
	return append(b, '}')
}

func isEmptyObject(raw json.RawMessage) bool {
	fields, err := readObject(raw)
	return err == nil && len(fields) == 0
}

func ambiguous(what string) error {
	return inputError("tool_call: "+what, "To leave no doubt, nest under args what is for the tool: {\"id\": …, \"args\": {…}}.")
}

func inputError(reason, next string) *tool.Error {
	return &tool.Error{Code: tool.CodeInvalidInput, Reason: reason, Next: next}
}
