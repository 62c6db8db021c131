package code_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/toolsearch/toolsearch/code"
	"github.com/toolsearch/toolsearch/tool"
)

func TestNewNeedsMain(t *testing.T) {
	// This test binary calls child.Main, so that only the options can be wrong.
	if !code.Enabled() {
		t.Fatal("Enabled is false after child.Main")
	}
	if _, err := code.New(t.Context(), code.Options{Runtime: "perl"}); err == nil || !strings.Contains(err.Error(), `unknown runtime "perl"`) {
		t.Errorf("error %v", err)
	}
	if _, err := code.New(t.Context(), code.Options{Executable: "/nowhere/toolsearch"}); err == nil {
		t.Error("a missing binary was accepted")
	}
	if _, err := code.New(t.Context(), code.Options{Runtime: code.RuntimeNode, NodePath: "/nowhere/node"}); err == nil {
		t.Error("a missing node was accepted")
	}
}

func TestOldNodeIsRefused(t *testing.T) {
	old := filepath.Join(t.TempDir(), "node")
	if err := os.WriteFile(old, []byte("#!/bin/sh\necho v24.1.0\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	_, err := code.New(t.Context(), code.Options{Runtime: code.RuntimeNode, NodePath: old})
	if !errors.Is(err, code.ErrNodeTooOld) {
		t.Errorf("error %v, want ErrNodeTooOld", err)
	}
}

func TestRunsAtOnce(t *testing.T) {
	r := newRunner(t, code.Options{MaxChildren: 3, Warm: 2})
	var running, most atomic.Int32
	h := &host{call: func(_ context.Context, _ string, args json.RawMessage) (code.CallReply, error) {
		n := running.Add(1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		runtime.Gosched()
		running.Add(-1)
		return code.CallReply{Result: &tool.Result{Details: args}}, nil
	}}
	var wg sync.WaitGroup
	for range 30 {
		wg.Go(func() {
			report, err := r.Run(t.Context(), `return (await openclaw.tools.call("x", {a: 1})).result.details.a`, h)
			if err != nil || string(report.Value) != "1" {
				t.Errorf("value %v, error %v", report, err)
			}
		})
	}
	wg.Wait()
	if n := most.Load(); n > 3 {
		t.Errorf("%d bodies at once, at most 3 may be", n)
	}
}

func TestCloseEndsRuns(t *testing.T) {
	r := newRunner(t, code.Options{MaxChildren: 1})
	running := make(chan struct{})
	ended := make(chan error, 2)
	go func() {
		_, err := r.Run(t.Context(), `await openclaw.tools.search("x"); for (;;);`, &host{search: func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
			close(running)
			return json.RawMessage("1"), nil
		}})
		ended <- err
	}()
	<-running
	go func() { // in the queue, or after the end
		_, err := r.Run(t.Context(), `return 1`, &host{})
		ended <- err
	}()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := <-ended; err == nil {
			t.Error("a run ended well although the runner was closed")
		}
	}
	if _, err := r.Run(t.Context(), "return 1", &host{}); err == nil {
		t.Error("a closed runner ran")
	}
	if err := r.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
}

// TestBrokenPool has children that die while they wait, or as they are handed
// out. Neither may hang, and a body is never run twice.
func TestBrokenPool(t *testing.T) {
	for _, how := range []string{"idle-crash", "crash-before-start"} {
		t.Run(how, func(t *testing.T) {
			r := newRunner(t, code.Options{Executable: impostor(t, "fake-"+how), Warm: 2})
			for range 3 {
				if report, err := r.Run(t.Context(), "return 1", &host{}); err == nil {
					t.Errorf("report %+v, want an error: no child can take the code", report)
				}
			}
		})
	}
}

// TestBinaryReplaced replaces the program's file while it runs; children go on
// being made from the program that runs.
func TestBinaryReplaced(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "program")
	copyFile(t, executable, path)
	parent := startParent(t, path, nil)
	defer parent.kill()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("#!/bin/sh\necho replaced\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	// Its next line says whether a second body ran in a new child.
	parent.ask("again")
	if line := parent.line(t); line != "running" {
		t.Errorf("it said %q", line)
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	in, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestHostThatIgnoresItsContext(t *testing.T) {
	r := newRunner(t, code.Options{})
	release := make(chan struct{})
	defer close(release)
	ctx, cancel := context.WithCancel(t.Context())
	report, err := r.Run(ctx, `await openclaw.tools.call("x")`, &host{call: func(context.Context, string, json.RawMessage) (code.CallReply, error) {
		cancel()
		<-release
		return code.CallReply{Result: tool.TextResult("late")}, nil
	}})
	if err != nil || report.Error.Kind != code.KindCancelled || report.Calls[0].Outcome != code.Unfinished {
		t.Errorf("report %+v, error %v", report, err)
	}
}
