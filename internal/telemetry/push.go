package telemetry

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
)

// pushEvery is how often metrics are sent.
const pushEvery = time.Minute

// pusher sends the metrics of a registry.
type pusher struct {
	client *client
	from   prometheus.Gatherer
	begun  time.Time // since when the totals count
	known  map[string]metric
	cancel context.CancelFunc
	once   sync.Once
	done   chan struct{}
}

func startPusher(c *client, from prometheus.Gatherer) *pusher {
	ctx, cancel := context.WithCancel(context.Background())
	p := &pusher{client: c, from: from, begun: time.Now(), known: map[string]metric{}, cancel: cancel, done: make(chan struct{})}
	for _, m := range allMetrics() {
		p.known[m.prometheus] = m
	}
	go p.run(ctx)
	return p
}

func (p *pusher) run(ctx context.Context) {
	defer close(p.done)
	tick := time.NewTicker(pushEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			_ = p.push(ctx) // counted and logged; the next one holds the same totals
		}
	}
}

// stop sends the metrics once more and ends.
func (p *pusher) stop(ctx context.Context) (err error) {
	p.once.Do(func() {
		p.cancel()
		<-p.done
		err = p.push(ctx)
		p.client.http.CloseIdleConnections()
	})
	return err
}

func (p *pusher) push(ctx context.Context) error {
	families, err := p.from.Gather()
	if err != nil {
		return fmt.Errorf("gather the metrics: %w", err)
	}
	now := time.Now()
	var out []*metricspb.Metric
	for _, f := range families {
		if m, ok := p.known[f.GetName()]; ok && len(f.GetMetric()) > 0 {
			out = append(out, p.convert(m, f, now))
		}
	}
	// An ExportMetricsServiceRequest has the same fields on the wire.
	return p.client.send(ctx, p.client.metrics, &metricspb.MetricsData{ResourceMetrics: []*metricspb.ResourceMetrics{{
		Resource:     p.client.resource,
		ScopeMetrics: []*metricspb.ScopeMetrics{{Scope: &commonpb.InstrumentationScope{Name: instrumentation}, Metrics: out}},
	}}})
}

// convert writes a family as OTLP has it. Totals are cumulative in both.
func (p *pusher) convert(m metric, f *dto.MetricFamily, now time.Time) *metricspb.Metric {
	out := &metricspb.Metric{Name: m.otel, Description: m.help, Unit: m.unit}
	const cumulative = metricspb.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE
	switch f.GetType() {
	case dto.MetricType_COUNTER:
		sum := &metricspb.Sum{IsMonotonic: true, AggregationTemporality: cumulative}
		for _, x := range f.GetMetric() {
			sum.DataPoints = append(sum.DataPoints, p.number(x, x.GetCounter().GetValue(), now))
		}
		out.Data = &metricspb.Metric_Sum{Sum: sum}
	case dto.MetricType_HISTOGRAM:
		h := &metricspb.Histogram{AggregationTemporality: cumulative}
		for _, x := range f.GetMetric() {
			h.DataPoints = append(h.DataPoints, p.histogram(x, now))
		}
		out.Data = &metricspb.Metric_Histogram{Histogram: h}
	default: // all others of ours are gauges
		g := &metricspb.Gauge{}
		for _, x := range f.GetMetric() {
			g.DataPoints = append(g.DataPoints, p.number(x, x.GetGauge().GetValue(), now))
		}
		out.Data = &metricspb.Metric_Gauge{Gauge: g}
	}
	return out
}

func (p *pusher) number(x *dto.Metric, value float64, now time.Time) *metricspb.NumberDataPoint {
	return &metricspb.NumberDataPoint{
		Attributes: attributes(x), StartTimeUnixNano: nanos(p.begun), TimeUnixNano: nanos(now),
		Value: &metricspb.NumberDataPoint_AsDouble{AsDouble: value},
	}
}

// histogram turns Prometheus' running sums of buckets into one count a bucket.
func (p *pusher) histogram(x *dto.Metric, now time.Time) *metricspb.HistogramDataPoint {
	h := x.GetHistogram()
	sum := h.GetSampleSum()
	point := &metricspb.HistogramDataPoint{
		Attributes: attributes(x), StartTimeUnixNano: nanos(p.begun), TimeUnixNano: nanos(now),
		Count: h.GetSampleCount(), Sum: &sum,
	}
	var below uint64
	for _, b := range h.GetBucket() {
		if math.IsInf(b.GetUpperBound(), 1) {
			continue
		}
		point.ExplicitBounds = append(point.ExplicitBounds, b.GetUpperBound())
		point.BucketCounts = append(point.BucketCounts, b.GetCumulativeCount()-below)
		below = b.GetCumulativeCount()
	}
	point.BucketCounts = append(point.BucketCounts, point.Count-below)
	return point
}

func attributes(x *dto.Metric) []*commonpb.KeyValue {
	var out []*commonpb.KeyValue
	for _, l := range x.GetLabel() {
		out = append(out, stringAttribute(attributeOf(l.GetName()), l.GetValue()))
	}
	return out
}

func stringAttribute(key, value string) *commonpb.KeyValue {
	return &commonpb.KeyValue{Key: key, Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: value}}}
}

func nanos(t time.Time) uint64 { return uint64(t.UnixNano()) }
