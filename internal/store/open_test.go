package store_test

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsearch/toolsearch/approval"
	"github.com/toolsearch/toolsearch/internal/store"
	"github.com/toolsearch/toolsearch/pin"
	"github.com/toolsearch/toolsearch/transcript"
)

func database(dir string) string { return filepath.Join(dir, "toolsearch.db") }

// made is a folder with a store in it, closed.
func made(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	s := open(t, store.Options{Dir: dir})
	if _, err := s.Begin(t.Context(), transcript.Intent{RunKey: transcript.RunKey{Session: "s", Run: "r"}}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

func execute(t *testing.T, dir, text string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+database(dir))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(text); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestOpenRefuses(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(t *testing.T, dir string)
		want  error
	}{
		{"a newer schema", func(t *testing.T, dir string) { execute(t, dir, `PRAGMA user_version = 999`) }, store.ErrNewerSchema},
		{"the database of another program", func(t *testing.T, dir string) { execute(t, dir, `PRAGMA application_id = 1`) }, store.ErrForeign},
		{"a file that is no database", func(t *testing.T, dir string) {
			write(t, database(dir), bytes.Repeat([]byte("not a database\n"), 1000))
		}, store.ErrCorrupt},
		{"a database with a damaged schema page", func(t *testing.T, dir string) {
			raw, err := os.ReadFile(database(dir))
			if err != nil {
				t.Fatal(err)
			}
			copy(raw[100:], bytes.Repeat([]byte{0xFF}, 900))
			write(t, database(dir), raw)
		}, store.ErrCorrupt},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := made(t)
			c.spoil(t, dir)
			before, err := os.ReadFile(database(dir))
			if err != nil {
				t.Fatal(err)
			}
			s, err := store.Open(t.Context(), store.Options{Dir: dir})
			var se *store.Error
			if !errors.Is(err, c.want) || !errors.As(err, &se) || se.Hint == "" {
				t.Fatalf("Open returned %v, %v; want an *Error of %v with a hint", s, err, c.want)
			}
			if after, err := os.ReadFile(database(dir)); err != nil || !bytes.Equal(before, after) {
				t.Errorf("the refused file was changed: %v", err)
			}
		})
	}
}

