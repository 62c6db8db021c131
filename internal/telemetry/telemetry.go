// Package telemetry tells operators how tools are searched and called: metrics
// for Prometheus, and spans and the same metrics for OpenTelemetry.
//
// What it guarantees:
//
//  1. A nil *Telemetry is the default: every method works, does nothing, and
//     its Stage adds nothing to a pipeline.
//  2. Nothing is sent anywhere unless Options.OTLPEndpoint names the receiver.
//     No OTEL_* variable of the environment changes what is sent or where to.
//  3. Arguments, results, queries and descriptions of tools never leave.
//  4. A receiver that is slow or gone never slows or fails a call: what waits
//     is bounded, what does not fit is dropped, and failed exports are counted.
//  5. Memory is bounded, whatever tools are named: a metric holds at most
//     MaxToolNames tools by name, and the rest together.
//
// Spans go through a small OTLP client of its own, since the exporters of the
// SDK take their endpoint, headers and certificates from the environment where
// an option is missing.
package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Bounds.
const (
	MaxToolNames = 200   // tools that metrics name; others are counted as one
	maxBlockers  = 64    // names of those who block, likewise
	maxRuns      = 10000 // open runs whose calls are put under their span
	maxText      = 200   // bytes of a name from outside
)

// Options configure a Telemetry. The zero value keeps metrics and sends nothing.
type Options struct {
	// OTLPEndpoint is the base URL of an OTLP receiver that speaks HTTP, such as
	// "https://collector:4318"; v1/traces and v1/metrics are added. "" sends nothing.
	OTLPEndpoint string
	Headers      map[string]string // sent with every export
	Insecure     bool              // allows http, which shows the headers to the network
	ServiceName  string            // default "toolsearch"
	Logger       *slog.Logger      // told of failed exports; nil logs nothing
}

// Telemetry keeps metrics and makes spans. It is safe for concurrent use, and
// a nil one does nothing.
type Telemetry struct {
	registry *prometheus.Registry
	metrics  *metrics
	tracer   trace.Tracer // nil when no span is exported
	provider *sdktrace.TracerProvider
	pusher   *pusher

	mu   sync.RWMutex
	runs map[runKey]trace.SpanContext
}

// New makes a Telemetry. Shutdown must be called.
func New(o Options) (*Telemetry, error) {
	if o.ServiceName == "" {
		o.ServiceName = "toolsearch"
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	t := &Telemetry{registry: prometheus.NewRegistry(), runs: map[runKey]trace.SpanContext{}}
	var err error
	if t.metrics, err = newMetrics(t.registry); err != nil {
		return nil, fmt.Errorf("make the metrics: %w", err)
	}
	if o.OTLPEndpoint == "" {
		return t, nil
	}
	client, err := newClient(o, t.metrics.dropped)
	if err != nil {
		return nil, err
	}
	t.provider = newProvider(client)
	t.tracer = t.provider.Tracer(instrumentation)
	t.pusher = startPusher(client, t.registry)
	return t, nil
}

// Handler serves the metrics in the formats of Prometheus. It asks nobody who
// they are: what stands before it must.
func (t *Telemetry) Handler() http.Handler {
	if t == nil {
		return http.NotFoundHandler()
	}
	return promhttp.HandlerFor(t.registry, promhttp.HandlerOpts{})
}

// Registry is where the metrics are, for more of them; nil for a nil Telemetry.
func (t *Telemetry) Registry() *prometheus.Registry {
	if t == nil {
		return nil
	}
	return t.registry
}

// Shutdown sends what has not been sent yet, as long as ctx allows, and stops.
// Further calls are still counted, but not sent.
func (t *Telemetry) Shutdown(ctx context.Context) error {
	if t == nil || t.provider == nil {
		return nil
	}
	err := errors.Join(t.provider.Shutdown(ctx), t.pusher.stop(ctx))
	if err != nil {
		return fmt.Errorf("shut down telemetry: %w", err)
	}
	return nil
}
