package schema

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// root is the address a schema is compiled under. Nothing else has one: every
// other address that a schema names is refused.
const (
	root     = "toolsearch:///schema"
	negation = "toolsearch:///negation"
)

// Compiled is a schema made ready for validation. It is safe for concurrent
// use; validations of one Compiled run one after another, since they share a
// meter.
type Compiled struct {
	mu      sync.Mutex
	schema  *jsonschema.Schema
	decide  *jsonschema.Schema // {"not": schema}: the validator keeps no errors under "not"
	meter   *meter
	byPlace map[string]*jsonschema.Schema // by Location, for hints
}

// Compile reads a schema by the dialect that its $schema names. Without one it
// is JSON Schema 2020-12 and, if it is not valid there, draft-07. Nothing is
// ever loaded: references lead into the schema itself or to the official
// metaschemas, which are built in. The error says what is wrong and where;
// a tool whose schema does not compile is unvalidated, not unusable.
func Compile(raw []byte) (*Compiled, error) {
	doc, err := decode(raw, schemaLimits)
	if err != nil {
		return nil, fmt.Errorf("read the schema: %w", err)
	}
	if n := subschemas(doc); n > maxSubschemas {
		return nil, fmt.Errorf("compile the schema: it has %d objects and booleans, at most %d are compiled", n, maxSubschemas)
	}
	admitNull(doc)
	c, err := compileAs(doc, jsonschema.Draft2020)
	if err == nil {
		return c, nil
	}
	if s, ok := doc.(map[string]any); ok && s["$schema"] == nil {
		if old, oldErr := compileAs(doc, jsonschema.Draft7); oldErr == nil {
			return old, nil
		}
	}
	return nil, fmt.Errorf("compile the schema: %w", err)
}

func compileAs(doc any, dialect *jsonschema.Draft) (c *Compiled, err error) {
	defer func() { // a fault in the compiler must not take the program along
		if p := recover(); p != nil {
			c, err = nil, fmt.Errorf("the compiler failed: %v", p)
		}
	}()
	m := &meter{}
	jc := jsonschema.NewCompiler()
	jc.DefaultDraft(dialect)
	jc.UseLoader(refuse{})
	jc.UseRegexpEngine(engine(m))
	if err := jc.AddResource(root, doc); err != nil {
		return nil, err
	}
	s, err := jc.Compile(root)
	if err != nil {
		return nil, shorten(err, doc)
	}
	not := map[string]any{"not": map[string]any{"$ref": root}}
	if err := jc.AddResource(negation, not); err != nil {
		return nil, err
	}
	decide, err := jc.Compile(negation)
	if err != nil {
		return nil, shorten(err, doc)
	}
	roots := []*jsonschema.Schema{s}
	for _, place := range dynamicAnchors(doc, "", nil) {
		target, err := jc.Compile(root + "#" + place)
		if err != nil {
			return nil, shorten(err, doc)
		}
		roots = append(roots, target)
	}
	all := reachable(roots)
	if err := checkGraph(all); err != nil {
		return nil, err
	}
	c = &Compiled{schema: s, decide: decide, meter: m, byPlace: make(map[string]*jsonschema.Schema, len(all))}
	for _, s := range all {
		c.byPlace[s.Location] = s
		if s.Bool == nil {
			s.Format = m.format(s)
		}
	}
	for _, s := range all {
		if s.PropertyNames != nil {
			s.Extensions = append(s.Extensions, propertyNames{s.PropertyNames})
			s.PropertyNames = nil
		}
	}
	return c, nil
}

// refuse is the loader that loads nothing.
type refuse struct{}

var errRemote = errors.New("the schema refers to another document; only references inside it are followed")

func (refuse) Load(string) (any, error) { return nil, errRemote }

