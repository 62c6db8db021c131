package mcp_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolsearch/toolsearch/internal/mcptest"
	"github.com/toolsearch/toolsearch/source/mcp"
	"github.com/toolsearch/toolsearch/tool"
)

// wantError checks code and words of a call's error.
func wantError(t *testing.T, err error, code tool.Code, words ...string) {
	t.Helper()
	var te *tool.Error
	if !errors.As(err, &te) {
		t.Fatalf("error = %v, want a tool.Error of code %s", err, code)
	}
	if te.Code != code {
		t.Errorf("code = %s, want %s (%v)", te.Code, code, err)
	}
	for _, w := range words {
		if !strings.Contains(te.Error(), w) {
			t.Errorf("error %q does not say %q", te.Error(), w)
		}
	}
}

func TestStartFailureIsReportedAndHarmsNobody(t *testing.T) {
	tests := []struct {
		name   string
		script mcptest.Script
		limit  time.Duration // start timeout
		words  []string
	}{
		{"garbage", mcptest.Script{Start: mcptest.StartGarbage}, long, []string{"something other than MCP messages", "Welcome to the", "garbage"}},
		{"silent", mcptest.Script{Start: mcptest.StartSilent, Stderr: "loading model"}, 2 * time.Second, []string{"did not answer within LIMIT", "loading model"}},
		{"exit", mcptest.Script{Start: mcptest.StartExit, Stderr: "no licence found"}, long, []string{"exit status 3", "no licence found"}},
		{"huge", mcptest.Script{Start: mcptest.StartHuge}, long, []string{"longer than the limit of 16777216 bytes"}},
		{"list error", mcptest.Script{List: mcptest.ListError}, long, []string{"page 1", "the list is broken"}},
		{"list hangs", mcptest.Script{List: mcptest.ListHangs}, 3 * time.Second, []string{"did not come within LIMIT"}},
		{"list dies", mcptest.Script{List: mcptest.ListDies}, long, []string{"exit status 6"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			withTime(t, tt.limit, func(limit time.Duration) error {
				bad := scripted(t, "bad", tt.script)
				bad.StartTimeout = limit
				opt := quick()
				opt.RetryMin, opt.RetryMax = time.Hour, time.Hour
				m := started(t, opt, bad, scripted(t, "good", mcptest.Script{Tools: listed(mcptest.ToolEcho)}))
				got := status(t, m, "bad")
				if got.State != mcp.Failed || got.Stale || got.Tools != 0 {
					t.Errorf("status = %+v, want failed and empty", got)
				}
				if strings.ContainsRune(got.LastError, 0x1b) || len(got.LastError) > 2500 {
					t.Errorf("last error is not clean and short: %q", got.LastError)
				}
				if good := status(t, m, "good"); good.State != mcp.Ready {
					t.Errorf("the other server: %+v", good)
				}
				mustCall(t, m, mcptest.ToolEcho, `{}`)
				for _, w := range tt.words {
					if w = strings.ReplaceAll(w, "LIMIT", limit.String()); !strings.Contains(got.LastError, w) {
						return fmt.Errorf("last error %q does not say %q", got.LastError, w)
					}
				}
				return nil
			})
		})
	}
}

func TestCommandNotFound(t *testing.T) {
	m := started(t, quick(), mcp.Server{Name: "none", Command: "no-such-command-anywhere"})
	got := status(t, m, "none")
	if got.State != mcp.Failed || !strings.Contains(got.LastError, `"no-such-command-anywhere"`) || !strings.Contains(got.LastError, "PATH") {
		t.Errorf("status = %+v", got)
	}
}

func TestOddStartsThatWork(t *testing.T) {
	tests := []struct {
		name   string
		script mcptest.Script
	}{
		{"banner on stdout", mcptest.Script{Start: mcptest.StartBanner}},
		{"flood on stderr", mcptest.Script{Start: mcptest.StartFlood}},
		{"dies of the probe", mcptest.Script{Start: mcptest.StartProbeDies}},
		{"ignores the probe", mcptest.Script{Start: mcptest.StartNoProbe}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.script.Tools = listed(mcptest.ToolEcho, mcptest.ToolNoise, mcptest.ToolBatch)
			opt := quick()
			if tt.script.Start == mcptest.StartNoProbe {
				opt.ProbePatience = 100 * time.Millisecond
			}
			m := started(t, opt, scripted(t, "s", tt.script))
			if got := status(t, m, "s"); got.State != mcp.Ready || got.LastError != "" {
				t.Fatalf("status = %+v", got)
			}
			for _, name := range []string{mcptest.ToolEcho, mcptest.ToolNoise, mcptest.ToolBatch} {
				mustCall(t, m, name, `{}`)
			}
		})
	}
}

