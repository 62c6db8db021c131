package schema

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// walk adds the problems of e and of what caused it.
func (r *reporter) walk(e *jsonschema.ValidationError) {
	if len(r.problems) >= maxCollected {
		return
	}
	switch k := e.ErrorKind.(type) {
	case *kind.Schema, *kind.Group, *kind.Reference, *kind.AllOf:
		for _, cause := range e.Causes {
			r.walk(cause)
		}
	case *kind.AnyOf:
		r.alternatives(e, "anyOf")
	case *kind.OneOf:
		if k.Subschemas != nil {
			r.add(e, "oneOf", fmt.Sprintf("matches the alternatives %d and %d, but must match exactly one", k.Subschemas[0]+1, k.Subschemas[1]+1), "")
			return
		}
		r.alternatives(e, "oneOf")
	case *kind.Required:
		r.required(e, k.Missing)
	case *kind.AdditionalProperties:
		r.additional(e, k.Properties)
	case *kind.PropertyNames:
		why := r.ofName(e, k.Property)
		r.add(e, "propertyNames", "the property name "+show(k.Property)+" is not allowed: "+why.Message, why.Nearest)
	case nil: // the validator was asked only whether, not why
		r.add(e, "schema", "the value does not match the schema", "")
	default:
		constraint, message, nearest := r.simple(e)
		r.add(e, constraint, message, nearest)
	}
}

// maxCollected bounds the problems that are formed before the best are kept.
const maxCollected = 1000

func (r *reporter) add(e *jsonschema.ValidationError, constraint, message, nearest string) {
	r.problems = append(r.problems, Problem{
		Pointer:    pointer(e.InstanceLocation),
		Constraint: constraint,
		Message:    clip(plain(message), maxMessage),
		Nearest:    nearest,
	})
}

// ofName returns the first problem of a property's name, which is what e is about.
func (r *reporter) ofName(e *jsonschema.ValidationError, name string) Problem {
	sub := reporter{doc: name, above: len(e.InstanceLocation) + 1, byPlace: r.byPlace}
	for _, cause := range e.Causes {
		sub.walk(cause)
	}
	return sub.result().Problems[0]
}

// alternatives reports a union of which nothing matched: what is wrong by the
// closest alternative, or, when the value is of none of the types, the types.
func (r *reporter) alternatives(e *jsonschema.ValidationError, constraint string) {
	best, bestRank := reporter{}, -1
	var types []string
	for _, cause := range e.Causes {
		branch := reporter{doc: r.doc, above: r.above, byPlace: r.byPlace}
		branch.walk(cause)
		rank := branch.distance(pointer(e.InstanceLocation))
		if rank >= wrongType {
			types = append(types, wantedTypes(cause)...)
		}
		if bestRank < 0 || rank < bestRank {
			best, bestRank = branch, rank
		}
	}
	if bestRank < 0 || bestRank >= wrongType {
		want := "matches none of the alternatives"
		if types = slices.Compact(slices.Sorted(slices.Values(types))); len(types) > 0 {
			want = "expected " + orList(types) + ", found " + r.found(e)
		}
		r.add(e, constraint, want, "")
		return
	}
	for _, p := range best.problems {
		p.Message = clip(fmt.Sprintf("%s (by the closest of %d alternatives)", p.Message, len(e.Causes)), maxMessage)
		r.problems = append(r.problems, p)
	}
}

// Ranks of an alternative: the number of its problems, and above all what they
// are. A value of another type was not meant for it, nor was one whose
// discriminating constant differs.
const (
	wrongConstant = 1 << 12
	wrongType     = 1 << 20
)

func (r *reporter) distance(own string) int {
	n := len(r.problems)
	for _, p := range r.problems {
		switch {
		case p.Constraint == "type" && p.Pointer == own:
			n += wrongType
		case p.Constraint == "const", p.Constraint == "enum":
			n += wrongConstant
		}
	}
	return n
}

// wantedTypes returns the types that a failed alternative asked for.
func wantedTypes(e *jsonschema.ValidationError) []string {
	switch k := e.ErrorKind.(type) {
	case *kind.Type:
		return k.Want
	case *kind.Group, *kind.Reference, *kind.AllOf, *kind.AnyOf, *kind.OneOf:
		var out []string
		for _, cause := range e.Causes {
			if len(cause.InstanceLocation) == len(e.InstanceLocation) {
				out = append(out, wantedTypes(cause)...)
			}
		}
		return out
	}
	return nil
}

func (r *reporter) required(e *jsonschema.ValidationError, missing []string) {
	unknown := r.undeclared(e)
	for _, name := range missing {
		near := nearest(name, unknown)
		message := "the required property " + show(name) + " is missing"
		if near != "" {
			message += "; it was given as " + show(near)
		}
		r.add(e, "required", message, near)
	}
}

