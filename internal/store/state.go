package store

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// State is how a store is doing.
type State struct {
	Schema int   // version of the tables
	Bytes  int64 // of the database and the files SQLite keeps beside it
	// Journals and JournalBytes are of all processes that have the store open,
	// this one included. What they hold is acknowledged; some of it may not be
	// in the tables yet.
	Journals     int
	JournalBytes int64
	// Damaged are files that hold what could not be read back from a journal,
	// in the order of their names.
	Damaged []string
}

// State returns how the store is doing. It does not look for damage inside the
// database: Check does.
func (s *Store) State(ctx context.Context) (State, error) {
	if err := s.usable(); err != nil {
		return State{}, err
	}
	var st State
	if err := s.reader.QueryRowContext(ctx, "PRAGMA user_version").Scan(&st.Schema); err != nil {
		return State{}, failure("read the state of the store", s.path, err)
	}
	for _, suffix := range []string{"", "-wal", "-shm"} {
		info, err := os.Stat(s.path + suffix)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return State{}, failure("read the state of the store", s.path, err)
		}
		st.Bytes += info.Size()
	}
	entries, err := os.ReadDir(s.journalFolder())
	if err != nil {
		return State{}, failure("read the state of the store", s.journalFolder(), err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() {
			continue // its process removed it just now
		}
		switch {
		case strings.HasSuffix(e.Name(), damagedSuffix):
			st.Damaged = append(st.Damaged, filepath.Join(s.journalFolder(), e.Name()))
		case strings.HasSuffix(e.Name(), journalSuffix):
			st.Journals++
			st.JournalBytes += info.Size()
		}
	}
	return st, nil
}
