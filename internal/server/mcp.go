// Package server serves a surface to MCP clients, over any transport of the
// official SDK.
package server

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolsearch/toolsearch/call"
	"github.com/toolsearch/toolsearch/surface"
	"github.com/toolsearch/toolsearch/tool"
)

// pageSize is the most tools of one tools/list page. A surface has a handful;
// only the mode "off" has more.
const pageSize = 1000

// MCP serves a surface as an MCP server.
type MCP struct {
	surface *surface.Surface
	server  *mcp.Server
	ready   func(context.Context)
	greet   bool // whether ready is called before the greeting too
	elicit  *Elicitation
	origin  call.Origin // of a client whose transport names no session
	runs    runs
	calls   inFlight
	logger  *slog.Logger
}

// Options makes an MCP server.
type Options struct {
	Surface *surface.Surface
	Version string
	Logger  *slog.Logger
	// Ready, when not nil, is called before the first list and before each
	// search: it may wait a moment for sources that never answered yet.
	Ready func(context.Context)
	// Greet says that a client's greeting waits for Ready too, since what it is
	// told then depends on the tools: in the modes directory and auto.
	Greet bool
	// Elicitation, when not nil, is told of each call, so that it can ask the
	// client that made it. It belongs into the routes of the approval gate.
	Elicitation *Elicitation
	Agent       string // whose settings the surface has
	// Began, when not nil, is told of the clients' runs; see MCP.Close.
	Began Began
}

// NewMCP makes a server. Its own few tools are answered by middleware, so that
// schemas and results pass through byte for byte.
func NewMCP(opt Options) *MCP {
	m := &MCP{surface: opt.Surface, ready: opt.Ready, greet: opt.Greet, elicit: opt.Elicitation, runs: runs{began: opt.Began}}
	if m.ready == nil {
		m.ready = func(context.Context) {}
	}
	if m.logger = opt.Logger; m.logger == nil {
		m.logger = slog.New(slog.DiscardHandler)
	}
	session := "mcp-" + rand.Text()
	m.origin = call.Origin{Session: session, Run: session, Agent: opt.Agent}
	m.server = mcp.NewServer(
		&mcp.Implementation{Name: "toolsearch", Title: "Toolsearch", Version: opt.Version},
		&mcp.ServerOptions{
			Logger:       opt.Logger,
			Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{ListChanged: true}},
		})
	m.server.AddReceivingMiddleware(m.intercept)
	m.server.AddSendingMiddleware(keepForms)
	return m
}

// Server is the SDK's server, to be connected to a transport.
func (m *MCP) Server() *mcp.Server { return m.server }

// Run serves one client over the transport until it leaves or ctx ends.
func (m *MCP) Run(ctx context.Context, t mcp.Transport) error { return m.server.Run(ctx, t) }

// Close ends the runs of the clients that are still there; further ones are told
// to nobody. It closes no connection.
func (m *MCP) Close() { m.runs.close() }

// ToolsChanged tells every client that the visible tools changed.
//
// The SDK announces a change only when one of its own tools changes, and it
// holds none of ours: re-adding a tool that is never listed is how it is told.
func (m *MCP) ToolsChanged() {
	m.server.AddTool(
		&mcp.Tool{Name: "changed", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return nil, errors.New("not a tool") // never reached: intercept answers tools/call
		})
}

func (m *MCP) intercept(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		switch method {
		case "initialize", "server/discover":
			return m.welcome(ctx, method, req, next)
		case "tools/list":
			if r, ok := req.(*mcp.ListToolsRequest); ok {
				return m.list(ctx, r)
			}
		case "tools/call":
			if r, ok := req.(*mcp.CallToolRequest); ok {
				return m.call(ctx, r)
			}
		}
		if notOffered(method) {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: fmt.Sprintf("method %q is not offered: this server has tools only", method)}
		}
		return next(ctx, method, req)
	}
}

// welcome adds the instructions to what the SDK answers.
func (m *MCP) welcome(ctx context.Context, method string, req mcp.Request, next mcp.MethodHandler) (mcp.Result, error) {
	res, err := next(ctx, method, req)
	if err != nil {
		return nil, err
	}
	if m.greet {
		m.ready(ctx)
	}
	switch r := res.(type) {
	case *mcp.InitializeResult:
		r.Instructions = instructions(m.surface.View())
	case *mcp.DiscoverResult:
		r.Instructions = instructions(m.surface.View())
	}
	return res, nil
}

// notOffered reports the methods of capabilities that the server does not
// declare. The SDK would answer them with empty lists all the same.
func notOffered(method string) bool {
	area, _, _ := strings.Cut(method, "/")
	switch area {
	case "prompts", "resources", "completion", "logging":
		return true
	}
	return false
}

