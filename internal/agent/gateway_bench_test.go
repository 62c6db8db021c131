package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolsearch/toolsearch"
	"github.com/toolsearch/toolsearch/internal/agent"
	"github.com/toolsearch/toolsearch/internal/config"
	"github.com/toolsearch/toolsearch/internal/modelapi"
	"github.com/toolsearch/toolsearch/internal/store"
	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/provider/mock"
	"github.com/toolsearch/toolsearch/source/jsonl"
	"github.com/toolsearch/toolsearch/surface"
	"github.com/toolsearch/toolsearch/tool"
	"github.com/toolsearch/toolsearch/transcript"
	"github.com/toolsearch/toolsearch/turn"
)

// BenchmarkGateway compares a turn of a client that asks a mock of a model API
// which answers at once with the same turn through the gateway: over HTTP, with
// some 6,600 tools behind search, and with the transcript on disk. The aim is at
// most 1,500 µs more, for the whole turn and for the first text of a stream.
//
// "conversations" has another conversation in each turn, and "clients" other
// client tools too, that nobody has brought before: they must not cost an index of
// all tools.
func BenchmarkGateway(b *testing.B) {
	g := newGateway(b)
	for _, c := range []struct {
		name  string
		api   provider.API
		tools int
	}{
		{"chat", provider.Chat, 0},
		{"chat+5tools", provider.Chat, 5},
		{"responses+5tools", provider.Responses, 5},
		{"messages+5tools", provider.Messages, 5},
	} {
		for _, stream := range []bool{false, true} {
			name := c.name + "/whole"
			if stream {
				name = c.name + "/streamed"
			}
			b.Run(name, func(b *testing.B) {
				g.compare(b, agent.Format(c.api), func(int) []byte { return g.body(b, c.api, benchAsk{tools: c.tools, stream: stream}) })
			})
		}
	}
	b.Run("conversations/streamed", func(b *testing.B) {
		g.compare(b, agent.Format(provider.Chat), func(n int) []byte {
			return g.body(b, provider.Chat, benchAsk{tools: 5, stream: true, text: fmt.Sprint("Hello, this is conversation ", n)})
		})
	})
	b.Run("clients/streamed", func(b *testing.B) {
		g.compare(b, agent.Format(provider.Chat), func(n int) []byte {
			return g.body(b, provider.Chat, benchAsk{tools: 5, stream: true, text: fmt.Sprint("Hello, this is conversation ", n), suffix: fmt.Sprintf("_%d", n)})
		})
	})
}

const benchText = "All of it is done, and nothing is left to do."

// gateway is a mock of a model API, and the gateway before it.
type gateway struct {
	direct, served string // base URLs
	http           *http.Client
}

func newGateway(b *testing.B) *gateway {
	b.Helper()
	tools := npmTools(b)
	model, stop, err := mock.New(mock.Script{Choose: func(*mock.Exchange) mock.Step { return mock.Text(benchText) }, MaxKept: 1}).Listen("127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { noError(b, stop()) })
	path := filepath.Join(b.TempDir(), "toolsearch.json5")
	text := fmt.Sprintf(`{models: {default: "chat/mock", providers: {
		chat: {baseUrl: %q, api: %q, models: [{id: "mock"}]},
		responses: {baseUrl: %q, api: %q, models: [{id: "mock"}]},
		messages: {baseUrl: %q, api: %q, models: [{id: "mock"}]},
	}}}`, model, provider.Chat, model, provider.Responses, model, provider.Messages)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		b.Fatal(err)
	}
	cfg, err := config.Load(b.Context(), path)
	if err != nil {
		b.Fatal(err)
	}
	s, err := store.Open(b.Context(), store.Options{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { noError(b, s.Close()) })
	record, err := transcript.New(transcript.Config{Recorder: s, Counter: s})
	if err != nil {
		b.Fatal(err)
	}
	set, err := toolsearch.New(b.Context(), toolsearch.Options{Tools: tools, Mode: surface.Tools, Transcript: record})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { noError(b, set.Close()) })
	runtime, err := agent.New(agent.Options{
		Config: cfg, Tools: set,
		Rules: func(agent.Kind) (agent.Rules, error) {
			return agent.Rules{ScopeOptions: toolsearch.ScopeOptions{Mode: surface.Tools}}, nil
		},
	})
	if err != nil {
		b.Fatal(err)
	}
	return &gateway{direct: model, served: serve(b, runtime) + "/v1", http: provider.NewHTTPClient()}
}

func noError(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Error(err)
	}
}

