package surface

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/toolsearch/toolsearch/call"
	"github.com/toolsearch/toolsearch/catalog"
	"github.com/toolsearch/toolsearch/code"
	"github.com/toolsearch/toolsearch/rank"
	"github.com/toolsearch/toolsearch/tool"
)

// CodeRunner runs a body in isolation. *code.Runner is one.
type CodeRunner interface {
	Run(ctx context.Context, body string, host code.Host) (*code.Report, error)
}

const codeParameters = `{"type":"object","properties":{` +
	`"code":{"type":"string","description":"The JavaScript body"}},"required":["code"]}`

// CodeAnswer is what tool_search_code returns.
type CodeAnswer struct {
	OK        bool              `json:"ok"`
	Value     json.RawMessage   `json:"value"`
	Error     *code.GuestError  `json:"error,omitempty"`
	Logs      []string          `json:"logs"`
	Cut       []string          `json:"cut,omitempty"`   // what was lost at a limit
	Calls     []code.CallRecord `json:"calls,omitempty"` // of a failed run
	Telemetry Telemetry         `json:"telemetry"`
}

func (s *Surface) runCode(ctx context.Context, c *catalog.Catalog, r Request) (*tool.Result, error) {
	const next = "Pass {\"code\": \"…\"} with a JavaScript body."
	args, err := readObject(r.Args)
	if err != nil {
		return nil, inputError("tool_search_code: "+err.Error(), next)
	}
	var body string
	if json.Unmarshal(args.Get("code"), &body) != nil {
		return nil, inputError("tool_search_code: code must be a string", next)
	}
	own := s.counts.of(r.Origin.Caller)
	searches := own.searches.Load()
	answer, content, err := s.RunCode(ctx, c, body, r)
	if err != nil {
		return nil, err
	}
	raw, err := tool.Encode(answer)
	if err != nil {
		return nil, err
	}
	blocks := []tool.Content{tool.Text(string(raw))}
	if own.searches.Load() > searches {
		blocks = s.notes(c, raw, false) // who searched is told who is missing
	}
	return &tool.Result{Content: append(blocks, content...), Details: raw, IsError: !answer.OK}, nil
}

// RunCode runs a body against a catalog. The answer also tells how a failed run
// went; an error means that there was no run. The content blocks are those that
// the returned value holds.
func (s *Surface) RunCode(ctx context.Context, c *catalog.Catalog, body string, r Request) (*CodeAnswer, []tool.Content, error) {
	if s.code == nil {
		return nil, nil, &tool.Error{Code: tool.CodeUnavailable, Reason: "tool_search_code: no isolated runtime is running", Next: "Use mode \"tools\"."}
	}
	rep, err := s.code.Run(ctx, body, host{s, c, r})
	if err != nil {
		return nil, nil, &tool.Error{Code: tool.CodeUnavailable, Reason: "tool_search_code: the isolated runtime did not run the code", Next: "Try once more; then use other tools.", Err: err}
	}
	a := &CodeAnswer{OK: rep.OK, Value: rep.Value, Error: rep.Error, Logs: make([]string, len(rep.Logs)), Telemetry: s.telemetry(s.counts.of(r.Origin.Caller))}
	for i, l := range rep.Logs {
		a.Logs[i] = l.Text
		if l.Level != "log" {
			a.Logs[i] = l.Level + ": " + l.Text
		}
	}
	if !rep.OK {
		a.Calls = rep.Calls
	}
	if rep.Truncated.Logs {
		a.Cut = append(a.Cut, "the logs were longer than their limit")
	}
	if n := rep.Truncated.ResultBytes; n > 0 {
		a.Cut = append(a.Cut, fmt.Sprintf("the value had %d bytes; value is the beginning of its JSON text", n))
	}
	if n := rep.Truncated.Content; n > 0 {
		a.Cut = append(a.Cut, fmt.Sprintf("%d content blocks could not be kept", n))
	}
	return a, rep.Content, nil
}

