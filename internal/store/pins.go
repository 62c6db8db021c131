package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// PinStatus says whether a tool's definition is the accepted one.
type PinStatus string

// The states of a pin.
const (
	PinAccepted PinStatus = "accepted"
	PinChanged  PinStatus = "changed" // the server offers another definition
)

const (
	maxPins       = 200_000
	maxDefinition = 1 << 20 // bytes
)

// Pin is the accepted definition of an MCP tool, and the changed one that the
// server offers now, if any.
type Pin struct {
	Server     string
	Tool       string
	Digest     string
	Definition []byte
	Status     PinStatus
	FirstSeen  time.Time
	Accepted   time.Time
	// Offered are the digest, the bytes and the time of the changed definition.
	OfferedDigest     string
	OfferedDefinition []byte
	Offered           time.Time
}

// Pin returns one pin; ErrNotFound when the tool was never seen.
func (s *Store) Pin(ctx context.Context, server, tool string) (Pin, error) {
	found, err := s.pins(ctx, `definition, offered_definition FROM pins WHERE server = ? AND tool = ?`, server, tool)
	if err == nil && len(found) == 0 {
		err = &Error{Op: fmt.Sprintf("read the pin of tool %q of server %q", tool, server), Err: ErrNotFound}
	}
	if err != nil {
		return Pin{}, failure("read a pin of", s.path, err)
	}
	return found[0], nil
}

// Pins lists the pins of a server, or of all with "", by server and tool. It
// leaves out the definitions, which may have gigabytes together.
func (s *Store) Pins(ctx context.Context, server string) ([]Pin, error) {
	rest, args := `NULL, NULL FROM pins`, []any(nil)
	if server != "" {
		rest, args = rest+` WHERE server = ?`, []any{server}
	}
	out, err := s.pins(ctx, rest+` ORDER BY server, tool`, args...)
	return out, failure("list the pins of", s.path, err)
}

// pins reads pins. rest completes the query from the definitions on.
func (s *Store) pins(ctx context.Context, rest string, args ...any) ([]Pin, error) {
	if err := s.usable(); err != nil {
		return nil, err
	}
	return collect(ctx, s.reader, func(rows *sql.Rows) (Pin, error) {
		var p Pin
		var first, accepted, offered int64
		err := rows.Scan(&p.Server, &p.Tool, &p.Digest, &p.Status, &first, &accepted, &p.OfferedDigest, &offered, &p.Definition, &p.OfferedDefinition)
		p.FirstSeen, p.Accepted, p.Offered = fromNanos(first), fromNanos(accepted), fromNanos(offered)
		return p, err
	}, `SELECT server, tool, digest, status, first_seen, accepted, offered_digest, offered, `+rest, args...)
}

// AddPins pins tools at first sight, all or none. A pin that is there already
// stays as it is: another process may have been first.
func (s *Store) AddPins(ctx context.Context, pins []Pin) error {
	return s.putPins(ctx, pins, `ON CONFLICT (server, tool) DO NOTHING`)
}

// PutPins writes pins as they are, all or none, over those that are there.
func (s *Store) PutPins(ctx context.Context, pins []Pin) error {
	return s.putPins(ctx, pins, `ON CONFLICT (server, tool) DO UPDATE SET digest = excluded.digest, definition = excluded.definition,
		status = excluded.status, first_seen = excluded.first_seen, accepted = excluded.accepted, offered_digest = excluded.offered_digest,
		offered_definition = excluded.offered_definition, offered = excluded.offered`)
}

func (s *Store) putPins(ctx context.Context, pins []Pin, conflict string) error {
	const op = "put pins into"
	for _, p := range pins {
		if n := max(len(p.Definition), len(p.OfferedDefinition)); n > maxDefinition {
			return &Error{Op: op, Path: s.path, Err: fmt.Errorf("%w: the definition of tool %q of server %q has %d bytes, at most %d", ErrLimit, p.Tool, p.Server, n, maxDefinition)}
		}
	}
	return s.change(ctx, op, func(tx *sql.Tx) (err error) {
		stmt, err := tx.PrepareContext(ctx, `INSERT INTO pins (server, tool, digest, definition, status, first_seen, accepted,
			offered_digest, offered_definition, offered) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) `+conflict)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, stmt.Close()) }()
		for _, p := range pins {
			if _, err := stmt.ExecContext(ctx, p.Server, p.Tool, p.Digest, blob(p.Definition), string(p.Status), nanos(p.FirstSeen),
				nanos(p.Accepted), p.OfferedDigest, blob(p.OfferedDefinition), nanos(p.Offered)); err != nil {
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

// AcceptPin makes the offered definition the accepted one, if it still has the
// digest that the user looked at. It reports whether it did.
func (s *Store) AcceptPin(ctx context.Context, server, tool, digest string, at time.Time) (accepted bool, err error) {
	err = s.change(ctx, fmt.Sprintf("accept the definition of tool %q of server %q in", tool, server), func(tx *sql.Tx) error {
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

// RemovePins forgets a tool, or with an empty tool all of a server's, so that
// they are pinned anew at their next sight. It returns how many there were.
func (s *Store) RemovePins(ctx context.Context, server, tool string) (n int64, err error) {
	err = s.change(ctx, fmt.Sprintf("remove the pin of tool %q of server %q from", tool, server), func(tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, `DELETE FROM pins WHERE server = ?1 AND (tool = ?2 OR ?2 = '')`, server, tool)
		if err != nil {
			return err
		}
		n, err = res.RowsAffected()
		return err
	})
	return n, err
}
