package store

import (
	"context"
	"database/sql"
	"errors"
)

// pruneBatch is how many rows one transaction deletes, so that writers of other
// processes wait for milliseconds.
const pruneBatch = 500

// Prune deletes what is older or larger than the bounds. The writer does so by
// itself; a command may ask for it.
func (s *Store) Prune(ctx context.Context) error {
	if err := s.usable(); err != nil {
		return err
	}
	return s.prune(ctx)
}

func (s *Store) prune(ctx context.Context) error {
	return failure("prune the store", s.path, errors.Join(s.pruneAge(ctx), s.pruneSize(ctx)))
}

// pruneAge deletes what has not been touched since MaxAge, and responses that
// have expired. Pending approvals and pins stay: they decide what may happen.
func (s *Store) pruneAge(ctx context.Context) error {
	now := s.opt.Now()
	old := now.Add(-s.opt.MaxAge).UnixNano()
	for _, do := range []struct {
		text   string
		before int64
	}{
		{`DELETE FROM calls WHERE id IN (SELECT id FROM calls WHERE started < ?1 ORDER BY started LIMIT ?2)`, old},
		{`DELETE FROM runs WHERE seq IN (SELECT seq FROM runs WHERE updated < ?1 ORDER BY updated LIMIT ?2)`, old},
		{`DELETE FROM sessions WHERE seq IN (SELECT seq FROM sessions WHERE updated < ?1 ORDER BY updated LIMIT ?2)`, old},
		{`DELETE FROM conversations WHERE session IN (SELECT session FROM conversations WHERE updated < ?1 ORDER BY updated LIMIT ?2)`, old},
		{`DELETE FROM approvals WHERE id IN (SELECT id FROM approvals WHERE max(created, decided, expires) < ?1 AND state <> 'pending' LIMIT ?2)`, old},
		{`DELETE FROM responses WHERE (caller, id) IN (SELECT caller, id FROM responses WHERE expires <= ?1 LIMIT ?2)`, nanos(now)},
	} {
		for {
			n, err := s.deleteRows(ctx, do.text, do.before, pruneBatch)
			if err != nil {
				return err
			}
			if n < pruneBatch {
				break
			}
		}
	}
	return nil
}

// pruneSize deletes the oldest calls, and then runs, until the rows take nine
// tenths of MaxBytes, and gives the room back to the disk.
func (s *Store) pruneSize(ctx context.Context) error {
	used, err := used(ctx, s.writer)
	if err != nil || used <= s.opt.MaxBytes {
		return err
	}
	for {
		more, err := s.deleteOldest(ctx, s.opt.MaxBytes/10*9)
		if err != nil {
			return err
		}
		if !more {
			break
		}
	}
	if _, err := s.deleteRows(ctx, `DELETE FROM sessions WHERE NOT EXISTS (SELECT 1 FROM runs WHERE runs.session = sessions.seq)`); err != nil {
		return err
	}
	return s.vacuum(ctx)
}

// deleteOldest deletes a batch of calls, or of runs when there is no call: no
// more than the share of them that is too much, since rows can be large. It
// measures and deletes in one transaction, so that two processes that prune at
// once do not delete twice. It reports whether there may be more to delete;
// what is left in the end are approvals and pins, which have bounds of their own.
func (s *Store) deleteOldest(ctx context.Context, target int64) (more bool, err error) {
	tx, err := s.writer.BeginTx(ctx, nil) // immediate, see dsn
	if err != nil {
		return false, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, ignoreDone(tx.Rollback()))
		}
	}()
	size, err := used(ctx, tx)
	if err != nil {
		return false, err
	}
	for _, table := range []struct{ count, delete string }{
		{`SELECT count(*) FROM calls`, `DELETE FROM calls WHERE id IN (SELECT id FROM calls ORDER BY started LIMIT ?)`},
		{`SELECT count(*) FROM runs`, `DELETE FROM runs WHERE seq IN (SELECT seq FROM runs ORDER BY updated LIMIT ?)`},
	} {
		var rows int64
		if err := tx.QueryRowContext(ctx, table.count).Scan(&rows); err != nil {
			return false, err
		}
		if rows == 0 || size <= target {
			continue
		}
		share := int64(float64(size-target) / float64(size) * float64(rows))
		if _, err := tx.ExecContext(ctx, table.delete, min(max(share, 1), pruneBatch)); err != nil {
			return false, err
		}
		more = true
		break
	}
	return more, tx.Commit()
}

// used is the size in bytes of the pages that hold something.
func used(ctx context.Context, q querier) (int64, error) {
	var pages, free, size int64
	err := q.QueryRowContext(ctx, `SELECT p.page_count, f.freelist_count, s.page_size
		FROM pragma_page_count p, pragma_freelist_count f, pragma_page_size s`).Scan(&pages, &free, &size)
	return (pages - free) * size, err
}

func (s *Store) deleteRows(ctx context.Context, text string, args ...any) (int64, error) {
	res, err := s.writer.ExecContext(ctx, text, args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// vacuum gives free pages back, some at a time.
func (s *Store) vacuum(ctx context.Context) error {
	for {
		var before, after int64
		if err := s.writer.QueryRowContext(ctx, `PRAGMA freelist_count`).Scan(&before); err != nil {
			return err
		}
		if err := vacuumPages(ctx, s.writer); err != nil {
			return err
		}
		if err := s.writer.QueryRowContext(ctx, `PRAGMA freelist_count`).Scan(&after); err != nil {
			return err
		}
		if after == 0 || after >= before {
			return nil
		}
	}
}

// vacuumPages steps the pragma to its end: it frees one page per step.
func vacuumPages(ctx context.Context, db *sql.DB) error {
	rows, err := db.QueryContext(ctx, `PRAGMA incremental_vacuum(2000)`)
	if err != nil {
		return err
	}
	for rows.Next() {
	}
	return errors.Join(rows.Err(), rows.Close())
}
