package surface

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/toolsearch/toolsearch/call"
	"github.com/toolsearch/toolsearch/catalog"
	"github.com/toolsearch/toolsearch/internal/editdistance"
	"github.com/toolsearch/toolsearch/rank"
	"github.com/toolsearch/toolsearch/schema"
	"github.com/toolsearch/toolsearch/tool"
	"github.com/toolsearch/toolsearch/transcript"
)

// Mode is how a run's tools are shown.
type Mode string

// The modes a run can be in after planning.
const (
	Off       Mode = "off"       // every allowed tool, no control
	Tools     Mode = "tools"     // tool_search, tool_describe, tool_call
	Code      Mode = "code"      // tool_search_code
	Directory Mode = "directory" // the controls of Tools, and a listing in the prompt
)

// Auto leaves the choice between Off and one of the others to planning. No
// View has it.
const Auto Mode = "auto"

// View is what a model sees at one moment. It is immutable; a change of the
// tools makes a new one.
type View struct {
	Mode    Mode
	Catalog *catalog.Catalog // nil when off
	Direct  *Names           // the tools that the model sees themselves
	Listing string           // for the prompt, in mode Directory; see catalog.Directory
}

// Surface is one session's way to its tools: a View that may be swapped
// between requests, and the pipeline behind it. It is safe for concurrent use.
type Surface struct {
	limits   catalog.Limits
	view     func() *View
	visible  func() []Visible // nil for all that the view shows
	pipeline *call.Pipeline
	schemas  *schema.Cache
	code     CodeRunner
	record   *transcript.Transcript
	shaper   *call.Shaper
	observer Observer
	logger   *slog.Logger
	counts   tallies
}

// Config makes a Surface.
type Config struct {
	Limits catalog.Limits
	View   func() *View // the current view; nil when the run is over
	// Visible, when not nil, is what the model sees in place of all that View
	// shows: the front of a conversation does not move when the tools do.
	Visible  func() []Visible
	Pipeline *call.Pipeline
	Schemas  *schema.Cache
	Code     CodeRunner // runs the bodies of mode Code; nil when there is none
	// Transcript, when not nil, is told what the model saw and asked. Calls reach
	// it through the pipeline.
	Transcript *transcript.Transcript
	// Shaper, when not nil, bounds every result that a model reads. Code bodies get
	// them whole.
	Shaper   *call.Shaper
	Observer Observer     // told of searches and describes; nil tells nobody
	Logger   *slog.Logger // nil logs nothing
}

