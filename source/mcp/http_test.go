package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolsearch/toolsearch/internal/mcptest"
	"github.com/toolsearch/toolsearch/source/mcp"
	"github.com/toolsearch/toolsearch/tool"
)

func remote(url string) mcp.Server {
	return mcp.Server{Name: "r", URL: url, StartTimeout: long, CallTimeout: long}
}

// sdkServer serves a server of the official SDK over HTTP.
func sdkServer(t *testing.T, modern bool) (*sdk.Server, string, <-chan struct{}) {
	t.Helper()
	versions := []string{"2025-11-25"}
	if modern {
		versions = []string{"2026-07-28"}
	}
	srv := sdk.NewServer(&sdk.Implementation{Name: "sdk", Version: "9"}, &sdk.ServerOptions{SupportedProtocolVersions: versions})
	object := json.RawMessage(`{"type":"object"}`)
	srv.AddTool(&sdk.Tool{Name: "echo", InputSchema: object}, func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		if token := req.Params.GetProgressToken(); token != nil {
			if err := req.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: token, Progress: 1, Message: "half"}); err != nil {
				return nil, err
			}
		}
		return &sdk.CallToolResult{StructuredContent: req.Params.Arguments}, nil
	})
	running, cancelled := make(chan struct{}), make(chan struct{})
	srv.AddTool(&sdk.Tool{Name: "hang", InputSchema: object}, func(ctx context.Context, _ *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		close(running)
		<-ctx.Done()
		close(cancelled)
		return nil, ctx.Err()
	})
	srv.AddTool(&sdk.Tool{Name: "running", InputSchema: object}, func(ctx context.Context, _ *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		select {
		case <-running:
		case <-ctx.Done():
		}
		return &sdk.CallToolResult{}, nil
	})
	h := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return srv }, &sdk.StreamableHTTPOptions{Stateless: modern, PropagateRequestCancellation: modern})
	ts := httptest.NewServer(h)
	t.Cleanup(func() { ts.CloseClientConnections(); ts.Close() })
	return srv, ts.URL, cancelled
}

func TestHTTPWithTheSDKServer(t *testing.T) {
	eras(t, func(t *testing.T, modern bool) {
		srv, url, cancelled := sdkServer(t, modern)
		m := started(t, quick(), remote(url))
		defer func() { _ = m.Close() }() // before the server goes
		want := map[bool]string{false: "2025-11-25", true: "2026-07-28"}[modern]
		if got := status(t, m, "r"); got.State != mcp.Ready || got.Protocol != want || got.ServerName != "sdk" {
			t.Fatalf("status = %+v, want ready with %s", got, want)
		}
		const args = `{"z":9007199254740993,"a":1.50}`
		var progress []tool.Progress
		res, err := find(t, m, "echo").Invoker.Invoke(deadline(t), tool.Call{
			Args:     json.RawMessage(args),
			Progress: func(p tool.Progress) { progress = append(progress, p) },
		})
		if err != nil {
			t.Fatal(err)
		}
		if string(res.Details) != args {
			t.Errorf("details = %s, want %s", res.Details, args)
		}
		if len(progress) != 1 || progress[0].Message != "half" {
			t.Errorf("progress = %+v", progress)
		}

		ctx, cancel := context.WithCancel(deadline(t))
		failed := make(chan error, 1)
		go func() {
			_, err := find(t, m, "hang").Invoker.Invoke(ctx, tool.Call{})
			failed <- err
		}()
		mustCall(t, m, "running", `{}`)
		cancel()
		wantError(t, <-failed, tool.CodeCancelled)
		select {
		case <-cancelled:
		case <-deadline(t).Done():
			t.Fatal("the cancellation did not reach the server")
		}

		srv.AddTool(&sdk.Tool{Name: "fresh", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return &sdk.CallToolResult{}, nil
		})
		until(t, m, "the new tool is listed", func(s mcp.Snapshot) bool {
			return strings.Contains(strings.Join(names(s.Tools), " "), "fresh")
		})
		mustCall(t, m, "fresh", `{}`)
	})
}

