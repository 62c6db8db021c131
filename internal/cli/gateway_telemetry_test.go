package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/toolsearch/toolsearch/internal/mcptest"
)

// collector is an OTLP receiver that keeps what it gets.
type collector struct {
	*httptest.Server
	mu      sync.Mutex
	bodies  [][]byte
	headers []http.Header
	spans   []*tracepb.Span
	metrics map[string]*metricspb.Metric // of the last export
}

func newCollector(t *testing.T) *collector {
	t.Helper()
	c := &collector{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.bodies, c.headers = append(c.bodies, body), append(c.headers, r.Header.Clone())
		switch r.URL.Path {
		case "/v1/traces":
			var m tracepb.TracesData
			if err := proto.Unmarshal(body, &m); err != nil {
				t.Error(err)
			}
			for _, rs := range m.ResourceSpans {
				for _, ss := range rs.ScopeSpans {
					c.spans = append(c.spans, ss.Spans...)
				}
			}
		case "/v1/metrics":
			var m metricspb.MetricsData
			if err := proto.Unmarshal(body, &m); err != nil {
				t.Error(err)
			}
			c.metrics = map[string]*metricspb.Metric{}
			for _, rm := range m.ResourceMetrics {
				for _, sm := range rm.ScopeMetrics {
					for _, x := range sm.Metrics {
						c.metrics[x.Name] = x
					}
				}
			}
		}
	}))
	t.Cleanup(c.Close)
	return c
}

// total adds up a counter.
func (c *collector) total(name string) (n float64) {
	for _, p := range c.metrics[name].GetSum().GetDataPoints() {
		n += p.GetAsDouble()
	}
	return n
}

// gauge reads a gauge's point with that attribute's value.
func (c *collector) gauge(name, attribute string) float64 {
	for _, p := range c.metrics[name].GetGauge().GetDataPoints() {
		for _, a := range p.Attributes {
			if a.Value.GetStringValue() == attribute {
				return p.GetAsDouble()
			}
		}
	}
	return -1
}

// weatherCalls searches, finds nothing, describes, calls, and is blocked once.
func weatherCalls(g *gateway) {
	g.result("tools/list", "{}")
	g.result("tools/call", `{"name":"tool_search","arguments":{"query":"forecast"}}`)
	g.result("tools/call", `{"name":"tool_search","arguments":{"query":"xylophone"}}`)
	g.result("tools/call", `{"name":"tool_describe","arguments":{"id":"mcp:weather:echo"}}`)
	g.result("tools/call", toolCall("mcp:weather:echo", `{"city":"Oslo-secret-argument"}`))
	g.result("tools/call", toolCall("mcp:weather:odd", `{}`))
}

func weatherConfig(t *testing.T, home, telemetry string) string {
	t.Helper()
	config := oneCommand(t, home, mcptest.Script{Tools: []json.RawMessage{toolDef("echo", "Weather forecast"), toolDef("odd", "Something else")}})
	return strings.Replace(with(config, `approvals:{rules:[{deny:["mcp:weather:odd"]}]}`), "{", "{"+telemetry, 1)
}

