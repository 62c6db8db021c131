package telemetry

// Every name that leaves the process stands in this file. Names that begin with
// gen_ai and mcp are those of the OpenTelemetry semantic conventions for
// generative AI and for MCP; they are still in development there, so they are
// constants of ours and change only here. The others are our own.

// Attributes of spans.
const (
	attrOperation    = "gen_ai.operation.name"
	attrAgent        = "gen_ai.agent.id"
	attrConversation = "gen_ai.conversation.id"
	attrToolName     = "gen_ai.tool.name"
	attrToolType     = "gen_ai.tool.type"
	attrCallID       = "gen_ai.tool.call.id"
	attrMCPMethod    = "mcp.method.name"
	attrErrorType    = "error.type"
	attrServiceName  = "service.name"

	attrToolID     = "toolsearch.tool.id"
	attrToolSource = "toolsearch.tool.source" // openclaw, mcp or client
	attrToolOwner  = "toolsearch.tool.owner"
	attrControl    = "toolsearch.control" // the control that asked
	attrParentCall = "toolsearch.parent_call.id"
	attrOutcome    = "toolsearch.outcome"
	attrBlockedBy  = "toolsearch.blocked_by"
	attrRun        = "toolsearch.run.id"
	attrMode       = "toolsearch.mode"
	attrQueries    = "toolsearch.search.queries"
	attrEmpty      = "toolsearch.search.empty"
	attrView       = "toolsearch.view"
)

// Values of attributes.
const (
	opExecuteTool = "execute_tool"
	opInvokeAgent = "invoke_agent"
	toolFunction  = "function"  // runs in this process or on behalf of the client
	toolExtension = "extension" // runs in an MCP server or a plugin
	methodCall    = "tools/call"
	viewSurface   = "surface"
	viewDirect    = "direct"
	// otherName stands for the tools and blockers beyond the bound of a metric.
	otherName = "_other"
	// clientName stands for every tool that a caller brings: callers read the metrics
	// too, and what one of them names would take the places of the others.
	clientName = "_client"
)

// Outcomes of a call.
const (
	outcomeOK        = "ok"
	outcomeError     = "error"     // the tool reports a failure in its own words
	outcomeBlocked   = "blocked"   // policy, approval, pin or hook said no
	outcomeRefused   = "refused"   // the call could not be made as it was
	outcomeCancelled = "cancelled" // by the caller
	outcomeFailed    = "failed"    // the tool or its transport failed
)

// instrumentation names the scope of spans and metrics.
const instrumentation = "github.com/toolsearch/toolsearch"

// metric is a metric's name for Prometheus, its name and unit for
// OpenTelemetry, and what it says.
type metric struct{ prometheus, otel, unit, help string }

// The metrics. Functions, since a table of all would be built at every start of
// the program.
func metricSearches() metric {
	return metric{"toolsearch_searches_total", "toolsearch.searches", "{search}", "Searches for tools; each query of a batch is one."}
}
func metricEmptySearches() metric {
	return metric{"toolsearch_searches_empty_total", "toolsearch.searches.empty", "{search}", "Searches without a hit."}
}
func metricDescribes() metric {
	return metric{"toolsearch_describes_total", "toolsearch.describes", "{describe}", "Descriptions of tools that were asked for."}
}
func metricCalls() metric {
	return metric{"toolsearch_calls_total", "toolsearch.calls", "{call}", "Calls of tools, by tool and outcome."}
}
func metricBlocked() metric {
	return metric{"toolsearch_calls_blocked_total", "toolsearch.calls.blocked", "{call}", "Calls that policy, approval, a pin or a hook blocked."}
}
func metricSearchTime() metric {
	return metric{"toolsearch_search_duration_seconds", "toolsearch.search.duration", "s", "How long a search took."}
}
func metricCallTime() metric {
	return metric{"toolsearch_call_duration_seconds", "toolsearch.call.duration", "s", "How long a call took, by source and outcome."}
}
func metricCatalog() metric {
	return metric{"toolsearch_catalog_size", "toolsearch.catalog.size", "{tool}", "Tools in the catalog, by source."}
}
func metricBytes() metric {
	return metric{"toolsearch_request_bytes", "toolsearch.request.bytes", "By", "Bytes of tool definitions in a model request: as shown, and with every allowed tool direct."}
}
func metricDropped() metric {
	return metric{"toolsearch_export_failures_total", "toolsearch.export.failures", "{export}", "Exports of spans or metrics that failed."}
}

func allMetrics() []metric {
	return []metric{
		metricSearches(), metricEmptySearches(), metricDescribes(), metricCalls(), metricBlocked(),
		metricSearchTime(), metricCallTime(), metricCatalog(), metricBytes(), metricDropped(),
	}
}

// Labels of Prometheus, which knows no dots in names.
const (
	labelTool    = "gen_ai_tool_name"
	labelSource  = "source"
	labelOutcome = "outcome"
	labelBy      = "blocked_by"
	labelView    = "view"
)

// attributeOf is the OpenTelemetry attribute of a label.
func attributeOf(label string) string {
	switch label {
	case labelTool:
		return attrToolName
	case labelSource:
		return attrToolSource
	case labelOutcome:
		return attrOutcome
	case labelBy:
		return attrBlockedBy
	case labelView:
		return attrView
	}
	return label
}
