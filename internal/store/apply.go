package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/toolsearch/toolsearch/transcript"
)

// applied is a record with its number in its journal.
type applied struct {
	seq uint32
	rec *record
}

// statements are the prepared statements of the connection that writes the
// transcript.
type statements struct {
	all                                      []*sql.Stmt
	session, sessionOf, run, runOf           *sql.Stmt
	intent, outcome, surface, count, touch   *sql.Stmt
	touchSession, mark, unhappy, countFailed *sql.Stmt
}

const setOutcome = `UPDATE calls SET duration = ?, status = ?, code = ?, blocked_by = ?, reason = ?, approval = ?, decision = ?,
	decided_by = ?, result = ?, result_size = ?, result_digest = ? WHERE id = ? AND status = ''`

func prepare(ctx context.Context, db *sql.DB) (*statements, error) {
	s := &statements{}
	for _, p := range []struct {
		at   **sql.Stmt
		text string
	}{
		{&s.session, `INSERT OR IGNORE INTO sessions (id, agent, caller, started, updated) VALUES (?, ?, ?, ?, ?)`},
		{&s.sessionOf, `SELECT seq FROM sessions WHERE id = ?`},
		{&s.run, `INSERT OR IGNORE INTO runs (session, id, started, updated) VALUES (?, ?, ?, ?)`},
		{&s.runOf, `SELECT r.seq, r.session FROM runs r JOIN sessions s ON s.seq = r.session WHERE s.id = ? AND r.id = ?`},
		{&s.intent, `INSERT OR IGNORE INTO calls (id, run, call, parent, control, agent, caller, target, source, owner, name,
			args, args_size, args_digest, started, duration, status, code, blocked_by, reason, approval, decision, decided_by,
			result, result_size, result_digest) VALUES (` + strings.Repeat("?, ", 25) + `?)`},
		{&s.outcome, setOutcome},
		{&s.unhappy, setOutcome + ` RETURNING run`},
		{&s.surface, `UPDATE runs SET mode = ?, schemas = ?, schema_bytes = ?, catalog = ? WHERE seq = ?`},
		{&s.count, `UPDATE runs SET searches = searches + ?, empty_searches = empty_searches + ?, describes = describes + ? WHERE seq = ?`},
		{&s.touch, `UPDATE runs SET updated = max(updated, ?), calls = calls + ? WHERE seq = ?`},
		{&s.countFailed, `UPDATE runs SET failed = failed + ? WHERE seq = ?`},
		{&s.touchSession, `UPDATE sessions SET updated = max(updated, ?) WHERE seq = ?`},
		{&s.mark, `UPDATE journals SET applied = ? WHERE number = ?`},
	} {
		stmt, err := db.PrepareContext(ctx, p.text)
		if err != nil {
			return nil, errors.Join(err, s.close())
		}
		*p.at, s.all = stmt, append(s.all, stmt)
	}
	return s, nil
}

func (s *statements) close() error {
	var errs []error
	for _, stmt := range s.all {
		errs = append(errs, stmt.Close())
	}
	return errors.Join(errs...)
}

// batch writes records of one journal in one transaction.
type batch struct {
	tx      *sql.Tx
	st      *statements
	journal int64
	runs    map[transcript.RunKey]*touched
	failed  map[int64]int           // calls that did not end well, by run
	bound   map[*sql.Stmt]*sql.Stmt // the statements, in tx
	// ended holds the calls that begin in this batch, with their outcome where
	// it is in the batch too: most calls are short, and so are written once.
	ended map[int64]*transcript.Outcome
}

// pair fills ended.
func (b *batch) pair(records []applied) {
	for _, a := range records {
		switch a.rec.kind {
		case kindIntent:
			b.ended[callID(b.journal, a.seq)] = &transcript.Outcome{}
		case kindOutcome:
			id := int64(a.rec.ref)
			if o, here := b.ended[id]; here && o.Status == "" {
				b.ended[id] = &a.rec.outcome
			}
		}
	}
}

// touched is a run that the batch writes to.
type touched struct {
	seq, session int64
	at           int64
	calls        int
}

// applyBatch writes the records and the mark that they are written: both or
// neither, so that a journal that is read again adds nothing twice.
func (s *Store) applyBatch(ctx context.Context, number int64, records []applied) (err error) {
	if len(records) == 0 {
		return nil
	}
	if err := s.present(); err != nil {
		return err
	}
	tx, err := s.writer.BeginTx(ctx, nil) // immediate, see dsn
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, ignoreDone(tx.Rollback()))
		}
	}()
	b := &batch{
		tx: tx, st: s.stmts, journal: number, runs: map[transcript.RunKey]*touched{}, failed: map[int64]int{},
		bound: map[*sql.Stmt]*sql.Stmt{}, ended: map[int64]*transcript.Outcome{},
	}
	b.pair(records)
	for _, a := range records {
		if err := b.apply(ctx, a); err != nil {
			return err
		}
	}
	if err := b.touch(ctx); err != nil {
		return err
	}
	if err := b.exec(ctx, s.stmts.mark, int64(records[len(records)-1].seq), number); err != nil {
		return err
	}
	return tx.Commit()
}