func (m *MCP) list(ctx context.Context, req *mcp.ListToolsRequest) (mcp.Result, error) {
	m.ready(ctx)
	if err := m.surface.Begin(ctx, m.originOf(req.Session, req.Extra)); err != nil {
		m.logger.Error("what the client sees is not in the transcript", "error", err)
	}
	visible := m.surface.Visible()
	start := 0
	if req.Params != nil && req.Params.Cursor != "" {
		after, err := base64.RawURLEncoding.DecodeString(req.Params.Cursor)
		if err != nil {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "tools/list: the cursor is not one of this server's"}
		}
		start = slices.IndexFunc(visible, func(v surface.Visible) bool { return v.Tool != nil && v.Name > string(after) })
		if start < 0 {
			start = len(visible)
		}
	}
	end := min(start+pageSize, len(visible))
	body := []byte(`{"tools":[`)
	for i, v := range visible[start:end] {
		if i > 0 {
			body = append(body, ',')
		}
		def, err := definition(v)
		if err != nil {
			return nil, err
		}
		body = append(body, def...)
	}
	body = append(body, ']')
	if end < len(visible) {
		body = fmt.Appendf(body, `,"nextCursor":%q`, base64.RawURLEncoding.EncodeToString([]byte(visible[end-1].Name)))
	}
	if modern(req.ProtocolVersion()) {
		// The list depends on this client's policy, and a swap may change it.
		body = append(body, `,"ttlMs":0,"cacheScope":"private"`...)
	}
	return newRawResult(append(body, '}'), req.ProtocolVersion()), nil
}

func (m *MCP) call(ctx context.Context, req *mcp.CallToolRequest) (mcp.Result, error) {
	if req.Params == nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "tools/call: params are missing"}
	}
	origin := m.originOf(req.Session, req.Extra)
	if full := m.calls.enter(origin.Caller); full != nil {
		raw, err := marshalResult(surface.Failure(full))
		if err != nil {
			return nil, err
		}
		return newRawResult(raw, req.ProtocolVersion()), nil
	}
	defer m.calls.leave(origin.Caller)
	m.ready(ctx)
	ctx = m.runs.enter(ctx, req.Session, origin, m.surface.View())
	return m.elicit.serve(ctx, req, m.progress(ctx, req), func(ctx context.Context, progress func(tool.Progress)) (mcp.Result, error) {
		return m.answer(ctx, req, progress)
	})
}

// answer runs the call and puts its result into the protocol's form.
func (m *MCP) answer(ctx context.Context, req *mcp.CallToolRequest, progress func(tool.Progress)) (mcp.Result, error) {
	origin := m.originOf(req.Session, req.Extra)
	origin.CallID = "m-" + rand.Text() // what a control or a body calls is known by it
	res, err := m.surface.Call(ctx, req.Params.Name, surface.Request{
		Args: req.Params.Arguments, Progress: progress, Origin: origin, Whole: true,
	})
	if err != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("unknown tool %q: %v", tool.Clean(req.Params.Name, 200), err)}
	}
	raw := res.Raw
	if raw == nil {
		if raw, err = marshalResult(res); err != nil {
			return nil, err
		}
	}
	return newRawResult(raw, req.ProtocolVersion()), nil
}

// originOf says who makes a request: the authenticated user, in the session of
// the transport where it has one.
func (m *MCP) originOf(s *mcp.ServerSession, extra *mcp.RequestExtra) call.Origin {
	o := m.origin
	if s != nil && s.ID() != "" {
		o.Session = s.ID()
		o.Run = o.Session
	}
	if extra != nil && extra.TokenInfo != nil {
		o.Caller = extra.TokenInfo.UserID
		if o.Session == m.origin.Session { // users without sessions do not share one
			o.Session += ":" + o.Caller
			o.Run = o.Session
		}
	}
	return o
}

// progress passes a tool's reports to the client, when it asked for them.
func (m *MCP) progress(ctx context.Context, req *mcp.CallToolRequest) func(tool.Progress) {
	token := req.Params.GetProgressToken()
	if token == nil {
		return nil
	}
	return func(p tool.Progress) {
		// A client that does not take the report loses only the report.
		_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
			ProgressToken: token, Progress: p.Progress, Total: p.Total, Message: p.Message,
		})
	}
}

// firstStateless is the first protocol version without sessions; versions are
// dates, so they compare as text.
const firstStateless = "2026-07-28"

func modern(version string) bool { return strings.Compare(version, firstStateless) >= 0 }
