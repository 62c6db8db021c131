package store

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	journalSuffix = ".journal"
	damagedSuffix = ".damaged"
	lockName      = "lock"
	lockPoll      = 5 * time.Millisecond
)

func (s *Store) journalFolder() string { return filepath.Join(s.opt.Dir, journalsName) }

// lockFolder takes the lock under which journals are made and recovered: a
// journal that nobody has locked yet must not be taken for an abandoned one.
func (s *Store) lockFolder(ctx context.Context) (release func(), err error) {
	f, err := os.OpenFile(filepath.Join(s.journalFolder(), lockName), os.O_RDWR|os.O_CREATE, fileMode)
	if err != nil {
		return nil, err
	}
	tick := time.NewTicker(lockPoll)
	defer tick.Stop()
	for {
		held, err := lockFile(f)
		if held {
			return func() { _ = f.Close() }, nil // closing releases
		}
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, errors.Join(context.Cause(ctx), f.Close())
		}
	}
}

// createJournal makes and locks a journal for this process.
func (s *Store) createJournal(ctx context.Context) (*journal, error) {
	release, err := s.lockFolder(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	var random [12]byte
	_, _ = rand.Read(random[:]) // never fails, by its contract
	j := &journal{name: hex.EncodeToString(random[:]) + journalSuffix}
	j.file, err = os.OpenFile(filepath.Join(s.journalFolder(), j.name), os.O_RDWR|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return nil, err
	}
	held, err := lockFile(j.file)
	if err == nil && !held {
		err = errors.New("a new journal is locked already")
	}
	if err == nil {
		j.number, err = s.numberOf(ctx, j.name)
	}
	if err != nil {
		return nil, errors.Join(err, j.file.Close(), os.Remove(j.file.Name()))
	}
	return j, nil
}

// numberOf returns the journal's number, giving it one when it has none.
func (s *Store) numberOf(ctx context.Context, name string) (int64, error) {
	var number int64
	err := s.writer.QueryRowContext(ctx, `INSERT INTO journals (name, applied) VALUES (?, 0)
		ON CONFLICT (name) DO UPDATE SET name = excluded.name RETURNING number`, name).Scan(&number)
	if err == nil && number > math.MaxInt32 {
		err = fmt.Errorf("%w: %d journals", ErrLimit, number)
	}
	return number, err
}

// closeJournal removes the journal when all of it is in the tables, and else
// leaves it for the next process.
func (s *Store) closeJournal() error {
	q := &s.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.journal == nil {
		return nil
	}
	if n := len(q.items); n > 0 {
		err := fmt.Errorf("%d records wait in the journal for the next start", n)
		if q.failed != nil {
			err = fmt.Errorf("%w: %w", err, q.failed)
		}
		return errors.Join(err, q.journal.file.Close())
	}
	return s.removeJournal(context.Background(), q.journal.file, q.journal.number)
}

// removeJournal drops an applied journal: the file first, since a row without a
// file does no harm.
func (s *Store) removeJournal(ctx context.Context, f *os.File, number int64) error {
	err := errors.Join(f.Truncate(0), f.Close())
	if gone := os.Remove(f.Name()); gone != nil && !errors.Is(gone, fs.ErrNotExist) {
		err = errors.Join(err, gone)
	}
	if err != nil {
		return err
	}
	_, err = s.writer.ExecContext(ctx, `DELETE FROM journals WHERE number = ?`, number)
	return err
}

// recover applies the journals of processes that have ended.
func (s *Store) recover(ctx context.Context) error {
	release, err := s.lockFolder(ctx)
	if err != nil {
		return err
	}
	defer release()
	entries, err := os.ReadDir(s.journalFolder())
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), journalSuffix) || !e.Type().IsRegular() {
			continue
		}
		if err := s.recoverJournal(ctx, e.Name()); err != nil {
			return fmt.Errorf("apply the journal %s: %w", e.Name(), err)
		}
	}
	return s.forgetJournals(ctx)
}

func (s *Store) recoverJournal(ctx context.Context, name string) error {
	f, err := os.OpenFile(filepath.Join(s.journalFolder(), name), os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // its process removed it just now
	}
	if err != nil {
		return err
	}
	held, err := lockFile(f)
	if err != nil || !held { // not held: its process lives
		return errors.Join(err, f.Close())
	}
	number, err := s.numberOf(ctx, name)
	if err != nil {
		return errors.Join(err, f.Close())
	}
	n, err := s.replay(ctx, f, number)
	switch {
	case errors.Is(err, errDamaged), errors.Is(err, errRecord):
		s.opt.Logger.Error("a journal is damaged; what follows the damage is kept in a file beside it", "journal", name, "error", err)
		return errors.Join(f.Close(), os.Rename(f.Name(), f.Name()+damagedSuffix))
	case err != nil:
		return errors.Join(err, f.Close())
	}
	if n > 0 {
		s.opt.Logger.Info("applied the journal of a process that ended", "journal", name, "records", n)
	}
	return s.removeJournal(ctx, f, number)
}

// replay writes the records of a journal that are not in the tables yet.
func (s *Store) replay(ctx context.Context, f *os.File, number int64) (n int, err error) {
	var done uint32
	if err := s.writer.QueryRowContext(ctx, `SELECT applied FROM journals WHERE number = ?`, number).Scan(&done); err != nil {
		return 0, err
	}
	var pending []applied
	flush := func() error {
		err := s.applyBatch(ctx, number, pending)
		n += len(pending)
		pending = pending[:0]
		return err
	}
	readErr := readJournal(bufio.NewReaderSize(f, 64<<10), func(e entry) error {
		if e.seq <= done {
			return nil
		}
		r, err := readRecord(e.body)
		if err != nil {
			return err
		}
		pending = append(pending, applied{e.seq, r})
		if len(pending) < batchSize {
			return nil
		}
		return flush()
	})
	// What stands before the damage is good.
	if err := flush(); err != nil {
		return n, err
	}
	return n, readErr
}

// forgetJournals deletes the rows of journals whose files are gone.
func (s *Store) forgetJournals(ctx context.Context) error {
	rows, err := s.writer.QueryContext(ctx, `SELECT number, name FROM journals`)
	if err != nil {
		return err
	}
	type row struct {
		number int64
		name   string
	}
	var gone []row
	for rows.Next() {
		var r row
		if err := rows.Scan(&r.number, &r.name); err != nil {
			return errors.Join(err, rows.Close())
		}
		if _, err := os.Lstat(filepath.Join(s.journalFolder(), r.name)); errors.Is(err, fs.ErrNotExist) {
			gone = append(gone, r)
		}
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return err
	}
	for _, r := range gone {
		if _, err := s.writer.ExecContext(ctx, `DELETE FROM journals WHERE number = ?`, r.number); err != nil {
			return err
		}
	}
	return nil
}
