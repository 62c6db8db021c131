package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/toolsearch/toolsearch/tool"
)

// ApprovalState is where a request for approval stands.
type ApprovalState string

// The states. Only a pending request can be answered; only an approved one can
// be used.
const (
	ApprovalPending  ApprovalState = "pending"
	ApprovalApproved ApprovalState = "approved"
	ApprovalDenied   ApprovalState = "denied"
	ApprovalExpired  ApprovalState = "expired"
	ApprovalUsed     ApprovalState = "used"
)

// ApprovalScope says how far an approval reaches.
type ApprovalScope string

// The scopes.
const (
	ApproveOnce    ApprovalScope = "once"
	ApproveSession ApprovalScope = "session"
	ApprovePattern ApprovalScope = "pattern"
)

// MaxPending bounds the requests that wait for an answer, and MaxCallerPending
// those of one named caller, so that nobody's flood keeps others from asking.
const (
	MaxPending       = 10_000
	MaxCallerPending = 1_000
)

// maxApprovals bounds all of them; the oldest answered ones make room.
const maxApprovals = 100_000

// Approval is a request to call a tool, and its answer.
type Approval struct {
	ID            string
	Created       time.Time
	Expires       time.Time
	Caller        string
	Agent         string
	Session       string
	Run           string
	Tool          tool.ID
	ArgsDigest    string // of the canonical arguments
	Args          []byte // redacted JSON, to show
	Folder        string // in which a core tool would run, "" for other tools
	PolicyVersion string
	State         ApprovalState
	Scope         ApprovalScope // as asked for, then as granted
	Pattern       string        // of tools, for ApprovePattern
	DecidedBy     string
	Decided       time.Time // zero while pending
	Reason        string
}

// PutApproval adds a request. The id must be new.
func (s *Store) PutApproval(ctx context.Context, a Approval) error {
	op := fmt.Sprintf("put approval %q into", a.ID)
	return s.change(ctx, op, func(tx *sql.Tx) error {
		var pending, own, all int
		if err := tx.QueryRowContext(ctx, `SELECT count(*) FILTER (WHERE state = 'pending'), count(*) FILTER (WHERE state = 'pending' AND caller = ?), count(*) FROM approvals`,
			a.Caller).Scan(&pending, &own, &all); err != nil {
			return err
		}
		if a.State == ApprovalPending && a.Caller != "" && own >= MaxCallerPending {
			return &Error{Op: op, Path: s.path, Err: fmt.Errorf("%w: %d requests of %q are pending", ErrLimit, own, a.Caller), Hint: "answer some with 'toolsearch approvals'"}
		}
		if a.State == ApprovalPending && pending >= MaxPending {
			return &Error{Op: op, Path: s.path, Err: fmt.Errorf("%w: %d requests are pending", ErrLimit, pending), Hint: "answer some with 'toolsearch approvals'"}
		}
		if all >= maxApprovals {
			if _, err := tx.ExecContext(ctx, `DELETE FROM approvals WHERE id IN
				(SELECT id FROM approvals WHERE state IN ('denied', 'expired', 'used') ORDER BY created LIMIT ?)`, pruneBatch); err != nil {
				return err
			}
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO approvals (id, created, expires, caller, agent, session, run, tool, args_digest, args,
			policy_version, state, scope, pattern, decided_by, decided, reason, folder) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			a.ID, nanos(a.Created), nanos(a.Expires), a.Caller, a.Agent, a.Session, a.Run, string(a.Tool), a.ArgsDigest, blob(a.Args),
			a.PolicyVersion, string(a.State), string(a.Scope), a.Pattern, a.DecidedBy, nanos(a.Decided), a.Reason, a.Folder)
		return err
	})
}

// Approval returns one request; ErrNotFound when there is none of that id.
func (s *Store) Approval(ctx context.Context, id string) (Approval, error) {
	found, err := s.approvals(ctx, `WHERE id = ?`, id)
	if err == nil && len(found) == 0 {
		err = &Error{Op: fmt.Sprintf("read approval %q", id), Err: ErrNotFound, Hint: "list them with 'toolsearch approvals list'"}
	}
	if err != nil {
		return Approval{}, failure("read an approval of", s.path, err)
	}
	return found[0], nil
}