// undeclared returns the properties of the object at fault that its schema
// does not declare.
func (r *reporter) undeclared(e *jsonschema.ValidationError) []string {
	v, _ := r.at(e.InstanceLocation)
	object, _ := v.(map[string]any)
	declared := r.declared(e.SchemaURL)
	var out []string
	for _, name := range sortedKeys(object) {
		if !slices.Contains(declared, name) {
			out = append(out, name)
		}
	}
	return out
}

func (r *reporter) additional(e *jsonschema.ValidationError, names []string) {
	v, _ := r.at(e.InstanceLocation)
	object, _ := v.(map[string]any)
	var free []string // declared and not given yet
	declared := r.declared(e.SchemaURL)
	for _, name := range declared {
		if _, given := object[name]; !given {
			free = append(free, name)
		}
	}
	for _, name := range names {
		near := nearest(name, free)
		message := "the property " + show(name) + " is not allowed"
		switch {
		case near != "":
			message += "; did you mean " + show(near) + "?"
		case len(declared) > 0:
			message += "; allowed: " + shownList(declared, 160)
		default:
			message += "; no properties are"
		}
		at := append(slices.Clone(e.InstanceLocation), name)
		r.problems = append(r.problems, Problem{pointer(at), "additionalProperties", clip(plain(message), maxMessage), near})
	}
}

