package schema

import (
	"errors"
	"fmt"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Bounds of a compiled schema's graph. The validator recurses once for each
// schema that applies to the same value and once for each level of the
// document; both factors of its stack are bounded.
const (
	maxChain          = 64  // schemas applying to one value through one another
	maxDynamicSchemas = 512 // schemas in all, where references are resolved at run time
)

var errCycle = errors.New("a schema refers to itself for the same value, so that checking it would never end")

// inPlace lists the schemas that s applies to the same value.
func inPlace(s *jsonschema.Schema) []*jsonschema.Schema {
	out := []*jsonschema.Schema{s.Ref, s.RecursiveRef, s.Not, s.If, s.Then, s.Else}
	if s.DynamicRef != nil {
		out = append(out, s.DynamicRef.Ref)
	}
	out = append(out, s.AllOf...)
	out = append(out, s.AnyOf...)
	out = append(out, s.OneOf...)
	for _, v := range s.DependentSchemas {
		out = append(out, v)
	}
	for _, v := range s.Dependencies {
		if sub, ok := v.(*jsonschema.Schema); ok {
			out = append(out, sub)
		}
	}
	return present(out)
}

// below lists the schemas that s applies to the parts of its value.
func below(s *jsonschema.Schema) []*jsonschema.Schema {
	out := []*jsonschema.Schema{
		s.PropertyNames, s.UnevaluatedProperties, s.Contains, s.Items2020, s.UnevaluatedItems, s.ContentSchema,
	}
	for _, v := range s.Properties {
		out = append(out, v)
	}
	for _, v := range s.PatternProperties {
		out = append(out, v)
	}
	out = append(out, s.PrefixItems...)
	for _, v := range [...]any{s.AdditionalProperties, s.Items, s.AdditionalItems} {
		switch v := v.(type) {
		case *jsonschema.Schema:
			out = append(out, v)
		case []*jsonschema.Schema:
			out = append(out, v...)
		}
	}
	return present(out)
}

func present(list []*jsonschema.Schema) []*jsonschema.Schema {
	out := list[:0]
	for _, s := range list {
		if s != nil {
			out = append(out, s)
		}
	}
	return out
}

// reachable lists every schema that can be reached from the roots, each once.
func reachable(roots []*jsonschema.Schema) []*jsonschema.Schema {
	seen := map[*jsonschema.Schema]bool{}
	var out []*jsonschema.Schema
	stack := append([]*jsonschema.Schema(nil), roots...)
	for len(stack) > 0 {
		s := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if seen[s] {
			continue
		}
		seen[s] = true
		out = append(out, s)
		stack = append(stack, inPlace(s)...)
		stack = append(stack, below(s)...)
	}
	return out
}

// checkGraph refuses schemas that never end or that chain too deep.
func checkGraph(all []*jsonschema.Schema) error {
	c := chains{done: map[*jsonschema.Schema]int{}}
	for _, s := range all {
		if s.DynamicRef != nil || s.RecursiveRef != nil {
			if len(all) > maxDynamicSchemas {
				return fmt.Errorf("%d schemas with dynamic references, at most %d are checked", len(all), maxDynamicSchemas)
			}
		}
		if _, err := c.length(s, 1); err != nil {
			return err
		}
	}
	return nil
}

// chains measures the longest way through in-place applicators.
type chains struct{ done map[*jsonschema.Schema]int } // -1 while being measured

func (c chains) length(s *jsonschema.Schema, depth int) (int, error) {
	if n, ok := c.done[s]; ok {
		if n < 0 {
			return 0, errCycle
		}
		return n, nil
	}
	longest := 0
	if depth <= maxChain {
		c.done[s] = -1
		for _, part := range inPlace(s) {
			n, err := c.length(part, depth+1)
			if err != nil {
				return 0, err
			}
			longest = max(longest, n)
		}
	}
	if longest+1 > maxChain || depth > maxChain {
		return 0, fmt.Errorf("more than %d schemas apply to one value through one another", maxChain)
	}
	c.done[s] = longest + 1
	return longest + 1, nil
}