// touch updates, once each, the runs and sessions that the batch wrote to. The
// order of the maps leaves no trace.
func (b *batch) touch(ctx context.Context) error {
	for _, t := range b.runs {
		if err := b.exec(ctx, b.st.touch, t.at, t.calls, t.seq); err != nil {
			return err
		}
		if err := b.exec(ctx, b.st.touchSession, t.at, t.session); err != nil {
			return err
		}
	}
	for run, n := range b.failed {
		if err := b.exec(ctx, b.st.countFailed, n, run); err != nil {
			return err
		}
	}
	return nil
}

func (b *batch) exec(ctx context.Context, stmt *sql.Stmt, args ...any) error {
	_, err := b.in(ctx, stmt).ExecContext(ctx, args...)
	return err
}

// in returns a statement of the transaction.
func (b *batch) in(ctx context.Context, stmt *sql.Stmt) *sql.Stmt {
	in, ok := b.bound[stmt]
	if !ok {
		in = b.tx.StmtContext(ctx, stmt)
		b.bound[stmt] = in
	}
	return in
}

func (b *batch) apply(ctx context.Context, a applied) error {
	switch r := a.rec; r.kind {
	case kindIntent:
		return b.intent(ctx, callID(b.journal, a.seq), &r.intent)
	case kindOutcome:
		return b.outcome(ctx, r)
	case kindRun:
		run, err := b.runOf(ctx, r.run.RunKey, who{r.run.Agent, r.run.Caller}, r.run.Started)
		if err != nil {
			return err
		}
		return b.exec(ctx, b.st.surface, r.run.Mode, r.run.Schemas, r.run.SchemaBytes, r.run.Catalog, run.seq)
	case kindCount:
		run, err := b.runOf(ctx, r.key, who{}, r.at)
		if err != nil {
			return err
		}
		return b.exec(ctx, b.st.count, r.counts.Searches, r.counts.EmptySearches, r.counts.Describes, run.seq)
	}
	return errRecord
}

// callID is the row of an intent.
func callID(journal int64, seq uint32) int64 { return journal<<32 | int64(seq) }

func (b *batch) intent(ctx context.Context, id int64, in *transcript.Intent) error {
	run, err := b.runOf(ctx, in.RunKey, who{in.Agent, in.Caller}, in.Started)
	if err != nil {
		return err
	}
	run.calls++
	o := b.ended[id]
	if o.Status != "" && o.Status != transcript.StatusOK {
		b.failed[run.seq]++
	}
	return b.exec(ctx, b.st.intent, append([]any{
		id, run.seq, in.Call, in.Parent, in.Control, in.Agent, in.Caller, string(in.Target),
		string(in.Source), in.Owner, in.Name, blob(in.Args.Text), in.Args.Size, in.Args.Digest, in.Started.UnixNano(),
	}, outcomeArgs(o)...)...)
}

// outcomeArgs are the columns of an outcome, in their order in the table.
func outcomeArgs(o *transcript.Outcome) []any {
	return []any{
		int64(o.Duration), string(o.Status), string(o.Code), o.By, o.Reason,
		o.Approval.ID, o.Approval.Decision, o.Approval.By, blob(o.Result.Text), o.Result.Size, o.Result.Digest,
	}
}

func (b *batch) outcome(ctx context.Context, r *record) error {
	if _, here := b.ended[int64(r.ref)]; here {
		return nil // written with its intent
	}
	args := append(outcomeArgs(&r.outcome), int64(r.ref))
	if r.outcome.Status == transcript.StatusOK {
		return b.exec(ctx, b.st.outcome, args...)
	}
	var run int64
	err := b.in(ctx, b.st.unhappy).QueryRowContext(ctx, args...).Scan(&run)
	if errors.Is(err, sql.ErrNoRows) {
		return nil // the call was deleted while it ran
	}
	b.failed[run]++
	return err
}

// blob makes an empty value a blob too: nil would be NULL.
func blob(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

type who struct{ agent, caller string }

// runOf finds the run's row, or makes it and its session's.
func (b *batch) runOf(ctx context.Context, key transcript.RunKey, w who, at time.Time) (*touched, error) {
	now := at.UnixNano()
	if t, ok := b.runs[key]; ok {
		t.at = max(t.at, now)
		return t, nil
	}
	t := &touched{at: now}
	find := func() error {
		return b.in(ctx, b.st.runOf).QueryRowContext(ctx, key.Session, key.Run).Scan(&t.seq, &t.session)
	}
	err := find()
	if errors.Is(err, sql.ErrNoRows) {
		if err = b.exec(ctx, b.st.session, key.Session, w.agent, w.caller, now, now); err != nil {
			return nil, err
		}
		if err = b.in(ctx, b.st.sessionOf).QueryRowContext(ctx, key.Session).Scan(&t.session); err != nil {
			return nil, err
		}
		if err = b.exec(ctx, b.st.run, t.session, key.Run, now, now); err != nil {
			return nil, err
		}
		err = find()
	}
	if err != nil {
		return nil, fmt.Errorf("find run %q of session %q: %w", key.Run, key.Session, err)
	}
	b.runs[key] = t
	return t, nil
}
