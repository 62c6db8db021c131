package config_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Every secret of the file is known to who keeps records, wherever it stands, and
// what only looks like configuration is not: it would be taken out of every text.
func TestSecrets(t *testing.T) {
	c := load(t, `{
		mcp: {servers: {
			a: {command: "x", env: {TOKEN: "${A}"}},
			b: {url: "https://user:of-b-password@h/?api_key=${B}&format=json", headers: {Authorization: "Bearer ${C}"}},
			c: {command: "x", env: {LOST: "${NOT_SET}"}},
		}},
		tools: {hooks: [
			{name: "h", event: "before_tool_call", url: "https://h/?t=${LONG}", headers: {"X-Hook": "of-hook"}},
			{name: "i", event: "before_tool_call", command: ["x"], env: {I: "of-command"}},
		]},
		models: {providers: {p: {baseUrl: "https://p/v1?api-version=2026-01-01", api: "openai-completions", apiKey: "${P}",
			headers: {"anthropic-version": "2023-06-01", "X-Api-Key": "of-provider"}}}},
		serve: {keys: [{name: "somebody", key: "${KEY}"}]},
		telemetry: {enabled: true, otlpEndpoint: "https://t", otlpHeaders: {"x-dataset": "prod", "api-token": "of-telemetry"}},
	}`)
	got := c.Secrets(lookup(map[string]string{
		"A": "of-a", "B": "of b", "C": "of-c", "P": "of-p", "KEY": "of-key-0123456789", "LONG": "0123456789-of-an-address",
	}))
	want := []string{
		"0123456789-of-an-address", "Bearer of-c", "of b", "of-a", "of-b-password", "of-c", "of-command", "of-hook",
		"of-key-0123456789", "of-p", "of-provider", "of-telemetry",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("secrets (-want +got):\n%s", diff)
	}
}
