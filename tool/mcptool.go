package tool

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// The members of a tool's definition that the protocol knows, and of its
// annotations. Names come from MCP's schema.
var (
	toolMembers       = [...]string{"name", "title", "description", "inputSchema", "outputSchema", "annotations", "icons", "execution", "_meta"}
	annotationMembers = [...]string{"title", "readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"}
)

// ParseMCPTool reads a tool of a tools/list answer, and returns raw itself unless
// readers could differ about it: then it returns what all of them read alike.
// Clients commonly refuse a whole list for one tool with a member of a wrong
// type, or with JSON that only some take, and of members that stand twice, or once
// more in other letters, one takes this and one that. What clients refuse goes, and
// else the last member counts that is spelled as the protocol has it. The schemas
// are not read, see ObjectSchema. raw must be valid JSON.
func ParseMCPTool(raw json.RawMessage) (json.RawMessage, error) {
	members, err := SplitObject(raw)
	if err != nil {
		return nil, fmt.Errorf("read a tool's definition: %w", err)
	}
	members, changed := unambiguous(members, toolMembers[:])
	n := len(members)
	members = slices.DeleteFunc(members, func(m Member) bool { return !toolMemberFits(m) })
	changed = changed || len(members) < n
	if raw := members.Get("annotations"); raw != nil {
		if fixed, ok := fittingAnnotations(raw); ok {
			members, changed = members.Set("annotations", fixed), true
		}
	}
	if !changed {
		return raw, nil
	}
	return members.MarshalJSON()
}

func toolMemberFits(m Member) bool {
	switch m.Name {
	case "name": // never shown as it is
		_, ok := ReadString(m.Value)
		return ok
	case "inputSchema", "outputSchema":
		return true
	}
	if strings.ContainsRune(m.Name, utf8.RuneError) || !strict(m.Value) {
		return false
	}
	switch m.Name {
	case "title", "description":
		_, ok := ReadString(m.Value)
		return ok
	case "annotations", "_meta":
		return isObject(m.Value)
	case "icons":
		icons, ok := SplitArray(m.Value)
		return ok && !slices.ContainsFunc(icons, func(raw json.RawMessage) bool { return !iconFits(raw) })
	case "execution":
		o, err := SplitObject(m.Value)
		support := o.Get("taskSupport")
		return err == nil && distinct(o) && (support == nil || oneOf(support, "forbidden", "optional", "required"))
	}
	return true
}

func iconFits(raw json.RawMessage) bool {
	o, err := SplitObject(raw)
	if err != nil || !distinct(o) {
		return false
	}
	if _, ok := ReadString(o.Get("src")); !ok {
		return false
	}
	for _, m := range o {
		fits := true
		switch m.Name {
		case "mimeType":
			_, fits = ReadString(m.Value)
		case "theme":
			fits = oneOf(m.Value, "light", "dark")
		case "sizes":
			fits = areStrings(m.Value)
		}
		if !fits {
			return false
		}
	}
	return true
}

// fittingAnnotations leaves out what is no claim. It is false when nothing is.
func fittingAnnotations(raw json.RawMessage) (json.RawMessage, bool) {
	o, err := SplitObject(raw)
	if err != nil {
		return nil, false
	}
	o, changed := unambiguous(o, annotationMembers[:])
	n := len(o)
	o = slices.DeleteFunc(o, func(m Member) bool {
		switch {
		case m.Name == "title":
			_, ok := ReadString(m.Value)
			return !ok
		case slices.Contains(annotationMembers[:], m.Name):
			return string(m.Value) != "true" && string(m.Value) != "false"
		}
		return false
	})
	if !changed && len(o) == n {
		return nil, false
	}
	fixed, err := o.MarshalJSON()
	return fixed, err == nil
}

