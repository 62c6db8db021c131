package surface

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/toolsearch/toolsearch/call"
	"github.com/toolsearch/toolsearch/catalog"
	"github.com/toolsearch/toolsearch/rank"
	"github.com/toolsearch/toolsearch/schema"
	"github.com/toolsearch/toolsearch/tool"
)

// Mode is how a run's tools are shown.
type Mode string

// The modes a run can be in after planning.
const (
	Off   Mode = "off"   // every allowed tool, no control
	Tools Mode = "tools" // tool_search, tool_describe, tool_call
	Code  Mode = "code"  // tool_search_code
)

// View is what a model sees at one moment. It is immutable; a change of the
// tools makes a new one.
type View struct {
	Mode    Mode
	Catalog *catalog.Catalog // nil when off
	Direct  *Names           // the tools that the model sees themselves
}

// Surface is one session's way to its tools: a View that may be swapped
// between requests, and the pipeline behind it. It is safe for concurrent use.
type Surface struct {
	limits   catalog.Limits
	view     func() *View
	pipeline *call.Pipeline
	schemas  *schema.Cache
	code     CodeRunner
	counts   counters
}

// Config makes a Surface.
type Config struct {
	Limits   catalog.Limits
	View     func() *View // the current view; nil when the run is over
	Pipeline *call.Pipeline
	Schemas  *schema.Cache
	Code     CodeRunner // runs the bodies of mode Code; nil when there is none
}

// New makes a Surface.
func New(c Config) (*Surface, error) {
	if c.View == nil || c.Pipeline == nil || c.Schemas == nil {
		return nil, errors.New("make a surface: a view, a pipeline and a schema cache are required")
	}
	if c.Limits.Default < 1 || c.Limits.Max < c.Limits.Default {
		return nil, fmt.Errorf("make a surface: search limits %d (default) and %d (most) do not fit", c.Limits.Default, c.Limits.Max)
	}
	return &Surface{limits: c.Limits, view: c.View, pipeline: c.Pipeline, schemas: c.Schemas, code: c.Code}, nil
}

type counters struct{ searches, describes, calls, emptySearches atomic.Int64 }

// Telemetry are the running totals of a catalog session.
type Telemetry struct {
	CatalogSize   int                 `json:"catalogSize"`
	Sources       map[tool.Source]int `json:"sources"`
	SearchCount   int64               `json:"searchCount"`
	DescribeCount int64               `json:"describeCount"`
	CallCount     int64               `json:"callCount"`
}

// Telemetry returns the totals so far.
func (s *Surface) Telemetry() Telemetry {
	t := Telemetry{
		Sources:       map[tool.Source]int{},
		SearchCount:   s.counts.searches.Load(),
		DescribeCount: s.counts.describes.Load(),
		CallCount:     s.counts.calls.Load(),
	}
	if v := s.view(); v != nil && v.Catalog != nil {
		t.CatalogSize, t.Sources = v.Catalog.Len(), v.Catalog.Sources()
	}
	return t
}

// controls lists the controls of a mode, in the order a model sees them.
func controls(m Mode) []string {
	switch m {
	case Tools:
		return []string{ToolSearch, ToolDescribe, ToolCall}
	case Code:
		return []string{ToolSearchCode}
	}
	return nil
}

// NeedsControls lists the controls without which a mode cannot work.
func NeedsControls(m Mode) []string { return controls(m) }

// Visible is one tool that a model sees. Tool is nil for a control.
type Visible struct {
	Definition
	Tool *tool.Tool
}

// Visible lists what the model sees now: controls first, then direct tools by
// name. The order and the bytes change only when the tools do.
func (s *Surface) Visible() []Visible {
	v := s.view()
	if v == nil {
		return nil
	}
	var out []Visible
	for _, name := range controls(v.Mode) {
		out = append(out, Visible{Definition: s.define(name)})
	}
	for _, name := range v.Direct.All() {
		t, _ := v.Direct.Lookup(name) // All lists what Lookup knows
		out = append(out, Visible{Definition: Direct(t, name), Tool: t})
	}
	return out
}

