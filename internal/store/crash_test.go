package store_test

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/toolsearch/toolsearch/internal/store"
)

func journals(t *testing.T, dir, suffix string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "journals", "*"+suffix))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestNothingAcknowledgedIsLostWhenTheProcessIsKilled(t *testing.T) {
	dir := t.TempDir()
	for round, after := range []int{1, 37, 150, 1200, 3500} {
		name := fmt.Sprintf("round-%d", round)
		ids := killAfter(t, dir, name, after)
		if len(ids) < after {
			t.Fatalf("%d acknowledgements, want at least %d", len(ids), after)
		}
		s := open(t, store.Options{Dir: dir})
		complete(t, recorded(t, s, name), ids)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if left := journals(t, dir, ".journal"); len(left) > 0 {
			t.Errorf("journals are left: %q", left)
		}
	}
}

// heldBack kills a child whose records could not reach the tables, because the
// test held the database, and returns its journal and what it acknowledged.
func heldBack(t *testing.T, dir string, n int) (file string, ids []string) {
	t.Helper()
	if err := open(t, store.Options{Dir: dir}).Close(); err != nil { // make the database
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "toolsearch.db")+"?_txlock=immediate&_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	// The child takes its journal's number first: its first record.
	var hold *sql.Tx
	ids = killWhen(t, dir, "held", n, func() {
		if hold == nil {
			if hold, err = db.Begin(); err != nil {
				t.Fatal(err)
			}
		}
	})
	if err := hold.Rollback(); err != nil {
		t.Fatal(err)
	}
	found := journals(t, dir, ".journal")
	if len(found) != 1 {
		t.Fatalf("journals are %q, want one", found)
	}
	return found[0], ids
}

func TestTornAndDamagedJournals(t *testing.T) {
	for _, c := range []struct {
		name    string
		spoil   func(raw []byte) []byte
		all     bool // every acknowledged call is there
		damaged bool // the file is kept
	}{
		{"whole", func(raw []byte) []byte { return raw }, true, false},
		{"a torn head at the end", func(raw []byte) []byte { return append(raw, 9, 0, 0) }, true, false},
		{"a torn body at the end", func(raw []byte) []byte { return append(raw, 200, 0, 0, 0, 1, 2, 3, 4, 5, 6) }, true, false},
		{"garbage at the end", func(raw []byte) []byte { return append(raw, []byte(strings.Repeat("\xff", 64))...) }, true, true},
		{"a flipped bit in the last record", func(raw []byte) []byte { raw[len(raw)-1] ^= 1; return raw }, false, true},
		{"empty", func([]byte) []byte { return nil }, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			file, ids := heldBack(t, dir, 40)
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, c.spoil(raw), 0o600); err != nil {
				t.Fatal(err)
			}
			s := open(t, store.Options{Dir: dir})
			if c.all {
				complete(t, recorded(t, s, "held"), ids)
			}
			if n := len(journals(t, dir, ".damaged")); (n == 1) != c.damaged {
				t.Errorf("%d damaged journals are kept, want damaged = %v", n, c.damaged)
			}
			if left := journals(t, dir, ".journal"); len(left) > 0 {
				t.Errorf("journals are left: %q", left)
			}
		})
	}
}

func TestSeveralProcessesShareTheStore(t *testing.T) {
	dir := t.TempDir()
	s := open(t, store.Options{Dir: dir})
	const processes, n = 3, 400
	outs := make([][]byte, processes)
	errs := make([]error, processes)
	var wg sync.WaitGroup
	for i := range processes {
		cmd := child(t, "write", dir, fmt.Sprintf("%s=%d", childN, n), fmt.Sprintf("%s=p%d", childName, i))
		wg.Go(func() { outs[i], errs[i] = cmd.Output() })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatalf("%v: %s", err, outs)
	}
	for i := range processes {
		ids := acks(outs[i])
		if len(ids) != n {
			t.Errorf("process %d acknowledged %d calls, want %d", i, len(ids), n)
		}
		complete(t, recorded(t, s, fmt.Sprintf("p%d", i)), ids)
	}
}

func TestWriteWhileListing(t *testing.T) {
	n := 10_000
	if testing.Short() {
		n = 1000
	}
	s := open(t, store.Options{})
	writeWhileListing(t, s, n)
	total := 0
	for _, session := range []string{"s0", "s1", "s2", "s3"} {
		for id, c := range recorded(t, s, session) {
			if total++; c.Status != "ok" {
				t.Errorf("call %s ended %q", id, c.Status)
			}
		}
	}
	if total != n {
		t.Errorf("%d calls are recorded, want %d", total, n)
	}
}