// shorten turns the library's error on an invalid schema, which can be as long
// as the schema, into a bounded one.
func shorten(err error, doc any) error {
	var invalid *jsonschema.SchemaValidationError
	var cause *jsonschema.ValidationError
	if errors.As(err, &invalid) && errors.As(invalid.Err, &cause) {
		r := reporter{doc: doc}
		r.walk(cause)
		return fmt.Errorf("not valid JSON Schema: %w", r.result())
	}
	if errors.Is(err, errRemote) {
		return errRemote
	}
	return errors.New(clip(plain(err.Error()), 300))
}

// maxSubschemas bounds what the compiler is given, since its time grows with
// the square of it. The largest schema found on public servers has 2,500.
const maxSubschemas = 8000

// subschemas counts the values that could be schemas.
func subschemas(v any) int {
	n := 0
	switch v := v.(type) {
	case bool:
		n = 1
	case []any:
		for _, part := range v {
			n += subschemas(part)
		}
	case map[string]any:
		n = 1
		for _, part := range v {
			n += subschemas(part)
		}
	}
	return n
}

// admitNull lets null through where "nullable" (OpenAPI 3.0) says so: it adds
// it to type and enum. JSON Schema does not know the word, but servers that
// use it accept null, and the signature says so.
func admitNull(v any) {
	switch v := v.(type) {
	case []any:
		for _, part := range v {
			admitNull(part)
		}
	case map[string]any:
		if v["nullable"] == true {
			nullable(v)
		}
		for key, part := range v {
			if !isData(key) {
				admitNull(part)
			}
		}
	}
}

// isData reports keywords whose value holds no schema.
func isData(key string) bool {
	switch key {
	case "enum", "const", "default", "examples", "required", "dependentRequired":
		return true
	}
	return false
}

func nullable(s map[string]any) {
	switch t := s["type"].(type) {
	case string:
		if t != "null" {
			s["type"] = []any{t, "null"}
		}
	case []any:
		if !slices.Contains(t, any("null")) {
			s["type"] = append(slices.Clone(t), "null")
		}
	default:
		return // "nullable" is only a property's name here, or says nothing
	}
	isNull := func(v any) bool { return v == nil }
	if e, ok := s["enum"].([]any); ok && !slices.ContainsFunc(e, isNull) {
		s["enum"] = append(slices.Clone(e), nil)
	}
}

// dynamicAnchors lists the JSON pointers, URL-escaped, of the objects that
// declare a $dynamicAnchor: the targets which only the run decides on.
func dynamicAnchors(v any, at string, out []string) []string {
	switch v := v.(type) {
	case []any:
		for i, part := range v {
			out = dynamicAnchors(part, fmt.Sprintf("%s/%d", at, i), out)
		}
	case map[string]any:
		if _, ok := v["$dynamicAnchor"].(string); ok {
			out = append(out, at)
		}
		for _, key := range sortedKeys(v) {
			if !isData(key) {
				out = dynamicAnchors(v[key], at+"/"+url.PathEscape(pointerToken(key)), out)
			}
		}
	}
	return out
}

// propertyNames checks the names of an object in a fixed order. The library's
// own check reports wrong places when it is not the last one in a document.
type propertyNames struct{ names *jsonschema.Schema }

func (p propertyNames) Validate(ctx *jsonschema.ValidatorContext, v any) {
	object, ok := v.(map[string]any)
	if !ok {
		return
	}
	for _, name := range sortedKeys(object) {
		if err := ctx.Validate(p.names, name, []string{name}); err != nil {
			var cause *jsonschema.ValidationError
			if errors.As(err, &cause) {
				ctx.AddErrors([]*jsonschema.ValidationError{cause}, &kind.PropertyNames{Property: name})
			}
		}
	}
}

// pointerToken escapes one step of a JSON pointer (RFC 6901).
func pointerToken(s string) string {
	if !strings.ContainsAny(s, "~/") {
		return s
	}
	return strings.ReplaceAll(strings.ReplaceAll(s, "~", "~0"), "/", "~1")
}
