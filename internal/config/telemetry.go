package config

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
)

// Telemetry is the section telemetry. The zero value, without its Service, is
// off: nothing is counted and nothing is sent.
type Telemetry struct {
	Enabled    bool
	Prometheus bool // serve /metrics
	Service    string
	Endpoint   Text // of an OTLP receiver; Raw is "" to send nothing
	Headers    []NamedText
	Insecure   bool // the endpoint may be http
}

// defaultService is how the program calls itself to a receiver.
const defaultService = "toolsearch"

func defaultTelemetry() Telemetry { return Telemetry{Prometheus: true, Service: defaultService} }

func telemetrySection() section[Telemetry] {
	return section[Telemetry]{
		path: "telemetry",
		intro: "Counts and spans of searches and calls, for operators. Arguments, results, queries and descriptions are in none of them. " +
			"Nothing is sent unless `otlpEndpoint` names the receiver; no variable of the environment (`OTEL_…`) changes that.",
		fields: []field[Telemetry]{
			flag(row{Key: "enabled", Default: "`false`", Doc: "Count at all. Without it the other keys do nothing."}, func(t *Telemetry, v bool) { t.Enabled = v }),
			flag(row{Key: "prometheus", Default: "`true`", Doc: "Serve the metrics at `/metrics`, in `toolsearch serve`."}, func(t *Telemetry, v bool) { t.Prometheus = v }),
			{row{Key: "otlpEndpoint", Type: "string", Doc: "Where spans and metrics are sent: the base URL of an OpenTelemetry receiver that speaks OTLP over HTTP, such as `https://collector:4318`. Absent: nowhere."},
				func(r *reader, s spot, t *Telemetry) { t.Endpoint, _ = r.reference(s) }},
			{row{Key: "otlpHeaders", Type: "object of strings", Doc: "HTTP headers sent with every export."},
				func(r *reader, s spot, t *Telemetry) { t.Headers = r.references(s, badHeaderName) }},
			flag(row{Key: "otlpInsecure", Default: "`false`", Doc: "Allow an endpoint of `http`, which shows the headers to the network."}, func(t *Telemetry, v bool) { t.Insecure = v }),
			{row{Key: "serviceName", Type: "string", Default: "`" + defaultService + "`", Doc: "`service.name` of what is sent."}, readServiceName},
		},
	}
}

func readServiceName(r *reader, s spot, t *Telemetry) {
	name, ok := r.text(s)
	if !ok {
		return
	}
	if problem := badName(name); problem != "" {
		r.fault(r.at(s), s.path, problem, "")
		return
	}
	t.Service = name
}

// readTelemetry reads the section and checks what is said across its keys.
func readTelemetry(r *reader, s spot, into *Telemetry) {
	sec := telemetrySection()
	sec.read(r, s, into)
	if into.Endpoint.Raw == "" {
		return
	}
	at := spot{s.node.Member("otlpEndpoint"), s.path.Child("otlpEndpoint")}
	switch {
	case !into.Enabled:
		r.warn(into.Endpoint.Pos, at.path, "nothing is sent: telemetry.enabled is not true")
	case !strings.Contains(into.Endpoint.Raw, "${") && badURL(into.Endpoint.Raw) != "":
		r.fault(into.Endpoint.Pos, at.path, badURL(into.Endpoint.Raw), "")
	case strings.HasPrefix(into.Endpoint.Raw, "http:") && !into.Insecure:
		r.fault(into.Endpoint.Pos, at.path, "http shows the headers to the network", "write https, or otlpInsecure: true")
	}
}

// ResolvedTelemetry is where telemetry is sent, with its variables filled in. It
// holds secrets, and prints as nothing.
type ResolvedTelemetry struct {
	Endpoint string
	Headers  []Var
}

// String shows nothing of what it holds.
func (ResolvedTelemetry) String() string { return "the OTLP receiver" }

// GoString is String.
func (v ResolvedTelemetry) GoString() string { return v.String() }

// LogValue is String.
func (v ResolvedTelemetry) LogValue() slog.Value { return slog.StringValue(v.String()) }

// Resolve fills in the variables, as Server.Resolve does.
func (t *Telemetry) Resolve(lookup func(string) (string, bool)) (ResolvedTelemetry, error) {
	e := &expander{lookup: lookup}
	v := ResolvedTelemetry{Headers: e.named(t.Headers, "\r\n\x00", "a header may not hold a line end")}
	if v.Endpoint = e.text(t.Endpoint); t.Endpoint.Raw != "" && len(e.errs) == 0 {
		if problem := badURL(v.Endpoint); problem != "" {
			e.fail(t.Endpoint, problem+" once its variables are filled in", "")
		}
	}
	if len(e.errs) > 0 {
		return ResolvedTelemetry{}, fmt.Errorf("resolve the variables of telemetry: %w", errors.Join(e.errs...))
	}
	return v, nil
}
