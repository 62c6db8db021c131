package turn

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/surface"
	"github.com/toolsearch/toolsearch/tool"
)

// callers are the tools that the caller of a run brought, under their full names:
// two namespaces may have a tool of one name.
type callers struct {
	own map[string]provider.Tool // as the caller wrote them
	// wire has what the model's API is told in place of a name that it might not
	// take. The caller never sees it.
	wire map[string]string
}

// callers finds the caller's tools, and what they are called on the wire.
func (o *Options) callers(visible []surface.Visible) callers {
	c := callers{own: make(map[string]provider.Tool, len(o.Request.Tools)), wire: map[string]string{}}
	for _, t := range o.Request.Tools {
		if t.Name != "" {
			name := t.FullName()
			c.own[name] = t
			c.name(name, surface.WireName(&tool.Tool{Source: tool.Client, Owner: tool.ClientOwner, Name: name}, surface.ModelNameLimit))
		}
	}
	for _, v := range visible { // what is shown is called as it is shown
		if v.Tool != nil && v.Tool.Source == tool.Client {
			c.name(v.Tool.Name, v.Name)
		}
	}
	return c
}

func (c callers) name(name, wire string) {
	if delete(c.wire, name); name != wire {
		c.wire[name] = wire
	}
}

// renamed is a tool of the caller as the model's API is told of it. What has
// another name stands in no namespace.
func (c callers) renamed(t provider.Tool) provider.Tool {
	if wire, ok := c.wire[t.FullName()]; ok {
		t.Name, t.Namespace, t.Group, t.Native = wire, "", nil, provider.Native{}
	}
	return t
}

// asked is a call as the caller reads it: of the tool as it wrote that.
func (c callers) asked(name string, args json.RawMessage) provider.Call {
	call := provider.Call{Name: name, Args: args}
	if own, ok := c.own[name]; ok {
		call.Name, call.Namespace = own.Name, own.Namespace
	}
	return call
}

// choice puts the caller's demand for one of its tools, and those that it allows,
// into the words of the wire. What the request says of it itself has the other
// name, and goes.
func (c callers) choice(req *provider.Request) {
	if name, one := strings.CutPrefix(string(req.Params.Choice), "="); one {
		if wire, ok := c.wire[name]; ok {
			req.Params.Choice = provider.ChooseTool(wire)
			req.Fields = withoutChoice(req.Fields)
		}
	}
	changed := false
	for i, name := range req.Params.Allowed {
		wire, ok := c.wire[name]
		if !ok {
			continue
		}
		if !changed {
			changed = true
			req.Params.Allowed = slices.Clone(req.Params.Allowed)
			req.Fields = withoutChoice(req.Fields)
		}
		req.Params.Allowed[i] = wire
	}
}

func withoutChoice(fields tool.Object) tool.Object {
	if i := fields.Index("tool_choice"); i >= 0 {
		return slices.Delete(slices.Clone(fields), i, i+1)
	}
	return fields
}

// calls puts the calls that the conversation begins with under the names of the
// wire: an API may refuse a call of a tool that it is not offered.
func (c callers) calls(messages []provider.Message) {
	if len(c.wire) == 0 {
		return
	}
	for i, m := range messages {
		cloned := false
		for j, b := range m.Blocks {
			wire, ok := c.wire[b.Call.FullName()]
			if b.Kind != provider.ToolCall || !ok {
				continue
			}
			if !cloned {
				cloned = true
				m.Blocks = slices.Clone(m.Blocks)
				m.Native = provider.Native{} // the message as it came holds the call
			}
			b.Call.Name, b.Call.Namespace, b.Native = wire, "", provider.Native{}
			m.Blocks[j] = b
		}
		messages[i] = m
	}
}
