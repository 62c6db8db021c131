package store_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/toolsearch/toolsearch/internal/store"
)

// A store tells its schema and size, the journals that are in use and what
// could not be read back.
func TestState(t *testing.T) {
	dir := t.TempDir()
	s, err := store.Open(t.Context(), store.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	fresh, err := s.State(t.Context())
	if err != nil || fresh.Schema < 1 || fresh.Bytes <= 0 || fresh.Journals != 0 || fresh.Damaged != nil {
		t.Errorf("a fresh store: %+v, %v", fresh, err)
	}
	addCall(t, s, "one", time.Now(), []byte("{}"))
	damaged := filepath.Join(dir, "journals", "0.journal.damaged")
	if err := os.WriteFile(damaged, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	used, err := s.State(t.Context())
	if err != nil || used.Journals != 1 || used.JournalBytes <= 0 || len(used.Damaged) != 1 || used.Damaged[0] != damaged {
		t.Errorf("with a record: %+v, %v", used, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.State(t.Context()); !errors.Is(err, store.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}
