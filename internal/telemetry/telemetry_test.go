package telemetry_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/toolsearch/toolsearch/call"
	"github.com/toolsearch/toolsearch/internal/telemetry"
	"github.com/toolsearch/toolsearch/surface"
	"github.com/toolsearch/toolsearch/tool"
)

func start(t testing.TB, o telemetry.Options) *telemetry.Telemetry {
	t.Helper()
	tel, err := telemetry.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tel.Shutdown(context.Background()) })
	return tel
}

func mcpTool(name string, run tool.InvokerFunc) *tool.Tool {
	return &tool.Tool{
		ID: tool.NewID(tool.MCP, "files", name), Source: tool.MCP, Owner: "files", Name: name,
		Description: "a secret description", Input: tool.RawSchema(`{"type":"object"}`), Invoker: run,
	}
}

func answers(res *tool.Result, err error) tool.InvokerFunc {
	return func(context.Context, tool.Call) (*tool.Result, error) { return res, err }
}

var fine = answers(&tool.Result{Content: []tool.Content{tool.Text("a secret result")}}, nil)

// scrape reads the metrics as Prometheus would: series to value.
func scrape(t testing.TB, tel *telemetry.Telemetry) map[string]string {
	t.Helper()
	srv := httptest.NewServer(tel.Handler())
	defer srv.Close()
	res, err := http.Get(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Fatalf("status %d", res.StatusCode)
	}
	out := map[string]string{}
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		if i := strings.LastIndexByte(lines.Text(), ' '); i > 0 && lines.Text()[0] != '#' {
			out[lines.Text()[:i]] = lines.Text()[i+1:]
		}
	}
	return out
}

// A nil Telemetry is a pipeline's own handler: it costs nothing.
func TestNil(t *testing.T) {
	var tel *telemetry.Telemetry
	ctx := t.Context()
	if got, end := tel.StartRun(ctx, call.Origin{Run: "r"}, "tools"); got != ctx {
		t.Error("a nil Telemetry changes the context")
	} else {
		end(nil)
	}
	tel.Searched(ctx, surface.Search{Queries: 1})
	tel.Described(ctx, call.Origin{}, 0)
	tel.Planned(telemetry.Planned{})
	if err := tel.Shutdown(ctx); err != nil {
		t.Error(err)
	}
	rec := httptest.NewRecorder()
	if tel.Handler().ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/", nil)); rec.Code != http.StatusNotFound {
		t.Errorf("metrics of nothing: status %d", rec.Code)
	}
	target := call.Request{Target: mcpTool("x", fine)}
	measure := func(p *call.Pipeline) float64 {
		return testing.AllocsPerRun(100, func() {
			if _, err := p.Call(ctx, target); err != nil {
				t.Fatal(err)
			}
		})
	}
	if with, without := measure(call.New(tel.Stage())), measure(call.New()); with != without {
		t.Errorf("%v allocations with a nil Telemetry, %v without", with, without)
	}
}

