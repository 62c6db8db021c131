package call_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolsearch/toolsearch/call"
	"github.com/toolsearch/toolsearch/schema"
	"github.com/toolsearch/toolsearch/tool"
)

// target is a tool that answers as answer says, and counts its runs.
type target struct {
	runs   int
	answer func() (*tool.Result, error)
}

func (g *target) tool(name string) *tool.Tool {
	return &tool.Tool{
		ID: tool.NewID(tool.MCP, "srv", name), Source: tool.MCP, Owner: "srv", Name: name,
		Input: tool.RawSchema(`{"type":"object","properties":{"n":{"type":"number"}}}`),
		Invoker: tool.InvokerFunc(func(context.Context, tool.Call) (*tool.Result, error) {
			g.runs++
			return g.answer()
		}),
	}
}

func isError() (*tool.Result, error) {
	return &tool.Result{Content: []tool.Content{tool.Text("no such city")}, IsError: true}, nil
}

func TestRepeatSaysSoThenRefuses(t *testing.T) {
	tests := []struct {
		name   string
		args   [3]string // the same value, written in three ways
		answer func() (*tool.Result, error)
		runs   int // of the target
	}{
		{"isError", [3]string{`{"n":1,"m":"é"}`, `{"m":"\u00e9","n":1.0}`, "{ \"n\": 10e-1, \"m\":\"é\" }"}, isError, 2},
		{"error", [3]string{`{}`, ``, ` { } `}, func() (*tool.Result, error) { return nil, errors.New("boom") }, 2},
		{"invalid arguments", [3]string{`{"n":"x"}`, `{"n":"x"}`, `{"n":"x"}`}, isError, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := &target{answer: tt.answer}
			p := call.New(call.NewRepeats().Stage(), call.ValidateInput(schema.NewCache(8)))
			made := g.tool("weather")
			var texts [3]string
			var last error
			for i, args := range tt.args {
				res, err := p.Call(t.Context(), call.Request{Target: made, Args: json.RawMessage(args), Origin: call.Origin{Session: "s"}})
				if last = err; err != nil {
					texts[i] = err.Error()
				} else {
					texts[i] = res.Text()
				}
			}
			if strings.Contains(texts[0], "before") {
				t.Errorf("the first failure says %q", texts[0])
			}
			if !strings.Contains(texts[1], "failed before with the same arguments") {
				t.Errorf("the second failure does not say so: %q", texts[1])
			}
			var te *tool.Error
			if !errors.As(last, &te) || te.Code != tool.CodeLimitExhausted || te.Next == "" || !strings.Contains(te.Reason, "failed twice") {
				t.Errorf("the third call is not refused with advice: %v", last)
			}
			if g.runs != tt.runs {
				t.Errorf("the target ran %d times, want %d", g.runs, tt.runs)
			}
		})
	}
}

