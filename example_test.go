package toolsearch_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"strings"

	"github.com/toolsearch/toolsearch"
	"github.com/toolsearch/toolsearch/source/mcp"
	"github.com/toolsearch/toolsearch/tool"
)

// Two Go functions and one MCP server become one set of tools; the set is
// searched, and what it finds is called.
func Example() {
	ctx := context.Background()
	add, err := toolsearch.Func("math", "add", "Add two numbers", func(_ context.Context, in struct {
		A float64 `json:"a" jsonschema:"first summand"`
		B float64 `json:"b" jsonschema:"second summand"`
	}) (struct {
		Sum float64 `json:"sum"`
	}, error) {
		var out struct {
			Sum float64 `json:"sum"`
		}
		out.Sum = in.A + in.B
		return out, nil
	})
	if err != nil {
		log.Fatal(err)
	}
	shout, err := toolsearch.Func("text", "shout", "Say something in capital letters", func(_ context.Context, in struct {
		Text string `json:"text"`
	}) (string, error) {
		return strings.ToUpper(in.Text), nil
	})
	if err != nil {
		log.Fatal(err)
	}

	command, args, env := weatherServer() // any MCP server
	set, err := toolsearch.New(ctx, toolsearch.Options{
		Tools:   []*tool.Tool{add, shout},
		Servers: []mcp.Server{{Name: "weather", Command: command, Args: args, Env: env}},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer set.Close()
	if err := set.Wait(ctx); err != nil {
		log.Fatal(err)
	}

	for _, query := range []string{"sum of two numbers", "capital letters", "weather forecast"} {
		hits, err := set.Search(ctx, query, 1)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(hits[0].ID, hits[0].Input)
	}
	res, err := set.Call(ctx, "openclaw:math:add", json.RawMessage(`{"a": 2, "b": 40}`))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(res.Details))
	res, err = set.Call(ctx, "mcp:weather:echo", json.RawMessage(`{"city": "Oslo"}`))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(res.Details))
	// Output:
	// openclaw:math:add { a: number; b: number }
	// openclaw:text:shout { text: string }
	// mcp:weather:echo unknown
	// {"sum":42}
	// {"city":"Oslo"}
}
