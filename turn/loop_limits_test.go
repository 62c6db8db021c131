package turn_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/surface"
	"github.com/toolsearch/toolsearch/tool"
	"github.com/toolsearch/toolsearch/turn"
)

// searches is a model that searches on and on, each time for something else.
func searches(rounds int, per int) []round {
	var out []round
	for i := range rounds {
		blocks := []provider.Block{text(fmt.Sprint("Round ", i+1, ". "))}
		for j := range per {
			blocks = append(blocks, calls(fmt.Sprintf("c%d.%d", i, j), "tool_search", fmt.Sprintf(`{"query":"q%d %d"}`, i, j)))
		}
		out = append(out, says(blocks...))
	}
	return out
}

// At each limit a run ends with what it has, and leaves a conversation in which
// every call is answered.
func TestLimits(t *testing.T) {
	tests := []struct {
		name   string
		limits turn.Limits
		per    int
		limit  turn.Limit
		says   string
		rounds int
		calls  int
	}{
		{"rounds by default", turn.Limits{}, 1, turn.LimitRounds, "25 times", 25, 24},
		{"rounds", turn.Limits{Rounds: 3}, 1, turn.LimitRounds, "3 times", 3, 2},
		{"calls by default", turn.Limits{}, 11, turn.LimitCalls, "100 calls", 10, 99},
		{"calls", turn.Limits{Calls: 4}, 2, turn.LimitCalls, "4 calls", 3, 4},
		{"tokens", turn.Limits{Tokens: 33}, 1, turn.LimitTokens, "33", 3, 2}, // 11 a round
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := start(t, turn.Options{Model: scripted(searches(30, tt.per)...), Tools: box(t, surface.Tools, echoing("x")), Limits: tt.limits})
			step := next(t, r, turn.Input{})
			if step.Limit == nil || step.Limit.Limit != tt.limit || !strings.Contains(step.Limit.Error(), tt.says) {
				t.Fatalf("the limit is %v, want %s with %q", step.Limit, tt.limit, tt.says)
			}
			used := r.Used()
			if used.Rounds != tt.rounds || used.Calls != tt.calls || used.Usage.Input != 10*tt.rounds {
				t.Errorf("it used %+v, want %d rounds and %d calls", used, tt.rounds, tt.calls)
			}
			if got := step.Response; got.Stop != provider.StopLength || strings.Count(got.Text(), "Round ") != tt.rounds || len(got.Calls()) > 0 {
				t.Errorf("the response is %+v", got)
			}
			checkAnswered(t, r.Messages())
			if _, err := r.Next(t.Context(), turn.Input{}, nil); !errors.Is(err, turn.ErrOver) {
				t.Errorf("afterwards: %v", err)
			}
		})
	}
}

// checkAnswered wants the answers to each message's calls right behind it, in
// its order.
func checkAnswered(t *testing.T, messages []provider.Message) {
	t.Helper()
	var open []string
	for i, m := range messages {
		for _, b := range m.Blocks {
			switch b.Kind {
			case provider.ToolCall:
				open = append(open, b.Call.ID)
			case provider.ToolAnswer:
				if len(open) == 0 || open[0] != b.Answer.CallID {
					t.Fatalf("message %d answers %q, open are %q", i, b.Answer.CallID, open)
				}
				open = open[1:]
			}
		}
		if m.Role == provider.User && len(open) > 0 {
			t.Fatalf("message %d leaves %q open", i, open)
		}
	}
	if len(open) > 0 {
		t.Errorf("%q are never answered", open)
	}
}

func TestCheckLimits(t *testing.T) {
	for _, l := range []turn.Limits{{Rounds: -1}, {Rounds: turn.MaxRounds + 1}, {Calls: turn.MaxCalls + 1}, {Tokens: -5}, {Time: -time.Second}, {Time: turn.MaxTime + 1}} {
		if _, err := turn.CheckLimits(l); err == nil {
			t.Errorf("%+v was taken", l)
		}
	}
	l, err := turn.CheckLimits(turn.Limits{})
	if want := (turn.Limits{Rounds: 25, Calls: 100, Time: 10 * time.Minute, Tokens: 1_000_000}); err != nil || l != want {
		t.Errorf("the defaults are %+v, want %+v (%v)", l, want, err)
	}
}

