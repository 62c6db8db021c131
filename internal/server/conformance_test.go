package server_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolsearch/toolsearch"
	"github.com/toolsearch/toolsearch/internal/mcptest"
	"github.com/toolsearch/toolsearch/internal/server"
	"github.com/toolsearch/toolsearch/surface"
	"github.com/toolsearch/toolsearch/tool"
)

// conformanceTools are the tools that the official suite calls by name.
func conformanceTools() []*tool.Tool {
	const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
	const wav = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA="
	binary := func(typ, mime, data string) tool.Content {
		raw, _ := base64.StdEncoding.DecodeString(data)
		return tool.Binary(typ, mime, raw)
	}
	resource := func(uri, mime, text string) tool.Content {
		raw, _ := tool.Encode(map[string]any{"type": "resource", "resource": map[string]string{"uri": uri, "mimeType": mime, "text": text}})
		return tool.Content{Type: tool.TypeResource, Raw: raw}
	}
	answer := func(name, parameters string, isError bool, blocks ...tool.Content) *tool.Tool {
		return &tool.Tool{
			ID: tool.NewID(tool.OpenClaw, "suite", name), Source: tool.OpenClaw, Owner: "suite", Name: name, Description: "Tests " + name,
			Input: tool.RawSchema(parameters),
			Invoker: tool.InvokerFunc(func(ctx context.Context, c tool.Call) (*tool.Result, error) {
				if name == "test_tool_with_progress" && c.Progress != nil {
					for _, p := range []float64{0, 50, 100} {
						c.Progress(tool.Progress{Progress: p, Total: 100})
					}
				}
				return &tool.Result{Content: blocks, IsError: isError}, ctx.Err()
			}),
		}
	}
	const none = `{"type":"object","properties":{}}`
	return []*tool.Tool{
		answer("test_simple_text", none, false, tool.Text("This is a simple text response for testing.")),
		answer("test_image_content", none, false, binary(tool.TypeImage, "image/png", png)),
		answer("test_audio_content", none, false, binary(tool.TypeAudio, "audio/wav", wav)),
		answer("test_embedded_resource", none, false, resource("test://embedded-resource", "text/plain", "This is an embedded resource content.")),
		answer("test_multiple_content_types", none, false, tool.Text("Multiple content types test:"), binary(tool.TypeImage, "image/png", png),
			resource("test://mixed-content-resource", "application/json", `{"test":"data","value":123}`)),
		answer("test_tool_with_progress", none, false, tool.Text("done")),
		answer("test_error_handling", none, true, tool.Text("This tool intentionally returns an error for testing")),
		answer("json_schema_2020_12_tool", `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","$defs":{"address":{"$anchor":"addressDef","type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"}}}},`+
			`"properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"},"contactMethod":{"type":"string","enum":["phone","email"]},"phone":{"type":"string"},"email":{"type":"string"}},`+
			`"allOf":[{"anyOf":[{"required":["phone"]},{"required":["email"]}]}],"if":{"properties":{"contactMethod":{"const":"phone"}},"required":["contactMethod"]},"then":{"required":["phone"]},"else":{"required":["email"]},"additionalProperties":false}`,
			false, tool.Text("ok")),
	}
}

// serveHTTP mounts a server for both eras on one URL: requests of the
// stateless era go to a handler without sessions.
func serveHTTP(t *testing.T, mode surface.Mode) string {
	t.Helper()
	set, err := toolsearch.New(t.Context(), toolsearch.Options{Tools: conformanceTools(), Mode: mode})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := set.Close(); err != nil {
			t.Error(err)
		}
	})
	srv := server.NewMCP(server.Options{Surface: set.Surface(), Version: "1"})
	h := httptest.NewServer(server.NewHTTP(server.HTTPOptions{
		Server: func(*http.Request) *server.MCP { return srv }, User: func(*http.Request) string { return "" }, MaxBody: 4 << 20,
	}))
	t.Cleanup(h.Close)
	return h.URL
}

// The official suite's scenarios for what this server offers: the protocol
// itself, and tools. Prompts, resources, sampling and logging are not offered.
func TestConformance(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the official suite")
	}
	_, args := mcptest.NPM(t, mcptest.Conformance)
	node := mcptest.NewNode(t)
	tools := []string{
		"tools-list", "tools-call-simple-text", "tools-call-image", "tools-call-audio", "tools-call-embedded-resource",
		"tools-call-mixed-content", "tools-call-error", "tools-call-with-progress", "json-schema-2020-12", "dns-rebinding-protection",
	}
	scenarios := map[string][]string{
		"2025-11-25": append([]string{"server-initialize", "server-session-lifecycle", "ping"}, tools...),
		"2026-07-28": append([]string{"server-stateless", "caching", "http-header-validation"}, tools...),
	}
	for version, names := range scenarios {
		t.Run(version, func(t *testing.T) {
			url := serveHTTP(t, surface.Off)
			for _, name := range names {
				t.Run(name, func(t *testing.T) {
					cmd := exec.CommandContext(t.Context(), node, append(append([]string{}, args...),
						"server", "--url", url, "--scenario", name, "--spec-version", version)...)
					cmd.Dir = t.TempDir()
					if out, err := cmd.CombinedOutput(); err != nil && !onlyUntestable(string(out)) {
						t.Errorf("%v\n%s", err, out)
					}
				})
			}
		})
	}
}

// onlyUntestable reports a run whose every failed check asks for what this
// server does not have: diagnostic tools of logging, sampling and elicitation,
// or lists of prompts and resources, which it must refuse since it does not
// declare them.
func onlyUntestable(out string) bool {
	failed := 0
	for line := range strings.Lines(out) {
		if _, reason, found := strings.Cut(line, "Error: "); found {
			failed++
			undeclared := strings.Contains(reason, "-32601") && (strings.HasPrefix(reason, "prompts/") || strings.HasPrefix(reason, "resources/"))
			if !undeclared && !strings.HasPrefix(reason, "Not testable: server does not list the diagnostic tool") {
				return false
			}
		}
	}
	return failed > 0
}

// The control surface passes what holds for every server.
func TestConformanceOfControls(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the official suite")
	}
	_, args := mcptest.NPM(t, mcptest.Conformance)
	node := mcptest.NewNode(t)
	url := serveHTTP(t, surface.Tools)
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		cmd := exec.CommandContext(t.Context(), node, append(append([]string{}, args...),
			"server", "--url", url, "--scenario", "tools-list", "--spec-version", version)...)
		cmd.Dir = t.TempDir()
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", version, err, out)
		}
	}
}

// A real client, the inspector's command line, against the gateway's server is
// run in internal/cli. Here the SDK's own client checks what tools/list says.
func TestListShowsControlsOnly(t *testing.T) {
	client := sdk.NewClient(&sdk.Implementation{Name: "t", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: serveHTTP(t, surface.Tools)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	list, err := session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, d := range list.Tools {
		names = append(names, d.Name)
	}
	if got := strings.Join(names, " "); got != "tool_search tool_describe tool_call" {
		t.Errorf("listed are %q", got)
	}
	res, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "tool_search", Arguments: json.RawMessage(`{"query":"image content","limit":1}`)})
	if err != nil {
		t.Fatal(err)
	}
	if text := res.Content[0].(*sdk.TextContent).Text; !strings.Contains(text, "openclaw:suite:test_image_content") {
		t.Errorf("search found %s", text)
	}
}
