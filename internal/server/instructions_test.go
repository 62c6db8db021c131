package server_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolsearch/toolsearch/call"
	"github.com/toolsearch/toolsearch/catalog"
	"github.com/toolsearch/toolsearch/internal/server"
	"github.com/toolsearch/toolsearch/policy"
	"github.com/toolsearch/toolsearch/schema"
	"github.com/toolsearch/toolsearch/surface"
	"github.com/toolsearch/toolsearch/tool"
	"github.com/toolsearch/toolsearch/turn"
)

// greeted is what the SDK's own client is told by a server over these tools.
func greeted(t *testing.T, mode surface.Mode, ready func(context.Context), tools []*tool.Tool) string {
	t.Helper()
	pol, _, err := policy.Compile(nil)
	if err != nil {
		t.Fatal(err)
	}
	planner := turn.NewPlanner(turn.Config{Mode: mode, Policy: pol, Sources: []turn.Source{turn.Fixed(tools)}})
	s, err := surface.New(surface.Config{
		Limits: catalog.Limits{Default: 8, Max: 20}, View: planner.View, Pipeline: call.New(), Schemas: schema.NewCache(8),
	})
	if err != nil {
		t.Fatal(err)
	}
	srv := server.NewMCP(server.Options{Surface: s, Version: "1", Ready: ready, Greet: ready != nil})
	near, far := sdk.NewInMemoryTransports()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- srv.Run(ctx, far) }()
	defer func() { cancel(); <-done }()
	session, err := sdk.NewClient(&sdk.Implementation{Name: "t", Version: "1"}, nil).Connect(ctx, near, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	return session.InitializeResult().Instructions
}

func plugins(n int, description string) []*tool.Tool {
	var out []*tool.Tool
	for i := range n {
		owner, name := fmt.Sprintf("plugin%02d", i%20), fmt.Sprintf("tool_%04d", i)
		out = append(out, &tool.Tool{
			ID: tool.NewID(tool.OpenClaw, owner, name), Source: tool.OpenClaw, Owner: owner, Name: name,
			Description: description, Input: tool.RawSchema(`{"type":"object"}`),
		})
	}
	return out
}

// Clients cut instructions at 2 KB: whatever the catalog, nothing is longer, how
// to use the tools comes first, and the room is used.
func TestInstructionsFit(t *testing.T) {
	for _, n := range []int{0, 1, 12, 40, 3000} {
		for _, description := range []string{"", "Does something useful with it", strings.Repeat("日本語の説明🙂", 40)} {
			text := greeted(t, surface.Directory, nil, plugins(n, description))
			if len(text) > 2048 || !strings.HasPrefix(text, "Many tools stand behind this server") {
				t.Errorf("%d tools: %d bytes: %.80s", n, len(text), text)
			}
			if n > 0 && !strings.Contains(text, "\n- tool_") {
				t.Errorf("%d tools: none is listed:\n%s", n, text)
			}
			if n == 3000 && (len(text) < 1900 || !strings.Contains(text, "more like these are not listed")) {
				t.Errorf("%d tools: %d bytes are used:\n%s", n, len(text), text)
			}
		}
	}
}

// What a client is told fits its mode, and names no control that it lacks.
func TestInstructionsOfEachMode(t *testing.T) {
	for mode, want := range map[surface.Mode]string{surface.Off: "", surface.Tools: "tool_describe", surface.Code: "tool_search_code", surface.Directory: "- tool_0000 (plugin00): Does it"} {
		text := greeted(t, mode, nil, plugins(2, "Does it"))
		if !strings.Contains(text, want) || (want == "") != (text == "") || len(text) > 2048 {
			t.Errorf("%s: %s", mode, text)
		}
		if (mode == surface.Code) != strings.Contains(text, "tool_search_code") {
			t.Errorf("%s names another mode's control: %s", mode, text)
		}
	}
}

// Where what is said depends on the tools, the greeting waits for them.
func TestGreetingWaits(t *testing.T) {
	waited := 0
	greeted(t, surface.Directory, func(context.Context) { waited++ }, plugins(2, "Does it"))
	if waited != 1 {
		t.Errorf("the greeting waited %d times", waited)
	}
}