// The clock also stops a model that streams on and on; what has come stays.
func TestTimeLimitCutsTheModelShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		endless := func(ctx context.Context, _ *provider.Request, emit func(provider.Event) error) (*provider.Response, error) {
			for {
				select {
				case <-ctx.Done():
					return nil, ctx.Err()
				case <-time.After(25 * time.Second):
					if err := emit(provider.Event{Kind: provider.TextDelta, Text: "on "}); err != nil {
						return nil, err
					}
				}
			}
		}
		r := begin(t, turn.Options{Model: scripted(append(searches(1, 1), endless)...), Tools: box(t, surface.Tools, echoing("x")),
			Request: provider.Request{Stream: true}, Limits: turn.Limits{Time: time.Minute}})
		defer r.Close()
		var streamed strings.Builder
		step, err := r.Next(t.Context(), turn.Input{}, func(e provider.Event) error { streamed.WriteString(e.Text); return nil })
		if err != nil {
			t.Fatal(err)
		}
		if step.Limit == nil || step.Limit.Limit != turn.LimitTime || step.Response.Text() != "Round 1. on on " || streamed.String() != step.Response.Text() {
			t.Errorf("limit %v, answer %q, streamed %q", step.Limit, step.Response.Text(), &streamed)
		}
		if m := r.Messages(); m[len(m)-1].Blocks[0].Text != "on on " {
			t.Errorf("the conversation ends with %+v", m[len(m)-1])
		}
	})
}

// The calls of a round run beside each other, at most 16 at once; a sequential
// tool runs alone, after those before it and before those after it, whichever
// way it is called.
func TestParallelAndSequentialCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var active, most atomic.Int32
		var mu sync.Mutex
		var order []string
		work := func(name string) *tool.Tool {
			return answering(name, func(_ context.Context, args json.RawMessage) (*tool.Result, error) {
				n := active.Add(1)
				most.Store(max(most.Load(), n))
				time.Sleep(time.Second)
				if name == "alone" && active.Load() != 1 {
					t.Errorf("a sequential tool ran beside %d others", active.Load()-1)
				}
				active.Add(-1)
				mu.Lock()
				order = append(order, name)
				mu.Unlock()
				return tool.TextResult(string(args)), nil
			})
		}
		alone := work("alone")
		alone.Sequential = true
		var blocks []provider.Block
		for i := range 20 {
			blocks = append(blocks, calls(fmt.Sprint("a", i), "beside", fmt.Sprintf(`{"n":%d}`, i)))
		}
		blocks = append(blocks,
			calls("b", "tool_call", `{"id":"mcp:srv:alone"}`), calls("c", "alone", `{}`), calls("d", "beside", `{}`), calls("e", "beside", `{"e":1}`))
		model := scripted(says(blocks...), says(text("Done.")))
		r := begin(t, turn.Options{Model: model, Tools: box(t, surface.Tools, work("beside"), alone)})
		defer r.Close()
		began := time.Now()
		next(t, r, turn.Input{})
		if got := time.Since(began); got != 5*time.Second { // 16, 4, alone, alone, 2
			t.Errorf("it took %v, want 5s", got)
		}
		if most.Load() != 16 {
			t.Errorf("%d ran at once, want 16", most.Load())
		}
		if got := strings.Join(order[20:], " "); got != "alone alone beside beside" {
			t.Errorf("the last ran in the order %q", got)
		}
		for i, got := range lastAnswers(t, model.request(t, 1))[:20] {
			if want := fmt.Sprintf(`a%d: {"n":%d}`, i, i); got != want {
				t.Errorf("answer %d is %q, want %q", i, got, want)
			}
		}
	})
}

