package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// maxResponse bounds the conversation behind one response, in bytes. All of them
// together take at most an eighth of Options.MaxBytes, and each caller its share
// of that: a caller pushes out its own oldest ones, and nobody else's.
const maxResponse = 8 << 20

// Response is the conversation up to a response of a served model API. Only its
// caller can go on from it.
type Response struct {
	Caller, ID string
	Body       []byte // redacted by whoever writes it
	Expires    time.Time
}

// Response returns a response that has not expired; ErrNotFound when there is
// none.
func (s *Store) Response(ctx context.Context, caller, id string) (Response, error) {
	if err := s.usable(); err != nil {
		return Response{}, err
	}
	found, err := collect(ctx, s.reader, func(rows *sql.Rows) (Response, error) {
		r := Response{Caller: caller, ID: id}
		var expires int64
		err := rows.Scan(&r.Body, &expires)
		r.Expires = fromNanos(expires)
		return r, err
	}, `SELECT body, expires FROM responses WHERE caller = ? AND id = ? AND expires > ?`, caller, id, nanos(s.opt.Now()))
	if err == nil && len(found) == 0 {
		err = &Error{Op: fmt.Sprintf("read the response %q", id), Err: ErrNotFound}
	}
	if err != nil {
		return Response{}, failure("read a response of", s.path, err)
	}
	return found[0], nil
}

// PutResponse writes a response, and deletes those that have expired or are too
// much.
func (s *Store) PutResponse(ctx context.Context, r Response) error {
	const op = "put a response into"
	if len(r.Body) > maxResponse {
		return &Error{Op: op, Path: s.path, Err: fmt.Errorf("%w: the conversation up to the response %q has %d bytes, at most %d", ErrLimit, r.ID, len(r.Body), maxResponse)}
	}
	return s.change(ctx, op, func(tx *sql.Tx) error {
		now := nanos(s.opt.Now())
		for _, do := range []struct {
			text string
			args []any
		}{
			{`INSERT INTO responses (caller, id, body, created, expires) VALUES (?, ?, ?, ?, ?)
				ON CONFLICT (caller, id) DO UPDATE SET body = excluded.body, created = excluded.created, expires = excluded.expires`,
				[]any{r.Caller, r.ID, blob(r.Body), now, nanos(r.Expires)}},
			{`DELETE FROM responses WHERE expires <= ?`, []any{now}},
			// Of each caller the newest that fit its share stay.
			{`DELETE FROM responses WHERE (caller, id) IN (
				SELECT caller, id FROM (SELECT caller, id, sum(length(body)) OVER (PARTITION BY caller ORDER BY created DESC, id) AS upto FROM responses)
				WHERE upto > ?1 / (SELECT count(DISTINCT caller) FROM responses))
				AND (SELECT sum(length(body)) FROM responses) > ?1
				AND NOT (caller = ?2 AND id = ?3)`,
				[]any{s.opt.MaxBytes / 8, r.Caller, r.ID}},
		} {
			if _, err := tx.ExecContext(ctx, do.text, do.args...); err != nil {
				return err
			}
		}
		return nil
	})
}