func TestRepeatCountsOnlyTheSameFailingCall(t *testing.T) {
	coded := func(c tool.Code) func() (*tool.Result, error) {
		return func() (*tool.Result, error) { return nil, &tool.Error{Code: c, Reason: "no"} }
	}
	origin := func(s string) call.Origin { return call.Origin{Session: s} }
	type made struct {
		tool, args string
		origin     call.Origin
		answer     func() (*tool.Result, error)
	}
	ok := func() (*tool.Result, error) { return tool.TextResult("fine"), nil }
	fail := made{"a", `{"n":1}`, origin("s"), isError}
	tests := []struct {
		name  string
		calls []made
	}{
		{"other arguments", []made{fail, fail, {"a", `{"n":2}`, origin("s"), isError}}},
		{"a number beyond a double", []made{
			{"a", `{"n":9007199254740992}`, origin("s"), isError}, {"a", `{"n":9007199254740992}`, origin("s"), isError},
			{"a", `{"n":9007199254740993}`, origin("s"), isError}}},
		{"other tool", []made{fail, fail, {"b", `{"n":1}`, origin("s"), isError}}},
		{"other session", []made{fail, fail, {"a", `{"n":1}`, origin("t"), isError}}},
		{"other caller", []made{fail, fail, {"a", `{"n":1}`, call.Origin{Session: "s", Caller: "bob"}, isError}}},
		{"other run without a session", []made{
			{"a", `{"n":1}`, call.Origin{Run: "1"}, isError}, {"a", `{"n":1}`, call.Origin{Run: "1"}, isError},
			{"a", `{"n":1}`, call.Origin{Run: "2"}, isError}}},
		{"success between", []made{fail, {"a", `{"n":1}`, origin("s"), ok}, fail, {"a", `{"n":1}`, origin("s"), ok}}},
		{"blocked", []made{{"a", `{}`, origin("s"), coded(tool.CodeBlocked)}, {"a", `{}`, origin("s"), coded(tool.CodeBlocked)}, {"a", `{}`, origin("s"), ok}}},
		{"cancelled", []made{{"a", `{}`, origin("s"), coded(tool.CodeCancelled)}, {"a", `{}`, origin("s"), coded(tool.CodeCancelled)}, {"a", `{}`, origin("s"), ok}}},
		{"down", []made{{"a", `{}`, origin("s"), coded(tool.CodeUnavailable)}, {"a", `{}`, origin("s"), coded(tool.CodeUnavailable)}, {"a", `{}`, origin("s"), ok}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := &target{}
			p := call.New(call.NewRepeats().Stage())
			for _, c := range tt.calls {
				g.answer = c.answer
				_, _ = p.Call(t.Context(), call.Request{Target: g.tool(c.tool), Args: json.RawMessage(c.args), Origin: c.origin})
			}
			if g.runs != len(tt.calls) {
				t.Errorf("%d of %d calls reached the target", g.runs, len(tt.calls))
			}
		})
	}
}

func TestRepeatForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &target{answer: isError}
		p := call.New(call.NewRepeats().Stage())
		try := func(args string) error {
			_, err := p.Call(t.Context(), call.Request{Target: g.tool("a"), Args: json.RawMessage(args)})
			return err
		}
		_, _ = try(`{}`), try(`{}`)
		if try(`{}`) == nil {
			t.Fatal("the third call is made")
		}
		time.Sleep(call.RepeatWindow)
		if err := try(`{}`); err != nil {
			t.Errorf("the call is refused after the window: %v", err)
		}
		// Many other failures push the oldest out.
		_ = try(`{}`)
		for i := range 64 {
			_ = try(fmt.Sprintf(`{"n":%d}`, i))
		}
		if err := try(`{}`); err != nil {
			t.Errorf("a session remembers more than its bound: %v", err)
		}
	})
}

func TestCanonical(t *testing.T) {
	same := [][]string{
		{`{"b":1,"a":[true,null]}`, "{ \"a\" : [ true , null ] ,\n\"b\":1.0 }", `{"a":[true,null],"b":10e-1}`},
		{`"é\n/"`, `"\u00e9\u000a\/"`, `"\u00E9\n/"`},
		{`"😀"`, `"\ud83d\ude00"`, `"\uD83D\uDE00"`},
		{`0`, `-0`, `0.000`, `0e99`},
		{`1200`, `12e2`, `1.2E+3`, `1200.0`},
		{`0.05`, `5e-2`, `0.50e-1`},
		{`"\b\f\t\"\\"`, `"\u0008\u000c\u0009\u0022\u005c"`},
		{`{"":{}}`, `{ "" : { } }`},
	}
	for _, group := range same {
		first, err := call.Canonical(json.RawMessage(group[0]))
		if err != nil {
			t.Fatal(err)
		}
		for _, other := range group[1:] {
			if got, err := call.Canonical(json.RawMessage(other)); err != nil || string(got) != string(first) {
				t.Errorf("%s gives %s, and %s gives %s (%v); they are one value", group[0], first, other, got, err)
			}
		}
	}
	different := [][2]string{
		{`9007199254740993`, `9007199254740992`},
		{`1e400`, `1e401`},
		{`1`, `"1"`},
		{`{"a":1,"a":2}`, `{"a":2,"a":1}`},
		{`"\ud800"`, `"\ud801"`},
		{`"\ud800"`, `"\\ud800"`},
		{`"\ud83d\ud83d\ude00"`, `"\ud83d😀 "`},
		{`[1,2]`, `[2,1]`},
		{`{"a":null}`, `{}`},
		{`1e99999999999`, `1e99999999998`},
		{`-1`, `1`},
	}
	for _, pair := range different {
		a, errA := call.DigestOf(json.RawMessage(pair[0]))
		b, errB := call.DigestOf(json.RawMessage(pair[1]))
		if errA != nil || errB != nil || a == b {
			t.Errorf("%s and %s have one digest (%v, %v)", pair[0], pair[1], errA, errB)
		}
	}
	for _, bad := range []string{``, `{`, `{"a":}`, `1 2`, `nul`} {
		if _, err := call.Canonical(json.RawMessage(bad)); err == nil {
			t.Errorf("%q has a canonical form", bad)
		}
	}
}

