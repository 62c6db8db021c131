package tool

import (
	"encoding/json"
	"errors"
	"slices"
)

// Member is one member of a JSON object.
type Member struct {
	Name  string
	Value json.RawMessage
}

// Object is a JSON object that keeps the order and the bytes of its members.
type Object []Member

// ReadObject splits a JSON object at its first level. A member that stands
// twice is kept twice; Repeated finds it.
func ReadObject(raw json.RawMessage) (Object, error) {
	if !json.Valid(raw) {
		return nil, errors.New("expected a JSON object, and this is no valid JSON")
	}
	return SplitObject(raw)
}

// Index returns the position of the first member of that name, or -1.
func (o Object) Index(name string) int {
	return slices.IndexFunc(o, func(m Member) bool { return m.Name == name })
}

// Get returns a member's value, or nil.
func (o Object) Get(name string) json.RawMessage {
	if i := o.Index(name); i >= 0 {
		return o[i].Value
	}
	return nil
}

// Set replaces the member, or appends it.
func (o Object) Set(name string, value json.RawMessage) Object {
	if i := o.Index(name); i >= 0 {
		o[i].Value = value
		return o
	}
	return append(o, Member{name, value})
}

// fewMembers is how many members are compared one with another; of more, the
// names are kept.
const fewMembers = 32

// Repeated returns the name of a member that stands twice.
func (o Object) Repeated() (string, bool) {
	if len(o) > fewMembers {
		seen := make(map[string]struct{}, len(o))
		for _, m := range o {
			if _, twice := seen[m.Name]; twice {
				return m.Name, true
			}
			seen[m.Name] = struct{}{}
		}
		return "", false
	}
	for i, m := range o {
		if o[:i].Index(m.Name) >= 0 {
			return m.Name, true
		}
	}
	return "", false
}

// MarshalJSON joins the members in order. Values are written as they are.
func (o Object) MarshalJSON() ([]byte, error) {
	out := []byte{'{'}
	for i, m := range o {
		if i > 0 {
			out = append(out, ',')
		}
		key, err := Encode(m.Name)
		if err != nil {
			return nil, err
		}
		out = append(append(append(out, key...), ':'), m.Value...)
	}
	return append(out, '}'), nil
}
