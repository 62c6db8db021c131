package catalog

import (
	"encoding/json"
	"fmt"

	"github.com/toolsearch/toolsearch/schema"
	"github.com/toolsearch/toolsearch/tool"
)

// Hit is the compact entry of one tool, the same in search, describe and call.
// The order of its keys is part of the contract.
type Hit struct {
	ID          tool.ID     `json:"id"`
	Source      tool.Source `json:"source"`
	SourceName  string      `json:"sourceName"`
	MCP         *MCPName    `json:"mcp,omitempty"`
	Name        string      `json:"name"`
	Label       string      `json:"label,omitempty"`
	Description string      `json:"description"`
	Input       string      `json:"input"`
	Output      string      `json:"output,omitempty"`
}

// MCPName is where an MCP tool lives.
type MCPName struct {
	ServerName string `json:"serverName"`
	ToolName   string `json:"toolName"`
}

// unknown is the signature of every schema that is not walked.
const unknown = "unknown"

// signature is what a trusted tool's schemas look like.
type signature struct{ input, output string }

func signatureOf(t *tool.Tool) signature {
	s := signature{input: schema.Input(t.Input.JSON())}
	if t.Output != nil {
		if text, complete := schema.Output(t.Output.JSON()); complete {
			s.output = text
		}
	}
	return s
}

// Entry returns the compact entry of t. The schema of an untrusted source is
// never read.
func Entry(t *tool.Tool) Hit { return entry(t, signatureOf) }

// Entry is the function of this name for a tool of the catalog. It reads each
// schema once: reading those of the hits would take a search far longer than
// finding them.
func (c *Catalog) Entry(t *tool.Tool) Hit { return entry(t, c.signature) }

// signature returns the tool's signature. The catalog that the tool is of keeps it:
// one for each of its trusted tools at most, of 1,100 characters at most.
func (c *Catalog) signature(t *tool.Tool) signature {
	for c != nil && c.names.byID[t.ID] != t {
		c = c.base
	}
	if c == nil {
		return signatureOf(t)
	}
	if known, ok := c.signatures.Load(t); ok {
		return known.(signature)
	}
	s := signatureOf(t)
	c.signatures.Store(t, s)
	return s
}

func entry(t *tool.Tool, signature func(*tool.Tool) signature) Hit {
	h := Hit{
		ID:          t.ID,
		Source:      t.Source,
		SourceName:  t.Owner,
		Name:        t.Name,
		Label:       t.Label,
		Description: t.Description,
		Input:       unknown,
	}
	if t.Source == tool.MCP {
		h.MCP = &MCPName{ServerName: t.Owner, ToolName: t.Name}
	}
	if !t.Source.Trusted() {
		return h
	}
	s := signature(t)
	h.Input, h.Output = s.input, s.output
	return h
}

// Description is the full answer about one tool.
type Description struct {
	Hit
	Tool *tool.Tool
}

// MarshalJSON writes the hit's keys, then parameters and outputSchema exactly
// as their owner wrote them.
func (d Description) MarshalJSON() ([]byte, error) {
	head, err := tool.Encode(d.Hit)
	if err != nil {
		return nil, err
	}
	out := append(head[:len(head)-1:len(head)-1], `,"parameters":`...)
	if out, err = appendSchema(out, d.Tool.Input); err != nil {
		return nil, fmt.Errorf("describe %s: parameters: %w", d.ID, err)
	}
	if d.Tool.Output != nil && d.Tool.SchemaTrusted() {
		out = append(out, `,"outputSchema":`...)
		if out, err = appendSchema(out, d.Tool.Output); err != nil {
			return nil, fmt.Errorf("describe %s: outputSchema: %w", d.ID, err)
		}
	}
	return append(out, '}'), nil
}

func appendSchema(out []byte, s tool.Schema) ([]byte, error) {
	if s == nil {
		return append(out, `{}`...), nil
	}
	raw := s.JSON()
	if len(raw) == 0 {
		return append(out, `{}`...), nil
	}
	if !json.Valid(raw) {
		return nil, fmt.Errorf("the schema is not valid JSON (%d bytes)", len(raw))
	}
	return append(out, raw...), nil
}
