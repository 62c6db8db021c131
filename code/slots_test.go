package code_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/toolsearch/toolsearch/code"
)

// The owners that wait take turns: who starts many runs makes its own wait.
func TestOwnersTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := code.NewSlots(1)
		if err := s.Acquire(t.Context(), "alice"); err != nil {
			t.Fatal(err)
		}
		var order []string
		granted := make(chan struct{})
		wait := func(owner string) {
			go func() {
				if err := s.Acquire(t.Context(), owner); err != nil {
					t.Error(err)
				}
				order = append(order, owner)
				granted <- struct{}{}
			}()
			synctest.Wait() // until it waits
		}
		for _, owner := range []string{"alice", "alice", "alice", "alice", "bob", "carol", "bob"} {
			wait(owner)
		}
		gone, leave := context.WithCancel(t.Context())
		left := make(chan error)
		go func() { left <- s.Acquire(gone, "dave") }()
		synctest.Wait()
		leave()
		if err := <-left; !errors.Is(err, context.Canceled) || s.Waiting() != 7 {
			t.Errorf("who leaves: %v, and %d wait", err, s.Waiting())
		}
		for range 7 {
			s.Release()
			<-granted
		}
		if want := []string{"alice", "bob", "carol", "alice", "bob", "alice", "alice"}; !slices.Equal(order, want) {
			t.Errorf("in the order %v, want %v", order, want)
		}
		s.Release()
		if err := s.Acquire(t.Context(), "bob"); err != nil || s.Waiting() != 0 {
			t.Errorf("the place that is left: %v, and %d wait", err, s.Waiting())
		}
	})
}

// Who fills the queue does not keep others out of it.
func TestFullQueueGivesWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := code.NewSlots(1)
		if err := s.Acquire(t.Context(), "alice"); err != nil {
			t.Fatal(err)
		}
		ctx, end := context.WithCancel(t.Context())
		failed := make(chan error, 2000)
		wait := func(owner string) {
			go func() {
				if err := s.Acquire(ctx, owner); !errors.Is(err, context.Canceled) {
					failed <- err
				}
			}()
			synctest.Wait()
		}
		full := 0
		for full = 0; len(failed) == 0; full++ {
			wait("alice")
		}
		if n := s.Waiting(); n != full-1 {
			t.Fatalf("%d wait after %d", n, full)
		}
		<-failed
		wait("bob")
		if len(failed) != 1 || s.Waiting() != full-1 {
			t.Errorf("%d were refused, and %d wait: want alice's last to give way", len(failed), s.Waiting())
		}
		<-failed
		end()
		synctest.Wait()
		if len(failed) != 0 || s.Waiting() != 0 {
			t.Errorf("at last %d were refused, and %d wait", len(failed), s.Waiting())
		}
	})
}
