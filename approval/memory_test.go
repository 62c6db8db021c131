package approval_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolsearch/toolsearch/approval"
	"github.com/toolsearch/toolsearch/call"
)

func TestMemoryIsBounded(t *testing.T) {
	var m approval.Memory
	now := time.Now()
	put := func(id string, s approval.State) error {
		return m.Put(t.Context(), approval.Record{ID: id, State: s, Created: now, Expires: now.Add(time.Hour)})
	}
	for i := range approval.MaxMemoryPending {
		if err := put(fmt.Sprint("p", i), approval.Pending); err != nil {
			t.Fatal(err)
		}
	}
	if err := put("one more", approval.Pending); !errors.Is(err, approval.ErrFull) {
		t.Errorf("more pending than fit: %v", err)
	}
	if err := put("p0", approval.Denied); err == nil {
		t.Error("an id was given twice")
	}
	for i := range 5_000 { // answered ones make room for each other
		if err := put(fmt.Sprint("d", i), approval.Denied); err != nil {
			t.Fatal(err)
		}
	}
	all, err := m.Find(t.Context(), approval.Query{})
	if err != nil || len(all) > 4000 {
		t.Errorf("%d records are kept (%v)", len(all), err)
	}
	if all[0].ID != "d4999" {
		t.Errorf("the newest comes not first: %s", all[0].ID)
	}
	if n, err := m.Expire(t.Context(), now.Add(2*time.Hour)); n != approval.MaxMemoryPending || err != nil {
		t.Errorf("%d expired (%v)", n, err)
	}
}

func TestChangeIsACompareAndSet(t *testing.T) {
	var m approval.Memory
	now := time.Now()
	if err := m.Put(t.Context(), approval.Record{ID: "a", State: approval.Approved, Expires: now.Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	var won atomic.Int64
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			ok, err := m.Change(t.Context(), "a", approval.Change{From: approval.Approved, To: approval.Used, At: now})
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
		t.Errorf("%d won", won.Load())
	}
	if err := m.Put(t.Context(), approval.Record{ID: "b", State: approval.Pending, Expires: now}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		to   approval.State
		want bool
	}{{approval.Approved, false}, {approval.Denied, false}, {approval.Expired, true}} {
		if ok, err := m.Change(t.Context(), "b", approval.Change{From: approval.Pending, To: c.to, At: now}); ok != c.want || err != nil {
			t.Errorf("what expired becomes %s: %v, %v", c.to, ok, err)
		}
	}
	if ok, err := m.Change(t.Context(), "nobody", approval.Change{From: approval.Pending, To: approval.Used, At: now}); ok || err != nil {
		t.Errorf("a change of nothing: %v, %v", ok, err)
	}
}

// One caller cannot fill the store for the others.
func TestPendingRequestsOfOneCaller(t *testing.T) {
	g := newGate(t, approval.Options{Routes: []approval.Route{approval.Elsewhere{}}})
	target, _ := execTool()
	for i := range approval.MaxPerCaller {
		blocked(t, do(g, target, fmt.Sprintf(`{"n":%d}`, i), call.Origin{Caller: "ann"}), "pending")
	}
	e := blocked(t, do(g, target, `{"n":-1}`, call.Origin{Caller: "ann"}), "could not be recorded")
	if !errors.Is(e, approval.ErrFull) {
		t.Errorf("the cause is %v", e.Err)
	}
	blocked(t, do(g, target, `{"n":-1}`, call.Origin{Caller: "bob"}), "is pending")
}

// A caller that leaves many requests unanswered stops nobody else.
func TestMemoryIsBoundedPerCaller(t *testing.T) {
	var m approval.Memory
	now := time.Now()
	put := func(caller, id string) error {
		return m.Put(t.Context(), approval.Record{ID: id, Caller: caller, State: approval.Pending, Created: now, Expires: now.Add(time.Hour)})
	}
	for i := range approval.MaxCallerPending {
		if err := put("ann", fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := put("ann", "one more"); !errors.Is(err, approval.ErrFull) {
		t.Errorf("one more of the same caller: %v", err)
	}
	for _, caller := range []string{"bob", ""} {
		if err := put(caller, "of "+caller); err != nil {
			t.Errorf("of %q: %v", caller, err)
		}
	}
}
