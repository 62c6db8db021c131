package code_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsearch/toolsearch/code"
	"github.com/toolsearch/toolsearch/tool"
)

func reply(r *tool.Result) func(context.Context, string, json.RawMessage) (code.CallReply, error) {
	return func(context.Context, string, json.RawMessage) (code.CallReply, error) {
		return code.CallReply{Tool: json.RawMessage(`{"id":"a:b:c"}`), Result: r}, nil
	}
}

func TestBridge(t *testing.T) {
	plain := tool.TextResult("hello")
	parsed := tool.TextResult(`{"n": [1, 2]}`)
	failed := &tool.Result{Content: []tool.Content{tool.Text("no such city")}, IsError: true}
	refused := (&tool.Error{Code: tool.CodeBlocked, Reason: "policy says no", Next: "use another tool"}).Result()
	cases := []struct {
		name, body string
		host       *host
		want       string
	}{
		{"search passes query and options", `return await openclaw.tools.search("find", {limit: 3})`,
			&host{search: func(_ context.Context, q string, o json.RawMessage) (json.RawMessage, error) {
				return json.Marshal([]string{q, string(o)})
			}}, `["find","{\"limit\":3}"]`},
		{"search without options", `return await openclaw.tools.search("find")`,
			&host{search: func(_ context.Context, _ string, o json.RawMessage) (json.RawMessage, error) {
				return json.Marshal(string(o))
			}}, `"null"`},
		{"describe", `return (await openclaw.tools.describe("x:y:z")).id`, &host{}, `"x:y:z"`},
		{"call gives tool and result", `return await openclaw.tools.call("a:b:c", {})`, &host{call: reply(plain)},
			`{"tool":{"id":"a:b:c"},"result":{"content":[{"type":"text","text":"hello"}]}}`},
		{"no arguments are an empty object", `return (await openclaw.tools.call("x")).result.details`, &host{}, `{}`},
		{"arguments as a JSON string pass", `return (await openclaw.tools.call("x", '{"a":1}')).result.content[0].text`, &host{}, `"\"{\\\"a\\\":1}\""`},
		{"details of JSON text are there and not shown", `const r = await openclaw.tools.call("x"); return [r.result.details.n[1], r.result]`, &host{call: reply(parsed)},
			`[2,{"content":[{"type":"text","text":"{\"n\": [1, 2]}"}]}]`},
		{"a tool error throws its text", `try { await openclaw.tools.call("x"); return "no" } catch (e) { return [e instanceof Error, e.message, e.code] }`, &host{call: reply(failed)},
			`[true,"no such city","failed"]`},
		{"a refusal throws its reason", `try { await openclaw.tools.call("x") } catch (e) { return [e.message, e.code] }`, &host{call: reply(refused)},
			`["policy says no. use another tool","blocked"]`},
		{"a host error throws", `try { await openclaw.tools.describe("x") } catch (e) { return [e.message, e.code, e.details] }`,
			&host{describe: func(context.Context, string) (json.RawMessage, error) {
				return nil, &tool.Error{Code: tool.CodeUnknownTool, Reason: "no tool x", Details: json.RawMessage(`{"near":["y"]}`)}
			}}, `["no tool x","unknown_tool",{"near":["y"]}]`},
		{"another error tells nothing", `try { await openclaw.tools.search("x") } catch (e) { return e.message.includes("secret") }`,
			&host{search: func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
				return nil, errors.New("secret path")
			}}, `false`},
		{"an invalid answer is an error", `try { await openclaw.tools.search("x") } catch (e) { return e.code }`,
			&host{search: func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
				return json.RawMessage(`{"a":`), nil
			}}, `"failed"`},
		{"an answer too long is an error", `try { await openclaw.tools.search("x") } catch (e) { return e.code }`,
			&host{search: func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
				return json.Marshal(strings.Repeat("x", 5<<20))
			}}, `"limit_exhausted"`},
		{"the first argument must be a string", `try { await openclaw.tools.call({id: 1}) } catch (e) { return e.name }`, &host{}, `"TypeError"`},
		{"values without JSON degrade in arguments", `return (await openclaw.tools.call("x", {a: 1n, b: undefined, c: () => 1, d: new Map([[1, 2]]), e: new TypeError("t")})).result.details`, &host{},
			`{"a":"1","d":[[1,2]],"e":{"name":"TypeError","message":"t"}}`},
		{"circular arguments throw", `const a = {}; a.a = a; try { await openclaw.tools.call("x", a) } catch (e) { return e instanceof TypeError }`, &host{}, `true`},
		{"deep arguments throw", `let a = []; for (let i = 0; i < 2000; i++) a = [a]; try { await openclaw.tools.call("x", a); return "no" } catch (e) { return e.code }`, &host{}, `"invalid_arguments"`},
		{"arguments are read at the call", `const a = {n: 1}; const h = openclaw.tools.call("x", a); a.n = 2; return (await h).result.details`, &host{}, `{"n":1}`},
		{"a handle runs once", `const h = openclaw.tools.call("x"); await h; await h; return (await Promise.all([h, h])).length`, &host{}, `2`},
		{"then, catch and finally", `const r = []; await openclaw.tools.search("x").then(v => r.push("then")).finally(() => r.push("finally")); await openclaw.tools.search(1).catch(e => r.push("catch")); return r`, &host{}, `["then","finally","catch"]`},
		{"what is returned degrades", `const a = {big: 2n ** 70n, f() {}, s: Symbol("x"), set: new Set([1]), e: [new RangeError("r")]}; a.self = a; return a`, &host{},
			`{"big":"1180591620717411303424","set":[1],"e":[{"name":"RangeError","message":"r"}],"self":"[Circular]"}`},
		{"the same object twice is not circular", `const o = {a: 1}; const c = {}; c.c = c; return [o, o, c]`, &host{}, `[{"a":1},{"a":1},{"c":"[Circular]"}]`},
		{"a function is described", `return function named() {}`, &host{}, `"[Function: named]"`},
		{"a handle not awaited says so", `return {h: openclaw.tools.call("x")}`, &host{}, `{"h":"[not awaited: use await or .then]"}`},
		{"toJSON of the body's own counts", `class P { toJSON() { return "p" } } return [new P(), new Date(0)]`, &host{}, `["p","1970-01-01T00:00:00.000Z"]`},
		{"built-ins are left as they were", `await openclaw.tools.call("x", {e: new Error("m")}); return [JSON.stringify(new Error("m")), "toJSON" in Error.prototype, "toJSON" in Map.prototype]`, &host{}, `["{}",false,false]`},
		{"only the stated names are global", `return Object.getOwnPropertyNames(globalThis).filter(n => /^[a-z]/.test(n) && !/^(globalThis|undefined|is|parse|decode|encode|escape|unescape)/.test(n)).sort()`, &host{}, `["console","eval","openclaw"]`},
		{"tools are frozen", `"use strict"; const r = []; for (const f of [() => { openclaw.tools.call = 1 }, () => { openclaw.tools = 1 }, () => { delete globalThis.openclaw }, () => { openclaw = 1 }, () => { console.log = 1 }]) { try { f(); r.push("changed") } catch (e) { r.push(e.name) } } return [r, Object.getPrototypeOf(openclaw), Object.getPrototypeOf(openclaw.tools), Object.keys(openclaw.tools)]`, &host{},
			`[["TypeError","TypeError","TypeError","TypeError","TypeError"],null,null,["search","describe","call"]]`},
	}
	eachRuntime(t, func(t *testing.T, o code.Options) {
		o.Warm = 2
		r := newRunner(t, o)
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				report := run(t, r, c.body, c.host)
				if !report.OK {
					t.Fatalf("failed: %v", report.Error)
				}
				if diff := cmp.Diff(c.want, string(report.Value)); diff != "" {
					t.Errorf("value (-want +got):\n%s", diff)
				}
			})
		}
	})
}