// declared returns the property names of the schema at a place, sorted, with
// those of the schemas it applies to the same value.
func (r *reporter) declared(place string) []string {
	s := r.byPlace[place]
	if s == nil {
		return nil
	}
	seen := map[*jsonschema.Schema]bool{}
	var names []string
	stack := []*jsonschema.Schema{s}
	for len(stack) > 0 && len(seen) < maxChain && len(names) < maxCandidates {
		s, stack = stack[len(stack)-1], stack[:len(stack)-1]
		if seen[s] {
			continue
		}
		seen[s] = true
		for name := range s.Properties {
			names = append(names, name)
		}
		stack = append(stack, inPlace(s)...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// simple describes an error that has no causes worth telling.
func (r *reporter) simple(e *jsonschema.ValidationError) (constraint, message, near string) {
	switch k := e.ErrorKind.(type) {
	case *kind.Type:
		return "type", "expected " + orList(k.Want) + ", found " + r.found(e) + r.retype(e, k.Want), ""
	case *kind.Const:
		return "const", "must be " + show(k.Want) + ", found " + r.found(e), ""
	case *kind.Enum:
		return r.enum(e, k)
	case *kind.Pattern:
		return "pattern", "must match the pattern " + clip(k.Want, 120) + ", found " + r.found(e), ""
	case *kind.FalseSchema:
		return r.forbidden(e)
	case *kind.Not:
		return "not", "must not match the schema under \"not\", found " + r.found(e), ""
	case *kind.Dependency:
		return "dependencies", "with " + show(k.Prop) + " also needs " + shownList(k.Missing, 160), ""
	case *kind.DependentRequired:
		return "dependentRequired", "with " + show(k.Prop) + " also needs " + shownList(k.Missing, 160), ""
	case *kind.UniqueItems:
		return "uniqueItems", fmt.Sprintf("the items %d and %d are equal, but each must be there once", k.Duplicates[0], k.Duplicates[1]), ""
	case *kind.AdditionalItems:
		return "additionalItems", fmt.Sprintf("%d items too many", k.Count), ""
	case *kind.Contains:
		return "contains", "no item matches the schema under \"contains\"", ""
	case *kind.MinContains:
		return "minContains", fmt.Sprintf("%d items match \"contains\", at least %d must", len(k.Got), k.Want), ""
	case *kind.MaxContains:
		return "maxContains", fmt.Sprintf("%d items match \"contains\", at most %d may", len(k.Got), k.Want), ""
	}
	return r.size(e)
}

// size describes errors about lengths, counts and ranges.
func (r *reporter) size(e *jsonschema.ValidationError) (constraint, message, near string) {
	count := func(keyword, what, bound string, want, got int) (string, string, string) {
		return keyword, fmt.Sprintf("must have %s %d %s, has %d", bound, want, what, got), ""
	}
	compare := func(keyword, relation string, want *big.Rat) (string, string, string) {
		return keyword, "must be " + relation + " " + ratio(want) + ", found " + r.found(e), ""
	}
	const least, most = "at least", "at most"
	switch k := e.ErrorKind.(type) {
	case *kind.MinLength:
		return count("minLength", "characters", least, k.Want, k.Got)
	case *kind.MaxLength:
		return count("maxLength", "characters", most, k.Want, k.Got)
	case *kind.MinItems:
		return count("minItems", "items", least, k.Want, k.Got)
	case *kind.MaxItems:
		return count("maxItems", "items", most, k.Want, k.Got)
	case *kind.MinProperties:
		return count("minProperties", "properties", least, k.Want, k.Got)
	case *kind.MaxProperties:
		return count("maxProperties", "properties", most, k.Want, k.Got)
	case *kind.Minimum:
		return compare("minimum", "at least", k.Want)
	case *kind.Maximum:
		return compare("maximum", "at most", k.Want)
	case *kind.ExclusiveMinimum:
		return compare("exclusiveMinimum", "more than", k.Want)
	case *kind.ExclusiveMaximum:
		return compare("exclusiveMaximum", "less than", k.Want)
	case *kind.MultipleOf:
		return compare("multipleOf", "a multiple of", k.Want)
	}
	keyword := "schema"
	if path := e.ErrorKind.KeywordPath(); len(path) > 0 {
		keyword = clip(plain(path[0]), 64)
	}
	return keyword, "does not match the schema, found " + r.found(e), ""
}

func (r *reporter) enum(e *jsonschema.ValidationError, k *kind.Enum) (constraint, message, near string) {
	message = "must be one of " + shownValues(k.Want, 200) + ", found " + r.found(e)
	if got, ok := k.Got.(string); ok {
		var texts []string
		for _, v := range k.Want[:min(len(k.Want), maxCandidates)] {
			if s, ok := v.(string); ok {
				texts = append(texts, s)
			}
		}
		near = nearest(got, texts)
	}
	return "enum", message, near
}

// forbidden describes a value where the schema is false. Under
// unevaluatedProperties that is an unknown property.
func (r *reporter) forbidden(e *jsonschema.ValidationError) (constraint, message, near string) {
	object, ok := strings.CutSuffix(e.SchemaURL, "/unevaluatedProperties")
	n := len(e.InstanceLocation)
	if !ok || n == 0 {
		return "false", "nothing is allowed here", ""
	}
	name := e.InstanceLocation[n-1]
	message = "the property " + show(name) + " is not allowed"
	if near = nearest(name, r.declared(object)); near != "" {
		message += "; did you mean " + show(near) + "?"
	}
	return "unevaluatedProperties", message, near
}

// found shows the value at fault in a few words.
func (r *reporter) found(e *jsonschema.ValidationError) string {
	v, ok := r.at(e.InstanceLocation)
	if !ok {
		return "nothing"
	}
	return describe(v)
}

// describe names the type of a value and shows it when it is short to show.
func describe(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool, json.Number:
		return typeName(v) + " " + show(v)
	case string:
		return "string " + show(v)
	case []any:
		return fmt.Sprintf("array of %d items", len(v))
	case map[string]any:
		return fmt.Sprintf("object with %d properties", len(v))
	}
	return "a value"
}

func typeName(v any) string {
	if _, ok := v.(bool); ok {
		return "boolean"
	}
	return "number"
}

// retype says how to write the value when only its wrapping is wrong.
func (r *reporter) retype(e *jsonschema.ValidationError, want []string) string {
	v, ok := r.at(e.InstanceLocation)
	if !ok {
		return ""
	}
	switch v := v.(type) {
	case string:
		if t := quotedType(v, want); t != "" {
			return "; send it as " + t + ", without quotes around it"
		}
	case json.Number, bool:
		if slices.Contains(want, "string") {
			return "; put it in quotes"
		}
	}
	if v != nil && slices.Contains(want, "array") {
		return "; put a single item in an array"
	}
	return ""
}

// quotedType returns the wanted type that a text holds as JSON, or "".
func quotedType(s string, want []string) string {
	inner, err := decode([]byte(s), limits{bytes: 4096, depth: 32, nodes: 1000})
	if err != nil {
		return ""
	}
	for _, t := range want {
		if isType(inner, t) {
			return t
		}
	}
	return ""
}

func isType(v any, t string) bool {
	switch v := v.(type) {
	case bool:
		return t == "boolean"
	case json.Number:
		return t == "number" || t == "integer" && !strings.ContainsAny(v.String(), ".eE")
	case []any:
		return t == "array"
	case map[string]any:
		return t == "object"
	}
	return false
}

// show prints a scalar as JSON, at most 80 bytes of it.
func show(v any) string {
	const most = 80
	switch v := v.(type) {
	case string:
		return quote(clip(v, most))
	default:
		if text, ok := literal(v); ok {
			return clip(text, most)
		}
		return strings.TrimPrefix(describe(v), "array of ")
	}
}

func shownList(names []string, most int) string {
	values := make([]any, len(names))
	for i, n := range names {
		values[i] = n
	}
	return shownValues(values, most)
}

// shownValues prints values as JSON up to most bytes, saying how many are
// left out.
func shownValues(values []any, most int) string {
	var b strings.Builder
	for i, v := range values {
		text := show(v)
		if i > 0 && b.Len()+len(text)+2 > most {
			fmt.Fprintf(&b, " and %d more", len(values)-i)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(text)
	}
	return b.String()
}

func orList(names []string) string {
	switch len(names) {
	case 0:
		return "another type"
	case 1:
		return names[0]
	}
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}

// ratio prints a bound of the schema exactly when it is an integer.
func ratio(r *big.Rat) string {
	if r.IsInt() {
		return clip(r.Num().String(), 80)
	}
	f, _ := r.Float64()
	return fmt.Sprint(f)
}
