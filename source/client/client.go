// Package client holds the tools that the caller of one run brings along. They
// run at the caller's: a call is handed to an Asker, which waits until the
// caller has answered it.
//
// The caller's texts are as untrusted as an MCP server's: nothing here looks
// into a schema.
package client

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/toolsearch/toolsearch/tool"
)

// Bounds of what a caller may bring.
const (
	MaxTools = 10_000   // tools of one run
	MaxBytes = 16 << 20 // names, descriptions and parameters of all of them
	MaxName  = 194      // bytes of a name: the longest that a model API takes, in the longest namespace and with what stands between
)

// Def is one tool as the caller defines it.
type Def struct {
	Name        string
	Description string
	Parameters  json.RawMessage // a JSON object; empty means no parameters
	Defer       bool            // the caller wants it found, not shown: for whoever plans
}

// Tools makes tools of the definitions, in their order. A definition that
// cannot be one, or too many of them, is an error that names it and the bound.
// That no name is taken is for planning to check.
//
// The calls go to ask. With nil, they go to the Asker of their context (see
// WithAsker), so that the tools, and a catalog of them, may outlive one run.
func Tools(defs []Def, ask Asker) ([]*tool.Tool, error) {
	if len(defs) > MaxTools {
		return nil, fmt.Errorf("read the caller's tools: there are %d, at most %d are taken; leave some out", len(defs), MaxTools)
	}
	size := 0
	out := make([]*tool.Tool, len(defs))
	for i, d := range defs {
		if size += len(d.Name) + len(d.Description) + len(d.Parameters); size > MaxBytes {
			return nil, fmt.Errorf("read the caller's tools: together they have more than %d bytes; shorten descriptions or leave some out", MaxBytes)
		}
		t, err := newTool(d, ask)
		if err != nil {
			return nil, fmt.Errorf("read the caller's tool %d: %w", i+1, err)
		}
		out[i] = t
	}
	return out, nil
}

func newTool(d Def, ask Asker) (*tool.Tool, error) {
	switch {
	case d.Name == "":
		return nil, fmt.Errorf("it has no name; give it one")
	case len(d.Name) > MaxName || tool.Clean(d.Name, MaxName) != d.Name:
		return nil, fmt.Errorf("its name %q is longer than %d bytes or has characters that cannot be seen; rename it", tool.Clean(d.Name, MaxName), MaxName)
	}
	params := bytes.TrimSpace(d.Parameters)
	switch {
	case len(params) == 0 || string(params) == "null":
		params = []byte(`{"type":"object","properties":{}}`)
	case params[0] != '{' || !json.Valid(params):
		return nil, fmt.Errorf("the parameters of %q are not a JSON object; give a JSON Schema of type object", d.Name)
	}
	return &tool.Tool{
		ID: tool.NewID(tool.Client, tool.ClientOwner, d.Name), Source: tool.Client, Owner: tool.ClientOwner, Name: d.Name,
		Description: d.Description, Input: tool.RawSchema(params), Revision: revision(d, params),
		Invoker: invoker{name: d.Name, ask: ask},
	}, nil
}

// revision is a hash over the definition's bytes; nobody reads the schema.
func revision(d Def, params []byte) string {
	h := sha256.New()
	var size [8]byte
	for _, part := range [][]byte{[]byte(d.Name), []byte(d.Description), params} {
		binary.BigEndian.PutUint64(size[:], uint64(len(part)))
		h.Write(size[:])
		h.Write(part)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}
