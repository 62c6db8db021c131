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

// pruneAge deletes what has not been touched since MaxAge. Pending approvals
// and pins stay: they decide what may happen.
func (s *Store) pruneAge(ctx context.Context) error {
	before := s.opt.Now().Add(-s.opt.MaxAge).UnixNano()
	for _, text := range []string{
		`DELETE FROM calls WHERE id IN (SELECT id FROM calls WHERE started < ?1 ORDER BY started LIMIT ?2)`,
		`DELETE FROM runs WHERE seq IN (SELECT seq FROM runs WHERE updated < ?1 ORDER BY updated LIMIT ?2)`,
		`DELETE FROM sessions WHERE seq IN (SELECT seq FROM sessions WHERE updated < ?1 ORDER BY updated LIMIT ?2)`,
		`DELETE FROM approvals WHERE id IN (SELECT id FROM approvals WHERE max(created, decided, expires) < ?1 AND state <> 'pending' LIMIT ?2)`,
	} {
		for {
			n, err := s.deleteRows(ctx, text, before, pruneBatch)
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
	used, err := s.used(ctx)
	if err != nil || used <= s.opt.MaxBytes {
		return err
	}
	for target := s.opt.MaxBytes / 10 * 9; used > target; {
		n, err := s.deleteRows(ctx, `DELETE FROM calls WHERE id IN (SELECT id FROM calls ORDER BY started LIMIT ?)`, pruneBatch)
		if err != nil {
			return err
		}
		if n == 0 {
			if n, err = s.deleteRows(ctx, `DELETE FROM runs WHERE seq IN (SELECT seq FROM runs ORDER BY updated LIMIT ?)`, pruneBatch); err != nil {
				return err
			}
		}
		if n == 0 {
			break // what is left are approvals and pins, which have bounds of their own
		}
		if used, err = s.used(ctx); err != nil {
			return err
		}
	}
	if _, err := s.deleteRows(ctx, `DELETE FROM sessions WHERE NOT EXISTS (SELECT 1 FROM runs WHERE runs.session = sessions.seq)`); err != nil {
		return err
	}
	return s.vacuum(ctx)
}

// used is the size in bytes of the pages that hold something.
func (s *Store) used(ctx context.Context) (int64, error) {
	var pages, free, size int64
	err := s.writer.QueryRowContext(ctx, `SELECT p.page_count, f.freelist_count, s.page_size
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
