package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/toolsearch/toolsearch/approval"
)

// MaxPending bounds the requests that wait for an answer, and MaxCallerPending
// those of one named caller, so that nobody's flood keeps others from asking.
const (
	MaxPending       = 10_000
	MaxCallerPending = 1_000
)

// maxApprovals bounds all of them; the oldest answered ones make room.
const maxApprovals = 100_000

// Approvals is the part of a Store that keeps approvals. Each change is one durable
// transaction.
type Approvals struct{ s *Store }

var _ approval.Store = Approvals{}

// Approvals returns the approvals of the store.
func (s *Store) Approvals() Approvals { return Approvals{s} }

// Put implements approval.Store. Beyond MaxPending and MaxCallerPending the error
// is an approval.ErrFull.
func (a Approvals) Put(ctx context.Context, r approval.Record) error {
	op := fmt.Sprintf("put approval %q into", r.ID)
	full := func(what string) error {
		return &Error{Op: op, Path: a.s.path, Err: fmt.Errorf("%w: %w: %s", ErrLimit, approval.ErrFull, what), Hint: "answer some with 'toolsearch approvals'"}
	}
	return a.s.change(ctx, op, func(tx *sql.Tx) error {
		var pending, own, all int
		if err := tx.QueryRowContext(ctx, `SELECT count(*) FILTER (WHERE state = 'pending'), count(*) FILTER (WHERE state = 'pending' AND caller = ?), count(*) FROM approvals`,
			r.Caller).Scan(&pending, &own, &all); err != nil {
			return err
		}
		if r.State == approval.Pending && r.Caller != "" && own >= MaxCallerPending {
			return full(fmt.Sprintf("%d of %q", own, r.Caller))
		}
		if r.State == approval.Pending && pending >= MaxPending {
			return full(fmt.Sprintf("%d in all", pending))
		}
		if all >= maxApprovals {
			if _, err := tx.ExecContext(ctx, `DELETE FROM approvals WHERE id IN
				(SELECT id FROM approvals WHERE state IN ('denied', 'expired', 'used') ORDER BY created LIMIT ?)`, pruneBatch); err != nil {
				return err
			}
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO approvals (id, created, expires, caller, agent, session, run, tool, args_digest, args,
			policy_version, state, scope, pattern, decided_by, decided, reason, folder) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			r.ID, nanos(r.Created), nanos(r.Expires), r.Caller, r.Agent, r.Session, r.Run, string(r.Tool), r.Digest, blob(r.Args),
			r.PolicyVersion, string(r.State), string(r.Scope), r.Pattern, r.DecidedBy, nanos(r.Decided), r.Reason, r.Folder)
		return err
	})
}

// Get implements approval.Store.
func (a Approvals) Get(ctx context.Context, id string) (approval.Record, error) {
	found, err := a.read(ctx, `WHERE id = ?`, id)
	if err == nil && len(found) == 0 {
		err = &Error{Op: fmt.Sprintf("read approval %q", id), Err: approval.ErrNotFound, Hint: "list them with 'toolsearch approvals list'"}
	}
	if err != nil {
		return approval.Record{}, failure("read an approval of", a.s.path, err)
	}
	return found[0], nil
}

// Find implements approval.Store. It returns at most MaxPage records.
func (a Approvals) Find(ctx context.Context, q approval.Query) ([]approval.Record, error) {
	where, args := whereOf(q)
	out, err := a.read(ctx, where+` ORDER BY created DESC, id LIMIT ?`, append(args, MaxPage)...)
	return out, failure("list the approvals of", a.s.path, err)
}

// whereOf names only what is asked for, so that SQLite finds an index for it: the
// gate asks before a call.
func whereOf(q approval.Query) (text string, args []any) {
	text = `WHERE TRUE`
	for _, c := range []struct{ is, value string }{
		{` AND state = ?`, string(q.State)},
		{` AND scope = ?`, string(q.Scope)},
		{` AND caller = ?`, q.Caller},
		{` AND tool = ?`, string(q.Tool)},
	} {
		if c.value != "" {
			text, args = text+c.is, append(args, c.value)
		}
	}
	return text, args
}

func (a Approvals) read(ctx context.Context, where string, args ...any) ([]approval.Record, error) {
	if err := a.s.usable(); err != nil {
		return nil, err
	}
	return collect(ctx, a.s.reader, func(rows *sql.Rows) (approval.Record, error) {
		var r approval.Record
		var created, expires, decided int64
		err := rows.Scan(&r.ID, &created, &expires, &r.Caller, &r.Agent, &r.Session, &r.Run, &r.Tool, &r.Digest, (*[]byte)(&r.Args),
			&r.PolicyVersion, &r.State, &r.Scope, &r.Pattern, &r.DecidedBy, &decided, &r.Reason, &r.Folder)
		r.Created, r.Expires, r.Decided = fromNanos(created), fromNanos(expires), fromNanos(decided)
		return r, err
	}, `SELECT id, created, expires, caller, agent, session, run, tool, args_digest, args, policy_version, state, scope, pattern,
		decided_by, decided, reason, folder FROM approvals `+where, args...)
}

// Change implements approval.Store: of several callers in any process, one is told
// true.
func (a Approvals) Change(ctx context.Context, id string, c approval.Change) (changed bool, err error) {
	err = a.s.change(ctx, fmt.Sprintf("change approval %q of", id), func(tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, `UPDATE approvals SET state = ?1,
			scope = CASE ?2 WHEN '' THEN scope ELSE ?2 END, pattern = CASE ?3 WHEN '' THEN pattern ELSE ?3 END,
			decided_by = CASE ?4 WHEN '' THEN decided_by ELSE ?4 END, reason = CASE ?5 WHEN '' THEN reason ELSE ?5 END,
			expires = CASE ?6 WHEN 0 THEN expires ELSE ?6 END, decided = CASE state WHEN 'pending' THEN ?7 ELSE decided END
			WHERE id = ?8 AND state = ?9 AND (?1 = 'expired' OR expires > ?7)`,
			string(c.To), string(c.Scope), c.Pattern, c.DecidedBy, c.Reason, nanos(c.Expires), nanos(c.At), id, string(c.From))
		if err != nil {
			return err
		}
		n, err := res.RowsAffected()
		changed = n == 1
		return err
	})
	return changed && err == nil, err
}

// Expire implements approval.Store.
func (a Approvals) Expire(ctx context.Context, now time.Time) (n int, err error) {
	err = a.s.change(ctx, "expire approvals of", func(tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, `UPDATE approvals SET state = 'expired', decided = ?1, decided_by = 'expiry'
			WHERE state = 'pending' AND expires <= ?1`, nanos(now))
		if err != nil {
			return err
		}
		rows, err := res.RowsAffected()
		n = int(rows)
		return err
	})
	return n, err
}

// change runs one durable transaction.
func (s *Store) change(ctx context.Context, op string, f func(*sql.Tx) error) (err error) {
	if err := s.usable(); err != nil {
		return err
	}
	if err := s.present(); err != nil {
		return err
	}
	defer func() { err = failure(op, s.path, err) }()
	tx, err := s.control.BeginTx(ctx, nil) // immediate, see dsn
	if err != nil {
		return err
	}
	if err := f(tx); err != nil {
		return errors.Join(err, ignoreDone(tx.Rollback()))
	}
	return tx.Commit()
}

// nanos is 0 for the zero time.
func nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

func fromNanos(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n)
}