func TestRequestsAreLazyAndFinish(t *testing.T) {
	eachRuntime(t, func(t *testing.T, o code.Options) {
		r := newRunner(t, o)
		var mu sync.Mutex
		var ran []string
		h := &host{call: func(_ context.Context, id string, _ json.RawMessage) (code.CallReply, error) {
			mu.Lock()
			defer mu.Unlock()
			ran = append(ran, id)
			return code.CallReply{Result: tool.TextResult("x")}, nil
		}}
		report := run(t, r, `
			openclaw.tools.call("never");
			for (let i = 0; i < 20000; i++) openclaw.tools.call("never " + i);
			openclaw.tools.call("first").then(() => openclaw.tools.call("second")).then(() => console.log("after"));
			return "returned"`, h)
		if !report.OK || string(report.Value) != `"returned"` {
			t.Fatalf("report %+v, error %v", report, report.Error)
		}
		mu.Lock()
		defer mu.Unlock()
		if want := []string{"first", "second"}; !slices.Equal(ran, want) {
			t.Errorf("ran %v, want %v: started requests finish, others never run", ran, want)
		}
		if len(report.Logs) != 1 || report.Logs[0].Text != "after" {
			t.Errorf("logs %v, want what happened after the value", report.Logs)
		}
	})
}

func TestRequestsRunTogetherUpToTheCap(t *testing.T) {
	eachRuntime(t, func(t *testing.T, o code.Options) {
		r := newRunner(t, o)
		const parallel = 16
		gate := make(chan struct{})
		var mu sync.Mutex
		running, most := 0, 0
		h := &host{call: func(ctx context.Context, _ string, args json.RawMessage) (code.CallReply, error) {
			mu.Lock()
			running++
			most = max(most, running)
			if running == parallel {
				select {
				case <-gate:
				default:
					close(gate) // only when all of them are in flight at once
				}
			}
			mu.Unlock()
			select {
			case <-gate:
			case <-ctx.Done():
				return code.CallReply{}, ctx.Err()
			}
			mu.Lock()
			running--
			mu.Unlock()
			return code.CallReply{Result: tool.TextResult(string(args))}, nil
		}}
		report := run(t, r, `const r = await Promise.all(Array.from({length: 100}, (_, i) => openclaw.tools.call("x", {i}))); return r.map(x => x.result.details.i)`, h)
		if !report.OK {
			t.Fatalf("failed: %v", report.Error)
		}
		var got []int
		if err := json.Unmarshal(report.Value, &got); err != nil || len(got) != 100 {
			t.Fatalf("value %s: %v", report.Value, err)
		}
		for i, n := range got {
			if i != n {
				t.Fatalf("reply %d went to request %d", n, i)
			}
		}
		if most > parallel+1 {
			t.Errorf("%d requests in flight, at most %d may be", most, parallel)
		}
		if report.CallsMade != 100 || len(report.Calls) != 100 {
			t.Errorf("counted %d calls and recorded %d, want 100", report.CallsMade, len(report.Calls))
		}
	})
}