// Request is one call of a tool by the name a model used.
type Request struct {
	Args     json.RawMessage
	Progress func(tool.Progress)
}

// Call runs what a model called by name: a control, a tool it sees, or a
// hidden tool by its exact name. Failures are results, which a model reads and
// goes on; the only error is a name that nothing bears.
func (s *Surface) Call(ctx context.Context, name string, r Request) (*tool.Result, error) {
	if len(r.Args) == 0 || string(r.Args) == "null" {
		r.Args = json.RawMessage("{}")
	}
	v := s.view()
	if v == nil {
		return Failure(&tool.Error{Code: tool.CodeCatalogGone, Reason: name + ": this run's catalog is gone", Next: "Start a new run."}), nil
	}
	if IsControl(name) && slices.Contains(controls(v.Mode), name) {
		res, err := s.control(ctx, v.Catalog, name, r)
		if err != nil {
			return Failure(err), nil
		}
		return res, nil
	}
	target, err := v.byName(name)
	if err != nil {
		return nil, err
	}
	s.counts.calls.Add(1)
	res, err := s.pipeline.Call(ctx, call.Request{Target: target, Args: r.Args, Progress: r.Progress})
	if err != nil {
		return Failure(err), nil
	}
	return res, nil
}

// byName finds a tool that is visible, or hidden under exactly this name.
func (v *View) byName(name string) (*tool.Tool, error) {
	if t, ok := v.Direct.Lookup(name); ok {
		return t, nil
	}
	if v.Catalog != nil && !IsControl(name) {
		return v.Catalog.Resolve(name)
	}
	return nil, &tool.Error{Code: tool.CodeUnknownTool, Reason: fmt.Sprintf("no tool is named %q", tool.Clean(name, 200))}
}

func (s *Surface) control(ctx context.Context, c *catalog.Catalog, name string, r Request) (*tool.Result, error) {
	switch name {
	case ToolSearch:
		return s.search(c, r.Args)
	case ToolDescribe:
		return s.describe(c, r.Args)
	case ToolCall:
		return s.call(ctx, c, r)
	case ToolSearchCode:
		return s.runCode(ctx, c, r)
	}
	return nil, &tool.Error{Code: tool.CodeUnknownTool, Reason: fmt.Sprintf("no control is named %q", tool.Clean(name, 100))}
}

func (s *Surface) search(c *catalog.Catalog, args json.RawMessage) (*tool.Result, error) {
	req, err := readSearch(args, s.limits)
	if err != nil {
		return nil, err
	}
	if req.batch != nil {
		s.counts.searches.Add(int64(len(req.batch)))
		answer, err := c.SearchBatch(req.batch)
		if err != nil {
			return nil, err
		}
		raw, err := tool.Encode(answer)
		if err != nil {
			return nil, err
		}
		return &tool.Result{Content: s.notes(c, raw, false), Details: raw}, nil
	}
	found := s.find(c, rank.Query{Text: req.query, Limit: req.limit})
	hits, err := catalog.MarshalHits(found.Hits)
	if err != nil {
		return nil, err
	}
	details, err := tool.Encode(struct {
		Hits      json.RawMessage  `json:"hits"`
		Total     int              `json:"total"`
		Truncated bool             `json:"truncated,omitempty"`
		Weak      bool             `json:"weak,omitempty"`
		Outages   []catalog.Outage `json:"outages,omitempty"`
	}{hits, found.Total, found.Truncated, found.Weak, c.Outages()})
	if err != nil {
		return nil, err
	}
	return &tool.Result{Content: s.notes(c, hits, found.Weak), Details: details}, nil
}

// find runs one search and counts it.
func (s *Surface) find(c *catalog.Catalog, q rank.Query) catalog.Results {
	s.counts.searches.Add(1)
	found := c.Search(q)
	if len(found.Hits) == 0 {
		s.counts.emptySearches.Add(1)
	}
	return found
}