// Whatever fails in the same way: the second failure says so, the third call is
// refused, and asking for it once more ends the run.
func TestIdenticalFailuresAreStopped(t *testing.T) {
	ran := 0
	failing := answering("failing", func(context.Context, json.RawMessage) (*tool.Result, error) {
		ran++
		res := tool.TextResult("no luck")
		res.IsError = true
		return res, nil
	})
	for _, tt := range []struct {
		name, tool, args string
		same             string // the arguments once more, written otherwise
		ran              int
	}{
		{"a wrong query", "tool_search", `{"query":1}`, `{ "query": 1.0 }`, 0},
		{"an unknown id", "tool_call", `{"id":"mcp:srv:nothing"}`, `{"id":"mcp:srv:\u006eothing"}`, 0},
		{"a name nobody bears", "send_fax", `{"to":"x","n":1}`, `{"n":1,"to":"x"}`, 0},
		{"broken arguments", "tool_search", `"{\"query\":"`, `"{\"query\":"`, 0},
		{"a failing tool", "failing", `{}`, ` {}`, 2},
		{"a failing tool through tool_call", "tool_call", `{"id":"mcp:srv:failing","args":{}}`, `{"args":{},"id":"mcp:srv:failing"}`, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ran = 0
			model := scripted(
				says(calls("c1", tt.tool, tt.args)), says(calls("c2", tt.tool, tt.same)), says(calls("c3", tt.tool, tt.args)),
				says(text("Again."), calls("c4", tt.tool, tt.args)),
			)
			r := start(t, turn.Options{Model: model, Tools: box(t, surface.Tools, failing)})
			step := next(t, r, turn.Input{})
			if step.Limit == nil || step.Limit.Limit != turn.LimitRepeats || step.Response.Text() != "Again." {
				t.Errorf("the run ended with %v and %q", step.Limit, step.Response.Text())
			}
			if ran != tt.ran {
				t.Errorf("the tool ran %d times, want %d", ran, tt.ran)
			}
			const note, refusal = "failed before with the same arguments", "has failed twice"
			for i, want := range []string{"", note, refusal} {
				got := lastAnswers(t, model.request(t, i+1))[0]
				if !strings.HasSuffix(got, "(error)") || strings.Contains(got, note) != (want == note) || strings.Contains(got, refusal) != (want == refusal) || strings.Count(got, note) > 1 {
					t.Errorf("answer %d is %q, want %q in it", i+1, got, want)
				}
			}
			checkAnswered(t, r.Messages())
		})
	}
}

// A success forgets the failures, and other calls beside a hopeless one keep the
// run going.
func TestFailuresAreForgotten(t *testing.T) {
	bad := func(id string) provider.Block { return calls(id, "nothing", `{}`) }
	good := func(id string) provider.Block { return calls(id, "tool_search", fmt.Sprintf(`{"query":"%s"}`, id)) }
	model := scripted(says(bad("1")), says(bad("2")), says(bad("3")), says(bad("4"), good("5")), says(bad("6"), good("7")), says(text("Done.")))
	step := next(t, start(t, turn.Options{Model: model, Tools: box(t, surface.Tools, echoing("x"))}), turn.Input{})
	if step.Limit != nil || step.Response.Text() != "Done." {
		t.Errorf("the run ended with %v", step.Limit)
	}
	flaky := 0
	odd := answering("odd", func(context.Context, json.RawMessage) (*tool.Result, error) {
		flaky++
		res := tool.TextResult("turn")
		res.IsError = flaky%2 == 1
		return res, nil
	})
	var rounds []round
	for i := range 8 {
		rounds = append(rounds, says(calls(fmt.Sprint(i), "odd", `{}`)))
	}
	step = next(t, start(t, turn.Options{Model: scripted(append(rounds, says(text("Done.")))...), Tools: box(t, surface.Tools, odd)}), turn.Input{})
	if step.Limit != nil || flaky != 8 {
		t.Errorf("a tool that fails every other time ran %d times of 8 (%v)", flaky, step.Limit)
	}
}

// A model that writes megabytes into every call does not fill the memory: all of
// it would be kept, and sent again each round.
func TestLimitOfSize(t *testing.T) {
	var rounds []round
	pad := `","pad":"` + strings.Repeat("w", 10<<20) + `"}`
	for i := range 8 {
		id := fmt.Sprint("c", i)
		rounds = append(rounds, says(calls(id, "x", `{"n":"`+id+pad)))
	}
	model := scripted(rounds...)
	r := start(t, turn.Options{Model: model, Tools: box(t, surface.Tools, answering("x", func(context.Context, json.RawMessage) (*tool.Result, error) {
		return tool.TextResult("ok"), nil
	}))})
	step := next(t, r, turn.Input{})
	if step.Limit == nil || step.Limit.Limit != turn.LimitSize {
		t.Fatalf("it ended with %+v", step.Limit)
	}
	if n := r.Used().Rounds; n != 7 { // the seventh answer goes beyond 64 MiB
		t.Errorf("it ended after %d rounds", n)
	}
}