func TestTheNumberOfRequestsIsBounded(t *testing.T) {
	eachRuntime(t, func(t *testing.T, o code.Options) {
		o.Limits.Calls = 5
		r := newRunner(t, o)
		report := run(t, r, `let n = 0; try { for (;;) { await openclaw.tools.search("x"); n++ } } catch (e) { return [n, e.code] }`, &host{})
		if string(report.Value) != `[5,"limit_exhausted"]` || report.Searches != 5 {
			t.Errorf("value %s, %d searches, error %v", report.Value, report.Searches, report.Error)
		}
	})
}

func TestContentHandles(t *testing.T) {
	// Bytes, order of keys, spaces and unknown fields must survive.
	image := tool.Content{Type: tool.TypeImage, Raw: json.RawMessage(`{ "type":"image", "mimeType":"image/png","data":"aGVsbG8=", "x-unknown": [1,  2] }`)}
	audio := tool.Binary(tool.TypeAudio, "audio/wav", []byte{1, 2, 3, 4})
	blob := tool.Content{Type: tool.TypeResource, Raw: json.RawMessage(`{"type":"resource","resource":{"uri":"file:///a","mimeType":"application/pdf","blob":"AAECAw=="}}`)}
	text := tool.Content{Type: tool.TypeResource, Raw: json.RawMessage(`{"type":"resource","resource":{"uri":"file:///b","text":"readable"}}`)}
	h := &host{call: reply(&tool.Result{Content: []tool.Content{tool.Text("t"), image, audio, blob, text}})}
	eachRuntime(t, func(t *testing.T, o code.Options) {
		r := newRunner(t, o)
		report := run(t, r, `return (await openclaw.tools.call("x")).result.content`, h)
		want := `[{"type":"text","text":"t"},{"$content":"c1","mimeType":"image/png","bytes":5},{"$content":"c2","mimeType":"audio/wav","bytes":4},{"$content":"c3","mimeType":"application/pdf","bytes":4},{"type":"resource","resource":{"uri":"file:///b","text":"readable"}}]`
		if diff := cmp.Diff(want, string(report.Value)); diff != "" {
			t.Errorf("value (-want +got):\n%s", diff)
		}
		if len(report.Content) != 3 || !bytes.Equal(report.Content[0].Raw, image.Raw) || !bytes.Equal(report.Content[1].Raw, audio.Raw) || !bytes.Equal(report.Content[2].Raw, blob.Raw) {
			t.Errorf("content is not what the tool gave: %s", report.Content)
		}
		// Only what is returned comes back, each once, in the order of the value.
		report = run(t, r, `const c = (await openclaw.tools.call("x")).result.content; return {last: c[3], first: [c[1], c[1]], forged: {"$content": "c9"}, odd: {"$content": ["c2"]}, text: ["$content", "c2x"]}`, h)
		if len(report.Content) != 2 || !bytes.Equal(report.Content[0].Raw, blob.Raw) || !bytes.Equal(report.Content[1].Raw, image.Raw) {
			t.Errorf("content %s, want the blob and the image", report.Content)
		}
	})
}

