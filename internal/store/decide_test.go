package store_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsearch/toolsearch/approval"
	"github.com/toolsearch/toolsearch/internal/store"
	"github.com/toolsearch/toolsearch/pin"
)

var created = time.Unix(1_800_000_000, 5)

func request(id string) approval.Record {
	return approval.Record{
		ID: id, Created: created, Expires: created.Add(time.Hour), Caller: "ann", Agent: "coder", Session: "s", Run: "r",
		Tool: "openclaw:core:exec", Digest: "sha256:ab", Args: []byte(`{"command":"ls"}`), Folder: "/home/ann", PolicyVersion: "p1",
		State: approval.Pending, Scope: approval.Once,
	}
}

func TestApprovalIsKeptAcrossARestart(t *testing.T) {
	dir := t.TempDir()
	s := open(t, store.Options{Dir: dir})
	want := request("a1")
	if err := s.Approvals().Put(t.Context(), want); err != nil {
		t.Fatal(err)
	}
	if err := s.Approvals().Put(t.Context(), want); err == nil {
		t.Error("the same id was put twice")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, store.Options{Dir: dir})
	got, err := s.Approvals().Get(t.Context(), "a1")
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v, differs: %s", err, diff)
	}
	if _, err := s.Approvals().Get(t.Context(), "none"); !errors.Is(err, approval.ErrNotFound) {
		t.Errorf("an unknown id: %v", err)
	}
}

// approvalStores are both implementations: what holds for one holds for the other.
func approvalStores(t *testing.T) map[string]approval.Store {
	t.Helper()
	return map[string]approval.Store{"memory": &approval.Memory{}, "sqlite": open(t, store.Options{}).Approvals()}
}

func TestChangeApproval(t *testing.T) {
	at := created.Add(time.Minute)
	late := created.Add(time.Hour)
	for _, c := range []struct {
		name    string
		changes []approval.Change
		want    []bool
		state   approval.State
	}{
		{"approved and used once", []approval.Change{
			{From: "pending", To: "approved", At: at}, {From: "approved", To: "used", At: at}, {From: "approved", To: "used", At: at},
		}, []bool{true, true, false}, "used"},
		{"denied stays denied", []approval.Change{
			{From: "pending", To: "denied", At: at}, {From: "pending", To: "approved", At: at},
		}, []bool{true, false}, "denied"},
		{"expired cannot be approved", []approval.Change{{From: "pending", To: "approved", At: late}}, []bool{false}, "pending"},
		{"expired cannot be used", []approval.Change{
			{From: "pending", To: "approved", At: at}, {From: "approved", To: "used", At: late},
		}, []bool{true, false}, "approved"},
		{"expired can be marked so", []approval.Change{{From: "pending", To: "expired", At: late}}, []bool{true}, "expired"},
	} {
		for kind, s := range approvalStores(t) {
			t.Run(c.name+", "+kind, func(t *testing.T) {
				if err := s.Put(t.Context(), request("a")); err != nil {
					t.Fatal(err)
				}
				for i, change := range c.changes {
					if ok, err := s.Change(t.Context(), "a", change); err != nil || ok != c.want[i] {
						t.Errorf("change %d: %v, %v, want %v", i, ok, err, c.want[i])
					}
				}
				if got, err := s.Get(t.Context(), "a"); err != nil || got.State != c.state {
					t.Errorf("the state is %q, want %q: %v", got.State, c.state, err)
				}
			})
		}
	}
}

// Zero is never "for ever".
func TestAnApprovalWithoutExpiryIsNone(t *testing.T) {
	for kind, s := range approvalStores(t) {
		a := request("a")
		a.State, a.Expires = approval.Approved, time.Time{}
		if err := s.Put(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		if ok, err := s.Change(t.Context(), "a", approval.Change{From: "approved", To: "used", At: created}); ok || err != nil {
			t.Errorf("%s: it may be used: %v, %v", kind, ok, err)
		}
	}
}

func TestChangeApprovalKeepsWhatItDoesNotName(t *testing.T) {
	for kind, s := range approvalStores(t) {
		t.Run(kind, func(t *testing.T) {
			if err := s.Put(t.Context(), request("a")); err != nil {
				t.Fatal(err)
			}
			at := created.Add(time.Second)
			if ok, err := s.Change(t.Context(), "a", approval.Change{
				From: "pending", To: "approved", Scope: approval.Pattern, Pattern: "ex*", DecidedBy: "bob", Reason: "fine", At: at,
			}); !ok || err != nil {
				t.Fatal(ok, err)
			}
			if ok, err := s.Change(t.Context(), "a", approval.Change{From: "approved", To: "used", At: at.Add(time.Second)}); !ok || err != nil {
				t.Fatal(ok, err)
			}
			want := request("a")
			want.State, want.Scope, want.Pattern, want.DecidedBy, want.Reason, want.Decided = "used", approval.Pattern, "ex*", "bob", "fine", at
			got, err := s.Get(t.Context(), "a")
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("%v, differs: %s", err, diff)
			}
		})
	}
}