// rawServer is an HTTP server of the older era in raw JSON. Calls go to onCall
// with the id of the request.
type rawServer struct {
	tools  string // the list, "" = one tool named t
	onCall func(w http.ResponseWriter, r *http.Request, id string)
	onGet  http.HandlerFunc // nil = 405

	mu     sync.Mutex
	inits  int
	header http.Header // of the last call
}

func (s *rawServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		if r.Method == http.MethodGet && s.onGet != nil {
			s.onGet(w, r)
			return
		}
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	var m struct {
		ID     json.RawMessage
		Method string
	}
	if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	id := string(m.ID)
	switch m.Method {
	case "initialize":
		s.mu.Lock()
		s.inits++
		n := s.inits
		s.mu.Unlock()
		w.Header().Set("Mcp-Session-Id", fmt.Sprintf("session-%d", n))
		answer(w, id, `{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"raw","version":"1"}}`)
	case "tools/list":
		s.mu.Lock()
		list := s.tools
		s.mu.Unlock()
		if list == "" {
			list = `[{"name":"t","inputSchema":{"type":"object"}}]`
		}
		answer(w, id, `{"tools":`+list+`}`)
	case "tools/call":
		s.mu.Lock()
		s.header = r.Header.Clone()
		onCall := s.onCall
		s.mu.Unlock()
		onCall(w, r, id)
	case "server/discover":
		w.WriteHeader(http.StatusNotFound)
	default:
		w.WriteHeader(http.StatusAccepted)
	}
}

func answer(w http.ResponseWriter, id, result string) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":`+id+`,"result":`+result+`}`)
}

func serveRaw(t *testing.T, h http.Handler) string {
	t.Helper()
	ts := httptest.NewServer(h)
	t.Cleanup(func() { ts.CloseClientConnections(); ts.Close() })
	return ts.URL
}

func TestHTTPAnswers(t *testing.T) {
	stream := func(w http.ResponseWriter, parts ...string) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, p := range parts {
			_, _ = io.WriteString(w, p)
			w.(http.Flusher).Flush()
		}
	}
	good := func(id string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"result":` + mcptest.WeirdResult + `}`
	}
	tests := []struct {
		name  string
		call  func(w http.ResponseWriter, r *http.Request, id string)
		code  tool.Code // "" = the weird result arrives unchanged
		words string
	}{
		{"json", func(w http.ResponseWriter, _ *http.Request, id string) { answer(w, id, mcptest.WeirdResult) }, "", ""},
		{"event", func(w http.ResponseWriter, _ *http.Request, id string) {
			stream(w, "event: message\ndata: "+good(id)+"\n\n")
		}, "", ""},
		{"event in single bytes with CRLF and comments", func(w http.ResponseWriter, _ *http.Request, id string) {
			text := ": hello\r\n\r\nid: 1\r\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{}}\r\n\r\nevent: message\r\nid: 2\r\ndata:" + good(id) + "\r\n\r\n"
			stream(w, strings.Split(text, "")...)
		}, "", ""},
		{"data over several lines", func(w http.ResponseWriter, _ *http.Request, id string) {
			stream(w, "data: {\"jsonrpc\":\"2.0\",\ndata: \"id\":"+id+",\ndata: \"result\":"+mcptest.WeirdResult+"}\n\n")
		}, "", ""},
		{"no last empty line", func(w http.ResponseWriter, _ *http.Request, id string) { stream(w, "data: "+good(id)) }, "", ""},
		{"stream ends without an answer", func(w http.ResponseWriter, _ *http.Request, _ string) { stream(w, ": nothing\n\n") },
			tool.CodeFailed, "side effects may have happened"},
		{"bad json", func(w http.ResponseWriter, _ *http.Request, _ string) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, "<html>oops</html>")
		}, tool.CodeFailed, "<html>oops"},
		{"bad event", func(w http.ResponseWriter, _ *http.Request, _ string) { stream(w, "data: oops\n\n") }, tool.CodeFailed, "oops"},
		{"html page", func(w http.ResponseWriter, _ *http.Request, _ string) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, "<html>")
		}, tool.CodeFailed, "text/html"},
		{"100 MB json", func(w http.ResponseWriter, _ *http.Request, id string) {
			w.Header().Set("Content-Type", "application/json")
			huge(w, `{"jsonrpc":"2.0","id":`+id+`,"result":{"x":"`)
		}, tool.CodeFailed, "longer than the limit of 1048576 bytes"},
		{"100 MB event", func(w http.ResponseWriter, _ *http.Request, id string) {
			w.Header().Set("Content-Type", "text/event-stream")
			huge(w, `data: {"jsonrpc":"2.0","id":`+id+`,"result":{"x":"`)
		}, tool.CodeFailed, "longer than the limit of 1048576 bytes"},
		{"500", func(w http.ResponseWriter, _ *http.Request, _ string) { w.WriteHeader(500) }, tool.CodeFailed, "HTTP 500"},
		{"429", func(w http.ResponseWriter, _ *http.Request, _ string) { w.WriteHeader(429) }, tool.CodeFailed, "HTTP 429"},
		{"json-rpc error with status 400", func(w http.ResponseWriter, _ *http.Request, id string) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(400)
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":`+id+`,"error":{"code":-32602,"message":"Unknown tool"}}`)
		}, tool.CodeInvalidArgs, "Unknown tool"},
		{"endless error body", func(w http.ResponseWriter, _ *http.Request, _ string) {
			w.WriteHeader(502)
			huge(w, "")
		}, tool.CodeFailed, "HTTP 502"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			raw := &rawServer{onCall: tt.call}
			opt := quick()
			opt.MaxMessageBytes = 1 << 20
			m := started(t, opt, remote(serveRaw(t, raw)))
			defer func() { _ = m.Close() }()
			res, err := call(t, m, "t", `{}`)
			if tt.code != "" {
				wantError(t, err, tt.code, tt.words)
			} else if err != nil {
				t.Fatal(err)
			} else if string(res.Raw) != mcptest.WeirdResult {
				t.Errorf("raw = %s", res.Raw)
			}
			// Whatever the answer was, the next call works.
			raw.mu.Lock()
			raw.onCall = func(w http.ResponseWriter, _ *http.Request, id string) { answer(w, id, `{"content":[]}`) }
			raw.mu.Unlock()
			mustCall(t, m, "t", `{}`)
		})
	}
}

