package anthropic

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"

	"github.com/toolsearch/toolsearch/tool"
)

// fields builds a JSON object member by member, and keeps the first failure.
type fields struct {
	out tool.Object
	err error
}

// set adds a member with a value that is yet to be marshalled.
func (f *fields) set(name string, v any) {
	raw, err := tool.Encode(v)
	if err != nil && f.err == nil {
		f.err = fmt.Errorf("write %q: %w", name, err)
	}
	f.raw(name, raw)
}

// raw adds a member whose value is JSON already.
func (f *fields) raw(name string, v json.RawMessage) {
	f.out = append(f.out, tool.Member{Name: name, Value: v})
}

// all adds members as they are.
func (f *fields) all(o tool.Object) { f.out = append(f.out, o...) }

func (f *fields) json() (json.RawMessage, error) {
	if f.err != nil {
		return nil, f.err
	}
	return f.out.MarshalJSON()
}

// object is a JSON object of one type, as most of this API's are.
func object(kind string) *fields {
	f := &fields{}
	f.set("type", kind)
	return f
}

// readInt reads a JSON number that is whole, not negative, and counts no more
// than any model ever could.
func readInt(raw json.RawMessage) (int, bool) {
	const most = 1 << 40
	var n float64 // the API takes 1000.0 too, as some clients write it
	if first(raw) == 'n' || json.Unmarshal(raw, &n) != nil || n < 0 || n > most || n != math.Trunc(n) {
		return 0, false
	}
	return int(n), true
}

// readBool reads true or false; anything else is false and not ok.
func readBool(raw json.RawMessage) (value, ok bool) {
	switch string(bytes.TrimSpace(raw)) {
	case "true":
		return true, true
	case "false":
		return false, true
	}
	return false, false
}

// first returns the byte that tells a JSON value's kind, or 0 for none.
func first(raw json.RawMessage) byte {
	raw = bytes.TrimLeft(raw, " \t\r\n")
	if len(raw) == 0 {
		return 0
	}
	return raw[0]
}

// readOnce reads an object in which no member stands twice: two readers might each
// take another one.
func readOnce(raw json.RawMessage) (tool.Object, error) {
	o, err := tool.SplitObject(raw)
	if err != nil {
		return nil, err
	}
	if name, twice := o.Repeated(); twice {
		return nil, fmt.Errorf("member %q stands twice", name)
	}
	return o, nil
}

// kindOf returns an object's type, or "".
func kindOf(o tool.Object) string {
	kind, _ := tool.ReadString(o.Get("type"))
	return kind
}
