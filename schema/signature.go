package schema

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"
)

// Unknown is the signature of what cannot or may not be shown.
const Unknown = "unknown"

// Bounds of signatures, from the contract. Lengths are in characters (Unicode
// code points).
const (
	MaxInputSignature   = 300
	MaxOutputSignature  = 800
	maxInputDepth       = 4
	maxOutputDepth      = 6
	maxInputProperties  = 16
	maxOutputProperties = 20
	maxPropertyName     = 128
	maxUnionMembers     = 4
	maxEnumMembers      = 8
	maxEnumText         = 96
)

// schemaLimits bounds the schemas that this package reads at all. The largest
// found on public servers has 240 KB, 6,300 values and 23 levels.
var schemaLimits = limits{bytes: MaxSchemaBytes, depth: 128, nodes: 50_000}

// MaxSchemaBytes is the longest schema that is read, in bytes.
const MaxSchemaBytes = 1 << 20

// Input renders the signature of an input schema: at most 300 characters, and
// Unknown when it would be longer or the schema cannot be read. The same bytes
// always give the same text.
func Input(raw []byte) string {
	s, _ := signature(raw, shape{maxInputDepth, maxInputProperties}, MaxInputSignature)
	return s
}

// Output renders the signature of an output schema: at most 800 characters.
// complete says that the text leaves nothing out (see the package comment);
// callers show it only then.
func Output(raw []byte) (text string, complete bool) {
	return signature(raw, shape{maxOutputDepth, maxOutputProperties}, MaxOutputSignature)
}

func signature(raw []byte, sh shape, longest int) (string, bool) {
	v, err := decode(raw, schemaLimits)
	if err != nil {
		return Unknown, false
	}
	r := sh.render(v, 1)
	if utf8.RuneCountInString(r.text) > longest {
		return Unknown, false
	}
	return r.text, r.complete
}

// shape holds the bounds that differ between input and output.
type shape struct{ depth, properties int }

// rendered is the type of one schema.
type rendered struct {
	text     string
	complete bool
}

var unknown = rendered{Unknown, false}

// compositions are the keywords whose meaning no bounded type can carry: a
// schema that has one prints unknown.
var compositions = [...]string{
	"$ref", "$dynamicRef", "$recursiveRef", "allOf", "not", "if", "then", "else",
	"patternProperties", "dependentSchemas", "dependencies",
}

// shaping are the keywords that describe the value itself. Beside anyOf or
// oneOf they make an intersection, which is a composition.
var shaping = [...]string{
	"type", "enum", "const", "properties", "required", "additionalProperties",
	"items", "prefixItems", "additionalItems", "unevaluatedProperties", "unevaluatedItems",
}

// render prints the type of schema v, which stands on the given level; the
// root is on level 1.
func (sh shape) render(v any, level int) rendered {
	s, ok := v.(map[string]any)
	if !ok || level > sh.depth || hasAny(s, compositions[:]) {
		return unknown
	}
	r := sh.renderNonNull(s, level)
	if s["nullable"] == true {
		r = union([]rendered{r, {"null", true}})
	}
	return r
}

func (sh shape) renderNonNull(s map[string]any, level int) rendered {
	anyOf, isAny := s["anyOf"]
	oneOf, isOne := s["oneOf"]
	switch {
	case isAny && isOne, (isAny || isOne) && hasAny(s, shaping[:]):
		return unknown
	case isAny:
		return sh.branches(anyOf, level)
	case isOne:
		return sh.branches(oneOf, level)
	}
	if c, ok := s["const"]; ok {
		return literals([]any{c})
	}
	if e, ok := s["enum"]; ok {
		values, _ := e.([]any)
		return literals(values)
	}
	switch t := s["type"].(type) {
	case string:
		return sh.named(t, s, level)
	case []any:
		return sh.types(t, s, level)
	case nil:
		if _, given := s["type"]; !given {
			return sh.inferred(s, level)
		}
	}
	return unknown
}

// branches prints the alternatives of anyOf or oneOf, on the level of the
// union itself: they describe the same value.
func (sh shape) branches(v any, level int) rendered {
	list, _ := v.([]any)
	if len(list) == 0 || len(list) > maxUnionMembers {
		return unknown
	}
	parts := make([]rendered, len(list))
	for i, b := range list {
		parts[i] = sh.render(b, level)
	}
	return union(parts)
}

