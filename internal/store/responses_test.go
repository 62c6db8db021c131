package store_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/toolsearch/toolsearch/internal/store"
)

func TestResponses(t *testing.T) {
	now := time.Now()
	s := open(t, store.Options{Now: func() time.Time { return now }, MaxBytes: 64 << 20})
	ctx := t.Context()
	put := func(caller, id string, size int, lives time.Duration) {
		t.Helper()
		now = now.Add(time.Second)
		if err := s.PutResponse(ctx, store.Response{Caller: caller, ID: id, Body: bytes.Repeat([]byte("x"), size), Expires: now.Add(lives)}); err != nil {
			t.Fatal(err)
		}
	}
	kept := func(caller, id string) bool {
		t.Helper()
		r, err := s.Response(ctx, caller, id)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			t.Fatal(err)
		}
		if err == nil && (r.Caller != caller || r.ID != id || len(r.Body) == 0 || !r.Expires.After(now)) {
			t.Errorf("%s of %s is read as %+v", id, caller, r)
		}
		return err == nil
	}
	put("alice", "r1", 10, time.Hour)
	put("bob", "r2", 10, 5*time.Hour)
	if !kept("alice", "r1") || kept("bob", "r1") || kept("alice", "r2") {
		t.Error("a response is not its caller's alone")
	}
	now = now.Add(2 * time.Hour)
	if kept("alice", "r1") || !kept("bob", "r2") {
		t.Error("a response outlives its time, or does not live so long")
	}
	now = now.Add(-2 * time.Hour)
	if err := s.PutResponse(ctx, store.Response{Caller: "alice", ID: "large", Body: make([]byte, 8<<20+1), Expires: now.Add(time.Hour)}); !errors.Is(err, store.ErrLimit) {
		t.Errorf("too large a response: %v", err)
	}
	// Six of 2 MiB are more than an eighth of 64 MiB. Two callers have half of it
	// each, and the one who writes much loses its own oldest.
	for i := range 6 {
		put("alice", fmt.Sprint("a", i), 2<<20, time.Hour)
	}
	for id, want := range map[string]bool{"a0": false, "a3": false, "a4": true, "a5": true} {
		if kept("alice", id) != want {
			t.Errorf("%s is kept: %v", id, !want)
		}
	}
	if !kept("bob", "r2") {
		t.Error("alice has pushed out what bob keeps")
	}
	// What has expired goes with the next one, also from the disk.
	now = now.Add(24 * time.Hour)
	put("alice", "last", 10, time.Hour)
	now = now.Add(-24 * time.Hour) // they would be found if they were there
	if kept("alice", "a5") || kept("bob", "r2") || !kept("alice", "last") {
		t.Error("what has expired is still there")
	}
	// And where nothing more is put, with what else is old.
	now = now.Add(24*time.Hour + time.Hour)
	if err := s.Prune(ctx); err != nil {
		t.Fatal(err)
	}
	now = now.Add(-25 * time.Hour)
	if kept("alice", "last") {
		t.Error("a response that has expired outlives a pruning")
	}
}