// huge writes 100 MB or until the client hangs up.
func huge(w io.Writer, head string) {
	_, _ = io.WriteString(w, head)
	chunk := strings.Repeat("x", 1<<20)
	for range 100 {
		if _, err := io.WriteString(w, chunk); err != nil {
			return
		}
	}
}

func TestHTTPStartFailures(t *testing.T) {
	tests := []struct {
		name  string
		url   func(t *testing.T) string
		limit time.Duration
		words string
	}{
		{"nobody listens", func(*testing.T) string { return "http://127.0.0.1:1/?token=topsecretvalue" }, long, "connection refused"},
		{"401", func(t *testing.T) string {
			return serveRaw(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(401) })) + "/?token=topsecretvalue"
		}, long, "HTTP 401 Unauthorized; check the credentials"},
		{"hangs", func(t *testing.T) string {
			return serveRaw(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body) // so that the server notices the client leave
				<-r.Context().Done()
			}))
		}, 500 * time.Millisecond, "did not answer within 500ms"},
		{"a web page", func(t *testing.T) string {
			return serveRaw(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/html")
				_, _ = io.WriteString(w, "<html>")
			}))
		}, long, "text/html"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			srv := remote(tt.url(t))
			srv.StartTimeout = tt.limit
			opt := quick()
			opt.RetryMin, opt.RetryMax = time.Hour, time.Hour
			opt.ProbePatience = 50 * time.Millisecond
			m := started(t, opt, srv)
			defer func() { _ = m.Close() }()
			got := status(t, m, "r")
			if got.State != mcp.Failed || !strings.Contains(got.LastError, tt.words) {
				t.Errorf("status = %+v, want %q", got, tt.words)
			}
			if strings.Contains(got.LastError, "topsecret") {
				t.Errorf("the error shows the secret of the url: %s", got.LastError)
			}
		})
	}
}