func TestLogs(t *testing.T) {
	eachRuntime(t, func(t *testing.T, o code.Options) {
		o.Limits.LogBytes = 200
		r := newRunner(t, o)
		report := run(t, r, `console.log("a", 1, null, undefined, true, 2n, Symbol("s"), {b: [1]}, () => 1, new TypeError("t"));
			console.warn("w"); console.error(); const c = {}; c.c = c; console.log(c); throw new Error("kept")`, &host{})
		want := []code.Log{
			{Level: "log", Text: `a 1 null undefined true 2 Symbol(s) {"b":[1]} [Function] TypeError: t`},
			{Level: "warn", Text: "w"}, {Level: "error", Text: ""}, {Level: "log", Text: `{"c":"[Circular]"}`},
		}
		if diff := cmp.Diff(want, report.Logs); diff != "" {
			t.Errorf("logs (-want +got):\n%s", diff)
		}
		if report.OK || report.Truncated.Logs {
			t.Errorf("report %+v", report)
		}
		report = run(t, r, `console.log("é".repeat(60)); for (let i = 0; i < 1e5; i++) console.log("é".repeat(60)); return 1`, &host{})
		total := 0
		for _, l := range report.Logs {
			total += len(l.Text) + 1
		}
		if !report.OK || !report.Truncated.Logs || total > 200 || total < 180 {
			t.Errorf("ok %v, cut %v, %d bytes kept of at most 200", report.OK, report.Truncated.Logs, total)
		}
	})
}

func TestResultIsCut(t *testing.T) {
	eachRuntime(t, func(t *testing.T, o code.Options) {
		o.Limits.ResultBytes = 1000
		r := newRunner(t, o)
		for _, body := range []string{`return "x".repeat(998)`, `return "é".repeat(499)`} {
			if report := run(t, r, body, &host{}); !report.OK || report.Truncated.ResultBytes != 0 || len(report.Value) != 1000 {
				t.Errorf("%s: ok %v, %d bytes, cut from %d", body, report.OK, len(report.Value), report.Truncated.ResultBytes)
			}
		}
		for body, whole := range map[string]int64{`return "x".repeat(999)`: 1001, `return Array(400).fill("é")`: 2001, `return "\n".repeat(5000)`: 10002} {
			report := run(t, r, body, &host{})
			var text string
			if err := json.Unmarshal(report.Value, &text); err != nil {
				t.Fatalf("%s: value is no string: %v", body, err)
			}
			if !report.OK || report.Truncated.ResultBytes != whole || len(report.Value) > 1000 || len(report.Value) < 900 {
				t.Errorf("%s: ok %v, %d bytes, cut from %d, want %d", body, report.OK, len(report.Value), report.Truncated.ResultBytes, whole)
			}
		}
	})
}

