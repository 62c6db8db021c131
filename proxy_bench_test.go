package toolsearch_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime/debug"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolsearch/toolsearch"
	"github.com/toolsearch/toolsearch/internal/mcptest"
	"github.com/toolsearch/toolsearch/internal/server"
	"github.com/toolsearch/toolsearch/source/mcp"
	"github.com/toolsearch/toolsearch/surface"
	"github.com/toolsearch/toolsearch/tool"
)

// The program of this test binary is a proxy of MCP servers when proxyEnv says
// which; the servers stand in serversEnv, as JSON.
const (
	proxyEnv       = "TOOLSEARCH_TEST_PROXY"
	serversEnv     = "TOOLSEARCH_TEST_SERVERS"
	plainProxy     = "plain"    // passes calls on without loss, and nothing else
	directGateway  = "direct"   // a full pipeline in front of the servers' tools
	controlGateway = "controls" // the same behind the three controls
)

// serveIfProxy does not return when the binary was started as a proxy.
func serveIfProxy() {
	which := os.Getenv(proxyEnv)
	if which == "" {
		return
	}
	debug.SetGCPercent(400) // as the program does
	var servers []mcp.Server
	err := json.Unmarshal([]byte(os.Getenv(serversEnv)), &servers)
	if err == nil {
		switch ctx := context.Background(); which {
		case plainProxy:
			err = servePlain(ctx, servers)
		case directGateway:
			err = serveGateway(ctx, servers, surface.Off)
		default:
			err = serveGateway(ctx, servers, surface.Tools)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "proxy:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// rawAnswer is a result that keeps every byte.
type rawAnswer struct {
	sdk.ResultBase
	raw json.RawMessage
}

func (r *rawAnswer) MarshalJSON() ([]byte, error) { return r.raw, nil }

func servePlain(ctx context.Context, servers []mcp.Server) (err error) {
	m, err := mcp.NewManager(servers, mcp.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	m.Start(ctx)
	if err := m.Wait(ctx); err != nil {
		return err
	}
	tools := map[string]*tool.Tool{}
	for _, t := range m.Snapshot().Tools {
		tools[t.Name] = t
	}
	srv := sdk.NewServer(&sdk.Implementation{Name: "plain", Version: "1"}, &sdk.ServerOptions{
		Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}},
	})
	srv.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
			r, ok := req.(*sdk.CallToolRequest)
			if !ok {
				return next(ctx, method, req)
			}
			t := tools[r.Params.Name]
			if t == nil {
				return nil, fmt.Errorf("no tool %q", r.Params.Name)
			}
			res, err := t.Invoker.Invoke(ctx, tool.Call{Args: r.Params.Arguments})
			if err != nil {
				return nil, err
			}
			return &rawAnswer{raw: res.Raw}, nil
		}
	})
	return srv.Run(ctx, server.Stdio(os.Stdin, os.Stdout))
}

func serveGateway(ctx context.Context, servers []mcp.Server, mode surface.Mode) (err error) {
	dir, err := os.MkdirTemp("", "gateway")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	opt, s, err := fullOptions(ctx, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	opt.Servers, opt.Mode = servers, mode
	set, err := toolsearch.New(ctx, opt)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, set.Close()) }()
	if err := set.Wait(ctx); err != nil {
		return err
	}
	return server.NewMCP(server.Options{Surface: set.Surface(), Version: "1"}).Run(ctx, server.Stdio(os.Stdin, os.Stdout))
}

// echoServers is one MCP server with one tool.
func echoServers(tb testing.TB) []mcp.Server {
	command, args, env := mcptest.Command(tb, mcptest.Script{Tools: []json.RawMessage{json.RawMessage(
		`{"name":"echo","description":"Echo","inputSchema":{"type":"object","properties":{"path":{"type":"string"},"query":{"type":"string"},"limit":{"type":"integer"}},"required":["path"]}}`)}})
	return []mcp.Server{{Name: "docs", Command: command, Args: args, Env: env}}
}

// proxied connects the official client, over stdio, to a proxy of the servers.
func proxied(b *testing.B, which string, servers []mcp.Server) *sdk.ClientSession {
	b.Helper()
	raw, err := json.Marshal(servers)
	if err != nil {
		b.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), proxyEnv+"="+which, serversEnv+"="+string(raw))
	cmd.Stderr = os.Stderr
	client := sdk.NewClient(&sdk.Implementation{Name: "bench", Version: "1"}, nil)
	session, err := client.Connect(b.Context(), &sdk.CommandTransport{Command: cmd}, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := session.Close(); err != nil {
			b.Error(err)
		}
	})
	return session
}

// BenchmarkPipelineMCP compares what a client waits for a tool of an MCP server
// behind the gateway, through its whole pipeline, with what it waits behind a
// proxy that passes calls on without loss and does nothing else; all over
// stdio. The aim is at most 1.3 times as long. Beside it stands the same call
// made with tool_call, whose answer names the tool and comes as text and as
// structured content.
func BenchmarkPipelineMCP(b *testing.B) {
	servers := echoServers(b)
	plain := proxied(b, plainProxy, servers)
	direct, controls := proxied(b, directGateway, servers), proxied(b, controlGateway, servers)
	call := func(s *sdk.ClientSession, name string, args any) func() {
		return func() {
			res, err := s.CallTool(b.Context(), &sdk.CallToolParams{Name: name, Arguments: args})
			if err != nil || res.IsError {
				b.Fatalf("%v %+v", err, res)
			}
		}
	}
	proxy := call(plain, "echo", benchArgs)
	through := call(direct, "docs__echo", benchArgs)
	control := call(controls, "tool_call", map[string]any{"id": "mcp:docs:echo", "args": benchArgs})
	medians(100, proxy, through, control)
	for b.Loop() {
		through()
	}
	took := medians(1500, proxy, through, control)
	b.ReportMetric(micros(took[0]), "proxy-µs")
	b.ReportMetric(micros(took[1]), "pipeline-µs")
	b.ReportMetric(micros(took[2]), "tool_call-µs")
	b.ReportMetric(float64(took[1])/float64(took[0]), "pipeline/proxy")
	b.ReportMetric(float64(took[2])/float64(took[0]), "tool_call/proxy")
}

// BenchmarkPipelineMCPInProcess compares the call of a library's user with the
// call of the same connection alone: there is no client whose own hop would
// weigh on both sides.
func BenchmarkPipelineMCPInProcess(b *testing.B) {
	opt := benchOptions(b)
	opt.Servers = echoServers(b)
	set := newSet(b, opt)
	ctx := b.Context()
	target, err := set.Resolve(ctx, "mcp:docs:echo")
	if err != nil {
		b.Fatal(err)
	}
	through := func() {
		if _, err := set.Call(ctx, "mcp:docs:echo", benchArgs); err != nil {
			b.Fatal(err)
		}
	}
	direct := func() {
		if _, err := target.Invoker.Invoke(ctx, tool.Call{Args: benchArgs}); err != nil {
			b.Fatal(err)
		}
	}
	medians(100, direct, through)
	for b.Loop() {
		through()
	}
	took := medians(1500, direct, through)
	without, with := took[0], took[1]
	b.ReportMetric(micros(without), "direct-µs")
	b.ReportMetric(micros(with), "pipeline-µs")
	b.ReportMetric(micros(with-without), "added-µs")
	b.ReportMetric(float64(with)/float64(without), "pipeline/direct")
}