func write(t *testing.T, path string, raw []byte) {
	t.Helper()
	for _, suffix := range []string{"-wal", "-shm"} {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
}

// Damage that Open does not touch shows in Check.
func TestCheckFindsDamage(t *testing.T) {
	dir := t.TempDir()
	s := open(t, store.Options{Dir: dir})
	writeWhileListing(t, s, 400)
	if err := s.Check(t.Context()); err != nil {
		t.Fatalf("a sound store: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(database(dir))
	if err != nil {
		t.Fatal(err)
	}
	for at := len(raw) / 2 &^ 4095; at < len(raw); at += 4096 {
		copy(raw[at:], bytes.Repeat([]byte{0xFF}, 64))
	}
	write(t, database(dir), raw)
	s = open(t, store.Options{Dir: dir})
	if err := s.Check(t.Context()); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("a damaged store: %v", err)
	}
}

func TestAClosedStoreRefuses(t *testing.T) {
	s := open(t, store.Options{})
	ctx := t.Context()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("a second Close: %v", err)
	}
	_, begin := s.Begin(ctx, transcript.Intent{})
	_, sessions := s.Sessions(ctx, store.Page{})
	_, get := s.Approvals().Get(ctx, "a")
	_, change := s.Approvals().Change(ctx, "a", approval.Change{})
	_, _, pinned := s.Pins().Get(ctx, "s", "t")
	for what, err := range map[string]error{
		"Begin": begin, "End": s.End(ctx, 1, transcript.Outcome{}), "StartRun": s.StartRun(ctx, transcript.Run{}),
		"Count": s.Count(ctx, transcript.RunKey{}, transcript.Counts{}), "Sessions": sessions,
		"Approvals.Get": get, "Approvals.Change": change, "Approvals.Put": s.Approvals().Put(ctx, approval.Record{}),
		"Pins.Get": pinned, "Pins.Add": s.Pins().Add(ctx, []pin.Pin{{}}), "Prune": s.Prune(ctx), "Check": s.Check(ctx),
	} {
		if !errors.Is(err, store.ErrClosed) {
			t.Errorf("%s returned %v, want ErrClosed", what, err)
		}
	}
}

func TestDefaultDir(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_STATE_HOME", filepath.Join(home, "state"))
	if dir, err := store.DefaultDir(); err != nil || dir != filepath.Join(home, "state", "toolsearch") {
		t.Errorf("with XDG_STATE_HOME: %q, %v", dir, err)
	}
	// The XDG base directory specification: a relative path is to be ignored.
	t.Setenv("XDG_STATE_HOME", "relative")
	if runtime.GOOS == "linux" {
		if dir, err := store.DefaultDir(); err != nil || dir != filepath.Join(home, ".local", "state", "toolsearch") {
			t.Errorf("without: %q, %v", dir, err)
		}
	}
}

func TestPathWithOddCharacters(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a b?c#d%41é")
	s := open(t, store.Options{Dir: dir})
	if _, err := os.Stat(database(dir)); err != nil {
		t.Error(err)
	}
	if err := s.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

func addCall(t *testing.T, s *store.Store, session string, at time.Time, text []byte) {
	t.Helper()
	ref, err := s.Begin(t.Context(), transcript.Intent{
		RunKey: transcript.RunKey{Session: session, Run: "r"}, Call: fmt.Sprint(at.UnixNano()), Started: at, Args: transcript.Body{Text: []byte(`{}`), Size: 2},
	})
	if err == nil {
		err = s.End(t.Context(), ref, transcript.Outcome{Status: transcript.StatusOK, Result: transcript.Body{Text: text, Size: len(text)}})
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestPruneByAge(t *testing.T) {
	now := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	s := open(t, store.Options{MaxAge: 24 * time.Hour, Now: func() time.Time { return now }})
	addCall(t, s, "old", now.Add(-48*time.Hour), []byte(`{}`))
	addCall(t, s, "both", now.Add(-25*time.Hour), []byte(`{}`))
	addCall(t, s, "both", now.Add(-23*time.Hour), []byte(`{}`))
	for id, state := range map[string]approval.State{"answered": approval.Used, "waiting": approval.Pending} {
		if err := s.Approvals().Put(t.Context(), approval.Record{ID: id, State: state, Created: now.Add(-48 * time.Hour)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Prune(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Session(t.Context(), "old"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the old session: %v", err)
	}
	left := 0
	if err := s.Calls(t.Context(), "both", func(store.Call) error { left++; return nil }); err != nil || left != 1 {
		t.Errorf("%d calls of the other session are left: %v", left, err)
	}
	if found, err := s.Session(t.Context(), "both"); err != nil || found.Calls != 2 {
		t.Errorf("the session counts %d calls, want the 2 that were made: %v", found.Calls, err)
	}
	if _, err := s.Approvals().Get(t.Context(), "answered"); !errors.Is(err, approval.ErrNotFound) {
		t.Errorf("the old answered approval: %v", err)
	}
	if _, err := s.Approvals().Get(t.Context(), "waiting"); err != nil {
		t.Errorf("the old pending approval: %v", err)
	}
}

// MaxBytes far under the bound means the bound, never "no limit".
func TestPruneBySize(t *testing.T) {
	dir := t.TempDir()
	now := time.Now()
	s := open(t, store.Options{Dir: dir, MaxBytes: 1, Now: func() time.Time { return now }})
	text := append(append([]byte{'"'}, bytes.Repeat([]byte("x"), 16<<10)...), '"')
	const n = 1000 // 16 MiB
	for i := range n {
		addCall(t, s, "big", now.Add(time.Duration(i)*time.Millisecond), text)
	}
	if err := s.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Prune(t.Context()); err != nil {
		t.Fatal(err)
	}
	var first, last time.Time
	left := 0
	if err := s.Calls(t.Context(), "big", func(c store.Call) error {
		if left++; left == 1 {
			first = c.Started
		}
		last = c.Started
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if left == 0 || left > store.MinMaxBytes/len(text) {
		t.Errorf("%d calls of %d bytes are left in %d bytes", left, len(text), store.MinMaxBytes)
	}
	if want := now.Add((n - 1) * time.Millisecond); left > 0 && (last.UnixNano() != want.UnixNano() || first.Before(now.Add(time.Millisecond))) {
		t.Errorf("what is left is from %v to %v: the oldest must go first", first, last)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(database(dir)); err != nil || info.Size() > store.MinMaxBytes {
		t.Errorf("the file has %d bytes, at most %d: %v", info.Size(), store.MinMaxBytes, err)
	}
}

// A store of before approvals named a folder opens, and keeps what is in it.
func TestApprovalsOfBeforeFolders(t *testing.T) {
	dir := t.TempDir()
	s := open(t, store.Options{Dir: dir})
	want := request("a1")
	if err := s.Approvals().Put(t.Context(), want); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	execute(t, dir, `ALTER TABLE approvals DROP COLUMN folder; PRAGMA user_version = 3`)
	got, err := open(t, store.Options{Dir: dir}).Approvals().Get(t.Context(), "a1")
	want.Folder = ""
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v, differs: %s", err, diff)
	}
}
