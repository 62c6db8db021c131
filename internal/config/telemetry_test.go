package config_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsearch/toolsearch/internal/config"
)

func TestTelemetry(t *testing.T) {
	for _, c := range []*config.Config{config.Default(), load(t, "{}"), load(t, "{telemetry: {}}")} {
		if diff := cmp.Diff(config.Telemetry{Prometheus: true, Service: "toolsearch"}, c.Telemetry); diff != "" {
			t.Error(diff)
		}
	}
	const text = `{telemetry: {enabled: true, prometheus: false, otlpEndpoint: "http://${HOST}:4318", otlpInsecure: true, otlpHeaders: {Authorization: "Bearer ${TOKEN}"}, serviceName: "gateway"}}`
	got := load(t, text)
	want := config.Telemetry{
		Enabled: true, Service: "gateway", Insecure: true,
		Endpoint: config.Text{Raw: "http://${HOST}:4318", Pos: place(t, text, `"http`), Key: "telemetry.otlpEndpoint"},
		Headers:  []config.NamedText{{Name: "Authorization", Text: config.Text{Raw: "Bearer ${TOKEN}", Pos: place(t, text, `"Bearer`), Key: "telemetry.otlpHeaders.Authorization"}}},
	}
	if diff := cmp.Diff(want, got.Telemetry); diff != "" || len(got.Warnings) > 0 {
		t.Errorf("%s warnings %v", diff, got.Warnings)
	}
	v, err := got.Telemetry.Resolve(lookup(map[string]string{"HOST": "h.test", "TOKEN": secret}))
	if diff := cmp.Diff(config.ResolvedTelemetry{Endpoint: "http://h.test:4318", Headers: []config.Var{{Name: "Authorization", Value: "Bearer " + secret}}}, v); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("telemetry", "to", v)
	if printed := fmt.Sprintf("%v %+v %#v", v, v, v) + log.String(); strings.Contains(printed, secret) {
		t.Errorf("printed: %s", printed)
	}
	if _, err := got.Telemetry.Resolve(lookup(nil)); err == nil || !strings.Contains(err.Error(), "the variable HOST is not set") {
		t.Errorf("without its variables: %v", err)
	}
}

func TestTelemetryFaults(t *testing.T) {
	for _, c := range []struct{ text, want string }{ // @ where the fault is
		{`@true`, "telemetry: expected an object, found a boolean"},
		{`{enabled: @"yes"}`, "telemetry.enabled: expected true or false"},
		{`{@endpoint: "https://x"}`, "telemetry.endpoint: unknown key"},
		{`{enabled: true, otlpEndpoint: @"collector"}`, "telemetry.otlpEndpoint: expected an address"},
		{`{enabled: true, otlpEndpoint: @"grpc://collector:4317"}`, "telemetry.otlpEndpoint: expected an address that begins with http:// or https://"},
		{`{enabled: true, otlpEndpoint: @"http://collector:4318"}`, "telemetry.otlpEndpoint: http shows the headers to the network; write https, or otlpInsecure: true"},
		{`{serviceName: @" x"}`, "telemetry.serviceName: a name has 1–128 bytes"},
		{`{otlpHeaders: {@"a b": "x"}}`, "not a header's name"},
		{`{enabled: true, @enabled: true}`, "telemetry.enabled: the key stands twice"},
	} {
		before, after, _ := strings.Cut(c.text, "@")
		_, err := config.Parse("/etc/t.json5", []byte("{telemetry: "+before+after+"}"))
		want := fmt.Sprintf("/etc/t.json5:1:%d: ", len("{telemetry: "+before)+1)
		if err == nil || !strings.HasPrefix(err.Error(), want) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s\n got  %v\n want %s%s", c.text, err, want, c.want)
		}
	}
	c := load(t, `{telemetry: {otlpEndpoint: "https://x"}}`)
	if len(c.Warnings) != 1 || !strings.Contains(c.Warnings[0].Message, "nothing is sent: telemetry.enabled is not true") {
		t.Errorf("warnings %v", c.Warnings)
	}
}