func TestListBounds(t *testing.T) {
	tests := []struct {
		name   string
		script mcptest.Script
		opt    func(*mcp.Options)
		tools  int
		words  string
	}{
		{"pages", mcptest.Script{Generate: 95, PageSize: 10}, nil, 95, ""},
		{"100,000 tools", mcptest.Script{Generate: 100_000}, nil, 20_000, "more than the limit of 20000 tools"},
		{"100,000 tools in pages", mcptest.Script{Generate: 100_000, PageSize: 5_000}, nil, 20_000, "more than the limit of 20000 tools"},
		{"exactly the limit", mcptest.Script{Generate: 7}, func(o *mcp.Options) { o.MaxTools = 7 }, 7, ""},
		{"repeated cursor", mcptest.Script{Tools: listed("a", "b"), List: mcptest.ListRepeatCursor}, nil, 2, `repeats the cursor "again"`},
		{"endless pages", mcptest.Script{List: mcptest.ListEndless}, func(o *mcp.Options) { o.MaxPages = 50 }, 50, "more than the limit of 50 pages"},
		{"bytes", mcptest.Script{Generate: 1_000}, func(o *mcp.Options) { o.MaxListBytes = 10_000 }, 0, "exceed the limit of 10000 bytes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			opt := quick()
			if tt.opt != nil {
				tt.opt(&opt)
			}
			m := started(t, opt, scripted(t, "s", tt.script))
			got := status(t, m, "s")
			if got.State != mcp.Ready || !strings.Contains(got.LastError, tt.words) || (tt.words == "") != (got.LastError == "") {
				t.Errorf("status = %+v, want ready with %q", got, tt.words)
			}
			snap := m.Snapshot()
			if tt.tools > 0 && len(snap.Tools) != tt.tools || len(snap.Tools) == 0 || got.Tools != len(snap.Tools) {
				t.Errorf("%d tools, status says %d, want %d", len(snap.Tools), got.Tools, tt.tools)
			}
			if tt.script.Generate > 0 {
				for i, tl := range snap.Tools {
					if want := fmt.Sprintf("gen_%d", i); tl.Name != want {
						t.Fatalf("tool %d is %s, want %s: the server's order is lost", i, tl.Name, want)
					}
				}
			}
		})
	}
}

func TestCrashDuringCall(t *testing.T) {
	eras(t, func(t *testing.T, modern bool) {
		m := started(t, quick(), scripted(t, "s", mcptest.Script{Modern: modern, Tools: listed(mcptest.ToolCrash, mcptest.ToolEcho)}))
		_, err := call(t, m, mcptest.ToolCrash, `{}`)
		wantError(t, err, tool.CodeFailed, `"s" went away`, "exit status 7", "side effects may have happened")
		// The next call finds it restarted, or starts it.
		mustCall(t, m, mcptest.ToolEcho, `{}`)
	})
}

func TestSecretsStayHidden(t *testing.T) {
	t.Setenv("TOOLSEARCH_TEST_SECRET", "our-own-secret")
	t.Setenv("TZ", "UTC")
	srv := scripted(t, "s", mcptest.Script{Tools: listed(mcptest.ToolEnv, mcptest.ToolLeak)})
	srv.Env = append(srv.Env, "API_TOKEN=sk-very-secret-1234")
	m := started(t, quick(), srv)
	var got struct{ Env []string }
	if err := json.Unmarshal(mustCall(t, m, mcptest.ToolEnv, `{}`).Details, &got); err != nil {
		t.Fatal(err)
	}
	env := strings.Join(got.Env, "\n")
	for _, want := range []string{"API_TOKEN=sk-very-secret-1234", "PATH=", "TZ=UTC"} {
		if !strings.Contains(env, want) {
			t.Errorf("the server's environment lacks %s", want)
		}
	}
	if strings.Contains(env, "our-own-secret") {
		t.Error("our own environment leaked to the server")
	}
	_, err := call(t, m, mcptest.ToolLeak, `{"text":"bad token sk-very-secret-1234 given"}`)
	wantError(t, err, tool.CodeFailed, "bad token [hidden] given")
	if strings.Contains(err.Error(), "sk-very") {
		t.Errorf("the error shows a secret: %v", err)
	}
}

