package store_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/toolsearch/toolsearch/call"
	"github.com/toolsearch/toolsearch/internal/store"
	"github.com/toolsearch/toolsearch/tool"
	"github.com/toolsearch/toolsearch/transcript"
)

func open(t testing.TB, opt store.Options) *store.Store {
	t.Helper()
	if opt.Dir == "" {
		opt.Dir = t.TempDir()
	}
	s, err := store.Open(context.Background(), opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

func echoTool() *tool.Tool {
	return &tool.Tool{
		ID: "openclaw:core:echo", Source: tool.OpenClaw, Owner: "core", Name: "echo", Input: tool.RawSchema(`{}`),
		Invoker: tool.InvokerFunc(func(_ context.Context, c tool.Call) (*tool.Result, error) {
			return tool.TextResult(string(c.Args)), nil
		}),
	}
}

func TestCallIsRecordedThroughThePipeline(t *testing.T) {
	s := open(t, store.Options{})
	ctx := context.Background()
	tr, err := transcript.New(transcript.Config{Recorder: s, Counter: s})
	if err != nil {
		t.Fatal(err)
	}
	origin := call.Origin{Session: "s1", Run: "r1", Control: "tool_call", Parent: "p1", CallID: "c1"}
	if err := tr.StartRun(ctx, transcript.Run{RunKey: transcript.RunKey{Session: "s1", Run: "r1"}, Mode: "tools", Schemas: 3, SchemaBytes: 900, Catalog: 40}); err != nil {
		t.Fatal(err)
	}
	if err := tr.Count(ctx, origin, transcript.Counts{Searches: 2, EmptySearches: 1, Describes: 1}); err != nil {
		t.Fatal(err)
	}
	if _, err := call.New(tr.Stage()).Call(ctx, call.Request{Target: echoTool(), Args: json.RawMessage(`{"a":1}`), Origin: origin}); err != nil {
		t.Fatal(err)
	}
	list, err := s.Sessions(ctx, store.Page{})
	if err != nil {
		t.Fatal(err)
	}
	want := store.Totals{Schemas: 3, SchemaBytes: 900, Catalog: 40, Searches: 2, EmptySearches: 1, Describes: 1, Calls: 1}
	if len(list) != 1 || list[0].ID != "s1" || list[0].Totals != want {
		t.Fatalf("sessions are %+v, want one with %+v", list, want)
	}
	var calls []store.Call
	if err := s.Calls(ctx, "s1", func(c store.Call) error { calls = append(calls, c); return nil }); err != nil {
		t.Fatal(err)
	}
	if len(calls) != 1 {
		t.Fatalf("calls are %+v", calls)
	}
	c := calls[0]
	if c.Target != "openclaw:core:echo" || c.Source != tool.OpenClaw || c.Control != "tool_call" || c.Parent != "p1" || c.Status != transcript.StatusOK ||
		string(c.Args.Value) != `{"a":1}` || c.Result == nil || string(c.Result.Value) != `{"content":[{"type":"text","text":"{\"a\":1}"}]}` {
		t.Errorf("the call is %+v, result %+v", c, c.Result)
	}
}

// An outcome reaches the tables with its call or after it: what is read is the
// same, and the first outcome counts.
func TestOutcomesOfTheSameAndOfALaterBatch(t *testing.T) {
	body := func(text string) transcript.Body { return transcript.Body{Text: []byte(text), Size: len(text)} }
	for _, c := range []struct {
		name        string
		flushBefore bool // the outcome, so that the call is in the tables already
		flushAgain  bool // a second outcome
	}{{"same batch", false, false}, {"later batch", true, false}, {"second outcome later", false, true}, {"all apart", true, true}} {
		for _, status := range []transcript.Status{transcript.StatusOK, transcript.StatusError, transcript.StatusFailed, transcript.StatusBlocked, transcript.StatusRefused, transcript.StatusCancelled} {
			t.Run(c.name+"/"+string(status), func(t *testing.T) {
				s, ctx := open(t, store.Options{}), t.Context()
				flush := func(now bool) {
					if now {
						if err := s.Flush(ctx); err != nil {
							t.Fatal(err)
						}
					}
				}
				ref, err := s.Begin(ctx, transcript.Intent{RunKey: transcript.RunKey{Session: "s", Run: "r"}, Call: "c1", Target: "mcp:a:b", Args: body(`{}`), Started: time.Now()})
				if err != nil {
					t.Fatal(err)
				}
				flush(c.flushBefore)
				first := transcript.Outcome{Status: status, Code: "some", By: "by", Reason: "why", Duration: 7, Approval: transcript.Approval{ID: "a", Decision: "approved", By: "ann"}, Result: body(`{"n":1}`)}
				if err := s.End(ctx, ref, first); err != nil {
					t.Fatal(err)
				}
				flush(c.flushAgain)
				if err := s.End(ctx, ref, transcript.Outcome{Status: "second"}); err != nil {
					t.Fatal(err)
				}
				var calls []store.Call
				if err := s.Calls(ctx, "s", func(c store.Call) error { calls = append(calls, c); return nil }); err != nil {
					t.Fatal(err)
				}
				if len(calls) != 1 {
					t.Fatalf("calls are %+v", calls)
				}
				got := calls[0]
				if got.Status != status || got.Code != "some" || got.By != "by" || got.Reason != "why" || got.Duration != 7 ||
					got.Approval == nil || *got.Approval != store.Approved(first.Approval) || got.Result == nil || string(got.Result.Value) != `{"n":1}` {
					t.Errorf("the call is %+v, result %+v", got, got.Result)
				}
				list, err := s.Sessions(ctx, store.Page{})
				if err != nil {
					t.Fatal(err)
				}
				failed := 1
				if status == transcript.StatusOK {
					failed = 0
				}
				if want := (store.Totals{Calls: 1, Failed: failed}); len(list) != 1 || list[0].Totals != want {
					t.Errorf("sessions are %+v, want one with %+v", list, want)
				}
			})
		}
	}
}
