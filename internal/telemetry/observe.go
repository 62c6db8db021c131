package telemetry

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/toolsearch/toolsearch/call"
	"github.com/toolsearch/toolsearch/surface"
	"github.com/toolsearch/toolsearch/tool"
)

var _ surface.Observer = (*Telemetry)(nil)

// Searched counts a search that has just ended, and makes its span.
func (t *Telemetry) Searched(ctx context.Context, s surface.Search) {
	if t == nil {
		return
	}
	t.metrics.searches.Add(float64(max(s.Queries, 0)))
	t.metrics.emptySearches.Add(float64(max(s.Empty, 0)))
	t.metrics.searchTime.Observe(s.Took.Seconds())
	t.control(ctx, s.Origin, surface.ToolSearch, s.Took, attribute.Int(attrQueries, s.Queries), attribute.Int(attrEmpty, s.Empty))
}

// Described counts a describe that has just ended, and makes its span.
func (t *Telemetry) Described(ctx context.Context, o call.Origin, took time.Duration) {
	if t == nil {
		return
	}
	t.metrics.describes.Inc()
	t.control(ctx, o, surface.ToolDescribe, took)
}

// control makes the span of a control that has just ended.
func (t *Telemetry) control(ctx context.Context, o call.Origin, name string, took time.Duration, more ...attribute.KeyValue) {
	if t.tracer == nil {
		return
	}
	end := time.Now()
	a := append(originAttributes(o), attribute.String(attrOperation, opExecuteTool),
		attribute.String(attrToolName, name), attribute.String(attrToolType, toolFunction))
	a = append(appendSet(appendSet(a, attrCallID, o.CallID), attrParentCall, o.Parent), more...)
	_, span := t.tracer.Start(t.under(ctx, o), opExecuteTool+" "+name, trace.WithTimestamp(end.Add(-took)), trace.WithAttributes(a...))
	span.End(trace.WithTimestamp(end))
}

// Planned is what a model sees after planning, and what it would see without
// tool search.
type Planned struct {
	Catalog      map[tool.Source]int // tools behind search
	SurfaceBytes int                 // of the tool definitions as shown
	DirectBytes  int                 // with every allowed tool direct
}

// Planned sets the gauges of the catalog and of the bytes it saves.
func (t *Telemetry) Planned(p Planned) {
	if t == nil {
		return
	}
	for _, s := range [...]tool.Source{tool.OpenClaw, tool.MCP, tool.Client} {
		t.metrics.catalog.WithLabelValues(string(s)).Set(float64(p.Catalog[s]))
	}
	t.metrics.bytes.WithLabelValues(viewSurface).Set(float64(p.SurfaceBytes))
	t.metrics.bytes.WithLabelValues(viewDirect).Set(float64(p.DirectBytes))
}