// serve serves a runtime until the benchmark ends.
func serve(b *testing.B, runtime *agent.Runtime) string {
	b.Helper()
	srv, err := modelapi.New(modelapi.Options{
		Backend: benchBackend{runtime},
		Formats: []provider.Format{agent.Format(provider.Chat), agent.Format(provider.Responses), agent.Format(provider.Messages)},
	})
	if err != nil {
		b.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	done := make(chan error, 1)
	go func() { done <- srv.Serve(ctx, l) }()
	b.Cleanup(func() {
		cancel()
		noError(b, <-done)
	})
	return "http://" + l.Addr().String()
}

// benchBackend starts runs as the program does.
type benchBackend struct{ runtime *agent.Runtime }

func (s benchBackend) Start(ctx context.Context, r modelapi.RunRequest) (modelapi.Run, error) {
	run, err := s.runtime.Start(ctx, agent.Request{Request: r.Request, Caller: r.Caller.Name, Session: r.Session})
	if err != nil {
		return nil, err
	}
	return run, nil
}

func (benchBackend) Models() []modelapi.Model    { return nil }
func (benchBackend) Ready(context.Context) error { return nil }
func (benchBackend) CallTool(context.Context, modelapi.Invocation) (*tool.Tool, *tool.Result, error) {
	return nil, nil, errors.New("not part of the benchmark")
}

// npmTools are some 6,600 tools that answer at once.
func npmTools(b *testing.B) []*tool.Tool {
	b.Helper()
	shared := os.Getenv("TOOLSEARCH_SHARED")
	if shared == "" {
		shared = filepath.Join("..", "..", "..", "shared")
	}
	tools, _, err := jsonl.LoadFile(b.Context(), filepath.Join(shared, "toolsets", "cat-npm-mcp", "catalog.jsonl"), jsonl.Options{})
	if errors.Is(err, os.ErrNotExist) {
		b.Skipf("the evaluation toolsets are not here (%v); set TOOLSEARCH_SHARED", err)
	}
	if err != nil {
		b.Fatal(err)
	}
	return tools
}

// benchAsk is what a client asks.
type benchAsk struct {
	tools  int
	stream bool
	text   string // "" is always the same
	suffix string // of the tools' names
}

// body is a request as a client of the API writes it.
func (g *gateway) body(b *testing.B, api provider.API, ask benchAsk) []byte {
	b.Helper()
	if ask.text == "" {
		ask.text = "Please look at the weather of Oslo, and tell me what to wear tomorrow."
	}
	req := &provider.Request{Model: map[provider.API]string{provider.Chat: "chat", provider.Responses: "responses", provider.Messages: "messages"}[api] + "/mock", Stream: ask.stream}
	req.Messages = []provider.Message{
		{Role: provider.System, Blocks: []provider.Block{{Kind: provider.Text, Text: strings.Repeat("You are a helpful assistant. ", 40)}}},
		user(ask.text),
	}
	for i := range ask.tools {
		req.Tools = append(req.Tools, provider.Tool{
			Name:        fmt.Sprintf("client_tool_%d%s", i, ask.suffix),
			Description: "Reads a file of the user's workspace, or a part of it, and returns its lines with their numbers. Long lines are cut.",
			Parameters:  json.RawMessage(`{"type":"object","properties":{"path":{"type":"string","description":"The file's path, relative to the workspace"},"first":{"type":"integer","minimum":1},"last":{"type":"integer","minimum":1},"encoding":{"type":"string","enum":["utf-8","latin-1"]}},"required":["path"],"additionalProperties":false}`),
		})
	}
	if api == provider.Messages {
		req.Params.MaxTokens = 1024
	}
	raw, err := agent.Format(api).EncodeRequest(req)
	if err != nil {
		b.Fatal(err)
	}
	return raw
}

// ask sends a request, and returns when its first text came, and when all of it
// had.
func (g *gateway) ask(b *testing.B, url string, body []byte) (first, whole time.Duration) {
	b.Helper()
	began := time.Now()
	req, err := http.NewRequestWithContext(b.Context(), http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := g.http.Do(req)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { noError(b, resp.Body.Close()) }()
	var got []byte
	buf := make([]byte, 8<<10)
	for err == nil {
		var n int
		n, err = resp.Body.Read(buf)
		got = append(got, buf[:n]...)
		if first == 0 && bytes.Contains(got, []byte("All")) {
			first = time.Since(began)
		}
	}
	if resp.StatusCode != http.StatusOK || !errors.Is(err, io.EOF) || first == 0 {
		b.Fatalf("%s answered %s, %v: %s", url, resp.Status, err, got)
	}
	return first, time.Since(began)
}

// compare runs the same turns with and without the gateway, one after the
// other, so that whatever else the machine does meets both alike.
func (g *gateway) compare(b *testing.B, f provider.Format, body func(n int) []byte) {
	const warm, rounds = 100, 600
	path := strings.TrimPrefix(f.Path(), "/v1")
	var first, whole [2][]time.Duration
	turn := func(n int, keep bool) {
		raw := body(n)
		for i, url := range [2]string{g.served + path, g.direct + path} {
			f, w := g.ask(b, url, raw)
			if keep {
				first[i], whole[i] = append(first[i], f), append(whole[i], w)
			}
		}
	}
	n := 0
	for ; n < warm; n++ {
		turn(n, false)
	}
	for b.Loop() {
		turn(n, false)
		n++
	}
	for range rounds {
		turn(n, true)
		n++
	}
	report := func(what string, took [2][]time.Duration) {
		slices.Sort(took[0])
		slices.Sort(took[1])
		through, direct := took[0][rounds/2], took[1][rounds/2]
		micros := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }
		b.ReportMetric(micros(through-direct), what+"-added-µs")
		b.ReportMetric(micros(direct), what+"-direct-µs")
		b.ReportMetric(float64(through)/float64(direct), what+"-gateway/direct")
	}
	report("turn", whole)
	report("first-text", first)
	b.ReportMetric(0, "ns/op") // of both together: it says nothing
}

var _ modelapi.Run = (*turn.Run)(nil)
