//go:build unix

package store_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/toolsearch/toolsearch/internal/store"
	"github.com/toolsearch/toolsearch/pin"
	"github.com/toolsearch/toolsearch/transcript"
)

// Who deletes or replaces the files of a store that is open ends the recording,
// not its truth: nothing is acknowledged that nobody would ever find.
func TestARemovedStoreFailsClosed(t *testing.T) {
	for name, c := range map[string]struct {
		remove func(dir string) error
		kept   bool // what was acknowledged is there at the next start
	}{
		"folder":   {os.RemoveAll, false},
		"journals": {func(dir string) error { return os.RemoveAll(filepath.Join(dir, "journals")) }, true},
		"database": {func(dir string) error { return os.Remove(database(dir)) }, true},
		"replaced": {func(dir string) error {
			if err := os.Rename(database(dir), database(dir)+".old"); err != nil {
				return err
			}
			return os.WriteFile(database(dir), nil, 0o600)
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s, err := store.Open(t.Context(), store.Options{Dir: dir})
			if err != nil {
				t.Fatal(err)
			}
			begin := func() error {
				_, err := s.Begin(t.Context(), transcript.Intent{RunKey: transcript.RunKey{Session: "s"}})
				return err
			}
			if err := errors.Join(begin(), s.Flush(t.Context())); err != nil {
				t.Fatal(err)
			}
			if err := c.remove(dir); err != nil {
				t.Fatal(err)
			}
			acknowledged := 1
			for err = begin(); err == nil && acknowledged < 20_000; err = begin() { // the database is looked for with each batch
				acknowledged++
			}
			if !errors.Is(err, store.ErrRemoved) {
				t.Errorf("a record was refused with %v, want ErrRemoved", err)
			}
			if name != "journals" {
				if err := s.Pins().Add(t.Context(), []pin.Pin{{Server: "s", Tool: "t", Digest: "d"}}); !errors.Is(err, store.ErrRemoved) {
					t.Errorf("a pin was put with %v, want ErrRemoved", err)
				}
			}
			_ = s.Close() // says that records wait
			if !c.kept {
				return
			}
			if s, err = store.Open(t.Context(), store.Options{Dir: dir}); err != nil {
				t.Fatal(err)
			}
			defer func() { _ = s.Close() }()
			found := 0
			if err := s.Calls(t.Context(), "s", func(store.Call) error { found++; return nil }); err != nil && !errors.Is(err, store.ErrNotFound) {
				t.Fatal(err)
			}
			if found < acknowledged-1 { // the first was in the database, which may be another one now
				t.Errorf("%d of %d acknowledged records are there", found, acknowledged)
			}
		})
	}
}
