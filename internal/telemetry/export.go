package telemetry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Bounds of exports.
const (
	exportTimeout = 10 * time.Second // one export, its attempts together
	spanQueue     = 2048             // spans that wait; more are dropped
	spanBatch     = 512
	spanWait      = 5 * time.Second // until a batch goes that is not full
	attempts      = 3
	firstPause    = 200 * time.Millisecond // doubled after each attempt
	maxReply      = 64 << 10               // bytes read of a receiver's answer
)

// client sends OTLP as protobuf over HTTP (opentelemetry.io/docs/specs/otlp).
type client struct {
	traces, metrics string // URLs
	headers         http.Header
	resource        *resourcepb.Resource
	http            *http.Client
	logger          *slog.Logger
	failures        prometheus.Counter
}

func newClient(o Options, failures prometheus.Counter) (*client, error) {
	base, err := endpoint(o)
	if err != nil {
		return nil, err
	}
	c := &client{
		traces:   base.JoinPath("v1", "traces").String(),
		metrics:  base.JoinPath("v1", "metrics").String(),
		headers:  http.Header{},
		resource: &resourcepb.Resource{Attributes: []*commonpb.KeyValue{stringAttribute(attrServiceName, clean(o.ServiceName))}},
		logger:   o.Logger,
		failures: failures,
		http: &http.Client{
			Transport: &http.Transport{MaxIdleConnsPerHost: 2, IdleConnTimeout: 90 * time.Second, ForceAttemptHTTP2: true},
			// The headers hold secrets that are meant for one receiver.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
	for name, value := range o.Headers {
		c.headers.Set(name, value)
	}
	c.headers.Set("Content-Type", "application/x-protobuf")
	c.headers.Set("User-Agent", "toolsearch")
	return c, nil
}

// endpoint checks the receiver's base URL. Its value is not in the errors: it
// may hold a password.
func endpoint(o Options) (*url.URL, error) {
	raw := o.OTLPEndpoint
	if !strings.Contains(raw, "://") {
		scheme := "https://"
		if o.Insecure {
			scheme = "http://"
		}
		raw = scheme + raw
	}
	u, err := url.Parse(raw)
	switch {
	case err != nil || u.Host == "" || u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("read the OTLP endpoint: it is no base URL: write it as https://host:4318")
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, fmt.Errorf("read the OTLP endpoint: scheme %q is not supported: only OTLP over http and https is", u.Scheme)
	case u.Scheme == "http" && !o.Insecure:
		return nil, errors.New("read the OTLP endpoint: http would send the headers in the clear: use https, or set insecure")
	}
	return u, nil
}

// newProvider makes spans that go to the client. Each setting is given, since
// the SDK reads those that are not from the environment.
func newProvider(c *client) *sdktrace.TracerProvider {
	exporter := otlptrace.NewUnstarted(traceClient{c})
	_ = exporter.Start(context.Background()) // fails only when started before
	return sdktrace.NewTracerProvider(
		sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.AlwaysSample())),
		sdktrace.WithRawSpanLimits(sdktrace.SpanLimits{
			AttributeValueLengthLimit: maxText, AttributeCountLimit: 64, EventCountLimit: 8, LinkCountLimit: 8,
			AttributePerEventCountLimit: 8, AttributePerLinkCountLimit: 8,
		}),
		sdktrace.WithBatcher(exporter,
			sdktrace.WithMaxQueueSize(spanQueue), sdktrace.WithMaxExportBatchSize(spanBatch),
			sdktrace.WithBatchTimeout(spanWait), sdktrace.WithExportTimeout(exportTimeout)),
	)
}

// traceClient is what the SDK's OTLP exporter sends spans with.
type traceClient struct{ *client }

func (traceClient) Start(context.Context) error { return nil }
func (c traceClient) Stop(context.Context) error {
	c.http.CloseIdleConnections()
	return nil
}

// UploadTraces sends spans. A failure is counted and logged here and is none
// for the SDK, which would print it to stderr.
func (c traceClient) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	for _, s := range spans {
		s.Resource, s.SchemaUrl = c.resource, "" // the SDK's holds what it found in the environment
	}
	// An ExportTraceServiceRequest has the same fields on the wire.
	_ = c.send(ctx, c.traces, &tracepb.TracesData{ResourceSpans: spans})
	return nil
}

// send posts a message, again after a while when the receiver asks for it.
func (c *client) send(ctx context.Context, to string, m proto.Message) error {
	ctx, cancel := context.WithTimeout(ctx, exportTimeout)
	defer cancel()
	body, err := proto.Marshal(m)
	if err == nil {
		pause := firstPause
		for n := 1; ; n++ {
			var again bool
			if again, err = c.post(ctx, to, body); err == nil || !again || n == attempts || !sleep(ctx, pause) {
				break
			}
			pause *= 2
		}
	}
	if err != nil {
		c.failures.Inc()
		c.logger.Warn("telemetry was not exported", "error", err)
	}
	return err
}

func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// post sends once. again tells that the same may succeed later.
func (c *client) post(ctx context.Context, to string, body []byte) (again bool, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		return false, fmt.Errorf("export telemetry: %w", withoutURL(err))
	}
	req.Header = c.headers.Clone()
	res, err := c.http.Do(req)
	if err != nil {
		return true, fmt.Errorf("export telemetry: %w", withoutURL(err))
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, maxReply)) // only to use the connection again
	if res.StatusCode/100 == 2 {
		return false, nil
	}
	switch res.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		again = true // those that the OTLP specification names
	}
	return again, fmt.Errorf("export telemetry: the receiver answered with status %d", res.StatusCode)
}

// withoutURL drops the URL from an error: it may hold a password.
func withoutURL(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}
