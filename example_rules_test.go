package toolsearch_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"

	"github.com/toolsearch/toolsearch"
	"github.com/toolsearch/toolsearch/approval"
	"github.com/toolsearch/toolsearch/hook"
	"github.com/toolsearch/toolsearch/pin"
	"github.com/toolsearch/toolsearch/policy"
	"github.com/toolsearch/toolsearch/store"
	"github.com/toolsearch/toolsearch/tool"
	"github.com/toolsearch/toolsearch/transcript"
)

// Everything that may stand around a call: rules that filter, a person who is
// asked, a hook, pins of servers' tools, and a record of all of it in SQLite.
func Example_rules() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	kept, err := store.Open(ctx, store.Options{Dir: dir})
	if err != nil {
		log.Fatal(err)
	}
	defer kept.Close()
	record, err := kept.Transcript(transcript.Config{
		Redactor: transcript.NewRedactor(transcript.RedactorConfig{Fields: []string{"pin"}}), // beside password, token, …
	})
	if err != nil {
		log.Fatal(err)
	}
	pins, err := pin.New(pin.Config{Store: kept.Pins()})
	if err != nil {
		log.Fatal(err)
	}

	rules, _, err := policy.Compile([]policy.Layer{{
		Scope: policy.ScopeGlobal, Name: "the house's rules",
		Rules: policy.Rules{Deny: []policy.Entry{{Pattern: "format"}}},
	}})
	if err != nil {
		log.Fatal(err)
	}
	asks, _, err := approval.Compile(approval.RuleSet{Rules: []approval.Rule{
		{Action: approval.RuleAsk, Tools: []policy.Entry{{Pattern: "wipe"}}},
	}})
	if err != nil {
		log.Fatal(err)
	}
	gate, err := approval.New(approval.Options{
		Rules: asks, Store: kept.Approvals(),
		Routes: []approval.Route{approval.RouteFunc(func(_ context.Context, r approval.Request) (approval.Decision, error) {
			fmt.Printf("asked: %s %s\n", r.Target.Name, r.Call)
			return approval.Decision{Answer: approval.Allow, By: "ann"}, nil
		})},
	})
	if err != nil {
		log.Fatal(err)
	}
	hooks, _, err := hook.New([]hook.Hook{{
		Name: "not-sda", Event: hook.Before, Tools: []policy.Entry{{Pattern: "disk"}}, // every tool of that plugin
		Runner: hook.Func(func(_ context.Context, in *hook.Input) (hook.Decision, error) {
			var args struct{ Disk string }
			if err := json.Unmarshal(in.Args, &args); err != nil {
				return hook.Decision{}, err
			}
			if args.Disk == "sda" {
				return hook.Decision{Verdict: hook.Block, Reason: "the system is on it"}, nil
			}
			return hook.Decision{Verdict: hook.Continue}, nil
		}),
	}}, hook.AskerFunc(gate.AskFor)) // a hook may ask the same people
	if err != nil {
		log.Fatal(err)
	}

	type disk struct {
		Disk string `json:"disk"`
	}
	var tools []*tool.Tool
	for _, name := range []string{"wipe", "format"} {
		t, err := toolsearch.Func("disk", name, "Make a disk empty", func(_ context.Context, in disk) (string, error) {
			return in.Disk + " is empty", nil
		})
		if err != nil {
			log.Fatal(err)
		}
		tools = append(tools, t)
	}
	set, err := toolsearch.New(ctx, toolsearch.Options{
		Tools: tools, Policy: rules, Approval: gate, Hooks: hooks, Pins: pins, Transcript: record,
	})
	if err != nil {
		log.Fatal(err)
	}
	defer set.Close()
	for _, call := range []struct{ tool, args string }{
		{"wipe", `{"disk":"sdb"}`}, {"wipe", `{"disk":"sda"}`}, {"format", `{"disk":"sdb"}`},
	} {
		res, err := set.Call(ctx, call.tool, json.RawMessage(call.args))
		if err != nil {
			fmt.Println(tool.CodeOf(err))
			continue
		}
		fmt.Println(res.Text())
	}
	// Output:
	// asked: wipe {"disk":"sdb"}
	// sdb is empty
	// asked: wipe {"disk":"sda"}
	// blocked
	// unknown_tool
}