func TestOutcomes(t *testing.T) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	tests := []struct {
		name    string
		ctx     context.Context
		run     tool.InvokerFunc
		outcome string
		blocked string
	}{
		{name: "ok", run: fine, outcome: "ok"},
		{name: "isError", run: answers(&tool.Result{IsError: true}, nil), outcome: "error"},
		{name: "plain", run: answers(nil, errors.New("boom")), outcome: "failed"},
		{name: "nothing", run: answers(nil, nil), outcome: "failed"},
		{name: "slow", run: answers(nil, context.DeadlineExceeded), outcome: "failed"},
		{name: "hook", run: answers(nil, &tool.Error{Code: tool.CodeBlocked, By: "audit"}), outcome: "blocked", blocked: "audit"},
		{name: "args", run: answers(nil, &tool.Error{Code: tool.CodeInvalidArgs}), outcome: "refused"},
		{name: "down", run: answers(nil, &tool.Error{Code: tool.CodeUnavailable}), outcome: "refused"},
		{name: "gone", ctx: cancelled, run: fine, outcome: "cancelled"},
	}
	tel := start(t, telemetry.Options{})
	p := call.New(tel.Stage())
	for _, tt := range tests {
		ctx := tt.ctx
		if ctx == nil {
			ctx = t.Context()
		}
		for range 2 {
			_, _ = p.Call(ctx, call.Request{Target: mcpTool(tt.name, tt.run)}) // the error is what is counted
		}
	}
	got := scrape(t, tel)
	for _, tt := range tests {
		series := fmt.Sprintf(`toolsearch_calls_total{gen_ai_tool_name=%q,outcome=%q,source="mcp"}`, tt.name, tt.outcome)
		if got[series] != "2" {
			t.Errorf("%s is %q, want 2", series, got[series])
		}
		if series := fmt.Sprintf("toolsearch_calls_blocked_total{blocked_by=%q}", tt.blocked); tt.blocked != "" && got[series] != "2" {
			t.Errorf("%s is %q, want 2", series, got[series])
		}
	}
	if n := got[`toolsearch_call_duration_seconds_count{outcome="failed",source="mcp"}`]; n != "6" {
		t.Errorf("%s failed calls are timed, want 6", n)
	}
}

func TestObserve(t *testing.T) {
	tel := start(t, telemetry.Options{})
	ctx := t.Context()
	tel.Searched(ctx, surface.Search{Queries: 1, Took: 150 * time.Microsecond})
	tel.Searched(ctx, surface.Search{Queries: 3, Empty: 2, Took: 3 * time.Millisecond})
	tel.Described(ctx, call.Origin{}, time.Millisecond)
	tel.Planned(telemetry.Planned{Catalog: map[tool.Source]int{tool.MCP: 300, tool.OpenClaw: 4}, SurfaceBytes: 2000, DirectBytes: 400000})
	tel.Planned(telemetry.Planned{Catalog: map[tool.Source]int{tool.MCP: 301}, SurfaceBytes: 2100, DirectBytes: 400001})
	got := scrape(t, tel)
	for series, want := range map[string]string{
		"toolsearch_searches_total":                              "4",
		"toolsearch_searches_empty_total":                        "2",
		"toolsearch_describes_total":                             "1",
		`toolsearch_search_duration_seconds_bucket{le="0.0001"}`: "0",
		`toolsearch_search_duration_seconds_bucket{le="0.0002"}`: "1",
		`toolsearch_search_duration_seconds_bucket{le="0.005"}`:  "2",
		"toolsearch_search_duration_seconds_count":               "2",
		`toolsearch_catalog_size{source="mcp"}`:                  "301",
		`toolsearch_catalog_size{source="openclaw"}`:             "0",
		`toolsearch_request_bytes{view="surface"}`:               "2100",
		`toolsearch_request_bytes{view="direct"}`:                "400001",
	} {
		if got[series] != want {
			t.Errorf("%s is %q, want %q", series, got[series], want)
		}
	}
}

// However many tools are called, and however they are named, the metrics stay
// bounded and readable.
func TestNamesAreBounded(t *testing.T) {
	tel := start(t, telemetry.Options{})
	p := call.New(tel.Stage())
	names := []string{"bad\xffbytes", "new\nline \"quote\"", "hidden\u202ename", strings.Repeat("long", 1000)}
	for i := range 5 * telemetry.MaxToolNames {
		names = append(names, fmt.Sprintf("tool_%d", i))
	}
	for _, name := range names {
		if _, err := p.Call(t.Context(), call.Request{Target: mcpTool(name, fine)}); err != nil {
			t.Fatal(err)
		}
		_, _ = p.Call(t.Context(), call.Request{Target: mcpTool("x", answers(nil, &tool.Error{Code: tool.CodeBlocked, By: name}))})
	}
	got := scrape(t, tel)
	series := map[string]int{}
	for s := range got {
		if len(s) > 400 {
			t.Errorf("a series of %d bytes", len(s))
		}
		series[s[:strings.IndexAny(s+"{", "{")]]++
	}
	if n := series["toolsearch_calls_total"]; n < telemetry.MaxToolNames || n > telemetry.MaxToolNames+2 {
		t.Errorf("%d series of calls, want about %d", n, telemetry.MaxToolNames)
	}
	if n := series["toolsearch_calls_blocked_total"]; n > 65 {
		t.Errorf("%d series of blocked calls", n)
	}
	rest := fmt.Sprint(len(names) - telemetry.MaxToolNames + 1) // "x" took a place
	if n := got[`toolsearch_calls_total{gen_ai_tool_name="_other",outcome="ok",source="mcp"}`]; n != rest {
		t.Errorf("%s calls are of other tools, want %s", n, rest)
	}
}

