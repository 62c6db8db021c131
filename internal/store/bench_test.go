package store_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/toolsearch/toolsearch/call"
	"github.com/toolsearch/toolsearch/internal/store"
	"github.com/toolsearch/toolsearch/transcript"
)

var benchArgs = json.RawMessage(`{"path":"docs/architecture.md","query":"how does a request flow","limit":20,"flags":["a","b"],"nested":{"deep":{"note":"nothing secret here"}}}`)

// median runs f n times and returns the median time of one run.
func median(n int, f func()) time.Duration {
	took := make([]time.Duration, n)
	for i := range took {
		start := time.Now()
		f()
		took[i] = time.Since(start)
	}
	slices.Sort(took)
	return took[n/2]
}

// BenchmarkStage measures what the transcript adds to one call of an
// in-process tool, and compares it with a SQLite transaction per record.
func BenchmarkStage(b *testing.B) {
	s := open(b, store.Options{})
	tr, err := transcript.New(transcript.Config{Recorder: s, Counter: s})
	if err != nil {
		b.Fatal(err)
	}
	ctx := context.Background()
	request := call.Request{Target: echoTool(), Args: benchArgs, Origin: call.Origin{Session: "s", Run: "r"}}
	run := func(p *call.Pipeline) func() {
		return func() {
			if _, err := p.Call(ctx, request); err != nil {
				b.Fatal(err)
			}
		}
	}
	n := max(b.N, 100)
	bare := median(n, run(call.New()))
	recorded := median(n, run(call.New(tr.Stage())))
	lone := make([]time.Duration, min(n, 300)) // each finds the queue empty and the writer asleep
	for i := range lone {
		if err := s.Flush(ctx); err != nil {
			b.Fatal(err)
		}
		lone[i] = median(1, run(call.New(tr.Stage())))
	}
	slices.Sort(lone)
	direct := median(min(n, 2000), committed(b))
	b.ReportMetric(float64(bare.Nanoseconds())/1e3, "bare-µs")
	b.ReportMetric(float64(recorded.Nanoseconds())/1e3, "recorded-µs")
	b.ReportMetric(float64((recorded-bare).Nanoseconds())/1e3, "added-µs")
	b.ReportMetric(float64(lone[len(lone)/2].Nanoseconds())/1e3, "lone-µs")
	b.ReportMetric(float64(direct.Nanoseconds())/1e3, "commit-per-record-µs")
	b.ReportMetric(float64(direct)/float64(max(recorded-bare, 1)), "commit/journal")
}

// committed is the alternative: an INSERT and an UPDATE, each a transaction.
func committed(b *testing.B) func() {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(b.TempDir(), "x.db")+"?_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)&_txlock=immediate")
	if err != nil {
		b.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	b.Cleanup(func() { _ = db.Close() })
	if _, err := db.Exec(`CREATE TABLE calls (id INTEGER PRIMARY KEY, run INTEGER, target TEXT, args BLOB, started INTEGER, status TEXT, result BLOB);
		CREATE INDEX a ON calls (run); CREATE INDEX b ON calls (started)`); err != nil {
		b.Fatal(err)
	}
	insert, err := db.Prepare(`INSERT INTO calls (id, run, target, args, started) VALUES (?, ?, ?, ?, ?)`)
	if err != nil {
		b.Fatal(err)
	}
	update, err := db.Prepare(`UPDATE calls SET status = ?, result = ? WHERE id = ?`)
	if err != nil {
		b.Fatal(err)
	}
	i := 0
	return func() {
		i++
		if _, err := insert.Exec(i, 1, "openclaw:core:echo", []byte(benchArgs), time.Now().UnixNano()); err != nil {
			b.Fatal(err)
		}
		if _, err := update.Exec("ok", []byte(benchArgs), i); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkWriteWhileListing writes 10,000 calls while four readers list.
func BenchmarkWriteWhileListing(b *testing.B) {
	for b.Loop() {
		start := time.Now()
		lists := writeWhileListing(b, open(b, store.Options{}), 10_000)
		b.ReportMetric(10_000/time.Since(start).Seconds(), "calls/s")
		b.ReportMetric(float64(lists), "lists")
	}
}

// writeWhileListing writes n calls from four goroutines while four others list
// sessions, and returns how many lists there were.
func writeWhileListing(t testing.TB, s *store.Store, n int) (lists int) {
	t.Helper()
	tr, err := transcript.New(transcript.Config{Recorder: s, Counter: s})
	if err != nil {
		t.Fatal(err)
	}
	pipeline := call.New(tr.Stage())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var reading, writing sync.WaitGroup
	var counts [4]int
	for i := range counts {
		reading.Go(func() {
			for ctx.Err() == nil {
				if _, err := s.Sessions(ctx, store.Page{Limit: 50}); err != nil && ctx.Err() == nil {
					t.Errorf("list: %v", err)
					return
				}
				counts[i]++
			}
		})
	}
	sessions := []string{"s0", "s1", "s2", "s3"}
	for w, session := range sessions {
		writing.Go(func() {
			for i := w; i < n; i += len(sessions) {
				_, err := pipeline.Call(context.Background(), call.Request{Target: echoTool(), Args: benchArgs, Origin: call.Origin{Session: session, Run: "r"}})
				if err != nil {
					t.Errorf("call: %v", err)
					return
				}
			}
		})
	}
	writing.Wait()
	cancel()
	reading.Wait()
	return counts[0] + counts[1] + counts[2] + counts[3]
}