// Two stores stand for two processes: one of all who try may use an approval.
func TestAnApprovalIsUsedOnce(t *testing.T) {
	dir := t.TempDir()
	stores := []*store.Store{open(t, store.Options{Dir: dir}), open(t, store.Options{Dir: dir})}
	a := request("a")
	a.State = approval.Approved
	if err := stores[0].Approvals().Put(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	var won atomic.Int32
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			ok, err := stores[i%2].Approvals().Change(t.Context(), "a", approval.Change{From: "approved", To: "used", At: created})
			if err != nil {
				t.Error(err)
			}
			if ok {
				won.Add(1)
			}
		})
	}
	wg.Wait()
	if won.Load() != 1 {
		t.Errorf("%d were told that they may use it", won.Load())
	}
}

func TestListAndExpireApprovals(t *testing.T) {
	for kind, s := range approvalStores(t) {
		t.Run(kind, func(t *testing.T) { listAndExpire(t, s) })
	}
}

func listAndExpire(t *testing.T, s approval.Store) {
	for i := range 4 {
		a := request(fmt.Sprint("a", i))
		a.Created = created.Add(time.Duration(i) * time.Second)
		a.Expires = created.Add(time.Duration(i) * time.Minute)
		if i == 3 {
			a.State = approval.Approved
		}
		if err := s.Put(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
	list := func(q approval.Query) (ids string) {
		found, err := s.Find(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range found {
			ids += a.ID + " "
		}
		return ids
	}
	for want, q := range map[string]approval.Query{
		"a3 a2 a1 a0 ": {}, "a2 a1 a0 ": {State: "pending"}, "a3 ": {State: "approved", Scope: "once", Caller: "ann", Tool: "openclaw:core:exec"}, "": {Caller: "eve"},
	} {
		if got := list(q); got != want {
			t.Errorf("%+v lists %q, want %q", q, got, want)
		}
	}
	if n, err := s.Expire(t.Context(), created.Add(time.Minute)); n != 2 || err != nil {
		t.Errorf("%d expired, want 2: %v", n, err)
	}
	if got := list(approval.Query{State: "expired"}); got != "a1 a0 " {
		t.Errorf("expired are %q", got)
	}
}

func TestPins(t *testing.T) {
	pins := open(t, store.Options{}).Pins()
	ctx := t.Context()
	first := pin.Pin{Server: "srv", Tool: "t", Digest: "d1", Definition: []byte(`{"v":1}`), FirstSeen: created, AcceptedAt: created}
	other := first
	other.Tool = "a"
	if err := pins.Add(ctx, []pin.Pin{first, other}); err != nil {
		t.Fatal(err)
	}
	again := first
	again.Digest = "d2"
	if err := pins.Add(ctx, []pin.Pin{again}); err != nil {
		t.Fatal(err)
	}
	if got, ok, err := pins.Get(ctx, "srv", "t"); err != nil || !ok || !cmp.Equal(first, got) {
		t.Errorf("after a second sight: %v, %s", err, cmp.Diff(first, got))
	}
	if _, ok, err := pins.Get(ctx, "srv", "none"); ok || err != nil {
		t.Errorf("an unknown tool: %v", err)
	}
	changed := first
	changed.OfferedDigest, changed.OfferedDefinition, changed.OfferedAt = "d2", []byte(`{"v":2}`), created
	if err := pins.Put(ctx, []pin.Pin{changed}); err != nil {
		t.Fatal(err)
	}
	if ok, err := pins.Accept(ctx, "srv", "t", "d3", created); ok || err != nil {
		t.Errorf("a definition that nobody looked at was accepted: %v", err)
	}
	at := created.Add(time.Hour)
	if ok, err := pins.Accept(ctx, "srv", "t", "d2", at); !ok || err != nil {
		t.Errorf("accept: %v, %v", ok, err)
	}
	want := pin.Pin{Server: "srv", Tool: "t", Digest: "d2", Definition: []byte(`{"v":2}`), FirstSeen: created, AcceptedAt: at}
	got, ok, err := pins.Get(ctx, "srv", "t")
	if diff := cmp.Diff(want, got); err != nil || !ok || diff != "" {
		t.Errorf("after accept: %v, %s", err, diff)
	}
	list, err := pins.List(ctx, "")
	if err != nil || len(list) != 2 || list[0].Tool != "a" || list[0].Definition != nil || list[1].Definition != nil {
		t.Errorf("the pins are %+v, %v; want two without definitions", list, err)
	}
	if list, err := pins.List(ctx, "other"); err != nil || len(list) != 0 {
		t.Errorf("the pins of another server are %+v, %v", list, err)
	}
	if n, err := pins.Remove(ctx, "srv", "t"); n != 1 || err != nil {
		t.Fatalf("%d pins were removed, %v", n, err)
	}
	if n, err := pins.Remove(ctx, "other", ""); n != 0 || err != nil {
		t.Errorf("of another server %d pins were removed, %v", n, err)
	}
	if _, ok, err := pins.Get(ctx, "srv", "t"); ok || err != nil {
		t.Errorf("a removed pin: %v", err)
	}
	if n, err := pins.Remove(ctx, "srv", ""); n != 1 || err != nil {
		t.Errorf("of the server %d pins were left to remove, %v; want 1", n, err)
	}
	if err := pins.Add(ctx, []pin.Pin{{Server: "srv", Tool: "ok"}, {Server: "srv", Tool: "huge", Definition: make([]byte, 2<<20)}}); !errors.Is(err, store.ErrLimit) {
		t.Errorf("a huge definition: %v", err)
	}
	if _, ok, err := pins.Get(ctx, "srv", "ok"); ok || err != nil {
		t.Errorf("half of a refused list was written: %v", err)
	}
}
