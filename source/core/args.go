package core

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"strconv"
	"strings"
)

// integer is a JSON number without a fraction. JSON Schema counts 2.0 and 2e3
// among the integers, so they must decode as such.
type integer int64

// UnmarshalJSON reads the number. Null leaves the value as it is.
func (n *integer) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		return nil
	}
	f, err := strconv.ParseFloat(string(b), 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return fmt.Errorf("%s is not a whole number", shorten(string(b), 40))
	}
	*n = integer(f)
	return nil
}

// decode reads a flat JSON object into the struct that into points to. It is
// stricter than encoding/json, which folds the case of names and takes the last
// of two equal ones: the pipeline has approved certain arguments, and a second
// reading of them must not differ.
func decode(raw json.RawMessage, into any) error {
	known := map[string]reflect.Value{}
	v := reflect.ValueOf(into).Elem()
	names := make([]string, 0, v.NumField())
	for i := range v.NumField() {
		name := v.Type().Field(i).Tag.Get("json")
		known[name] = v.Field(i)
		names = append(names, name)
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	open, err := dec.Token()
	if err != nil {
		return fmt.Errorf("the arguments are not JSON: %w", err)
	}
	if open != json.Delim('{') {
		return errors.New("the arguments must be a JSON object")
	}
	seen := map[string]bool{}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return fmt.Errorf("the arguments are not JSON: %w", err)
		}
		name, _ := key.(string) // an object's key is always a string
		field, ok := known[name]
		if !ok {
			return fmt.Errorf("there is no argument %q; the arguments are %s", shorten(name, 80), strings.Join(names, ", "))
		}
		if seen[name] {
			return fmt.Errorf("the argument %q is given twice", name)
		}
		seen[name] = true
		if err := dec.Decode(field.Addr().Interface()); err != nil {
			return fmt.Errorf("the argument %q has the wrong type: %w", name, err)
		}
	}
	if _, err := dec.Token(); err != nil {
		return fmt.Errorf("the arguments are not JSON: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is something after the arguments' JSON object")
	}
	return nil
}

// shorten cuts s to max bytes at a rune boundary.
func shorten(s string, max int) string {
	if len(s) <= max {
		return s
	}
	for max > 0 && s[max]&0xC0 == 0x80 {
		max--
	}
	return s[:max] + "…"
}
