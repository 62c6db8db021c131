package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolsearch/toolsearch/approval"
	"github.com/toolsearch/toolsearch/surface"
	"github.com/toolsearch/toolsearch/tool"
)

// Elicitation is the approval.Route through the MCP client whose call is in
// flight: it shows a form there. To clients with sessions that is a request of
// the server's, elicitation/create. A client of the stateless era gets the result
// input_required, and comes again with the answer and a sealed request state.
//
// Only accept with a decision to allow is a yes. A client that cannot show forms
// is no route.
type Elicitation struct {
	sealer *approval.Sealer
	holds  holds
}

// NewElicitation makes the route. key seals request states: approval.KeySize
// secret bytes that all processes share which may get the second half of a call;
// nil makes one for this process. Close it when the server is done.
func NewElicitation(key []byte) (*Elicitation, error) {
	s, err := approval.NewSealer(key)
	if err != nil {
		return nil, err
	}
	return &Elicitation{sealer: s}, nil
}

// The form: flat, one field, and nothing secret in it.
const (
	allowOnce    = "allow once"
	allowSession = "allow for session"
	denyCall     = "deny"
	// approvalKey names our one input request.
	approvalKey = "approval"
)

const approvalForm = `{"type":"object","properties":{"decision":{"type":"string","title":"Decision",` +
	`"description":"Whether the call may run","enum":["` + allowOnce + `","` + allowSession + `","` + denyCall + `"],` +
	`"default":"` + denyCall + `"}},"required":["decision"]}`

type flightKey struct{}

// flight is one tools/call request, or the first of the two of a stateless
// client.
type flight struct {
	req  *mcp.CallToolRequest
	hold *hold // nil when the call cannot stand still

	mu sync.Mutex // guards resumes

	// When a stateless client brings an answer and no call waits for it.
	resumes bool
	state   approval.Continuation
	bad     error // what is wrong with the state

	required json.RawMessage // the result that asks for input, when the call was given up for it
}

// Ask implements approval.Route.
func (e *Elicitation) Ask(ctx context.Context, r approval.Request) (approval.Decision, error) {
	f, ok := ctx.Value(flightKey{}).(*flight)
	if !ok || !showsForms(f.req.ClientCapabilities()) {
		return approval.Decision{}, approval.ErrNoRoute
	}
	params := &mcp.ElicitParams{
		Mode:            "form",
		Message:         "Allow this call?\n" + r.Text(),
		RequestedSchema: json.RawMessage(approvalForm),
	}
	if modern(f.req.ProtocolVersion()) {
		return e.askStateless(ctx, f, r, params)
	}
	var came *mcp.ElicitResult
	res, err := f.req.Session.Elicit(context.WithValue(ctx, formKey{}, &came), params)
	if err != nil && came == nil {
		return approval.Decision{}, fmt.Errorf("elicit an approval: %w", err)
	} else if err != nil { // it came, and does not fit the form
		res = came
	}
	return readForm(res), nil
}

type formKey struct{}

// keepForms gives Ask the forms as they come back: the SDK drops those that do
// not fit their schema, with an error like any other.
func keepForms(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		res, err := next(ctx, method, req)
		if to, ok := ctx.Value(formKey{}).(**mcp.ElicitResult); ok && err == nil {
			*to, _ = res.(*mcp.ElicitResult)
		}
		return res, err
	}
}

// showsForms reports whether the client takes form elicitation. One that names
// neither form nor URL means forms, as older ones do.
func showsForms(c *mcp.ClientCapabilities) bool {
	return c != nil && c.Elicitation != nil && (c.Elicitation.Form != nil || c.Elicitation.URL == nil)
}

func (e *Elicitation) askStateless(ctx context.Context, f *flight, r approval.Request, params *mcp.ElicitParams) (approval.Decision, error) {
	code := r.Origin.Control == surface.ToolSearchCode
	if f.takeResumed() {
		why := f.check(&r.Record)
		if why == nil && code {
			why = errors.New("the code run that asked is gone; run the code again")
		}
		if why != nil {
			return approval.Decision{Answer: approval.Deny, By: "the server", Reason: why.Error(), AskAgain: true}, nil
		}
		res, _ := f.req.Params.InputResponses[approvalKey].(*mcp.ElicitResult)
		return readForm(res), nil
	}
	state, err := e.sealer.Seal(approval.Continue(f.bound(r.Record)))
	if err != nil {
		return approval.Decision{}, err
	}
	required, err := tool.Encode(struct {
		ResultType    string              `json:"resultType"`
		InputRequests mcp.InputRequestMap `json:"inputRequests"`
		RequestState  string              `json:"requestState"`
	}{"input_required", mcp.InputRequestMap{approvalKey: params}, state})
	switch {
	case err != nil:
		return approval.Decision{}, err
	case f.hold != nil:
		return f.hold.ask(ctx, question{id: r.ID, expires: r.Expires, required: required, answer: make(chan approval.Decision, 1)})
	case code: // a body cannot be left and entered again
		return approval.Decision{}, approval.ErrNoRoute
	}
	return approval.Decision{Answer: approval.Continued, Taken: func() { f.required = required }}, nil
}

// ask hands the question to the request that waits, and waits for the answer.
// Of several calls of one code body, one asks at a time.
func (h *hold) ask(ctx context.Context, q question) (approval.Decision, error) {
	select {
	case h.questions <- q:
	case <-ctx.Done():
		return approval.Decision{}, ctx.Err()
	}
	select {
	case d := <-q.answer:
		return d, nil
	case <-ctx.Done():
		return approval.Decision{}, ctx.Err()
	}
}

// takeResumed reports once that the request brings an answer: one answer is for
// one question.
func (f *flight) takeResumed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	was := f.resumes
	f.resumes = false
	return was
}

func (f *flight) check(r *approval.Record) error {
	if f.bad != nil {
		return f.bad
	}
	return f.state.Check(f.bound(*r), time.Now())
}

// bound adds whom the transport authenticated to the caller that a state is
// sealed for, so that no other client can bring it.
func (f *flight) bound(r approval.Record) *approval.Record {
	r.Caller = principal(f.req) + "\x00" + r.Caller
	return &r
}

// readForm reads a filled-in form; nil is one that did not come back. A form that
// was closed, or filled in with what it does not offer, is nobody's lasting no.
func readForm(res *mcp.ElicitResult) approval.Decision {
	d := approval.Decision{By: "the user in the MCP client"}
	switch {
	case res == nil:
		d.By, d.Reason, d.AskAgain = "the MCP client", "it brought no answer", true
		return d
	case res.Action == "decline":
		return d
	case res.Action == "cancel":
		d.AskAgain = true
		return d
	case res.Action == "accept":
		switch res.Content["decision"] {
		case allowOnce:
			d.Answer, d.Scope = approval.Allow, approval.Once
			return d
		case allowSession:
			d.Answer, d.Scope = approval.Allow, approval.Session
			return d
		case denyCall:
			return d
		}
	}
	d.By, d.AskAgain = "the MCP client", true
	d.Reason = fmt.Sprintf("its answer was none of the offered ones: %q, %q, %q", allowOnce, allowSession, denyCall)
	return d
}
