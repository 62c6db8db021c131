package telemetry

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/toolsearch/toolsearch/call"
	"github.com/toolsearch/toolsearch/tool"
)

// runKey names a run.
type runKey struct{ session, run string }

func keyOf(o call.Origin) runKey { return runKey{o.Session, o.Run} }

// StartRun begins the span of a run. Calls and searches of the same session and
// run are put under it, also when their context is not the one it returns. end
// must be called; an error of the run makes the span one that failed.
func (t *Telemetry) StartRun(ctx context.Context, o call.Origin, mode string) (_ context.Context, end func(error)) {
	if t == nil || t.tracer == nil {
		return ctx, func(error) {}
	}
	name := opInvokeAgent
	if o.Agent != "" {
		name += " " + clean(o.Agent)
	}
	ctx, span := t.tracer.Start(ctx, name, trace.WithAttributes(appendSet(append(originAttributes(o),
		attribute.String(attrOperation, opInvokeAgent)), attrMode, mode)...))
	key := keyOf(o)
	t.mu.Lock()
	_, taken := t.runs[key]
	held := !taken && o.Run != "" && len(t.runs) < maxRuns
	if held {
		t.runs[key] = span.SpanContext()
	}
	t.mu.Unlock()
	return ctx, func(err error) {
		if held {
			t.mu.Lock()
			delete(t.runs, key)
			t.mu.Unlock()
		}
		if err != nil {
			code := string(tool.CodeOf(err))
			span.SetStatus(codes.Error, code)
			span.SetAttributes(attribute.String(attrErrorType, code))
		}
		span.End()
	}
}

// under returns a context whose span is the run's, unless it has one already.
func (t *Telemetry) under(ctx context.Context, o call.Origin) context.Context {
	if trace.SpanContextFromContext(ctx).IsValid() {
		return ctx
	}
	t.mu.RLock()
	parent, ok := t.runs[keyOf(o)]
	t.mu.RUnlock()
	if !ok {
		return ctx
	}
	return trace.ContextWithSpanContext(ctx, parent)
}

// Stage counts each call and makes its execute_tool span. It belongs right
// below the transcript, so that what later stages refuse is seen too. Of a nil
// Telemetry it is the next handler itself.
func (t *Telemetry) Stage() call.Stage {
	if t == nil {
		return func(next call.Handler) call.Handler { return next }
	}
	return func(next call.Handler) call.Handler {
		return func(ctx context.Context, r call.Request) (*tool.Result, error) {
			started := time.Now()
			if t.tracer == nil {
				res, err := next(ctx, r)
				t.metrics.called(r.Target, judge(ctx, res, err), time.Since(started))
				return res, err
			}
			ctx, span := t.tracer.Start(t.under(ctx, r.Origin), opExecuteTool+" "+clean(r.Target.Name),
				trace.WithTimestamp(started), trace.WithSpanKind(spanKind(r.Target)), trace.WithAttributes(callAttributes(r)...))
			defer span.End() // also when a stage below panics
			res, err := next(ctx, r)
			v := judge(ctx, res, err)
			t.metrics.called(r.Target, v, time.Since(started))
			span.SetAttributes(attribute.String(attrOutcome, v.outcome))
			if v.outcome != outcomeOK {
				span.SetStatus(codes.Error, v.errorType)
				span.SetAttributes(attribute.String(attrErrorType, v.errorType))
			}
			if v.by != "" {
				span.SetAttributes(attribute.String(attrBlockedBy, clean(v.by)))
			}
			return res, err
		}
	}
}

// spanKind is client where another process runs the tool.
func spanKind(t *tool.Tool) trace.SpanKind {
	if t.Source == tool.MCP {
		return trace.SpanKindClient
	}
	return trace.SpanKindInternal
}

func callAttributes(r call.Request) []attribute.KeyValue {
	kind := toolFunction
	if r.Target.Source == tool.MCP || r.Target.Source == tool.OpenClaw && r.Target.Owner != tool.CoreOwner {
		kind = toolExtension
	}
	a := append(originAttributes(r.Origin),
		attribute.String(attrOperation, opExecuteTool),
		attribute.String(attrToolName, clean(r.Target.Name)),
		attribute.String(attrToolType, kind),
		attribute.String(attrToolID, clean(string(r.Target.ID))),
		attribute.String(attrToolSource, clean(string(r.Target.Source))),
		attribute.String(attrToolOwner, clean(r.Target.Owner)),
	)
	if r.Target.Source == tool.MCP {
		a = append(a, attribute.String(attrMCPMethod, methodCall))
	}
	return appendSet(appendSet(appendSet(a, attrCallID, r.Origin.CallID), attrControl, r.Origin.Control), attrParentCall, r.Origin.Parent)
}

// originAttributes say who asked; the caller's identity stays here.
func originAttributes(o call.Origin) []attribute.KeyValue {
	a := make([]attribute.KeyValue, 0, 16)
	return appendSet(appendSet(appendSet(a, attrConversation, o.Session), attrRun, o.Run), attrAgent, o.Agent)
}

func appendSet(a []attribute.KeyValue, key, value string) []attribute.KeyValue {
	if value == "" {
		return a
	}
	return append(a, attribute.String(key, clean(value)))
}

func clean(s string) string { return tool.Clean(s, maxText) }

// verdict is how a call ended.
type verdict struct{ outcome, errorType, by string }

// judge reads an answer as the pipeline, which stands outside of the stage, will.
func judge(ctx context.Context, res *tool.Result, err error) verdict {
	if err == nil {
		switch {
		case res == nil:
			return verdict{outcome: outcomeFailed, errorType: string(tool.CodeFailed)}
		case res.IsError:
			return verdict{outcome: outcomeError, errorType: "tool_error"}
		}
		return verdict{outcome: outcomeOK}
	}
	code, by := tool.CodeFailed, ""
	var te *tool.Error
	switch {
	case errors.As(err, &te):
		code, by = te.Code, te.By
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		code = tool.CodeCancelled
	case errors.Is(err, context.DeadlineExceeded):
		code = tool.CodeTimeout
	}
	v := verdict{outcome: outcomeFailed, errorType: string(code)}
	switch code {
	case tool.CodeBlocked:
		v.outcome, v.by = outcomeBlocked, by
	case tool.CodeCancelled:
		v.outcome = outcomeCancelled
	case tool.CodeUnknownTool, tool.CodeAmbiguous, tool.CodeInvalidInput, tool.CodeInvalidArgs,
		tool.CodeBadSchema, tool.CodeUnavailable, tool.CodeCatalogGone, tool.CodeCallDirectly, tool.CodeLimitExhausted:
		v.outcome = outcomeRefused
	}
	return v
}

func (m *metrics) called(t *tool.Tool, v verdict, took time.Duration) {
	source := otherName
	if t.Source.Valid() {
		source = string(t.Source)
	}
	name := clientName
	if t.Source != tool.Client {
		name = m.tools.get(t.Name)
	}
	m.calls.WithLabelValues(name, source, v.outcome).Inc()
	m.callTime.WithLabelValues(source, v.outcome).Observe(took.Seconds())
	if v.outcome == outcomeBlocked {
		m.blocked.WithLabelValues(m.blockers.get(v.by)).Inc()
	}
}