func (sh shape) types(list []any, s map[string]any, level int) rendered {
	if len(list) == 0 || len(list) > maxUnionMembers {
		return unknown
	}
	parts := make([]rendered, 0, len(list))
	for i, t := range list {
		name, ok := t.(string)
		if !ok || slices.Contains(list[:i], t) {
			return unknown // each must be there once; rendering one twice would multiply the work
		}
		parts = append(parts, sh.named(name, s, level))
	}
	return union(parts)
}

// inferred prints a schema without type. The keywords tell what it is meant
// for, but they let other values through, so it is never complete.
func (sh shape) inferred(s map[string]any, level int) rendered {
	r := unknown
	switch {
	case hasAny(s, []string{"properties", "required", "additionalProperties"}):
		r = sh.object(s, level)
	case hasAny(s, []string{"items", "prefixItems"}):
		r = sh.array(s, level)
	}
	r.complete = false
	return r
}

func (sh shape) named(name string, s map[string]any, level int) rendered {
	switch name {
	case "string", "number", "boolean", "null":
		return rendered{name, true}
	case "integer":
		return rendered{"number", true}
	case "array":
		return sh.array(s, level)
	case "object":
		return sh.object(s, level)
	}
	return unknown
}

func (sh shape) array(s map[string]any, level int) rendered {
	item := unknown
	if _, tuple := s["prefixItems"]; !tuple {
		item = sh.render(s["items"], level+1) // a tuple's list is no schema: unknown
	}
	return rendered{"Array<" + item.text + ">", item.complete}
}

func (sh shape) object(s map[string]any, level int) rendered {
	props, declared := s["properties"].(map[string]any)
	additional, said := s["additionalProperties"]
	closed := additional == false
	open := said && !closed || !declared && !closed

	required := map[string]bool{}
	leftOut := false
	names := make([]string, 0, len(props))
	list, _ := s["required"].([]any)
	for _, v := range list {
		name, _ := v.(string)
		if _, ok := props[name]; !ok {
			leftOut = true
			continue
		}
		required[name] = true
	}
	for name := range props {
		if utf8.RuneCountInString(name) > maxPropertyName {
			leftOut = true
			continue
		}
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		if required[a] != required[b] {
			if required[a] {
				return -1
			}
			return 1
		}
		return strings.Compare(a, b)
	})
	if len(names) > sh.properties {
		names, leftOut = names[:sh.properties], true
	}

	complete := closed && !leftOut
	parts := make([]string, 0, len(names)+1)
	for _, name := range names {
		mark := "?: "
		if required[name] {
			mark = ": "
		}
		r := sh.render(props[name], level+1)
		complete = complete && r.complete
		parts = append(parts, propertyName(name)+mark+r.text)
	}
	if leftOut || open {
		parts = append(parts, "...")
	}
	if len(parts) == 0 {
		return rendered{"{}", complete}
	}
	return rendered{"{ " + strings.Join(parts, "; ") + " }", complete}
}

// union joins alternatives: each text once, in the order given, null last. An
// unknown alternative makes the whole unknown, as in TypeScript.
func union(parts []rendered) rendered {
	out := rendered{complete: true}
	var texts []string
	null := false
	for _, p := range parts {
		if p.text == Unknown {
			return unknown
		}
		out.complete = out.complete && p.complete
		text, isNull := strings.CutSuffix(p.text, " | null")
		if isNull || text == "null" {
			null = true
		}
		if text != "null" && !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	if null {
		texts = append(texts, "null")
	}
	out.text = strings.Join(texts, " | ")
	return out
}

// literals prints the values of const or enum. Values that are no scalars, too
// many of them, or too long a text print unknown.
func literals(values []any) rendered {
	if len(values) == 0 || len(values) > maxEnumMembers {
		return unknown
	}
	parts := make([]rendered, len(values))
	for i, v := range values {
		text, ok := literal(v)
		if !ok {
			return unknown
		}
		parts[i] = rendered{text, true}
	}
	r := union(parts)
	if utf8.RuneCountInString(r.text) > maxEnumText {
		return unknown
	}
	return r
}

func literal(v any) (string, bool) {
	switch v := v.(type) {
	case nil:
		return "null", true
	case bool:
		if v {
			return "true", true
		}
		return "false", true
	case json.Number:
		return v.String(), true
	case string:
		return quote(v), true
	}
	return "", false
}

func hasAny(s map[string]any, keys []string) bool {
	for _, k := range keys {
		if _, ok := s[k]; ok {
			return true
		}
	}
	return false
}
