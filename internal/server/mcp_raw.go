package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolsearch/toolsearch/surface"
	"github.com/toolsearch/toolsearch/tool"
)

// rawResult is a result whose bytes are sent as they are. Only what the
// protocol adds to every result is spliced in.
type rawResult struct {
	mcp.ResultBase
	body    json.RawMessage
	version string
}

func newRawResult(body json.RawMessage, version string) *rawResult {
	return &rawResult{body: body, version: version}
}

// MarshalJSON writes the body; for a client of the stateless era also
// resultType and the _meta keys that the SDK adds.
func (r *rawResult) MarshalJSON() ([]byte, error) {
	if !modern(r.version) && len(r.Meta) == 0 {
		return r.body, nil
	}
	members, err := tool.ReadObject(r.body)
	if err != nil {
		return nil, fmt.Errorf("send result: %w", err)
	}
	if modern(r.version) && members.Get("resultType") == nil {
		members = append(members, tool.Member{Name: "resultType", Value: json.RawMessage(`"complete"`)})
	}
	if len(r.Meta) > 0 {
		if members, err = mergeMeta(members, r.Meta); err != nil {
			return nil, err
		}
	}
	return members.MarshalJSON()
}

// mergeMeta adds keys to _meta; what the body says itself stays.
func mergeMeta(o tool.Object, extra mcp.Meta) (tool.Object, error) {
	meta := tool.Object{}
	if raw := o.Get("_meta"); raw != nil {
		var err error
		if meta, err = tool.ReadObject(raw); err != nil {
			return nil, fmt.Errorf("send result: _meta: %w", err)
		}
	}
	added, err := tool.Encode(extra)
	if err != nil {
		return nil, err
	}
	more, err := tool.ReadObject(added)
	if err != nil {
		return nil, err
	}
	for _, m := range more {
		if meta.Get(m.Name) == nil {
			meta = append(meta, m)
		}
	}
	raw, err := meta.MarshalJSON()
	if err != nil {
		return nil, err
	}
	return o.Set("_meta", raw), nil
}

// definition is a tool as tools/list shows it. An MCP tool's own definition
// keeps every byte except its name, and a schema that clients refuse, unless it
// is held.
func definition(v surface.Visible) (json.RawMessage, error) {
	name, err := tool.Encode(v.Name)
	if err != nil {
		return nil, err
	}
	if v.Tool != nil && v.Tool.Definition != nil && !v.Tool.Held {
		def, err := tool.ReadObject(v.Tool.Definition)
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", v.Tool.ID, err)
		}
		def = def.Set("name", name).Set("inputSchema", v.Parameters)
		if out := def.Get("outputSchema"); out != nil && !bytes.Equal(tool.ObjectSchema(out), out) {
			def = slices.DeleteFunc(def, func(m tool.Member) bool { return m.Name == "outputSchema" }) // a client would refuse the list
		}
		return def.MarshalJSON()
	}
	type annotations struct {
		ReadOnly    *bool `json:"readOnlyHint,omitempty"`
		Destructive *bool `json:"destructiveHint,omitempty"`
		Idempotent  *bool `json:"idempotentHint,omitempty"`
		OpenWorld   *bool `json:"openWorldHint,omitempty"`
	}
	out := struct {
		Name         json.RawMessage `json:"name"`
		Title        string          `json:"title,omitempty"`
		Description  string          `json:"description"`
		InputSchema  json.RawMessage `json:"inputSchema"`
		OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
		Annotations  annotations     `json:"annotations"`
		Meta         map[string]bool `json:"_meta,omitempty"`
	}{Name: name, Title: v.Title, Description: v.Description, InputSchema: v.Parameters}
	if v.Tool == nil {
		// A client's own tool search must not hide our controls behind itself.
		out.Meta = map[string]bool{"anthropic/alwaysLoad": true}
		if v.ReadOnly {
			out.Annotations.ReadOnly = &v.ReadOnly
		}
		return tool.Encode(out)
	}
	a := v.Tool.Annotations
	out.Annotations = annotations{a.ReadOnly, a.Destructive, a.Idempotent, a.OpenWorld}
	if v.Tool.Output != nil {
		out.OutputSchema = v.Tool.Output.JSON()
	}
	return tool.Encode(out)
}

// marshalResult writes a result that has no bytes of its own.
func marshalResult(res *tool.Result) (json.RawMessage, error) {
	content := res.Content
	if content == nil {
		content = []tool.Content{}
	}
	return tool.Encode(struct {
		Content           []tool.Content  `json:"content"`
		StructuredContent json.RawMessage `json:"structuredContent,omitempty"`
		IsError           bool            `json:"isError,omitempty"`
	}{content, structured(res.Details), res.IsError})
}

// structured keeps details that are an object: older protocol versions allow
// nothing else there, and the text has them anyway.
func structured(details json.RawMessage) json.RawMessage {
	if d := bytes.TrimSpace(details); len(d) > 0 && d[0] == '{' {
		return d
	}
	return nil
}
