package telemetry_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// receiver is an OTLP collector that keeps what it gets.
type receiver struct {
	*httptest.Server
	answer func(n int, w http.ResponseWriter) // to the nth request, from 1; nil is 200

	mu       sync.Mutex
	requests []*http.Request
	bodies   [][]byte
	spans    []*tracepb.ResourceSpans
	metrics  []*metricspb.ResourceMetrics
}

func newReceiver(t testing.TB, answer func(n int, w http.ResponseWriter)) *receiver {
	t.Helper()
	r := &receiver{answer: answer}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			t.Error(err)
		}
		r.mu.Lock()
		r.requests, r.bodies = append(r.requests, req), append(r.bodies, body)
		n := len(r.requests)
		switch req.URL.Path {
		case "/v1/traces":
			var m tracepb.TracesData
			if err := proto.Unmarshal(body, &m); err != nil {
				t.Error(err)
			}
			r.spans = append(r.spans, m.ResourceSpans...)
		case "/v1/metrics":
			var m metricspb.MetricsData
			if err := proto.Unmarshal(body, &m); err != nil {
				t.Error(err)
			}
			r.metrics = append(r.metrics, m.ResourceMetrics...)
		default:
			t.Errorf("a request for %s", req.URL.Path)
		}
		r.mu.Unlock()
		if r.answer != nil {
			r.answer(n, w)
		}
	}))
	t.Cleanup(r.Close)
	return r
}

// all lists the spans by name; the names of a test are unique.
func (r *receiver) all() map[string]*tracepb.Span {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := map[string]*tracepb.Span{}
	for _, rs := range r.spans {
		for _, ss := range rs.ScopeSpans {
			for _, s := range ss.Spans {
				out[s.Name] = s
			}
		}
	}
	return out
}

// metric finds a metric of the last export.
func (r *receiver) metric(name string) *metricspb.Metric {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.metrics) == 0 {
		return nil
	}
	for _, m := range r.metrics[len(r.metrics)-1].ScopeMetrics[0].Metrics {
		if m.Name == name {
			return m
		}
	}
	return nil
}

// count is how many requests went to a path.
func (r *receiver) count(path string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, req := range r.requests {
		if req.URL.Path == path {
			n++
		}
	}
	return n
}

// holds reports whether any request holds the text.
func (r *receiver) holds(text string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, b := range r.bodies {
		if bytes.Contains(b, []byte(text)) {
			return true
		}
	}
	return false
}

func attributes(kvs []*commonpb.KeyValue) map[string]string {
	out := map[string]string{}
	for _, kv := range kvs {
		out[kv.Key] = kv.Value.GetStringValue()
	}
	return out
}
