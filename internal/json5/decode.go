package json5

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
)

// maxErrors bounds the faults that one Decode reports.
const maxErrors = 20

// maxKnown bounds the keys that an error about an unknown one lists.
const maxKnown = 12

// Decode fills *v, a pointer, from the document. It knows booleans, integers,
// floats, strings, slices, maps with string keys, structs with `json:"name"`
// tags, pointers, and json.RawMessage, which gets the value as strict JSON.
// null leaves a pointer, map or slice nil and is a fault elsewhere.
//
// A repeated key, a key the struct does not have, a wrong kind and a number
// that does not fit exactly are faults; all of them, up to 20, come back joined
// as *Error values in the text's order, and v is then partly filled.
func (d *Document) Decode(v any) error {
	target := reflect.ValueOf(v)
	if target.Kind() != reflect.Pointer || target.IsNil() {
		return fmt.Errorf("decode JSON5: the target is %T, not a pointer to fill", v)
	}
	dec := &decoder{d: d}
	for _, dup := range d.Duplicates {
		dec.fault(&Error{Pos: d.Pos(dup.Second), Offset: dup.Second, Path: dup.Path,
			Problem: fmt.Sprintf("the key stands twice, first at %s", d.Pos(dup.First)), Hint: "remove one of them"})
	}
	dec.value(d.Root, nil, target.Elem())
	return errors.Join(dec.faults...)
}

type decoder struct {
	d      *Document
	faults []error
}

func (c *decoder) fault(err *Error) {
	if len(c.faults) < maxErrors {
		c.faults = append(c.faults, err)
	}
}

func (c *decoder) wrong(n *Node, path Path, want string) {
	c.fault(c.d.ErrorAt(n, path, fmt.Sprintf("expected %s, found %s", want, n.Kind), ""))
}

func (c *decoder) value(n *Node, path Path, v reflect.Value) {
	if v.Type() == reflect.TypeFor[json.RawMessage]() {
		raw, err := n.JSON()
		if err != nil {
			c.fault(c.d.ErrorAt(n, path, err.Error(), ""))
			return
		}
		v.SetBytes(raw)
		return
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice:
		if n.Kind == Null {
			v.SetZero()
			return
		}
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		c.value(n, path, v.Elem())
	case reflect.Bool:
		if n.Kind != Bool {
			c.wrong(n, path, "true or false")
			return
		}
		v.SetBool(n.Bool())
	case reflect.String:
		if n.Kind != String {
			c.wrong(n, path, "a string")
			return
		}
		v.SetString(n.Str())
	case reflect.Slice:
		c.slice(n, path, v)
	case reflect.Map:
		c.mapping(n, path, v)
	case reflect.Struct:
		c.structure(n, path, v)
	default:
		c.number(n, path, v)
	}
}

func (c *decoder) number(n *Node, path Path, v reflect.Value) {
	switch {
	case v.CanInt() || v.CanUint():
		c.integer(n, path, v)
	case v.CanFloat():
		f, err := n.Float64()
		if n.Kind != Number {
			c.wrong(n, path, "a number")
			return
		}
		if err != nil || v.OverflowFloat(f) && !math.IsInf(f, 0) {
			c.fault(c.d.ErrorAt(n, path, "the number is too large", ""))
			return
		}
		v.SetFloat(f)
	default:
		c.fault(c.d.ErrorAt(n, path, fmt.Sprintf("a Go %s cannot be decoded", v.Type()), ""))
	}
}

func (c *decoder) integer(n *Node, path Path, v reflect.Value) {
	if n.Kind != Number {
		c.wrong(n, path, "an integer")
		return
	}
	i, err := n.Int64()
	switch {
	case errors.Is(err, ErrNotInteger):
		c.fault(c.d.ErrorAt(n, path, "expected an integer", ""))
	case err != nil || v.CanInt() && v.OverflowInt(i) || v.CanUint() && (i < 0 || v.OverflowUint(uint64(i))):
		c.fault(c.d.ErrorAt(n, path, "the number does not fit", ""))
	case v.CanInt():
		v.SetInt(i)
	default:
		v.SetUint(uint64(i))
	}
}

func (c *decoder) slice(n *Node, path Path, v reflect.Value) {
	if n.Kind != Array {
		c.wrong(n, path, "an array")
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), len(n.Elems), len(n.Elems)))
	for i, e := range n.Elems {
		c.value(e, path.Elem(i), v.Index(i))
	}
}

func (c *decoder) mapping(n *Node, path Path, v reflect.Value) {
	if n.Kind != Object || v.Type().Key().Kind() != reflect.String {
		c.wrong(n, path, "an object")
		return
	}
	v.Set(reflect.MakeMapWithSize(v.Type(), len(n.Members)))
	for _, m := range n.Members {
		elem := reflect.New(v.Type().Elem()).Elem()
		c.value(m.Value, path.Child(m.Key), elem)
		v.SetMapIndex(reflect.ValueOf(m.Key).Convert(v.Type().Key()), elem)
	}
}

func (c *decoder) structure(n *Node, path Path, v reflect.Value) {
	if n.Kind != Object {
		c.wrong(n, path, "an object")
		return
	}
	index := map[string]int{}
	var names []string
	for i := range v.NumField() {
		f := v.Type().Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.IsExported() && name != "" && name != "-" {
			index[name] = i
			names = append(names, name)
		}
	}
	for _, m := range n.Members {
		if i, ok := index[m.Key]; ok {
			c.value(m.Value, path.Child(m.Key), v.Field(i))
			continue
		}
		err := &Error{Pos: c.d.Pos(m.KeyStart), Offset: m.KeyStart, Path: path.Child(m.Key), Problem: "unknown key"}
		if near := Nearest(m.Key, names); near != "" {
			err.Hint = "did you mean " + near + "?"
		} else if len(names) <= maxKnown {
			err.Hint = "known here: " + strings.Join(names, ", ")
		}
		c.fault(err)
	}
}
