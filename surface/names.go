package surface

import (
	"bytes"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/toolsearch/toolsearch/catalog"
	"github.com/toolsearch/toolsearch/tool"
)

// Limits of tool names on the wire.
const (
	MCPNameLimit   = 128 // of A-Za-z0-9_.-
	ModelNameLimit = 64  // of A-Za-z0-9_-, Anthropic and OpenAI Chat
)

// joint stands between an MCP server's name and its tool's.
const joint = "__"

// WireName is the name under which a hidden tool is shown when it is exposed
// directly. It depends on owner and name alone, so that adding a server renames
// nothing: a name that had to be changed or cut ends in a hash of the original
// pair. Trusted tools keep their bare name.
func WireName(t *tool.Tool, limit int) string {
	plain := t.Name
	if t.Source == tool.MCP {
		plain = t.Owner + joint + t.Name
	}
	safe := strings.Map(func(r rune) rune { return onWire(r, limit) }, plain)
	// Without the hash, "a__b" + "c" and "a" + "b__c", or "a_" + "b" and "a" +
	// "_b", would join alike.
	splits := t.Source != tool.MCP || !strings.Contains(t.Owner, joint) && !strings.HasSuffix(t.Owner, "_")
	if safe == plain && safe != "" && len(safe) <= limit && splits && !IsControl(safe) {
		return safe
	}
	sum := sha256.Sum256([]byte(t.Owner + "\x00" + t.Name))
	tail := "_" + strings.ToLower(base32.StdEncoding.EncodeToString(sum[:5]))
	return safe[:min(len(safe), limit-len(tail))] + tail
}

// onWire is what stands for a character of a name.
func onWire(r rune, limit int) rune {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
		return r
	case r == '.' && limit == MCPNameLimit:
		return r
	}
	return '_'
}

// hashTail is the length of what a changed name ends in: "_" and five bytes in
// base32.
const hashTail = 1 + 8

// changed reports a name that may end as WireName ends those that it had to
// change.
func changed(wire string) bool {
	if len(wire) < hashTail || wire[len(wire)-hashTail] != '_' {
		return false
	}
	for _, c := range wire[len(wire)-hashTail+1:] {
		if (c < 'a' || c > 'z') && (c < '2' || c > '7') {
			return false
		}
	}
	return true
}

// Names maps wire names back to tools. It is immutable.
type Names struct {
	exact  map[string]*tool.Tool
	folded map[string][]*tool.Tool
	left   []*tool.Tool
	mended map[*tool.Tool]json.RawMessage // schemas that are shown otherwise than they are, see tool.ObjectSchema
	limit  int
}

// NewNames gives every tool its wire name. A tool of an MCP server has none when
// another tool would have the same, see Left: a server can search for names that
// are alike in all that a hash keeps of them, and must not end the planning of
// all tools by it. Of others, two with one wire name are an error that lists both.
func NewNames(tools []*tool.Tool, limit int) (*Names, error) {
	n := &Names{exact: make(map[string]*tool.Tool, len(tools)), folded: make(map[string][]*tool.Tool, len(tools)), limit: limit}
	wires := make([]string, len(tools))
	for i, t := range tools {
		wires[i] = WireName(t, limit)
		if err := n.claim(wires[i], t); err != nil {
			return nil, err
		}
	}
	for i, t := range tools {
		if n.exact[wires[i]] != t {
			n.left = append(n.left, t)
			continue
		}
		f := tool.Normalize(wires[i])
		n.folded[f] = append(n.folded[f], t)
		if t.Source == tool.MCP {
			n.mend(t)
		}
	}
	maps.DeleteFunc(n.exact, func(_ string, t *tool.Tool) bool { return t == nil })
	return n, nil
}

// claim gives a name to a tool, or to nobody where several MCP tools want it.
func (n *Names) claim(name string, t *tool.Tool) error {
	other, taken := n.exact[name]
	open := !taken || other == nil || other.Source == tool.MCP // to a tool that is not of an MCP server
	switch {
	case t.Source != tool.MCP && !open:
		return fmt.Errorf("tools %s and %s are both called %q on the wire; rename one of them or deny it", other.ID, t.ID, name)
	case t.Source != tool.MCP, !taken:
		n.exact[name] = t
	case open:
		n.exact[name] = nil
	}
	return nil
}

