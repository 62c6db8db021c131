package toolsearch_test

import (
	"context"
	"fmt"
	"log"

	"github.com/toolsearch/toolsearch"
	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/provider/mock"
	"github.com/toolsearch/toolsearch/provider/openai"
	"github.com/toolsearch/toolsearch/tool"
	"github.com/toolsearch/toolsearch/turn"
)

// A model behind any of the three common APIs gets the tools of a set, and is
// asked until it answers. Here a mock of a model stands in: it searches, calls
// what it found, and repeats what the tool said.
func Example_agent() {
	ctx := context.Background()
	tide, err := toolsearch.Func("harbour", "tide", "Forecast when high water comes at a place", func(_ context.Context, in struct {
		Place string `json:"place"`
	}) (string, error) {
		return "High water in " + in.Place + " at 04:12", nil
	})
	if err != nil {
		log.Fatal(err)
	}
	set, err := toolsearch.New(ctx, toolsearch.Options{Tools: []*tool.Tool{tide}})
	if err != nil {
		log.Fatal(err)
	}
	defer set.Close()

	baseURL, stop, err := mock.New(mock.Agent()).Listen("127.0.0.1:0") // your provider's address
	if err != nil {
		log.Fatal(err)
	}
	defer stop()
	model, err := provider.NewClient(provider.ClientConfig{Format: openai.Chat(), BaseURL: baseURL})
	if err != nil {
		log.Fatal(err)
	}

	scope, err := set.Scope(ctx, toolsearch.ScopeOptions{}) // the rules of this kind of run
	if err != nil {
		log.Fatal(err)
	}
	session, err := scope.Session(toolsearch.SessionOptions{Key: "conversation 1"})
	if err != nil {
		log.Fatal(err)
	}
	run, err := turn.Start(ctx, turn.Options{
		Model: model,
		Tools: session,
		Request: provider.Request{Model: "mock", Messages: []provider.Message{{
			Role:   provider.User,
			Blocks: []provider.Block{{Kind: provider.Text, Text: `When is high water? target=tide args={"place":"Oslo"} query="forecast high water"`}},
		}}},
		Observe: func(a turn.Activity) {
			if a.Kind == turn.CallEnded {
				fmt.Println(a.Name, a.Outcome)
			}
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer run.Close()
	step, err := run.Next(ctx, turn.Input{}, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(step.Response.Text()) > 0, run.Used().Rounds, "rounds")
	// Output:
	// tool_search ok
	// tool_call ok
	// true 3 rounds
}