// A result of 20 MB is cut, or does not fit the engine's memory while it is
// written as JSON; it never passes, and never ends in anything else.
func TestHugeResult(t *testing.T) {
	eachRuntime(t, func(t *testing.T, o code.Options) {
		r := newRunner(t, o)
		for body, whole := range map[string]int64{`return "x".repeat(2e7)`: 20_000_002, `return Array(2e6).fill(12345678)`: 18_000_001} {
			report := run(t, r, body, &host{})
			cut := report.OK && report.Truncated.ResultBytes == whole && len(report.Value) <= 256<<10
			if !cut && (report.OK || report.Error.Kind != code.KindMemory) {
				t.Errorf("%s: ok %v, %d bytes, cut from %d, error %v", body, report.OK, len(report.Value), report.Truncated.ResultBytes, report.Error)
			}
		}
	})
}

func TestCodeTooLong(t *testing.T) {
	r := newRunner(t, code.Options{Limits: code.Limits{CodeBytes: 100}})
	report := run(t, r, "return 1 //"+strings.Repeat("x", 100), &host{})
	if report.OK || report.Error.Kind != code.KindLimit {
		t.Errorf("report %+v", report)
	}
}

func TestFailedRunListsItsCalls(t *testing.T) {
	eachRuntime(t, func(t *testing.T, o code.Options) {
		r := newRunner(t, o)
		h := &host{call: func(ctx context.Context, id string, _ json.RawMessage) (code.CallReply, error) {
			switch id {
			case "bad":
				return code.CallReply{}, &tool.Error{Code: tool.CodeFailed, Reason: "it broke"}
			case "slow":
				<-ctx.Done()
				return code.CallReply{}, ctx.Err()
			}
			return code.CallReply{Result: tool.TextResult("done")}, nil
		}}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		inner := h.call
		h.call = func(c context.Context, id string, a json.RawMessage) (code.CallReply, error) {
			if id == "slow" {
				cancel()
			}
			return inner(c, id, a)
		}
		report, err := r.Run(ctx, `await openclaw.tools.call("write", {to: "x"}); await openclaw.tools.call("bad").catch(() => {}); await openclaw.tools.call("slow")`, h)
		if err != nil {
			t.Fatal(err)
		}
		for i := range report.Calls {
			report.Calls[i].Duration = 0
		}
		want := []code.CallRecord{{ID: "write", Args: `{"to":"x"}`, Outcome: code.Succeeded}, {ID: "bad", Args: "{}", Outcome: code.Failed, Error: "it broke"}, {ID: "slow", Args: "{}", Outcome: code.Unfinished}}
		if diff := cmp.Diff(want, report.Calls); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
		if report.OK || report.Error.Kind != code.KindCancelled {
			t.Errorf("error %+v, want cancelled", report.Error)
		}
	})
}

func TestDeadline(t *testing.T) {
	eachRuntime(t, func(t *testing.T, o code.Options) {
		withTime(t, func(limit time.Duration) bool {
			o.Limits.Timeout, o.MaxChildren = limit, 1
			r := newRunner(t, o)
			var called atomic.Bool
			report := run(t, r, `console.log("kept"); await openclaw.tools.call("slow")`, &host{call: func(ctx context.Context, _ string, _ json.RawMessage) (code.CallReply, error) {
				called.Store(true)
				<-ctx.Done()
				return code.CallReply{}, ctx.Err()
			}})
			if report.OK || report.Error.Kind != code.KindTimeout || report.Error.Hint == "" {
				t.Errorf("report %+v, error %+v", report, report.Error)
			}
			if called.Load() && len(report.Logs) != 1 {
				t.Errorf("logs %+v", report.Logs)
			}
			return called.Load()
		})
	})
}