// mend has a tool shown with a schema that a model API, or a client, does not
// refuse together with those of all other tools.
func (n *Names) mend(t *tool.Tool) {
	raw := t.Input.JSON()
	fixed := tool.ObjectSchema(raw)
	if n.limit <= ModelNameLimit {
		fixed = tool.ModelSchema(raw)
	}
	if bytes.Equal(fixed, raw) {
		return
	}
	if n.mended == nil {
		n.mended = map[*tool.Tool]json.RawMessage{}
	}
	n.mended[t] = fixed
}

// define is Direct for a tool of these names.
func (n *Names) define(t *tool.Tool, wire string) Definition {
	d := Direct(t, wire)
	if fixed, ok := n.mended[t]; ok {
		d.Parameters = fixed
	}
	return d
}

// Left lists the tools that have no wire name. The slice must not be changed.
func (n *Names) Left() []*tool.Tool { return n.left }

// Lookup finds the tool a wire name means. Variants of case, '-' and '_' are
// accepted only when exactly one tool fits.
func (n *Names) Lookup(name string) (*tool.Tool, bool) {
	if t, ok := n.exact[name]; ok {
		return t, true
	}
	if fits := n.folded[tool.Normalize(name)]; len(fits) == 1 {
		return fits[0], true
	}
	return nil, false
}

// Has reports whether a tool has exactly that wire name.
func (n *Names) Has(name string) bool {
	_, ok := n.exact[name]
	return ok
}

// All returns the wire names in byte order.
func (n *Names) All() []string {
	names := make([]string, 0, len(n.exact))
	for name := range n.exact {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Resolve finds a cataloged tool by id or name, and also by the wire name that
// it would have if it were visible: a model may have seen it in another session
// or mode. The name of a control means that alone: a server must not get what a
// model hands to a control inside of another one.
func Resolve(c *catalog.Catalog, ref string) (*tool.Tool, error) {
	if control := tool.Normalize(ref); IsControl(control) {
		return nil, &tool.Error{
			Code:   tool.CodeUnknownTool,
			Reason: fmt.Sprintf("%s is no tool of the catalog", control),
			Next:   "Pass the id of a tool that " + ToolSearch + " has found.",
		}
	}
	return c.ResolveOr(ref, func(ref string) *tool.Tool { return byWireName(c, ref) })
}

// byWireName finds the one tool that has the wire name, or nil. All tools are
// looked through only for a name that may have been changed; any other that is
// not a tool's own is a server's and a tool's.
func byWireName(c *catalog.Catalog, ref string) *tool.Tool {
	var found *tool.Tool
	if changed(ref) {
		for _, t := range c.Tools() {
			if !mayBeOf(t, ref) || WireName(t, MCPNameLimit) != ref && WireName(t, ModelNameLimit) != ref {
				continue
			}
			if found != nil {
				return nil // two tools: no guess
			}
			found = t
		}
		return found
	}
	owner, name, _ := strings.Cut(ref, joint) // an owner with a joint in it has its names changed
	for _, t := range c.Named(name) {
		if t.Source == tool.MCP && t.Owner == owner && WireName(t, MCPNameLimit) == ref {
			return t
		}
	}
	return nil
}

// mayBeOf reports whether a changed name begins as the tool's would. It costs
// little, unlike the hash.
func mayBeOf(t *tool.Tool, wire string) bool {
	stem := wire[:len(wire)-hashTail]
	parts := [...]string{t.Owner, joint, t.Name}
	from := 0
	if t.Source != tool.MCP {
		from = len(parts) - 1
	}
	for _, part := range parts[from:] {
		for _, r := range part {
			if stem == "" {
				return true
			}
			if c := rune(stem[0]); c != onWire(r, MCPNameLimit) && c != onWire(r, ModelNameLimit) {
				return false
			}
			stem = stem[1:]
		}
	}
	return stem == ""
}