// ApprovalFilter selects approvals; "" selects any.
type ApprovalFilter struct {
	State   ApprovalState
	Scope   ApprovalScope
	Caller  string
	Session string
	Tool    tool.ID
	Limit   int // 1…MaxPage; other values mean MaxPage
}

// Approvals lists requests, the newest first.
func (s *Store) Approvals(ctx context.Context, f ApprovalFilter) ([]Approval, error) {
	_, limit := Page{Limit: f.Limit}.args()
	where, args := f.where()
	out, err := s.approvals(ctx, where+` ORDER BY created DESC, id LIMIT ?`, append(args, limit)...)
	return out, failure("list the approvals of", s.path, err)
}

// where names only what is asked for, so that SQLite finds an index for it: the
// gate asks before a call.
func (f ApprovalFilter) where() (text string, args []any) {
	text = `WHERE TRUE`
	for _, c := range []struct{ is, value string }{
		{` AND state = ?`, string(f.State)},
		{` AND scope = ?`, string(f.Scope)},
		{` AND caller = ?`, f.Caller},
		{` AND session = ?`, f.Session},
		{` AND tool = ?`, string(f.Tool)},
	} {
		if c.value != "" {
			text, args = text+c.is, append(args, c.value)
		}
	}
	return text, args
}

func (s *Store) approvals(ctx context.Context, where string, args ...any) ([]Approval, error) {
	if err := s.usable(); err != nil {
		return nil, err
	}
	return collect(ctx, s.reader, func(rows *sql.Rows) (Approval, error) {
		var a Approval
		var created, expires, decided int64
		err := rows.Scan(&a.ID, &created, &expires, &a.Caller, &a.Agent, &a.Session, &a.Run, &a.Tool, &a.ArgsDigest, &a.Args,
			&a.PolicyVersion, &a.State, &a.Scope, &a.Pattern, &a.DecidedBy, &decided, &a.Reason, &a.Folder)
		a.Created, a.Expires, a.Decided = fromNanos(created), fromNanos(expires), fromNanos(decided)
		return a, err
	}, `SELECT id, created, expires, caller, agent, session, run, tool, args_digest, args, policy_version, state, scope, pattern,
		decided_by, decided, reason, folder FROM approvals `+where, args...)
}

// ApprovalChange moves a request from one state to another.
type ApprovalChange struct {
	From, To  ApprovalState
	Scope     ApprovalScope // "" keeps it
	Pattern   string        // "" keeps it
	DecidedBy string        // "" keeps it
	Reason    string        // "" keeps it
	Expires   time.Time     // zero keeps it
	At        time.Time     // becomes Decided when From is pending
}

// ChangeApproval makes the change if the request is in state From and, unless
// To is expired, has not expired at At. It reports whether it did: of several
// callers in any process, one is told true. It is how an approval is used once.
func (s *Store) ChangeApproval(ctx context.Context, id string, c ApprovalChange) (changed bool, err error) {
	err = s.change(ctx, fmt.Sprintf("change approval %q of", id), func(tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, `UPDATE approvals SET state = ?1,
			scope = CASE ?2 WHEN '' THEN scope ELSE ?2 END, pattern = CASE ?3 WHEN '' THEN pattern ELSE ?3 END,
			decided_by = CASE ?4 WHEN '' THEN decided_by ELSE ?4 END, reason = CASE ?5 WHEN '' THEN reason ELSE ?5 END,
			expires = CASE ?6 WHEN 0 THEN expires ELSE ?6 END, decided = CASE state WHEN 'pending' THEN ?7 ELSE decided END
			WHERE id = ?8 AND state = ?9 AND (?1 = 'expired' OR expires = 0 OR expires > ?7)`,
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

// ExpireApprovals moves every pending request that expired at now to expired,
// and says how many.
func (s *Store) ExpireApprovals(ctx context.Context, now time.Time) (n int, err error) {
	err = s.change(ctx, "expire approvals of", func(tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, `UPDATE approvals SET state = 'expired', decided = ?1, decided_by = 'expiry'
			WHERE state = 'pending' AND expires <> 0 AND expires <= ?1`, nanos(now))
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
