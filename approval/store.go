package approval

import (
	"context"
	"errors"
	"time"

	"github.com/toolsearch/toolsearch/tool"
)

// ErrNotFound says that there is no record of that id.
var ErrNotFound = errors.New("there is no such approval")

// ErrFull says that a store holds as many records as it may.
var ErrFull = errors.New("too many approvals are pending")

// Store keeps records, so that they can be answered from elsewhere and outlive
// the process. Implementations are safe for concurrent use, also by several
// processes where they claim to be, and bound what they keep. What a method
// acknowledges is durable as far as the store is.
type Store interface {
	// Put adds a record. It fails when the id exists, and with ErrFull when
	// no more pending records fit.
	Put(ctx context.Context, r Record) error
	// Get returns one record, or ErrNotFound.
	Get(ctx context.Context, id string) (Record, error)
	// Find returns the records that match, the newest first. It may leave out
	// the oldest of very many. It may return records that do not match; the
	// caller looks.
	Find(ctx context.Context, q Query) ([]Record, error)
	// Change makes the change if the record is in state From and, unless To is
	// Expired, has not expired at At: a compare-and-set. It reports whether it
	// did; of concurrent callers one is told true. That a record is in another
	// state, or is not there, is no error.
	Change(ctx context.Context, id string, c Change) (changed bool, err error)
	// Expire moves every pending record that has expired at now to Expired, with
	// DecidedBy "expiry", and says how many.
	Expire(ctx context.Context, now time.Time) (int, error)
}

// Query selects records; zero fields select any.
type Query struct {
	State  State
	Scope  Scope
	Caller string
	Tool   tool.ID
}

// Change moves a record from one state to another. Zero fields keep what is
// there.
type Change struct {
	From, To  State
	Scope     Scope
	Pattern   string
	DecidedBy string
	Reason    string
	Expires   time.Time
	At        time.Time // required; becomes Decided when From is Pending
}

// Allows reports whether the compare-and-set of c may happen to r, and is the
// definition of it for stores that hold records in memory.
func (c Change) Allows(r *Record) bool {
	return r.State == c.From && (c.To == Expired || c.At.Before(r.Expires))
}

// Apply makes the change.
func (c Change) Apply(r *Record) {
	if r.State == Pending {
		r.Decided = c.At
	}
	r.State = c.To
	for _, f := range []struct {
		to   *string
		from string
	}{{(*string)(&r.Scope), string(c.Scope)}, {&r.Pattern, c.Pattern}, {&r.DecidedBy, c.DecidedBy}, {&r.Reason, c.Reason}} {
		if f.from != "" {
			*f.to = f.from
		}
	}
	if !c.Expires.IsZero() {
		r.Expires = c.Expires
	}
}