// logged is a log that may be read while it is written.
type logged struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// Whatever a server says of itself outside of its results, and however it is
// cut or encoded, repeats no secret of its configuration: not in an error that a
// model reads, not in the status that searches tell of, and not in the log.
func TestSecretsOfOddTexts(t *testing.T) {
	const secret = `pa"ss<word>-of-the/house`
	encoded := base64.StdEncoding.EncodeToString([]byte(secret))
	var log logged
	opt := quick()
	opt.RetryMin, opt.RetryMax = time.Hour, time.Hour
	opt.Logger = slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	with := func(name string, s mcptest.Script) mcp.Server {
		srv := scripted(t, name, s)
		srv.Env = append(srv.Env, "HOUSE="+secret)
		return srv
	}
	banner := with("banner", mcptest.Script{Start: mcptest.StartBanner, Banner: "using " + secret, Tools: listed(mcptest.ToolHang)})
	banner.CallTimeout = 300 * time.Millisecond // only its call hangs
	cut := with("cut", mcptest.Script{Start: mcptest.StartBanner, Banner: strings.Repeat("x", 185) + secret, Tools: listed(mcptest.ToolNoise, mcptest.ToolCrash)})
	refused := with("refused", mcptest.Script{List: mcptest.ListError, ListRefusal: "no list for " + secret})
	junk := with("junk", mcptest.Script{Tools: listed(mcptest.ToolRefuse)})
	m := started(t, opt, banner, cut, refused, junk)

	var texts []string
	failure := func(name, args string) {
		t.Helper()
		_, err := call(t, m, name, args)
		var te *tool.Error
		if !errors.As(err, &te) {
			t.Fatalf("%s: %v, want a refusal", name, err)
		}
		raw, err := te.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(raw))
	}
	failure(mcptest.ToolHang, `{}`)
	failure(mcptest.ToolCrash, `{}`)
	quoted, err := json.Marshal(secret)
	if err != nil {
		t.Fatal(err)
	}
	failure(mcptest.ToolRefuse, `{"code":-32000,"message":"bad `+encoded+`","text":`+string(quoted)+`}`)
	for _, s := range m.Snapshot().Status {
		texts = append(texts, s.LastError, s.Stderr)
	}
	texts = append(texts, log.String())
	all := strings.Join(texts, "\n")
	for _, want := range []string{"using [hidden]", "x[hidden]…", "no list for [hidden]", "bad [hidden]", `"said":"[hidden]"`} {
		if !strings.Contains(all, want) {
			t.Errorf("nothing says %q:\n%s", want, all)
		}
	}
	for _, part := range []string{"ss<word", "of-the", `pa\"ss`, encoded[:12]} {
		if strings.Contains(strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(all), part) {
			t.Errorf("a text repeats %q of the secret:\n%s", part, all)
		}
	}
}

func TestCallTimeout(t *testing.T) {
	srv := scripted(t, "s", mcptest.Script{Tools: listed(mcptest.ToolHang, mcptest.ToolEcho)})
	srv.CallTimeout = 100 * time.Millisecond
	m := started(t, quick(), srv)
	_, err := call(t, m, mcptest.ToolHang, `{}`)
	wantError(t, err, tool.CodeTimeout, "within 100ms", "side effects may have happened")
}

// A server that stops reading its stdin must not hold a caller beyond the
// deadline, nor Close.
func TestDeafServer(t *testing.T) {
	srv := scripted(t, "s", mcptest.Script{Deaf: true, StubbornExit: true, Tools: listed(mcptest.ToolEcho)})
	srv.CallTimeout = 200 * time.Millisecond
	opt := quick()
	opt.StopGrace = 10 * time.Millisecond
	m := started(t, opt, srv)
	big := `{"x":"` + strings.Repeat("x", 1<<20) + `"}` // far beyond a pipe's buffer
	for range 3 {
		_, err := call(t, m, mcptest.ToolEcho, big)
		wantError(t, err, tool.CodeTimeout)
	}
}