// FuzzCanonical holds the form to what it is for: it is valid JSON, its own
// canonical form, and the same value as far as encoding/json can tell.
func FuzzCanonical(f *testing.F) {
	for _, seed := range []string{`{"b":[1.50,-0e1,{"x":"\u00e9\ud800"}],"a":null}`, `"\ud83d\ude00"`, `12345678901234567890.000e-5`, `{"a":1,"a":2}`, `1e-40`, "\"\xff\""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		out, err := call.Canonical(json.RawMessage(in))
		if err != nil {
			if json.Valid([]byte(in)) {
				t.Fatalf("valid JSON is refused: %v", err)
			}
			return
		}
		again, err := call.Canonical(out)
		if err != nil || string(again) != string(out) {
			t.Fatalf("%q became %q and then %q (%v)", in, out, again, err)
		}
		var a, b any
		if json.Unmarshal([]byte(in), &a) != nil || json.Unmarshal(out, &b) != nil {
			return // a number that no double holds
		}
		x, _ := json.Marshal(a)
		y, _ := json.Marshal(b)
		if string(x) != string(y) && !strings.Contains(in, "-0") && !repeated(in) {
			t.Fatalf("%q is %s, its canonical form %s", in, x, y)
		}
	})
}

// repeated reports JSON in which the order of equal names may decide what
// encoding/json merges.
func repeated(in string) bool {
	dec := json.NewDecoder(strings.NewReader(in))
	n := 0
	for {
		tok, err := dec.Token()
		if err != nil {
			return n > 1
		}
		if _, ok := tok.(string); ok {
			n++
		}
	}
}

// BenchmarkRepeats compares a call through the stage with one past it.
func BenchmarkRepeats(b *testing.B) {
	g := &target{answer: func() (*tool.Result, error) { return tool.TextResult("ok"), nil }}
	made := g.tool("a")
	r := call.Request{Target: made, Args: json.RawMessage(`{"n":1,"city":"Bern","days":[1,2,3]}`), Origin: call.Origin{Session: "s"}}
	repeats := call.NewRepeats()
	bare, staged := call.New(), call.New(repeats.Stage())
	run := func(b *testing.B, p *call.Pipeline) time.Duration {
		start := time.Now()
		for range 1000 {
			if _, err := p.Call(b.Context(), r); err != nil {
				b.Fatal(err)
			}
		}
		return time.Since(start)
	}
	var with, without time.Duration
	for b.Loop() {
		without += run(b, bare)
		with += run(b, staged)
	}
	b.ReportMetric(float64(with)/float64(without), "×bare")
	b.ReportMetric(float64(with-without)/float64(b.N)/1000, "ns/stage")
}

// Each level that is out of order is copied: the depth is bounded.
func TestCanonicalRefusesDeepNesting(t *testing.T) {
	nested := func(n int) json.RawMessage {
		return json.RawMessage(strings.Repeat(`{"b":1,"a":`, n) + `"[{\"[{"` + strings.Repeat("}", n))
	}
	if _, err := call.Canonical(nested(128)); err != nil {
		t.Errorf("128 levels: %v", err)
	}
	if _, err := call.Canonical(nested(129)); err == nil {
		t.Error("129 levels were accepted")
	}
}
