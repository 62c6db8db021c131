package code_test

import (
	"context"
	"encoding/json"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/toolsearch/toolsearch/code"
	"github.com/toolsearch/toolsearch/tool"
)

// TestNothingIsLeftBehind makes many runs, half of which are killed at their
// deadline, and then looks for what stayed: goroutines, descriptors, children,
// memory. In kill mode a forbidden system call would show as a crash.
func TestNothingIsLeftBehind(t *testing.T) {
	runs := 1000
	if testing.Short() {
		runs = 100
	}
	quick := []string{
		`return 1`,
		`console.log(new Date().toString()); return [Math.random() < 1, new Date().getTimezoneOffset()]`,
		`const x: number = 1; return x`,
		`return (await Promise.all([1, 2, 3].map(n => openclaw.tools.call("x", {n})))).length`,
		`const a = []; for (let i = 0; i < 2e5; i++) a.push({i}); return a.length`,
		`throw new Error("x")`,
		`return JSON.parse(JSON.stringify({s: "x".repeat(1e6)})).s.length`,
	}
	endless := []string{
		`for (;;);`,
		`await openclaw.tools.call("slow")`,
		`for (;;) await openclaw.tools.search("x")`,
	}
	h := &host{call: func(ctx context.Context, id string, args json.RawMessage) (code.CallReply, error) {
		if id == "slow" {
			<-ctx.Done()
			return code.CallReply{}, ctx.Err()
		}
		return code.CallReply{Result: tool.TextResult(string(args))}, nil
	}}
	ignore := goleak.IgnoreCurrent()
	files, memory := descriptors(t), heap()

	long, err := code.New(t.Context(), code.Options{Executable: executable, Limits: code.Limits{Timeout: 60 * time.Second}})
	if err != nil {
		t.Fatal(err)
	}
	short, err := code.New(t.Context(), code.Options{Executable: executable, Limits: code.Limits{Timeout: 50 * time.Millisecond}})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range runs / 2 {
			report, err := long.Run(t.Context(), quick[i%len(quick)], h)
			if err != nil {
				t.Errorf("run: %v", err)
			} else if !report.OK && report.Error.Kind != code.KindThrown {
				t.Errorf("%s: %v", quick[i%len(quick)], report.Error)
			}
		}
	})
	wg.Go(func() {
		for i := range runs / 2 {
			report, err := short.Run(t.Context(), endless[i%len(endless)], h)
			if err != nil {
				t.Errorf("run: %v", err)
			} else if report.OK || report.Error.Kind != code.KindTimeout && report.Error.Code != "limit_exhausted" {
				t.Errorf("%s: %v", endless[i%len(endless)], report.Error)
			}
		}
	})
	wg.Wait()
	for _, r := range []*code.Runner{long, short} {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	goleak.VerifyNone(t, ignore)
	if n := descriptors(t); n > files {
		t.Errorf("%d descriptors, %d before", n, files)
	}
	if n := heap(); n > memory+16<<20 {
		t.Errorf("%d bytes of heap, %d before", n, memory)
	}
	leftChildren(t)
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// descriptors counts what this process has open; where that cannot be asked it
// is 0.
func descriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	n := 0
	for _, e := range entries {
		if target, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && !strings.HasPrefix(target, "/proc/") {
			n++
		}
	}
	return n
}