func TestHTTPHeadersStayWithTheirOrigin(t *testing.T) {
	var leaked atomic.Pointer[http.Header]
	other := serveRaw(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := r.Header.Clone()
		leaked.Store(&h)
		w.WriteHeader(404)
	}))
	raw := &rawServer{onCall: func(w http.ResponseWriter, r *http.Request, _ string) {
		http.Redirect(w, r, other+"/steal", http.StatusTemporaryRedirect)
	}}
	srv := remote(serveRaw(t, raw))
	srv.Headers = map[string]string{"Authorization": "Bearer our-token-123", "X-Team": "blue"}
	m := started(t, quick(), srv)
	defer func() { _ = m.Close() }()
	_, err := call(t, m, "t", `{}`)
	wantError(t, err, tool.CodeFailed, "redirects to another origin")
	if h := leaked.Load(); h != nil {
		t.Errorf("the other host was asked, with %v", *h)
	}
	raw.mu.Lock()
	got := raw.header
	raw.mu.Unlock()
	if got.Get("Authorization") != "Bearer our-token-123" || got.Get("X-Team") != "blue" {
		t.Errorf("the server got the headers %v", got)
	}
}

func TestHTTPRedirectInsideTheOrigin(t *testing.T) {
	mux := http.NewServeMux()
	mux.Handle("/moved", &rawServer{onCall: func(w http.ResponseWriter, _ *http.Request, id string) { answer(w, id, `{"content":[]}`) }})
	mux.HandleFunc("/old", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/moved", http.StatusPermanentRedirect)
	})
	mux.HandleFunc("/seeother", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/moved", http.StatusSeeOther)
	})
	url := serveRaw(t, mux)
	m := started(t, quick(), remote(url+"/old"))
	defer func() { _ = m.Close() }()
	mustCall(t, m, "t", `{}`)

	opt := quick()
	opt.RetryMin, opt.RetryMax = time.Hour, time.Hour
	m = started(t, opt, remote(url+"/seeother"))
	defer func() { _ = m.Close() }()
	if got := status(t, m, "r"); got.State != mcp.Failed || !strings.Contains(got.LastError, "turn POST into GET") {
		t.Errorf("status = %+v", got)
	}
}

// A session that the server has forgotten is made anew, and the call repeated:
// the server has refused it, so it cannot have run.
func TestHTTPForgottenSession(t *testing.T) {
	raw := &rawServer{}
	raw.onCall = func(w http.ResponseWriter, r *http.Request, id string) {
		if r.Header.Get("Mcp-Session-Id") == "session-1" {
			w.WriteHeader(404)
			return
		}
		answer(w, id, `{"content":[{"type":"text","text":"second session"}]}`)
	}
	m := started(t, quick(), remote(serveRaw(t, raw)))
	defer func() { _ = m.Close() }()
	if res := mustCall(t, m, "t", `{}`); res.Text() != "second session" {
		t.Errorf("result = %s", res.Raw)
	}
}

// Cancelling a call whose answer hangs half-way must not cost the connection.
func TestHTTPCancelDuringTheBody(t *testing.T) {
	for _, kind := range []string{"application/json", "text/event-stream"} {
		t.Run(kind, func(t *testing.T) {
			begun := make(chan struct{})
			raw := &rawServer{}
			raw.onCall = func(w http.ResponseWriter, r *http.Request, id string) {
				w.Header().Set("Content-Type", kind)
				_, _ = io.WriteString(w, `{"jsonrpc":"2.0",`)
				w.(http.Flusher).Flush()
				close(begun)
				<-r.Context().Done()
			}
			m := started(t, quick(), remote(serveRaw(t, raw)))
			defer func() { _ = m.Close() }()
			ctx, cancel := context.WithCancel(deadline(t))
			go func() { <-begun; cancel() }()
			_, err := find(t, m, "t").Invoker.Invoke(ctx, tool.Call{})
			wantError(t, err, tool.CodeCancelled)
			raw.mu.Lock()
			raw.onCall = func(w http.ResponseWriter, _ *http.Request, id string) { answer(w, id, `{"content":[]}`) }
			raw.mu.Unlock()
			mustCall(t, m, "t", `{}`)
			raw.mu.Lock()
			defer raw.mu.Unlock()
			if raw.inits != 1 {
				t.Errorf("%d sessions were made, want 1: the connection was lost", raw.inits)
			}
		})
	}
}