// The gateway sends where the configuration says, and there alone: each call
// under the span of its client's run, and counters that agree with what was
// asked.
func TestGatewayTelemetry(t *testing.T) {
	to, trap := newCollector(t), newCollector(t)
	home := t.TempDir()
	config := weatherConfig(t, home, fmt.Sprintf(`telemetry:{enabled:true,otlpEndpoint:%q,otlpInsecure:true,otlpHeaders:{"X-Key":"${COLLECTOR_KEY:-k-1}"}},`, to.URL))
	g := startGatewayWith(t, home, config, otelTraps(trap.URL)...)
	g.connect(false)
	weatherCalls(g)
	g.stop()

	to.mu.Lock()
	defer to.mu.Unlock()
	var run *tracepb.Span
	byName := map[string]*tracepb.Span{}
	for _, s := range to.spans {
		byName[s.Name] = s
		if strings.HasPrefix(s.Name, "invoke_agent") {
			run = s
		}
	}
	if run == nil {
		t.Fatalf("no span of the run among %v; stderr:\n%s", byName, g.stderr)
	}
	for _, name := range []string{"execute_tool echo", "execute_tool odd", "execute_tool tool_search", "execute_tool tool_describe"} {
		if s := byName[name]; s == nil || !bytes.Equal(s.ParentSpanId, run.SpanId) || !bytes.Equal(s.TraceId, run.TraceId) {
			t.Errorf("%s is not under its run: %v", name, s)
		}
	}
	for name, want := range map[string]float64{"toolsearch.searches": 2, "toolsearch.searches.empty": 1, "toolsearch.describes": 1, "toolsearch.calls": 2, "toolsearch.calls.blocked": 1} {
		if got := to.total(name); got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	if n := to.metrics["toolsearch.search.duration"].GetHistogram().GetDataPoints(); len(n) != 1 || n[0].Count != 2 {
		t.Errorf("the time of searches: %v", n)
	}
	surface, direct := to.gauge("toolsearch.request.bytes", "surface"), to.gauge("toolsearch.request.bytes", "direct")
	out, _ := g.program("plan", "--mcp", "--json")
	if want := fmt.Sprintf(`"bytes":{"direct":%.0f,"surface":%.0f}`, direct, surface); surface <= 0 || direct <= 0 || !strings.Contains(out, want) {
		t.Errorf("bytes: %v as shown, %v direct; plan says\n%s", surface, direct, out)
	}
	for i, body := range to.bodies {
		if bytes.Contains(body, []byte("Oslo-secret")) || bytes.Contains(body, []byte("xylophone")) {
			t.Error("an argument or a query was sent")
		}
		if got := to.headers[i].Get("X-Key"); got != "k-1" {
			t.Errorf("X-Key is %q", got)
		}
	}
	trap.mu.Lock()
	defer trap.mu.Unlock()
	if len(trap.bodies) > 0 {
		t.Errorf("%d requests went where the environment says", len(trap.bodies))
	}
}

// otelTraps are the variables by which other programs would be sent elsewhere.
func otelTraps(url string) []string {
	return []string{
		"OTEL_EXPORTER_OTLP_ENDPOINT=" + url, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=" + url + "/v1/traces", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT=" + url + "/v1/metrics",
		"OTEL_TRACES_EXPORTER=otlp", "OTEL_METRICS_EXPORTER=otlp", "OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf", "OTEL_EXPORTER_OTLP_HEADERS=x-key=other", "OTEL_SERVICE_NAME=trap",
		"OTEL_BSP_SCHEDULE_DELAY=1", "OTEL_TRACES_SAMPLER=always_off", "OTEL_SDK_DISABLED=true",
	}
}

// By default nothing is sent, whatever the environment says.
func TestGatewayTelemetryIsOff(t *testing.T) {
	trap := newCollector(t)
	for name, telemetry := range map[string]string{
		"default": "", "off": fmt.Sprintf(`telemetry:{enabled:false,otlpEndpoint:%q,otlpInsecure:true},`, trap.URL), "no endpoint": `telemetry:{enabled:true},`,
	} {
		home := t.TempDir()
		g := startGatewayWith(t, home, weatherConfig(t, home, telemetry), otelTraps(trap.URL)...)
		g.connect(false)
		weatherCalls(g)
		g.stop()
		trap.mu.Lock()
		if len(trap.bodies) > 0 {
			t.Errorf("%s: %d requests were sent", name, len(trap.bodies))
		}
		trap.mu.Unlock()
	}
}

// A receiver that is not there costs no call, and the end is not held up by it
// for long.
func TestGatewayTelemetryReceiverGone(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	url := gone.URL
	gone.Close()
	home := t.TempDir()
	g := startGateway(t, home, weatherConfig(t, home, fmt.Sprintf(`telemetry:{enabled:true,otlpEndpoint:%q,otlpInsecure:true},`, url)))
	g.connect(false)
	if res := string(g.result("tools/call", toolCall("mcp:weather:echo", `{"n":1}`))); strings.Contains(res, `"isError":true`) {
		t.Errorf("the call answered %s", res)
	}
	g.stop()
	if !strings.Contains(g.stderr.String(), "telemetry") {
		t.Errorf("nobody was told: %q", g.stderr)
	}
}

// To be watched settles nothing: what mode auto chooses is up to the tools that
// are there when the client first looks.
func TestGatewayTelemetryLeavesAutoAlone(t *testing.T) {
	g := startGateway(t, t.TempDir(), `{telemetry:{enabled:true}, tools:{toolSearch:{mode:"auto"}}, mcp:{servers:{`+
		serverConfig(t, "weather", mcptest.Script{Tools: []json.RawMessage{toolDef("echo", "Weather forecast")}})+`}}}`)
	if text := g.greeting(false); text != "" {
		t.Errorf("the instructions are %q", text)
	}
	if got := g.listed(); len(got) != 1 || got[0] != "weather__echo" {
		t.Errorf("the client sees %q", got)
	}
}
