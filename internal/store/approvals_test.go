package store_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/toolsearch/toolsearch/approval"
	"github.com/toolsearch/toolsearch/internal/store"
)

// A caller that leaves many requests unanswered is stopped at a thousand, and stops
// nobody else.
func TestPendingApprovalsAreBoundedPerCaller(t *testing.T) {
	s := open(t, store.Options{})
	put := func(caller, id string, state approval.State) error {
		a := request(id)
		a.Caller, a.State = caller, state
		return s.Approvals().Put(t.Context(), a)
	}
	for i := range 1000 {
		if err := put("ann", fmt.Sprint("a", i), approval.Pending); err != nil {
			t.Fatal(err)
		}
	}
	if err := put("ann", "one more", approval.Pending); !errors.Is(err, approval.ErrFull) {
		t.Errorf("one more of the same caller: %v", err)
	}
	for _, c := range []struct {
		caller string
		state  approval.State
	}{{"bob", approval.Pending}, {"", approval.Pending}, {"ann", approval.Denied}} {
		if err := put(c.caller, "of "+c.caller, c.state); err != nil {
			t.Errorf("of %q, %s: %v", c.caller, c.state, err)
		}
	}
}