// ObjectSchema returns the schema of a tool's arguments as clients and model APIs
// take it: raw itself, unless its first levels are not what MCP asks of them,
// type "object", properties that are objects, and required names. One that strict
// readers refuse is one of any object. raw must be valid JSON.
func ObjectSchema(raw json.RawMessage) json.RawMessage {
	o, err := SplitObject(raw)
	if err != nil || !strict(raw) {
		return json.RawMessage(`{"type":"object"}`)
	}
	o, changed := unambiguous(o, nil)
	if !oneOf(o.Get("type"), "object") {
		o, changed = o.Set("type", json.RawMessage(`"object"`)), true
	}
	if raw := o.Get("properties"); raw != nil {
		fixed, ok := fittingProperties(raw)
		if ok {
			o, changed = o.Set("properties", fixed), true
		}
	}
	if raw := o.Get("required"); raw != nil && !areStrings(raw) {
		o, changed = slices.DeleteFunc(o, func(m Member) bool { return m.Name == "required" }), true
	}
	if !changed {
		return raw
	}
	fixed, err := o.MarshalJSON()
	if err != nil {
		return json.RawMessage(`{"type":"object"}`)
	}
	return fixed
}

// ModelSchema is ObjectSchema for model APIs. For one tool they refuse a request
// with all its tools where the first level of a schema has another composition
// than properties, as OpenAI and Anthropic say in their errors, or a property whose
// name is not one of 1 to 64 letters, digits, '_', '.' and '-', as Anthropic does.
// Such members are left out: a call is validated by the whole schema.
func ModelSchema(raw json.RawMessage) json.RawMessage {
	fit := ObjectSchema(raw)
	o, err := SplitObject(fit)
	if err != nil { // it is an object by now
		return fit
	}
	n := len(o)
	o = slices.DeleteFunc(o, func(m Member) bool {
		return slices.Contains([]string{"oneOf", "anyOf", "allOf", "enum", "not"}, m.Name)
	})
	changed := len(o) < n
	if properties, err := SplitObject(o.Get("properties")); err == nil {
		n := len(properties)
		properties = slices.DeleteFunc(properties, func(m Member) bool { return !modelName(m.Name) })
		if len(properties) < n {
			raw, err := properties.MarshalJSON()
			if err != nil { // as it was read
				return fit
			}
			o, changed = withRequired(o.Set("properties", raw)), true
		}
	}
	if !changed {
		return fit
	}
	raw, err = o.MarshalJSON()
	if err != nil {
		return fit
	}
	return raw
}

// withRequired leaves no name in required that no model API takes for a property.
func withRequired(o Object) Object {
	items, _ := SplitArray(o.Get("required")) // an array of strings, or none
	n := len(items)
	items = slices.DeleteFunc(items, func(raw json.RawMessage) bool {
		name, _ := ReadString(raw)
		return !modelName(name)
	})
	if len(items) < n {
		o = o.Set("required", JoinArray(items))
	}
	return o
}

func modelName(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '.' && c != '-' {
			return false
		}
	}
	return s != "" && len(s) <= 64
}

// fittingProperties writes as objects what is none. It is false when all are.
func fittingProperties(raw json.RawMessage) (json.RawMessage, bool) {
	o, err := SplitObject(raw)
	if err != nil {
		return json.RawMessage(`{}`), true
	}
	o, changed := unambiguous(o, nil)
	for i, m := range o {
		switch {
		case isObject(m.Value):
			continue
		case string(m.Value) == "false": // a schema too: nothing is allowed
			o[i].Value = json.RawMessage(`{"not":{}}`)
		default:
			o[i].Value = json.RawMessage(`{}`)
		}
		changed = true
	}
	if !changed {
		return nil, false
	}
	fixed, err := o.MarshalJSON()
	return fixed, err == nil
}

func distinct(o Object) bool {
	_, twice := o.Repeated()
	return !twice
}

func isObject(raw json.RawMessage) bool { return len(raw) > 0 && raw[0] == '{' }

func oneOf(raw json.RawMessage, values ...string) bool {
	s, ok := ReadString(raw)
	return ok && slices.Contains(values, s)
}

func areStrings(raw json.RawMessage) bool {
	items, ok := SplitArray(raw)
	return ok && !slices.ContainsFunc(items, func(raw json.RawMessage) bool {
		_, ok := ReadString(raw)
		return !ok
	})
}
