package pin

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/toolsearch/toolsearch/call"
	"github.com/toolsearch/toolsearch/tool"
)

// MaxDefinition bounds, in bytes, the definition that a pin keeps for a later
// diff. A larger one is pinned by its digest alone.
const MaxDefinition = 256 << 10

// maxMembers bounds the covered members of a definition, those that stand twice
// or in other letters included. An honest one has six at most.
const maxMembers = 32

// covered are the members of a definition that a pin covers: all that a model or
// a person reads of a tool, and all that decides how it may be called. Vendors'
// _meta and icons are not among them.
var covered = [...]string{"name", "title", "description", "inputSchema", "outputSchema", "annotations"}

func covers(name string) bool {
	for _, c := range covered {
		if strings.EqualFold(c, name) {
			return true
		}
	}
	return false
}

// Definition is a tool's definition as a pin sees it.
type Definition struct {
	// Text is canonical JSON of the members that a pin covers, name first.
	Text json.RawMessage
	// Digest identifies Text: the hex SHA-256 over the name and the SHA-256 of the
	// rest.
	Digest string

	body [sha256.Size]byte // over the rest: what a rename leaves alone
}

// Describe returns the definition of a tool: its name, title, description, schemas
// and annotations as the server wrote them. How JSON is written does not matter,
// and a member that is null counts as absent. A member that stands twice counts
// twice, and one in another spelling of upper and lower case counts too: readers
// differ in which of them they take. More than a few such are an error.
func Describe(t *tool.Tool) (Definition, error) {
	raw := t.Definition
	if raw == nil {
		var err error
		if raw, err = rebuilt(t); err != nil {
			return Definition{}, fmt.Errorf("describe %s: %w", t.ID, err)
		}
	}
	text, err := call.Canonical(raw)
	var members tool.Object
	if err == nil {
		members, err = tool.SplitObject(text)
	}
	if err != nil {
		return Definition{}, fmt.Errorf("describe %s: its definition: %w", t.ID, err)
	}
	var name, body tool.Object
	for _, m := range members {
		switch {
		case !covers(m.Name) || string(m.Value) == "null":
		case strings.EqualFold(m.Name, "name"):
			name = append(name, m)
		default:
			body = append(body, m)
		}
	}
	if n := len(name) + len(body); n > maxMembers {
		return Definition{}, fmt.Errorf("describe %s: its definition has %d members where %d are known, some of them again and again", t.ID, n, len(covered))
	}
	head, rest := join(name), join(body)
	d := Definition{Text: rest, body: sha256.Sum256(rest)}
	d.Digest = digest(head, d.body)
	switch {
	case len(name) == 0:
	case len(body) == 0:
		d.Text = head
	default:
		d.Text = append(append(head[:len(head)-1:len(head)-1], ','), rest[1:]...)
	}
	return d, nil
}

// join writes members that are canonical already.
func join(o tool.Object) json.RawMessage {
	out := []byte{'{'}
	for i, m := range o {
		if i > 0 {
			out = append(out, ',')
		}
		out = strconv.AppendQuote(out, m.Name) // one of covered, in any case: nothing to escape
		out = append(append(out, ':'), m.Value...)
	}
	return append(out, '}')
}

func digest(name json.RawMessage, body [sha256.Size]byte) string {
	h := sha256.New()
	h.Write(name) // a hash takes every write
	h.Write(body[:])
	return hex.EncodeToString(h.Sum(nil))
}

// under returns the digest that the definition would have under another name.
func (d Definition) under(name string) (string, error) {
	raw, err := tool.Encode(struct {
		Name string `json:"name"`
	}{name})
	if err == nil {
		raw, err = call.Canonical(raw)
	}
	if err != nil {
		return "", err
	}
	return digest(raw, d.body), nil
}

// rebuilt is the definition of a tool whose source keeps none.
func rebuilt(t *tool.Tool) (json.RawMessage, error) {
	out := struct {
		Name         string           `json:"name"`
		Title        string           `json:"title,omitempty"`
		Description  string           `json:"description"`
		InputSchema  json.RawMessage  `json:"inputSchema,omitempty"`
		OutputSchema json.RawMessage  `json:"outputSchema,omitempty"`
		Annotations  tool.Annotations `json:"annotations"`
	}{Name: t.Name, Title: t.Label, Description: t.Description, Annotations: t.Annotations}
	if t.Input != nil {
		out.InputSchema = t.Input.JSON()
	}
	if t.Output != nil {
		out.OutputSchema = t.Output.JSON()
	}
	return tool.Encode(out)
}