func TestHugeAnswerIsRefusedWithoutExhaustingMemory(t *testing.T) {
	m := started(t, quick(), scripted(t, "s", mcptest.Script{Tools: listed(mcptest.ToolHuge, mcptest.ToolEcho)}))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := call(t, m, mcptest.ToolHuge, `{}`)
	runtime.ReadMemStats(&after)
	wantError(t, err, tool.CodeFailed, `"s"`, "longer than the limit of 16777216 bytes", "side effects")
	// A line of up to 16 MiB costs twice that: well below the 100 MB sent.
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 50<<20 {
		t.Errorf("%d bytes were allocated for a message of 100 MB", grown)
	}
	mustCall(t, m, mcptest.ToolEcho, `{}`)
}

func TestOddAnswers(t *testing.T) {
	m := started(t, quick(), scripted(t, "s", mcptest.Script{Tools: listed(
		mcptest.ToolDeep, mcptest.ToolRefuse, mcptest.ToolInput, mcptest.ToolEcho, "unheard", "scalar", "masked", "twice", "task", "unsaid"),
		Results: map[string]json.RawMessage{
			"scalar": json.RawMessage(`"just a string"`),
			"masked": json.RawMessage(`{"resultType":"input_required","RESULTTYPE":"complete","inputRequests":{"approval":{"method":"elicitation/create","params":{}}},"content":[]}`),
			"twice":  json.RawMessage(`{"resultType":"complete","resultType":"input_required","inputRequests":{},"content":[]}`),
			"task":   json.RawMessage(`{"resultType":["complete"],"content":[]}`),
			"unsaid": json.RawMessage(`{"resultType":null,"structuredContent":null,"isError":null,"_meta":null,"content":[{"type":"text","text":"fine"}]}`),
		},
	}))
	t.Run("deeply nested", func(t *testing.T) {
		want := strings.Repeat("[", 5000) + strings.Repeat("]", 5000)
		if res := mustCall(t, m, mcptest.ToolDeep, `{}`); string(res.Details) != want {
			t.Errorf("details have %d bytes, want %d", len(res.Details), len(want))
		}
	})
	t.Run("refusal", func(t *testing.T) {
		_, err := call(t, m, mcptest.ToolRefuse, `{"code":-32000,"message":"quota \u202egone"}`)
		wantError(t, err, tool.CodeFailed, "quota gone", "-32000")
		rpc := mcp.RPCError(err)
		if rpc == nil || rpc.Code != -32000 || string(rpc.Data) != `{"n":9007199254740993}` {
			t.Errorf("the JSON-RPC error is %+v", rpc)
		}
	})
	t.Run("invalid params", func(t *testing.T) {
		_, err := call(t, m, "unheard", `{}`)
		wantError(t, err, tool.CodeInvalidArgs, "Unknown tool: unheard")
	})
	t.Run("asks for input", func(t *testing.T) {
		_, err := call(t, m, mcptest.ToolInput, `{}`)
		wantError(t, err, tool.CodeFailed, "further input")
	})
	t.Run("asks for input behind a second reading", func(t *testing.T) {
		for _, name := range []string{"masked", "twice"} {
			_, err := call(t, m, name, `{}`)
			wantError(t, err, tool.CodeFailed, "further input")
		}
	})
	t.Run("of no kind that is known", func(t *testing.T) {
		_, err := call(t, m, "task", `{}`)
		wantError(t, err, tool.CodeFailed, "no result")
	})
	t.Run("null for what is left out", func(t *testing.T) {
		if res, err := call(t, m, "unsaid", `{}`); err != nil || res.IsError || res.Text() != "fine" {
			t.Errorf("%+v, %v", res, err)
		}
	})
	t.Run("no object", func(t *testing.T) {
		_, err := call(t, m, "scalar", `{}`)
		wantError(t, err, tool.CodeFailed, "no result")
	})
	t.Run("arguments that are no JSON", func(t *testing.T) {
		_, err := call(t, m, mcptest.ToolEcho, `{"a":`)
		wantError(t, err, tool.CodeInvalidInput, "not valid JSON")
	})
	t.Run("the connection lives on", func(t *testing.T) { mustCall(t, m, mcptest.ToolEcho, `{}`) })
}

