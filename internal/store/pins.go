package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/toolsearch/toolsearch/pin"
)

const (
	maxPins       = 200_000
	maxDefinition = 1 << 20 // bytes
)

// Pins is the part of a Store that keeps pins. Each change is one durable
// transaction.
type Pins struct{ s *Store }

var _ pin.Store = Pins{}

// Pins returns the pins of the store.
func (s *Store) Pins() Pins { return Pins{s} }

// Get implements pin.Store.
func (p Pins) Get(ctx context.Context, server, tool string) (pin.Pin, bool, error) {
	found, err := p.read(ctx, `definition, offered_definition FROM pins WHERE server = ? AND tool = ?`, server, tool)
	if err != nil || len(found) == 0 {
		return pin.Pin{}, false, failure("read a pin of", p.s.path, err)
	}
	return found[0], true, nil
}

// List implements pin.Store. It leaves out the definitions, which may have
// gigabytes together.
func (p Pins) List(ctx context.Context, server string) ([]pin.Pin, error) {
	rest, args := `NULL, NULL FROM pins`, []any(nil)
	if server != "" {
		rest, args = rest+` WHERE server = ?`, []any{server}
	}
	out, err := p.read(ctx, rest+` ORDER BY server, tool`, args...)
	return out, failure("list the pins of", p.s.path, err)
}

// read reads pins. rest completes the query from the definitions on.
func (p Pins) read(ctx context.Context, rest string, args ...any) ([]pin.Pin, error) {
	if err := p.s.usable(); err != nil {
		return nil, err
	}
	return collect(ctx, p.s.reader, func(rows *sql.Rows) (pin.Pin, error) {
		var r pin.Pin
		var first, accepted, offered int64
		err := rows.Scan(&r.Server, &r.Tool, &r.Digest, &first, &accepted, &r.OfferedDigest, &offered, (*[]byte)(&r.Definition), (*[]byte)(&r.OfferedDefinition))
		r.FirstSeen, r.AcceptedAt, r.OfferedAt = fromNanos(first), fromNanos(accepted), fromNanos(offered)
		r.Definition, r.OfferedDefinition = nilIfEmpty(r.Definition), nilIfEmpty(r.OfferedDefinition)
		return r, err
	}, `SELECT server, tool, digest, first_seen, accepted, offered_digest, offered, `+rest, args...)
}

func nilIfEmpty(b []byte) []byte {
	if len(b) == 0 {
		return nil
	}
	return b
}

// Add implements pin.Store.
func (p Pins) Add(ctx context.Context, pins []pin.Pin) error {
	return p.write(ctx, pins, `ON CONFLICT (server, tool) DO NOTHING`)
}

// Put implements pin.Store.
func (p Pins) Put(ctx context.Context, pins []pin.Pin) error {
	return p.write(ctx, pins, `ON CONFLICT (server, tool) DO UPDATE SET digest = excluded.digest, definition = excluded.definition,
		status = excluded.status, first_seen = excluded.first_seen, accepted = excluded.accepted, offered_digest = excluded.offered_digest,
		offered_definition = excluded.offered_definition, offered = excluded.offered`)
}

func (p Pins) write(ctx context.Context, pins []pin.Pin, conflict string) error {
	const op = "put pins into"
	for _, r := range pins {
		if n := max(len(r.Definition), len(r.OfferedDefinition)); n > maxDefinition {
			return &Error{Op: op, Path: p.s.path, Err: fmt.Errorf("%w: the definition of tool %q of server %q has %d bytes, at most %d", ErrLimit, r.Tool, r.Server, n, maxDefinition)}
		}
	}
	return p.s.change(ctx, op, func(tx *sql.Tx) (err error) {
		stmt, err := tx.PrepareContext(ctx, `INSERT INTO pins (server, tool, digest, definition, status, first_seen, accepted,
			offered_digest, offered_definition, offered) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) `+conflict)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, stmt.Close()) }()
		for _, r := range pins {
			status := "accepted"
			if r.Waiting() {
				status = "changed"
			}
			if _, err := stmt.ExecContext(ctx, r.Server, r.Tool, r.Digest, blob(r.Definition), status, nanos(r.FirstSeen),
				nanos(r.AcceptedAt), r.OfferedDigest, blob(r.OfferedDefinition), nanos(r.OfferedAt)); err != nil {
				return err
			}
		}
		var all int
		if err := tx.QueryRowContext(ctx, `SELECT count(*) FROM pins`).Scan(&all); err != nil {
			return err
		}
		if all > maxPins {
			return fmt.Errorf("%w: %d pins", ErrLimit, maxPins)
		}
		return nil
	})
}

// Accept implements pin.Store.
func (p Pins) Accept(ctx context.Context, server, tool, digest string, at time.Time) (accepted bool, err error) {
	err = p.s.change(ctx, fmt.Sprintf("accept the definition of tool %q of server %q in", tool, server), func(tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, `UPDATE pins SET digest = offered_digest, definition = offered_definition, status = 'accepted', accepted = ?,
			offered_digest = '', offered_definition = X'', offered = 0
			WHERE server = ? AND tool = ? AND status = 'changed' AND offered_digest = ?`, nanos(at), server, tool, digest)
		if err != nil {
			return err
		}
		n, err := res.RowsAffected()
		accepted = n == 1
		return err
	})
	return accepted && err == nil, err
}

// Remove forgets a tool, or with an empty tool all of a server's, so that
// they are pinned anew at their next sight. It returns how many there were.
func (p Pins) Remove(ctx context.Context, server, tool string) (n int64, err error) {
	err = p.s.change(ctx, fmt.Sprintf("remove the pin of tool %q of server %q from", tool, server), func(tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, `DELETE FROM pins WHERE server = ?1 AND (tool = ?2 OR ?2 = '')`, server, tool)
		if err != nil {
			return err
		}
		n, err = res.RowsAffected()
		return err
	})
	return n, err
}