// notes puts what a model should know of an answer into blocks after it, so
// that the answer itself stays plain JSON.
func (s *Surface) notes(c *catalog.Catalog, answer json.RawMessage, weak bool) []tool.Content {
	out := []tool.Content{tool.Text(string(answer))}
	if weak {
		out = append(out, tool.Text("Note: these are weak matches; perhaps no tool fits."))
	}
	for _, o := range c.Outages() {
		state := "is not available"
		if o.Stale {
			state = "is not connected yet; its last known tools are listed"
		}
		out = append(out, tool.Text(tool.Clean(fmt.Sprintf("Note: server %q %s (%s).", o.Owner, state, o.Reason), 400)))
	}
	return out
}

func (s *Surface) describe(c *catalog.Catalog, args json.RawMessage) (*tool.Result, error) {
	ref, err := readRef(args)
	if err != nil {
		return nil, err
	}
	s.counts.describes.Add(1)
	d, err := c.Describe(ref)
	if err != nil {
		return nil, err
	}
	raw, err := d.MarshalJSON()
	if err != nil {
		return nil, err
	}
	return &tool.Result{Content: []tool.Content{tool.Text(string(raw))}, Details: raw}, nil
}

func (s *Surface) call(ctx context.Context, c *catalog.Catalog, r Request) (*tool.Result, error) {
	shape, err := readCall(r.Args)
	if err != nil {
		return nil, err
	}
	target, err := c.Resolve(shape.ref)
	if err != nil {
		if shape.namesAnother(c) {
			return nil, ambiguous("both id and name could name the tool")
		}
		return nil, err
	}
	args, err := shape.arguments(target, declares(target), s.fits(target))
	if err != nil {
		return nil, err
	}
	return s.CallTool(ctx, target, call.Request{Args: args, Origin: call.Origin{Control: ToolCall}, Progress: r.Progress})
}

// CallTool sends a call of a cataloged tool through the pipeline and wraps the
// answer in the {tool, result} envelope.
func (s *Surface) CallTool(ctx context.Context, t *tool.Tool, r call.Request) (*tool.Result, error) {
	s.counts.calls.Add(1)
	r.Target = t
	res, err := s.pipeline.Call(ctx, r)
	if err != nil {
		return nil, err
	}
	return Envelope(t, res)
}

// namesAnother reports whether one of the other reference keys names a tool.
func (c callShape) namesAnother(cat *catalog.Catalog) bool {
	for _, f := range c.fields {
		for _, key := range references {
			var ref string
			if f.Name == key && json.Unmarshal(f.Value, &ref) == nil {
				if _, err := cat.Resolve(ref); err == nil {
					return true
				}
			}
		}
	}
	return false
}

// declares returns a test for the target's own top-level properties.
func declares(t *tool.Tool) func(string) bool {
	var names map[string]json.RawMessage
	return func(name string) bool {
		if names == nil {
			var top struct {
				Properties map[string]json.RawMessage `json:"properties"`
			}
			if json.Unmarshal(t.Input.JSON(), &top) != nil || top.Properties == nil {
				top.Properties = map[string]json.RawMessage{}
			}
			names = top.Properties
		}
		_, ok := names[name]
		return ok
	}
}

// fits returns a test for arguments that meet the target's schema. A schema
// that does not compile fits nothing: it cannot tell two readings apart.
func (s *Surface) fits(t *tool.Tool) func(json.RawMessage) bool {
	return func(args json.RawMessage) bool {
		compiled, err := s.schemas.Get(t.Input.JSON())
		return err == nil && compiled.Validate(args) == nil
	}
}

// SameTools reports whether a model sees the same tools in both views.
func (v *View) SameTools(o *View) bool {
	return v.Mode == o.Mode && maps.Equal(v.Direct.exact, o.Direct.exact)
}
