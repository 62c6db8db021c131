package code_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolsearch/toolsearch/code"
	"github.com/toolsearch/toolsearch/tool"
)

// impostor returns the test child under another name, at which it misbehaves.
func impostor(t testing.TB, name string) string {
	t.Helper()
	path := filepath.Join(filepath.Dir(executable), name)
	if _, err := os.Stat(path); err == nil {
		return path
	}
	if err := os.Link(executable, path); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestHostileChild(t *testing.T) {
	cases := []struct {
		how  string
		kind code.Kind // "" for a good run
		text string    // part of the message
	}{
		{"huge", code.KindCrashed, "ended"},
		{"over", code.KindCrashed, "ended"},
		{"truncated", code.KindCrashed, "ended"},
		{"half-header", code.KindCrashed, "ended"},
		{"stalled", code.KindTimeout, ""},
		{"invalid-json", code.KindCrashed, "not valid JSON"},
		{"deep-json", code.KindCrashed, "too deep"},
		{"unknown", code.KindCrashed, "unknown frame"},
		{"run-back", code.KindCrashed, "unknown frame"},
		{"replayed", code.KindCrashed, "frame id"},
		{"backwards", code.KindCrashed, "frame id"},
		{"after-result", "", ""},
		{"in-flight", code.KindCrashed, "in flight"},
		{"flood", code.KindCrashed, "in flight"},
		{"no-id", code.KindCrashed, "not a string"},
		{"no-list", code.KindCrashed, "not a list"},
		{"started-twice", code.KindCrashed, "twice"},
		{"early", code.KindCrashed, "before"},
		{"call-before-start", code.KindCrashed, "before it had the code"},
		{"big-result", code.KindCrashed, "at most"},
		{"empty-result", code.KindCrashed, "not valid"},
		{"bad-level", code.KindCrashed, "level"},
		{"big-log", code.KindCrashed, "after it was full"},
		{"spills", code.KindCrashed, "exit status 7"},
		{"memory", code.KindMemory, "memory limit"},
	}
	for _, c := range cases {
		t.Run(c.how, func(t *testing.T) {
			t.Parallel()
			limits := code.Limits{}
			if c.kind == code.KindTimeout || c.how == "early" {
				limits.Timeout = 300 * time.Millisecond
			}
			r := newRunner(t, code.Options{Executable: impostor(t, "fake-"+c.how), Warm: -1, Limits: limits})
			var called atomic.Bool
			report, err := r.Run(t.Context(), "return 1", &host{call: func(ctx context.Context, _ string, _ json.RawMessage) (code.CallReply, error) {
				called.Store(true)
				<-ctx.Done()
				return code.CallReply{}, ctx.Err()
			}})
			if c.how == "early" {
				if err == nil && report.OK {
					t.Error("it got a run")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if c.kind == "" && !report.OK || c.kind != "" && (report.OK || report.Error.Kind != c.kind || !strings.Contains(report.Error.Message, c.text)) {
				t.Errorf("report %+v, error %v; want %q %q", report, report.Error, c.kind, c.text)
			}
			if called.Load() && (c.how == "after-result" || c.how == "call-before-start" || c.how == "no-id") {
				t.Error("the call reached the host")
			}
			total := 0
			for _, l := range report.Logs {
				total += len(l.Text)
			}
			if c.how == "big-log" && (!report.Truncated.Logs || total > 64<<10) {
				t.Errorf("%d bytes of logs kept, cut %v", total, report.Truncated.Logs)
			}
			if report.Error != nil && strings.Contains(report.Error.Message, "secret") {
				t.Error("stderr reached the model")
			}
		})
	}
}

func TestNewRefusesABadChild(t *testing.T) {
	for how, text := range map[string]string{
		"exit":       "before it was ready",
		"noise":      "longer than the limit",
		"version":    "version 99",
		"unconfined": "not confined",
		"notready":   "begin with ready",
	} {
		t.Run(how, func(t *testing.T) {
			r, err := code.New(t.Context(), code.Options{Executable: impostor(t, "fake-"+how)})
			if err == nil {
				_ = r.Close()
				t.Fatal("New accepted it")
			}
			if !strings.Contains(err.Error(), text) {
				t.Errorf("error %q, want one that says %q", err, text)
			}
		})
	}
}

// TestDeafChild floods a child that never reads: the run ends at its deadline,
// although every reply waits in a full pipe.
func TestDeafChild(t *testing.T) {
	big, err := json.Marshal(strings.Repeat("x", 3<<20))
	if err != nil {
		t.Fatal(err)
	}
	withTime(t, func(limit time.Duration) bool {
		r := newRunner(t, code.Options{Executable: impostor(t, "fake-deaf"), Warm: -1, Limits: code.Limits{Timeout: limit}})
		report := run(t, r, "return 1", &host{search: func(context.Context, string, json.RawMessage) (json.RawMessage, error) { return big, nil }})
		if report.OK || report.Error.Kind != code.KindTimeout {
			t.Errorf("report %+v, error %v", report, report.Error)
		}
		return report.Searches == 16
	})
}

// TestTwoFullPipes fills both pipes at once: large arguments out, large replies in.
func TestTwoFullPipes(t *testing.T) {
	eachRuntime(t, func(t *testing.T, o code.Options) {
		o.Limits.MemoryBytes = 256 << 20
		r := newRunner(t, o)
		answer := strings.Repeat("y", 1<<20)
		report := run(t, r, `const big = "x".repeat(900000);
			const r = await Promise.all(Array.from({length: 40}, (_, i) => openclaw.tools.call("x", {i, big})));
			return r.map(x => x.result.content[0].text.length).reduce((a, b) => a + b)`,
			&host{call: func(_ context.Context, _ string, args json.RawMessage) (code.CallReply, error) {
				if len(args) < 900000 {
					return code.CallReply{}, &tool.Error{Code: tool.CodeFailed, Reason: "the arguments were cut"}
				}
				return code.CallReply{Result: tool.TextResult(answer)}, nil
			}})
		if !report.OK || string(report.Value) != "41943040" {
			t.Errorf("value %s, error %v", report.Value, report.Error)
		}
	})
}
