package qa

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// ServePlugin is the process of a fake plugin: it serves the tools of a
// manifest as MCP over stdio, until its input ends.
func ServePlugin(ctx context.Context, manifestPath string) error {
	raw, err := os.ReadFile(manifestPath)
	if err != nil {
		return fmt.Errorf("serve the fake plugin: %w", err)
	}
	var m manifest
	if err := json.Unmarshal(raw, &m); err != nil {
		return fmt.Errorf("serve the fake plugin: read %s: %w", manifestPath, err)
	}
	server := mcp.NewServer(&mcp.Implementation{Name: m.ID, Version: "1"}, nil)
	for _, d := range m.Tools {
		server.AddTool(&mcp.Tool{Name: d.Name, Description: d.Description, InputSchema: d.Parameters}, answer(d.Name))
	}
	return server.Run(ctx, &mcp.StdioTransport{})
}

// answer is what a fake tool says: the target has the answer, the others have
// their names.
func answer(name string) mcp.ToolHandler {
	text := "called " + name
	if name == targetName {
		text = marker
	}
	return func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil
	}
}