func TestRequestsOfServersAreDeclined(t *testing.T) {
	m := started(t, quick(), scripted(t, "s", mcptest.Script{Tools: listed(mcptest.ToolAsk)}))
	for _, method := range []string{"sampling/createMessage", "elicitation/create", "roots/list", "vendor/anything"} {
		res := mustCall(t, m, mcptest.ToolAsk, `{"method":"`+method+`"}`)
		var got struct {
			Result json.RawMessage
			Error  *struct{ Code int }
		}
		if err := json.Unmarshal(res.Details, &got); err != nil {
			t.Fatal(err)
		}
		if string(got.Result) != "null" || got.Error == nil || got.Error.Code != -32601 {
			t.Errorf("%s was answered with %s, want the error -32601", method, res.Details)
		}
	}
	if res := mustCall(t, m, mcptest.ToolAsk, `{"method":"ping"}`); string(res.Details) != `{"result":{},"error":null}` {
		t.Errorf("ping was answered with %s", res.Details)
	}
}

func TestFloods(t *testing.T) {
	m := started(t, quick(), scripted(t, "s", mcptest.Script{Tools: listed(mcptest.ToolNotices, mcptest.ToolEcho)}))
	mustCall(t, m, mcptest.ToolNotices, `{"count":10000}`)
	mustCall(t, m, mcptest.ToolEcho, `{}`)
}

// A server that asks without reading the answers is cut off.
func TestRequestFlood(t *testing.T) {
	opt := quick()
	opt.StopGrace = 10 * time.Millisecond
	m := started(t, opt, scripted(t, "s", mcptest.Script{Tools: listed(mcptest.ToolAskFlood)}))
	_, err := call(t, m, mcptest.ToolAskFlood, `{}`)
	wantError(t, err, tool.CodeFailed, "sends requests faster than it reads the answers")
}

// hold makes the server start a grandchild that keeps a connection while it
// lives. The returned function waits for its death.
func hold(t *testing.T, m *mcp.Manager) (died func()) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	limit := time.Now().Add(2 * time.Minute)
	_ = l.(*net.TCPListener).SetDeadline(limit)
	mustCall(t, m, mcptest.ToolSpawn, `{"dial":"`+l.Addr().String()+`"}`)
	conn, err := l.Accept()
	if err != nil {
		t.Fatalf("the grandchild never came: %v", err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return func() {
		t.Helper()
		_ = conn.SetReadDeadline(limit)
		if _, err := conn.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("the grandchild still lives: %v", err)
		}
	}
}

func TestGrandchildrenDieWithTheirServer(t *testing.T) {
	tests := []struct {
		name   string
		script mcptest.Script
		end    func(t *testing.T, m *mcp.Manager)
	}{
		{"close", mcptest.Script{}, func(t *testing.T, m *mcp.Manager) { _ = m.Close() }},
		{"close of a stubborn server", mcptest.Script{StubbornExit: true}, func(t *testing.T, m *mcp.Manager) { _ = m.Close() }},
		{"crash", mcptest.Script{}, func(t *testing.T, m *mcp.Manager) {
			if _, err := call(t, m, mcptest.ToolCrash, `{}`); err == nil {
				t.Error("the crash went unnoticed")
			}
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.script.Tools = listed(mcptest.ToolSpawn, mcptest.ToolCrash)
			opt := quick()
			opt.StopGrace = 20 * time.Millisecond
			m := started(t, opt, scripted(t, "s", tt.script))
			died := hold(t, m)
			tt.end(t, m)
			died()
		})
	}
}

func TestStopWithContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	m, err := mcp.NewManager([]mcp.Server{scripted(t, "s", mcptest.Script{Tools: listed(mcptest.ToolEcho)})}, quick())
	if err != nil {
		t.Fatal(err)
	}
	m.Start(ctx)
	if err := m.Wait(deadline(t)); err != nil {
		t.Fatal(err)
	}
	cancel()
	until(t, m, "closed", func(s mcp.Snapshot) bool { return s.Status[0].State == mcp.Closed })
	_, err = call(t, m, mcptest.ToolEcho, `{}`)
	wantError(t, err, tool.CodeUnavailable, "closed")
	_ = m.Close()
}

func TestRestartInBackground(t *testing.T) {
	flag := filepath.Join(t.TempDir(), "failed-once")
	m := open(t, quick(), scripted(t, "s", mcptest.Script{Tools: listed(mcptest.ToolEcho), Start: mcptest.StartExit, Once: flag}))
	until(t, m, "ready", func(s mcp.Snapshot) bool { return s.Status[0].State == mcp.Ready })
	mustCall(t, m, mcptest.ToolEcho, `{}`)
}
