package code_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsearch/toolsearch/code"
)

// Zero is the default, and nothing is without a bound.
func TestLimitsAreBounded(t *testing.T) {
	least, most := math.MinInt, math.MaxInt
	cases := map[string]struct{ given, want code.Limits }{
		"zero": {code.Limits{}, code.Limits{
			Timeout: 10 * time.Second, CodeBytes: 256 << 10, LogBytes: 64 << 10, ResultBytes: 256 << 10, MemoryBytes: 64 << 20, InFlight: 16, Calls: 1000,
		}},
		"least": {code.Limits{Timeout: time.Duration(least), CodeBytes: least, LogBytes: least, ResultBytes: least, MemoryBytes: int64(least), InFlight: least, Calls: least}, code.Limits{
			Timeout: 10 * time.Millisecond, CodeBytes: 1, LogBytes: 1, ResultBytes: 64, MemoryBytes: 16 << 20, InFlight: 1, Calls: 1,
		}},
		"most": {code.Limits{Timeout: time.Duration(most), CodeBytes: most, LogBytes: most, ResultBytes: most, MemoryBytes: int64(most), InFlight: most, Calls: most}, code.Limits{
			Timeout: time.Minute, CodeBytes: 1 << 20, LogBytes: 1 << 20, ResultBytes: 4 << 20, MemoryBytes: 512 << 20, InFlight: 64, Calls: 10_000,
		}},
	}
	for name, c := range cases {
		if diff := cmp.Diff(c.want, c.given.Clamped()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Runs take their turn in the order in which they came; one that gives up
// leaves its place in the queue to the next.
func TestQueueIsInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := code.NewSlots(1)
		if err := s.Acquire(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		impatient, giveUp := context.WithCancelCause(t.Context())
		var order []int
		for i := range 5 {
			ctx := t.Context()
			if i == 2 {
				ctx = impatient
			}
			go func() {
				if err := s.Acquire(ctx, ""); err != nil {
					if !errors.Is(err, errImpatient) {
						t.Errorf("turn %d: %v", i, err)
					}
					return
				}
				order = append(order, i)
				s.Release()
			}()
			synctest.Wait() // it stands in the queue
		}
		giveUp(errImpatient)
		synctest.Wait()
		if len(order) != 0 {
			t.Errorf("turns %v while the one place was taken", order)
		}
		s.Release()
		synctest.Wait()
		if want := []int{0, 1, 3, 4}; !slices.Equal(order, want) {
			t.Errorf("turns %v, want %v", order, want)
		}
	})
}

var errImpatient = errors.New("not worth waiting for")
