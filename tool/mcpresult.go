package tool

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// The members that the protocol gives a meaning. A server that writes one of
// them twice, or once more in other letters, is read in one way by a reader
// that takes the first, in another by one that takes the last, and in a third by
// one that does not look at case, as Go's own. What hooks, budgets and the
// transcript saw would then not be what a client gets.
var (
	resultMembers   = [...]string{"content", "structuredContent", "isError", "resultType", "inputRequests", "requestState", "_meta"}
	blockMembers    = [...]string{"type", "text", "data", "mimeType", "uri", "name", "title", "description", "size", "resource", "annotations", "_meta"}
	resourceMembers = [...]string{"uri", "mimeType", "text", "blob", "_meta"}
)

// ParseMCPResult reads a tools/call result. Raw is raw itself, and the blocks share
// its memory, with unknown content types and fields, unless a member of the
// protocol stands in it more than once, in any case of letters: then Raw says what
// every reader can read in one way only. The member that is spelled as the
// protocol has it counts, of several the last, and the others are dropped.
func ParseMCPResult(raw json.RawMessage) (*Result, error) {
	if !json.Valid(raw) {
		return nil, errors.New("read tools/call result: it is not valid JSON")
	}
	members, err := SplitObject(raw)
	if err != nil {
		return nil, fmt.Errorf("read tools/call result: %w", err)
	}
	members, changed := unambiguous(members, resultMembers[:])
	r := &Result{Raw: raw}
	blocks, rewritten, err := readBlocks(members.Get("content"))
	if err != nil {
		return nil, fmt.Errorf("read tools/call result: %w", err)
	}
	r.Content = blocks
	if details := members.Get("structuredContent"); len(details) > 0 && string(details) != "null" {
		r.Details = details
	}
	if flag := members.Get("isError"); flag != nil {
		if err := json.Unmarshal(flag, &r.IsError); err != nil {
			return nil, fmt.Errorf("read tools/call result: isError: %w", err)
		}
	}
	if rewritten {
		content, err := Encode(r.Content)
		if err != nil {
			return nil, fmt.Errorf("read tools/call result: %w", err)
		}
		members = members.Set("content", content)
	}
	if changed || rewritten {
		if r.Raw, err = members.MarshalJSON(); err != nil {
			return nil, fmt.Errorf("read tools/call result: %w", err)
		}
	}
	return r, nil
}

// readBlocks reads a result's content. rewritten says that a block is not as it
// came.
func readBlocks(raw json.RawMessage) (blocks []Content, rewritten bool, err error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, false, nil
	}
	items, ok := SplitArray(raw)
	if !ok {
		return nil, false, errors.New("content is no array")
	}
	blocks = make([]Content, len(items))
	for i, item := range items {
		changed := false
		if blocks[i], changed, err = readBlock(item); err != nil {
			return nil, false, fmt.Errorf("content block %d: %w", i, err)
		}
		rewritten = rewritten || changed
	}
	return blocks, rewritten, nil
}

func readBlock(raw json.RawMessage) (c Content, changed bool, err error) {
	members, err := SplitObject(raw)
	if err != nil {
		return c, false, err
	}
	members, changed = unambiguous(members, blockMembers[:])
	if typ := members.Get("type"); typ != nil {
		var ok bool
		if c.Type, ok = ReadString(typ); !ok {
			return c, false, errors.New("its type is no string")
		}
	}
	if inner, err := SplitObject(members.Get("resource")); err == nil {
		if clear, twice := unambiguous(inner, resourceMembers[:]); twice {
			written, err := clear.MarshalJSON()
			if err != nil {
				return c, false, err
			}
			members, changed = members.Set("resource", written), true
		}
	}
	c.Raw = raw
	if changed {
		c.Raw, err = members.MarshalJSON()
	}
	return c, changed, err
}

// unambiguous leaves one member of each name, the last one, and none that is one
// of the known names in other letters. It reports whether it left any out.
func unambiguous(o Object, known []string) (Object, bool) {
	drop := func(i int) bool {
		m := o[i]
		for _, name := range known {
			if m.Name != name && strings.EqualFold(m.Name, name) {
				return true
			}
		}
		return false
	}
	_, twice := o.Repeated()
	odd := false
	for i := range o {
		odd = odd || drop(i)
	}
	if !twice && !odd {
		return o, false
	}
	last := make(map[string]int, len(o))
	for i, m := range o {
		last[m.Name] = i
	}
	out := make(Object, 0, len(o))
	for i, m := range o {
		if last[m.Name] == i && !drop(i) {
			out = append(out, m)
		}
	}
	return out, true
}
