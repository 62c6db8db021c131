package store

import (
	"context"
	"database/sql"
	"fmt"
)

// maxConversation bounds one conversation, in bytes. All of them together take
// at most a quarter of Options.MaxBytes: the oldest are deleted.
const maxConversation = 8 << 20

// Conversation is what was said in a session so far.
type Conversation struct {
	Session string
	API     string // the wire format of Body
	Body    []byte // redacted by whoever writes it
}

// Conversation returns the conversation of a session; ErrNotFound when there is
// none.
func (s *Store) Conversation(ctx context.Context, session string) (Conversation, error) {
	if err := s.usable(); err != nil {
		return Conversation{}, err
	}
	found, err := collect(ctx, s.reader, func(rows *sql.Rows) (Conversation, error) {
		c := Conversation{Session: session}
		return c, rows.Scan(&c.API, &c.Body)
	}, `SELECT api, body FROM conversations WHERE session = ?`, session)
	if err == nil && len(found) == 0 {
		err = &Error{Op: fmt.Sprintf("read the conversation of session %q", session), Err: ErrNotFound}
	}
	if err != nil {
		return Conversation{}, failure("read a conversation of", s.path, err)
	}
	return found[0], nil
}

// PutConversation writes a conversation over what there is of the session.
func (s *Store) PutConversation(ctx context.Context, c Conversation) error {
	const op = "put a conversation into"
	if len(c.Body) > maxConversation {
		return &Error{Op: op, Path: s.path, Err: fmt.Errorf("%w: the conversation of session %q has %d bytes, at most %d; begin a new session", ErrLimit, c.Session, len(c.Body), maxConversation)}
	}
	return s.change(ctx, op, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `INSERT INTO conversations (session, api, body, updated) VALUES (?, ?, ?, ?)
			ON CONFLICT (session) DO UPDATE SET api = excluded.api, body = excluded.body, updated = excluded.updated`,
			c.Session, c.API, blob(c.Body), nanos(s.opt.Now())); err != nil {
			return err
		}
		// The newest that fit stay: a row goes when it and all newer ones are too much.
		_, err := tx.ExecContext(ctx, `DELETE FROM conversations WHERE session IN (
			SELECT session FROM (SELECT session, sum(length(body)) OVER (ORDER BY updated DESC, session) AS upto FROM conversations)
			WHERE upto > ?) AND session <> ?`, s.opt.MaxBytes/4, c.Session)
		return err
	})
}