// New makes a Surface.
func New(c Config) (*Surface, error) {
	if c.View == nil || c.Pipeline == nil || c.Schemas == nil {
		return nil, errors.New("make a surface: a view, a pipeline and a schema cache are required")
	}
	if c.Limits.Default < 1 || c.Limits.Max < c.Limits.Default {
		return nil, fmt.Errorf("make a surface: search limits %d (default) and %d (most) do not fit", c.Limits.Default, c.Limits.Max)
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return &Surface{
		limits: c.Limits, view: c.View, visible: c.Visible,
		pipeline: c.Pipeline, schemas: c.Schemas, code: c.Code,
		record: c.Transcript, shaper: c.Shaper, observer: c.Observer, logger: c.Logger,
	}, nil
}

// Telemetry are the running totals of a catalog session.
type Telemetry struct {
	CatalogSize   int                 `json:"catalogSize"`
	Sources       map[tool.Source]int `json:"sources"`
	SearchCount   int64               `json:"searchCount"`
	DescribeCount int64               `json:"describeCount"`
	CallCount     int64               `json:"callCount"`
}

// Telemetry returns the totals so far, of all callers.
func (s *Surface) Telemetry() Telemetry { return s.telemetry(s.counts.all()) }

func (s *Surface) telemetry(c *counters) Telemetry {
	t := Telemetry{
		Sources:       map[tool.Source]int{},
		SearchCount:   c.searches.Load(),
		DescribeCount: c.describes.Load(),
		CallCount:     c.calls.Load(),
	}
	if v := s.view(); v != nil && v.Catalog != nil {
		t.CatalogSize, t.Sources = v.Catalog.Len(), v.Catalog.Sources()
	}
	return t
}

// View returns what the model sees now; nil when the run is over.
func (s *Surface) View() *View { return s.view() }

// ControlNames lists the controls of a mode, without which it cannot work, in the
// order a model sees them.
func ControlNames(m Mode) []string {
	switch m {
	case Tools, Directory:
		return []string{ToolSearch, ToolDescribe, ToolCall}
	case Code:
		return []string{ToolSearchCode}
	}
	return nil
}

// Request is one call of a tool by the name a model used.
type Request struct {
	Args     json.RawMessage
	Progress func(tool.Progress)
	Origin   call.Origin // who asks; Control and Parent are set here
	// Whole asks for results as they are in mode Off: for who passes them on.
	Whole bool
}

// Call runs what a model called by name: a control, a tool it sees, or a
// hidden tool by its exact name. Failures are results, which a model reads and
// goes on; the only error is a name that nothing bears.
func (s *Surface) Call(ctx context.Context, name string, r Request) (*tool.Result, error) {
	res, err := s.run(ctx, name, r)
	v := s.view()
	if err != nil || s.shaper == nil || v == nil || v.Mode == Off && r.Whole {
		return res, err
	}
	return s.shaper.Shape(reader(v.Mode, name, r.Origin, res), res), nil
}

func (s *Surface) run(ctx context.Context, name string, r Request) (*tool.Result, error) {
	if len(r.Args) == 0 || string(r.Args) == "null" {
		r.Args = json.RawMessage("{}")
	}
	v := s.view()
	if v == nil {
		return Failure(&tool.Error{Code: tool.CodeCatalogGone, Reason: name + ": this run's catalog is gone", Next: "Start a new run."}), nil
	}
	if slices.Contains(ControlNames(v.Mode), name) {
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
	s.counts.of(r.Origin.Caller).calls.Add(1)
	res, err := s.pipeline.Call(ctx, call.Request{Target: target, Args: r.Args, Progress: r.Progress, Origin: r.Origin})
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
	unknown := &tool.Error{Code: tool.CodeUnknownTool, Reason: fmt.Sprintf("no tool is named %q", tool.Clean(name, 200))}
	if meant := nearControl(v.Mode, name); meant != "" {
		unknown.Next = fmt.Sprintf("Did you mean %s?", meant)
	}
	if v.Catalog == nil || IsControl(name) {
		return nil, unknown
	}
	t, err := Resolve(v.Catalog, name)
	if err != nil && unknown.Next != "" {
		return nil, unknown // tools of other names are further away
	}
	return t, err
}

// nearControl is the control that a misspelt name means, "" for none.
func nearControl(m Mode, name string) string {
	for _, control := range ControlNames(m) {
		if len(name) <= 2*len(control) && editdistance.Of([]byte(name), []byte(control)) <= 2 {
			return control
		}
	}
	return ""
}

func (s *Surface) control(ctx context.Context, c *catalog.Catalog, name string, r Request) (*tool.Result, error) {
	switch name {
	case ToolSearch:
		return s.search(ctx, c, r)
	case ToolDescribe:
		return s.describe(ctx, c, r)
	case ToolCall:
		return s.call(ctx, c, r)
	case ToolSearchCode:
		return s.runCode(ctx, c, r)
	}
	return nil, &tool.Error{Code: tool.CodeUnknownTool, Reason: fmt.Sprintf("no control is named %q", tool.Clean(name, 100))}
}

func (s *Surface) search(ctx context.Context, c *catalog.Catalog, r Request) (*tool.Result, error) {
	req, err := readSearch(r.Args, s.limits)
	if err != nil {
		return nil, err
	}
	if req.batch != nil {
		began := time.Now()
		answer, err := c.SearchBatch(req.batch)
		if err != nil {
			return nil, err
		}
		empty := 0
		for _, g := range answer.Results {
			if len(g.Candidates) == 0 && !g.Truncated {
				empty++
			}
		}
		s.searched(ctx, Search{Origin: r.Origin, Queries: len(req.batch), Empty: empty, Took: time.Since(began)})
		raw, err := tool.Encode(answer)
		if err != nil {
			return nil, err
		}
		return &tool.Result{Content: s.notes(c, raw, false), Details: raw}, nil
	}
	found := s.find(ctx, c, r.Origin, rank.Query{Text: req.query, Limit: req.limit})
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
func (s *Surface) find(ctx context.Context, c *catalog.Catalog, o call.Origin, q rank.Query) catalog.Results {
	began := time.Now()
	found := c.Search(q)
	empty := 0
	if len(found.Hits) == 0 {
		empty = 1
	}
	s.searched(ctx, Search{Origin: o, Queries: 1, Empty: empty, Took: time.Since(began)})
	return found
}

// count adds to the caller's totals and to the transcript's. A count that
// cannot be kept does not fail a search: no tool has run.
func (s *Surface) count(ctx context.Context, o call.Origin, n transcript.Counts) {
	own := s.counts.of(o.Caller)
	own.searches.Add(int64(n.Searches))
	own.describes.Add(int64(n.Describes))
	if s.record == nil {
		return
	}
	if err := s.record.Count(ctx, o, n); err != nil {
		s.logger.Error("a search or describe is not counted in the transcript", "error", err)
	}
}

// Begin records what the model of a run sees up front.
func (s *Surface) Begin(ctx context.Context, o call.Origin) error {
	v := s.view()
	if s.record == nil || v == nil {
		return nil
	}
	run := transcript.Run{RunKey: s.record.Key(o), Agent: o.Agent, Caller: o.Caller, Mode: string(v.Mode)}
	for _, d := range s.Visible() {
		run.Schemas++
		run.SchemaBytes += d.Size()
	}
	if v.Catalog != nil {
		run.Catalog = v.Catalog.Len()
	}
	return s.record.StartRun(ctx, run)
}

// within is the origin of a call that a control makes.
func within(o call.Origin, control string) call.Origin {
	o.Control, o.Parent, o.CallID = control, o.CallID, ""
	return o
}

// notes puts what a model should know of an answer into blocks after it, so
// that the answer itself stays plain JSON.
func (s *Surface) notes(c *catalog.Catalog, answer json.RawMessage, weak bool) []tool.Content {
	out := []tool.Content{tool.Text(string(answer))}
	if weak {
		out = append(out, tool.Text("Note: these are weak matches; perhaps no tool fits."))
	}
	for _, o := range c.Outages() {
		out = append(out, outage(o))
	}
	return out
}

// outage tells that a server is not there.
func outage(o catalog.Outage) tool.Content {
	state := "is not available"
	if o.Stale {
		state = "is not connected yet; its last known tools are listed"
	}
	return tool.Text(tool.Clean(fmt.Sprintf("Note: server %q %s (%s).", o.Owner, state, o.Reason), 400))
}

func (s *Surface) describe(ctx context.Context, c *catalog.Catalog, r Request) (*tool.Result, error) {
	ref, err := readRef(r.Args)
	if err != nil {
		return nil, err
	}
	d, err := s.look(ctx, c, r.Origin, ref)
	if err != nil {
		return nil, err
	}
	raw, err := d.MarshalJSON()
	if err != nil {
		return nil, err
	}
	blocks := []tool.Content{tool.Text(string(raw))}
	for _, o := range c.Outages() {
		if o.Owner == d.SourceName && d.Source == tool.MCP {
			blocks = append(blocks, outage(o))
		}
	}
	return &tool.Result{Content: blocks, Details: raw}, nil
}

func (s *Surface) call(ctx context.Context, c *catalog.Catalog, r Request) (*tool.Result, error) {
	if page, ok, err := call.ReadPage(r.Args); err != nil || ok {
		if err == nil && s.shaper == nil {
			err = inputError("tool_call: no result is held here", "Pass {\"id\": …, \"args\": {…}}.")
		}
		if err != nil {
			return nil, err
		}
		return s.shaper.Page(r.Origin, page)
	}
	shape, err := readCall(r.Args)
	if err != nil {
		return nil, err
	}
	target, err := Resolve(c, shape.ref)
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
	s.counts.of(r.Origin.Caller).calls.Add(1)
	res, err := s.pipeline.Call(ctx, call.Request{Target: target, Args: args, Origin: within(r.Origin, ToolCall), Progress: r.Progress})
	if err != nil {
		return nil, err
	}
	return envelope(c.Entry(target), res)
}

// namesAnother reports whether one of the other reference keys names a tool.
func (c callShape) namesAnother(cat *catalog.Catalog) bool {
	for _, f := range c.fields {
		for _, key := range references {
			var ref string
			if f.Name == key && json.Unmarshal(f.Value, &ref) == nil {
				if _, err := Resolve(cat, ref); err == nil {
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

// Shows reports whether the model sees the tool itself.
func (v *View) Shows(t *tool.Tool) bool {
	for _, seen := range v.Direct.folded[tool.Normalize(WireName(t, v.Direct.limit))] {
		if seen.ID == t.ID {
			return true
		}
	}
	return false
}

// SameTools reports whether a model sees the same tools in both views.
func (v *View) SameTools(o *View) bool {
	return v.Mode == o.Mode && maps.Equal(v.Direct.exact, o.Direct.exact)
}
