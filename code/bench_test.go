package code_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/toolsearch/toolsearch/code"
	"github.com/toolsearch/toolsearch/code/internal/wire"
)

func median(d []time.Duration) float64 {
	slices.Sort(d)
	return float64(d[len(d)/2]) / float64(time.Millisecond)
}

// firstStatement returns the time from Run's call to the host's hearing of the
// body's first statement.
func firstStatement(b *testing.B, r *code.Runner) time.Duration {
	b.Helper()
	var heard time.Duration
	began := time.Now()
	report, err := r.Run(b.Context(), `await openclaw.tools.search("first")`, &host{search: func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
		heard = time.Since(began)
		return json.RawMessage("null"), nil
	}})
	if err != nil || !report.OK {
		b.Fatalf("report %+v, error %v", report, err)
	}
	return heard
}

// pipes is a child that answers every frame with itself.
type pipes struct {
	cmd     *exec.Cmd
	in, out *os.File
}

func startEcho(b *testing.B) *pipes {
	b.Helper()
	childIn, in, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	out, childOut, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command(executable, "echo")
	cmd.Env = []string{}
	wire.Attach(cmd, childIn, childOut)
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	childIn.Close()
	childOut.Close()
	return &pipes{cmd, in, out}
}

func (p *pipes) round(b *testing.B, payload string) {
	if err := wire.Write(p.in, wire.Frame{Type: wire.Search, ID: 1, Payload: []byte(payload)}); err != nil {
		b.Fatal(err)
	}
	if _, err := wire.Read(p.out, wire.MaxToParent); err != nil {
		b.Fatal(err)
	}
}

func (p *pipes) close() {
	p.in.Close()
	p.out.Close()
	_ = p.cmd.Wait()
}

// BenchmarkStart compares, in one run and interleaved, how long it takes until a
// body's first statement is heard of: in a waiting child, in a new one, in a new
// node behind the same lockdown; and until an empty child of the same binary
// answers.
func BenchmarkStart(b *testing.B) {
	warm := newRunner(b, code.Options{Warm: 1})
	cold := newRunner(b, code.Options{Warm: -1})
	firstStatement(b, cold) // the child that New made
	var node *code.Runner
	if path := findNode(); path != "" {
		node = newRunner(b, code.Options{Runtime: code.RuntimeNode, NodePath: path, Warm: -1})
		firstStatement(b, node)
	} else {
		b.Log("no node of version 25 or later in PATH or TOOLSEARCH_NODE: not compared")
	}
	for range 2 { // New keeps one child; the pool makes another only when that is taken
		firstStatement(b, warm)
	}
	quiet := func() {
		for warm.Idle() < 1 {
			time.Sleep(time.Millisecond)
		}
		time.Sleep(10 * time.Millisecond) // children that were killed are gone
	}
	var warms, colds, empties, nodes []time.Duration
	for b.Loop() {
		quiet()
		warms = append(warms, firstStatement(b, warm))
		quiet()
		colds = append(colds, firstStatement(b, cold))
		quiet()
		began := time.Now()
		p := startEcho(b)
		p.round(b, "[]")
		empties = append(empties, time.Since(began))
		p.close()
		if node != nil {
			quiet()
			nodes = append(nodes, firstStatement(b, node))
		}
	}
	b.ReportMetric(median(warms), "warm-ms")
	b.ReportMetric(median(colds), "cold-ms")
	b.ReportMetric(median(empties), "empty-ms")
	b.ReportMetric(median(colds)/median(empties), "cold/empty")
	if node != nil {
		b.ReportMetric(median(nodes), "node-cold-ms")
		b.ReportMetric(median(nodes)/median(colds), "node/cold")
		b.ReportMetric(median(nodes)/median(warms), "node/warm")
	}
	b.ReportMetric(0, "ns/op")
}

// BenchmarkBridge compares 1,000 requests of a body, one after the other, with as
// many of an empty child that only waits for each reply, behind the same runner;
// and with bare round trips over two pipes, which no runner looks at.
func BenchmarkBridge(b *testing.B) {
	// No child is made for a next run meanwhile: that is not a request's cost.
	r := newRunner(b, code.Options{Warm: -1})
	empty := newRunner(b, code.Options{Executable: impostor(b, "fake-requests"), Warm: -1})
	p := startEcho(b)
	defer p.close()
	var bridge, echo, bare []time.Duration
	for b.Loop() {
		bridge = append(bridge, thousand(b, r))
		echo = append(echo, thousand(b, empty))
		began := time.Now()
		for range 999 {
			p.round(b, `["x",null]`)
		}
		bare = append(bare, time.Since(began))
	}
	b.ReportMetric(median(bridge), "bridge-µs/req")
	b.ReportMetric(median(echo), "empty-µs/req")
	b.ReportMetric(median(bare), "pipe-µs/req")
	b.ReportMetric(median(bridge)/median(echo), "bridge/empty")
	b.ReportMetric(0, "ns/op")
}

// thousand returns the time from the first to the last of 1,000 requests.
func thousand(b *testing.B, r *code.Runner) time.Duration {
	b.Helper()
	var first, last time.Time
	n := 0
	report := run(b, r, `for (let i = 0; i < 1000; i++) await openclaw.tools.search("x")`, &host{search: func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
		last = time.Now()
		if n == 0 {
			first = last
		}
		n++
		return json.RawMessage("[]"), nil
	}})
	if !report.OK || n != 1000 {
		b.Fatalf("%d requests, error %v", n, report.Error)
	}
	return last.Sub(first)
}