// What a caller names its own tools is nobody else's to read, and takes no place of
// the tools that are everybody's.
func TestNamesOfCallersToolsAreNotInMetrics(t *testing.T) {
	tel := start(t, telemetry.Options{})
	p := call.New(tel.Stage())
	for i := range telemetry.MaxToolNames + 1 {
		own := mcpTool(fmt.Sprintf("secret_project_%d", i), fine)
		own.Source = tool.Client
		if _, err := p.Call(t.Context(), call.Request{Target: own}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := p.Call(t.Context(), call.Request{Target: mcpTool("known", fine)}); err != nil {
		t.Fatal(err)
	}
	got := scrape(t, tel)
	for s := range got {
		if strings.Contains(s, "secret") {
			t.Errorf("the metrics have %s", s)
		}
	}
	for series, want := range map[string]string{
		`toolsearch_calls_total{gen_ai_tool_name="_client",outcome="ok",source="client"}`: fmt.Sprint(telemetry.MaxToolNames + 1),
		`toolsearch_calls_total{gen_ai_tool_name="known",outcome="ok",source="mcp"}`:      "1",
	} {
		if got[series] != want {
			t.Errorf("%s is %q, want %s", series, got[series], want)
		}
	}
}

// Calls and searches stand under the span of their run, with or without its
// context, and what they are about stays here.
func TestSpans(t *testing.T) {
	rec := newReceiver(t, nil)
	tel := start(t, telemetry.Options{OTLPEndpoint: rec.URL + "/", Insecure: true, ServiceName: "gateway", Headers: map[string]string{"Authorization": "Bearer k"}})
	ctx := t.Context()
	o := call.Origin{Session: "s1", Run: "r1", Agent: "main", Caller: "alice", CallID: "c1"}
	runCtx, end := tel.StartRun(ctx, o, "tools")
	nested := mcpTool("nested", fine)
	inner := call.New(tel.Stage())
	outer := call.New(tel.Stage())
	secret := json.RawMessage(`{"password":"a secret argument"}`)
	if _, err := inner.Call(runCtx, call.Request{Target: mcpTool("with", func(ctx context.Context, _ tool.Call) (*tool.Result, error) {
		return inner.Call(ctx, call.Request{Target: nested, Args: secret})
	}), Args: secret, Origin: o}); err != nil {
		t.Fatal(err)
	}
	o.Control, o.Parent, o.CallID = "tool_call", "c1", "c2"
	_, _ = outer.Call(ctx, call.Request{Target: mcpTool("without", answers(nil, &tool.Error{Code: tool.CodeBlocked, By: "policy", Reason: "a secret reason"})), Origin: o})
	tel.Searched(ctx, surface.Search{Origin: o, Queries: 1, Took: time.Second})
	end(nil)
	_, _ = outer.Call(ctx, call.Request{Target: mcpTool("later", fine), Origin: o})
	_, _ = outer.Call(ctx, call.Request{Target: mcpTool("stranger", fine), Origin: call.Origin{Session: "s2", Run: "r1"}})
	if err := tel.Shutdown(ctx); err != nil {
		t.Fatal(err)
	}
	spans := rec.all()
	run := spans["invoke_agent main"]
	if run == nil || len(run.ParentSpanId) != 0 {
		t.Fatalf("no root span of the run: %v", spans)
	}
	for name, parent := range map[string]*tracepb.Span{
		"execute_tool with": run, "execute_tool without": run, "execute_tool tool_search": run,
		"execute_tool nested": spans["execute_tool with"], "execute_tool later": nil, "execute_tool stranger": nil,
	} {
		s := spans[name]
		switch {
		case s == nil:
			t.Errorf("no span %q", name)
		case parent == nil && len(s.ParentSpanId) != 0:
			t.Errorf("%q has a parent", name)
		case parent != nil && (!bytes.Equal(s.ParentSpanId, parent.SpanId) || !bytes.Equal(s.TraceId, parent.TraceId)):
			t.Errorf("%q is not under %q", name, parent.Name)
		}
	}
	s := spans["execute_tool without"]
	got := attributes(s.Attributes)
	for key, want := range map[string]string{
		"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "without", "gen_ai.tool.type": "extension",
		"gen_ai.tool.call.id": "c2", "gen_ai.conversation.id": "s1", "gen_ai.agent.id": "main", "mcp.method.name": "tools/call",
		"error.type": "blocked", "toolsearch.outcome": "blocked", "toolsearch.blocked_by": "policy", "toolsearch.run.id": "r1",
		"toolsearch.control": "tool_call", "toolsearch.parent_call.id": "c1", "toolsearch.tool.id": "mcp:files:without",
	} {
		if got[key] != want {
			t.Errorf("%s is %q, want %q", key, got[key], want)
		}
	}
	if s.Status.GetCode() != tracepb.Status_STATUS_CODE_ERROR || s.Kind != tracepb.Span_SPAN_KIND_CLIENT {
		t.Errorf("status %v, kind %v", s.Status, s.Kind)
	}
	if took := spans["execute_tool tool_search"]; took != nil && took.EndTimeUnixNano-took.StartTimeUnixNano != uint64(time.Second) {
		t.Errorf("the search took %d ns, want 1 s", took.EndTimeUnixNano-took.StartTimeUnixNano)
	}
	if rec.holds("secret") || rec.holds("alice") {
		t.Error("arguments, results, descriptions, reasons or the caller left the process")
	}
	for _, r := range rec.requests {
		if r.Header.Get("Authorization") != "Bearer k" || r.Header.Get("Content-Type") != "application/x-protobuf" {
			t.Errorf("headers %v", r.Header)
		}
	}
	if name := attributes(rec.spans[0].Resource.Attributes)["service.name"]; name != "gateway" {
		t.Errorf("the service is %q", name)
	}
}

func TestMetricsExport(t *testing.T) {
	rec := newReceiver(t, nil)
	tel := start(t, telemetry.Options{OTLPEndpoint: rec.URL, Insecure: true})
	ctx := t.Context()
	if _, err := call.New(tel.Stage()).Call(ctx, call.Request{Target: mcpTool("read", fine)}); err != nil {
		t.Fatal(err)
	}
	for _, took := range []time.Duration{15 * time.Microsecond, 3 * time.Millisecond, 4 * time.Millisecond, time.Minute} {
		tel.Searched(ctx, surface.Search{Queries: 1, Took: took})
	}
	tel.Planned(telemetry.Planned{SurfaceBytes: 7})
	if err := tel.Shutdown(ctx); err != nil {
		t.Fatal(err)
	}
	calls := rec.metric("toolsearch.calls").GetSum()
	if calls == nil || !calls.IsMonotonic || len(calls.DataPoints) != 1 || calls.DataPoints[0].GetAsDouble() != 1 {
		t.Fatalf("calls are %v", calls)
	}
	if got := attributes(calls.DataPoints[0].Attributes); got["gen_ai.tool.name"] != "read" || got["toolsearch.tool.source"] != "mcp" || got["toolsearch.outcome"] != "ok" {
		t.Errorf("attributes of calls are %v", got)
	}
	points := rec.metric("toolsearch.search.duration").GetHistogram().GetDataPoints()
	if len(points) != 1 || points[0].Count != 4 || len(points[0].BucketCounts) != len(points[0].ExplicitBounds)+1 {
		t.Fatalf("the histogram is %v", points)
	}
	for i, n := range points[0].BucketCounts {
		want := uint64(0)
		switch {
		case i == 0 || i == len(points[0].BucketCounts)-1:
			want = 1
		case points[0].ExplicitBounds[i] == .005:
			want = 2
		}
		if n != want {
			t.Errorf("bucket %d holds %d, want %d", i, n, want)
		}
	}
	if g := rec.metric("toolsearch.request.bytes").GetGauge().GetDataPoints(); len(g) != 2 || attributes(g[1].Attributes)["toolsearch.view"] != "surface" || g[1].GetAsDouble() != 7 {
		t.Errorf("bytes are %v", g)
	}
}

// Variables that OpenTelemetry's own exporters obey change nothing here.
func TestEnvironmentIsNotObeyed(t *testing.T) {
	decoy := newReceiver(t, nil)
	for k, v := range map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT": decoy.URL, "OTEL_EXPORTER_OTLP_HEADERS": "X-Env=leak", "OTEL_SERVICE_NAME": "leak",
		"OTEL_RESOURCE_ATTRIBUTES": "deployment=leak", "OTEL_TRACES_SAMPLER": "always_off", "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT": "1",
		"OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT": "1", "OTEL_BSP_MAX_QUEUE_SIZE": "1", "OTEL_EXPORTER_OTLP_COMPRESSION": "gzip",
	} {
		t.Setenv(k, v)
	}
	use := func(tel *telemetry.Telemetry) {
		if _, err := call.New(tel.Stage()).Call(t.Context(), call.Request{Target: mcpTool("read", fine)}); err != nil {
			t.Fatal(err)
		}
		if err := tel.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	use(start(t, telemetry.Options{}))
	rec := newReceiver(t, nil)
	use(start(t, telemetry.Options{OTLPEndpoint: rec.URL, Insecure: true}))
	if len(decoy.requests) != 0 {
		t.Error("the environment chose a receiver")
	}
	s := rec.all()["execute_tool read"]
	if s == nil || attributes(s.Attributes)["gen_ai.tool.name"] != "read" {
		t.Errorf("the environment changed the span: %v", s)
	}
	if rec.holds("leak") || rec.requests[0].Header.Get("X-Env") != "" {
		t.Error("the environment is in what was sent")
	}
}

func TestReceiverFails(t *testing.T) {
	elsewhere := newReceiver(t, nil)
	tests := []struct {
		name     string
		answer   func(n int, w http.ResponseWriter)
		posts    int
		failures string
	}{
		{"busy once", func(n int, w http.ResponseWriter) {
			if n == 1 {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		}, 2, "0"},
		{"always busy", func(_ int, w http.ResponseWriter) { w.WriteHeader(http.StatusTooManyRequests) }, 3, "2"},
		{"refuses", func(_ int, w http.ResponseWriter) { w.WriteHeader(http.StatusForbidden) }, 1, "2"},
		{"redirects", func(_ int, w http.ResponseWriter) {
			w.Header().Set("Location", elsewhere.URL+"/v1/traces")
			w.WriteHeader(http.StatusTemporaryRedirect)
		}, 1, "2"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			rec := newReceiver(t, tt.answer)
			var log bytes.Buffer
			tel := start(t, telemetry.Options{OTLPEndpoint: rec.URL, Insecure: true, Logger: slog.New(slog.NewTextHandler(&log, nil))})
			if _, err := call.New(tel.Stage()).Call(t.Context(), call.Request{Target: mcpTool("read", fine)}); err != nil {
				t.Fatal(err)
			}
			err := tel.Shutdown(t.Context())
			if (err != nil) != (tt.failures != "0") {
				t.Errorf("shutdown: %v", err)
			}
			if n := rec.count("/v1/traces"); n != tt.posts {
				t.Errorf("%d attempts, want %d", n, tt.posts)
			}
			if got := scrape(t, tel)["toolsearch_export_failures_total"]; got != tt.failures {
				t.Errorf("%s failures are counted, want %s", got, tt.failures)
			}
			if (log.Len() > 0) != (tt.failures != "0") {
				t.Errorf("the log says %q", log.String())
			}
		})
	}
	t.Cleanup(func() {
		if len(elsewhere.requests) != 0 {
			t.Error("a redirect was followed, with the headers")
		}
	})
}

// A receiver that hangs neither delays calls nor, beyond its context, Shutdown.
func TestReceiverHangs(t *testing.T) {
	release := make(chan struct{})
	arrived := make(chan struct{}, 10)
	rec := newReceiver(t, func(int, http.ResponseWriter) { arrived <- struct{}{}; <-release })
	defer close(release)
	tel := start(t, telemetry.Options{OTLPEndpoint: rec.URL, Insecure: true})
	p := call.New(tel.Stage())
	for range 5000 { // more than the queue holds
		if _, err := p.Call(t.Context(), call.Request{Target: mcpTool("read", fine)}); err != nil {
			t.Fatal(err)
		}
	}
	<-arrived
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := tel.Shutdown(ctx); err == nil {
		t.Error("shutdown tells of no failure")
	}
}

func TestEndpoints(t *testing.T) {
	tests := []struct {
		endpoint string
		insecure bool
		want     string // "" for none
	}{
		{"https://collector:4318", false, ""},
		{"collector:4318", false, ""},
		{"collector:4318", true, ""},
		{"http://user:hunter2@collector:4318", false, "insecure"},
		{"grpc://user:hunter2@collector:4317", false, "grpc"},
		{"https://user:hunter2@collector:4318?x=1", false, "base URL"},
		{"https://user:hunter2@collector:port", false, "base URL"},
		{"https://", false, "base URL"},
	}
	for _, tt := range tests {
		tel, err := telemetry.New(telemetry.Options{OTLPEndpoint: tt.endpoint, Insecure: tt.insecure})
		if err == nil {
			ctx, cancel := context.WithCancel(t.Context())
			cancel() // nothing is sent
			_ = tel.Shutdown(ctx)
		}
		if (err == nil) != (tt.want == "") || err != nil && (!strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "hunter2")) {
			t.Errorf("%s: %v, want %q and no password", tt.endpoint, err, tt.want)
		}
	}
}

// BenchmarkStage measures what the stage adds to a call.
func BenchmarkStage(b *testing.B) {
	rec := newReceiver(b, nil)
	for name, tel := range map[string]*telemetry.Telemetry{
		"none": nil, "metrics": start(b, telemetry.Options{}), "spans": start(b, telemetry.Options{OTLPEndpoint: rec.URL, Insecure: true}),
	} {
		p := call.New(tel.Stage())
		r := call.Request{Target: mcpTool("read", fine), Origin: call.Origin{Session: "s", Run: "r"}}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.Call(b.Context(), r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// Every metric that is served is in the documentation, under both of its names.
func TestMetricsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	tel, err := telemetry.New(telemetry.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := call.New(tel.Stage()).Call(t.Context(), call.Request{Target: mcpTool("read", answers(nil, &tool.Error{Code: tool.CodeBlocked, By: "policy"}))}); err == nil {
		t.Fatal("nothing was blocked")
	}
	tel.Planned(telemetry.Planned{})
	families, err := tel.Registry().Gather()
	if err != nil || len(families) < 10 {
		t.Fatalf("%d metrics, %v", len(families), err)
	}
	for _, f := range families {
		row := "| `" + f.GetName() + "` | `toolsearch."
		if !strings.Contains(string(page), row) {
			t.Errorf("docs/operating.md does not list %s", f.GetName())
		}
	}
}