// host is the tool side of one run: the same catalog, counters and pipeline as
// the other controls.
type host struct {
	surface *Surface
	catalog *catalog.Catalog
	request Request // of the control; its arguments are the body
}

// Owner is who asks: its bodies wait behind each other, and not before those of
// other callers.
func (h host) Owner() string { return h.request.Origin.Caller }

// Search answers openclaw.tools.search.
func (h host) Search(ctx context.Context, query string, options json.RawMessage) (json.RawMessage, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var limit json.RawMessage
	if !tool.Absent(options) {
		opt, err := tool.ReadObject(options)
		if err != nil {
			return nil, inputError("openclaw.tools.search: the second argument must be {limit}", "Leave it out for the default.")
		}
		limit = opt.Get("limit")
	}
	n, err := readLimit("openclaw.tools.search", limit)
	if err != nil {
		return nil, err
	}
	most, err := h.surface.limits.Clamp(n)
	if err != nil {
		return nil, err
	}
	found := h.surface.find(ctx, h.catalog, h.request.Origin, rank.Query{Text: query, Limit: most})
	return catalog.MarshalHits(found.Hits)
}

// Describe answers openclaw.tools.describe.
func (h host) Describe(ctx context.Context, id string) (json.RawMessage, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	d, err := h.surface.look(ctx, h.catalog, h.request.Origin, id)
	if err != nil {
		return nil, inCode(err)
	}
	return d.MarshalJSON()
}

// Call answers openclaw.tools.call.
func (h host) Call(ctx context.Context, id string, args json.RawMessage) (code.CallReply, error) {
	if h.surface.shaper != nil && call.IsHandle(id) && len(h.catalog.Named(id)) == 0 {
		return h.page(id, args)
	}
	target, err := Resolve(h.catalog, id)
	if err != nil {
		return code.CallReply{}, inCode(err)
	}
	object, ok := asObject(args)
	if !ok && len(bytes.TrimSpace(args)) > 0 {
		return code.CallReply{}, inputError("openclaw.tools.call: the second argument must be an object with the tool's arguments", "Pass call(id, {…}).")
	}
	h.surface.counts.of(h.request.Origin.Caller).calls.Add(1)
	res, err := h.surface.pipeline.Call(ctx, call.Request{
		Target: target, Args: object, Progress: h.request.Progress, Origin: within(h.request.Origin, ToolSearchCode),
	})
	if err != nil {
		return code.CallReply{}, inCode(err)
	}
	entry, err := tool.Encode(h.catalog.Entry(target))
	if err != nil {
		return code.CallReply{}, err
	}
	return code.CallReply{Tool: entry, Result: res}, nil
}

// page reads on in a result that was cut.
func (h host) page(handle string, args json.RawMessage) (code.CallReply, error) {
	r := call.PageRequest{Handle: handle}
	if !tool.Absent(args) {
		o, err := tool.ReadObject(args)
		if at := o.Get("offset"); err != nil || len(o) > 1 || at == nil && len(o) > 0 || at != nil && json.Unmarshal(at, &r.Offset) != nil || r.Offset < 0 {
			return code.CallReply{}, inputError("openclaw.tools.call: of a page there is an offset alone, a whole number from 0", "Pass call(handle, {offset}).")
		}
	}
	res, err := h.surface.shaper.PageForCode(h.request.Origin, r)
	if err != nil {
		return code.CallReply{}, err
	}
	return code.CallReply{Tool: json.RawMessage("null"), Result: res}, nil
}

// inCode puts an error into the words of the body, which has none of the other
// modes' controls.
func inCode(err error) error {
	var te *tool.Error
	if !errors.As(err, &te) {
		return err
	}
	e := *te
	e.Next = strings.NewReplacer(ToolSearch, "openclaw.tools.search", ToolDescribe, "openclaw.tools.describe").Replace(e.Next)
	return &e
}