func TestPauseStopsTheClock(t *testing.T) {
	withTime(t, func(limit time.Duration) bool {
		r := newRunner(t, code.Options{Limits: code.Limits{Timeout: limit}, MaxChildren: 1})
		h := &host{call: func(ctx context.Context, id string, _ json.RawMessage) (code.CallReply, error) {
			resume := code.Pause(ctx)
			defer resume()
			// Another run gets the place meanwhile, and has its own deadline pass:
			// so more time than this run's has gone by when it ends.
			for range 2 {
				report, err := r.Run(context.WithoutCancel(t.Context()), `for (;;);`, &host{})
				if err != nil {
					return code.CallReply{}, err
				}
				if report.Error.Kind != code.KindTimeout {
					return code.CallReply{}, fmt.Errorf("the other run: %w", report.Error)
				}
			}
			return code.CallReply{Result: tool.TextResult("approved")}, nil
		}}
		report := run(t, r, `return (await openclaw.tools.call("x")).result.content[0].text`, h)
		if !report.OK && report.Error.Kind == code.KindTimeout {
			return false // a clock that never stands ends every attempt like this
		}
		if !report.OK || string(report.Value) != `"approved"` || report.Duration < 2*limit {
			t.Errorf("report %+v, error %+v", report, report.Error)
		}
		return true
	})
	code.Pause(t.Context())() // outside a run it does nothing
}

// A run that ends while its clock stands, as when a client goes away before an
// approval comes, no longer counts among those that lend their places.
func TestRunsThatEndInAPauseLendNoLonger(t *testing.T) {
	const most = 64 // runs that lend at a time
	r := newRunner(t, code.Options{MaxChildren: 1})
	for range most {
		ctx, leave := context.WithCancel(t.Context())
		var resume func()
		report, err := r.Run(ctx, `await openclaw.tools.call("x")`, &host{call: func(ctx context.Context, _ string, _ json.RawMessage) (code.CallReply, error) {
			resume = code.Pause(ctx)
			leave()
			<-ctx.Done()
			return code.CallReply{}, ctx.Err()
		}})
		if err != nil || report.Error == nil || report.Error.Kind != code.KindCancelled {
			t.Fatalf("report %+v, error %v", report, err)
		}
		resume() // later than the run's end
	}
	report := run(t, r, `return (await openclaw.tools.call("x")).result.content[0].text`, &host{call: func(ctx context.Context, _ string, _ json.RawMessage) (code.CallReply, error) {
		defer code.Pause(ctx)()
		other, err := r.Run(context.WithoutCancel(ctx), `return 1`, &host{})
		if err != nil || !other.OK {
			return code.CallReply{}, fmt.Errorf("the other run did not get the place: %+v, error %w", other, err)
		}
		return code.CallReply{Result: tool.TextResult("approved")}, nil
	}})
	if !report.OK || string(report.Value) != `"approved"` {
		t.Errorf("report %+v, error %+v", report, report.Error)
	}
}

func TestDeadlineStartsBeforeTheQueue(t *testing.T) {
	withTime(t, func(limit time.Duration) bool {
		r := newRunner(t, code.Options{Limits: code.Limits{Timeout: limit}, MaxChildren: 1})
		holding, ended := make(chan struct{}), make(chan struct{})
		began := time.Now()
		go func() { // the place stays taken until the deadline of the first run
			defer close(ended)
			_, err := r.Run(t.Context(), `await openclaw.tools.search("x"); for (;;);`, &host{search: func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
				close(holding)
				return json.RawMessage("1"), nil
			}})
			if err != nil {
				t.Error(err)
			}
		}()
		select {
		case <-holding:
		case <-ended:
			return false
		}
		headStart := time.Since(began)
		report := run(t, r, `return 1`, &host{})
		turn := time.Now().Add(report.Waited - report.Duration) // it had it then, or a moment before
		<-ended
		// The first run had a head start, so the second may just get its turn; then
		// what it waited counts.
		if report.OK && turn.Sub(began) < limit {
			t.Errorf("the run got its turn %v after the first began, within its %v: %+v", turn.Sub(began), limit, report)
		}
		if !report.OK && report.Error.Kind != code.KindTimeout {
			t.Errorf("error %+v", report.Error)
		}
		return headStart < limit/2
	})
}