// Some servers send the headers of their notification stream with the first
// event only: that must not delay the start.
func TestHTTPNotificationStreamWithoutHeaders(t *testing.T) {
	hung := make(chan struct{})
	raw := &rawServer{
		onCall: func(w http.ResponseWriter, _ *http.Request, id string) { answer(w, id, `{"content":[]}`) },
		onGet: func(_ http.ResponseWriter, r *http.Request) {
			close(hung)
			<-r.Context().Done()
		},
	}
	m := started(t, quick(), remote(serveRaw(t, raw)))
	defer func() { _ = m.Close() }()
	<-hung
	mustCall(t, m, "t", `{}`)
}

// Proxies cut idle streams: the session lives on, and what was announced in
// between is found by listing again.
func TestHTTPNotificationStreamIsReopened(t *testing.T) {
	var gets atomic.Int32
	raw := &rawServer{}
	raw.onGet = func(w http.ResponseWriter, r *http.Request) {
		n := gets.Add(1)
		if n == 20 {
			raw.mu.Lock()
			raw.tools = `[{"name":"t","inputSchema":{"type":"object"}},{"name":"u","inputSchema":{"type":"object"}}]`
			raw.mu.Unlock()
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, ": hello\n\n")
		w.(http.Flusher).Flush()
		if n == 20 {
			<-r.Context().Done()
		}
	}
	m := started(t, quick(), remote(serveRaw(t, raw)))
	defer func() { _ = m.Close() }()
	until(t, m, "two tools", func(s mcp.Snapshot) bool { return len(s.Tools) == 2 })
	raw.mu.Lock()
	defer raw.mu.Unlock()
	if raw.inits != 1 {
		t.Errorf("%d sessions were made, want 1", raw.inits)
	}
}

func TestHTTPNotifications(t *testing.T) {
	change := make(chan struct{})
	raw := &rawServer{
		onGet: func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			w.(http.Flusher).Flush()
			select {
			case <-change:
			case <-r.Context().Done():
				return
			}
			_, _ = io.WriteString(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n")
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		},
	}
	m := started(t, quick(), remote(serveRaw(t, raw)))
	defer func() { _ = m.Close() }()
	raw.mu.Lock()
	raw.tools = `[{"name":"t","inputSchema":{"type":"object"}},{"name":"u","inputSchema":{"type":"object"}}]`
	raw.mu.Unlock()
	close(change)
	until(t, m, "two tools", func(s mcp.Snapshot) bool { return len(s.Tools) == 2 })
}

// Arguments that a tool maps to HTTP headers are the SDK's work; it must see
// the definition in spite of the raw path.
func TestHTTPParameterHeaders(t *testing.T) {
	var got atomic.Value
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		_ = json.NewDecoder(r.Body).Decode(&m)
		switch m.Method {
		case "server/discover":
			answer(w, string(m.ID), `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`)
		case "tools/list":
			answer(w, string(m.ID), `{"resultType":"complete","ttlMs":60000,"cacheScope":"private","tools":[{"name":"plain","inputSchema":{"type":"object"}},{"name":"t","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}}]}`)
		case "tools/call":
			got.Store(r.Header.Get("Mcp-Param-Region") + "," + r.Header.Get("Mcp-Name") + "," + r.Header.Get("Mcp-Method"))
			answer(w, string(m.ID), `{"resultType":"complete","content":[]}`)
		default:
			w.WriteHeader(http.StatusAccepted)
		}
	})
	m := started(t, quick(), remote(serveRaw(t, h)))
	defer func() { _ = m.Close() }()
	mustCall(t, m, "t", `{"region":"eu"}`)
	if got.Load() != "eu,t,tools/call" {
		t.Errorf("headers = %v, want eu,t,tools/call", got.Load())
	}
}
