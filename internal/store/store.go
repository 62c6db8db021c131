package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"
)

// Bounds of what is kept. Pruning begins with the oldest.
const (
	DefaultMaxAge   = 30 * 24 * time.Hour
	MinMaxAge       = time.Hour
	MaxMaxAge       = 10 * 365 * 24 * time.Hour
	DefaultMaxBytes = 512 << 20
	MinMaxBytes     = 4 << 20
	MaxMaxBytes     = 64 << 30
)

// busyTimeout bounds how long a statement waits for another process.
const busyTimeout = 5 * time.Second

const readers = 4

// Options open a Store. The zero value is the user's own store.
type Options struct {
	Dir string // the state folder; "" means DefaultDir
	// MaxAge and MaxBytes bound the transcript and answered approvals: what is
	// older, or beyond the size of the database file, is deleted. Zero means
	// the default; other values are brought into their bounds.
	MaxAge   time.Duration
	MaxBytes int64
	Logger   *slog.Logger     // nil logs nothing
	Now      func() time.Time // nil means time.Now
}

func (o Options) withDefaults() (Options, error) {
	if o.Dir == "" {
		dir, err := DefaultDir()
		if err != nil {
			return o, err
		}
		o.Dir = dir
	}
	abs, err := filepath.Abs(o.Dir)
	if err != nil {
		return o, fmt.Errorf("open the store in %s: %w", o.Dir, err)
	}
	o.Dir = abs
	if o.MaxAge == 0 {
		o.MaxAge = DefaultMaxAge
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = DefaultMaxBytes
	}
	o.MaxAge = min(max(o.MaxAge, MinMaxAge), MaxMaxAge)
	o.MaxBytes = min(max(o.MaxBytes, MinMaxBytes), MaxMaxBytes)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o, nil
}

// Store is an open store. It is safe for concurrent use.
type Store struct {
	opt  Options
	path string      // of the database
	file fs.FileInfo // which file that is

	writer  *sql.DB // one connection: the transcript
	control *sql.DB // one connection, synchronous=FULL: approvals and pins
	reader  *sql.DB // some connections that cannot write
	stmts   *statements

	queue   queue
	closing chan struct{}
	written sync.WaitGroup // the writer goroutine
}

// Open opens the store, makes it when there is none, and applies what ended
// processes left in their journals. Close must be called.
func Open(ctx context.Context, opt Options) (*Store, error) {
	opt, err := opt.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Store{opt: opt, path: filepath.Join(opt.Dir, databaseName), closing: make(chan struct{})}
	s.queue.init()
	if err := s.open(ctx); err != nil {
		return nil, errors.Join(failure("open the store", s.path, err), s.closeDatabases())
	}
	s.written.Go(s.write)
	return s, nil
}

func (s *Store) open(ctx context.Context) (err error) {
	if err := prepareFolder(s.opt.Dir); err != nil {
		return err
	}
	if err := prepareFile(s.path); err != nil {
		return err
	}
	if s.file, err = os.Stat(s.path); err != nil {
		return err
	}
	if err := inspect(ctx, s.path); err != nil {
		return err
	}
	for _, p := range []struct {
		at      **sql.DB
		conns   int
		pragmas []string
	}{
		{&s.writer, 1, []string{"synchronous(NORMAL)"}},
		{&s.control, 1, []string{"synchronous(FULL)"}},
		{&s.reader, readers, []string{"synchronous(NORMAL)", "query_only(1)"}},
	} {
		db, err := sql.Open("sqlite", dsn(s.path, p.pragmas))
		if err != nil {
			return err
		}
		db.SetMaxOpenConns(p.conns)
		db.SetMaxIdleConns(p.conns)
		*p.at = db
	}
	if err := migrate(ctx, s.writer); err != nil {
		return err
	}
	if s.stmts, err = prepare(ctx, s.writer); err != nil {
		return err
	}
	return s.recover(ctx)
}

// dsn names the database and sets up each connection. auto_vacuum counts only
// for a file without tables, and before journal_mode.
func dsn(path string, pragmas []string) string {
	q := url.Values{"_txlock": {"immediate"}}
	q["_pragma"] = append([]string{
		busyPragma(), "auto_vacuum(INCREMENTAL)", "journal_mode(WAL)", "foreign_keys(1)", "trusted_schema(0)",
		"journal_size_limit(16777216)", "cache_size(-4096)",
	}, pragmas...)
	return fileURI(path, q)
}

func busyPragma() string { return fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds()) }

// fileURI writes a path as SQLite reads URIs.
func fileURI(path string, q url.Values) string {
	path = filepath.ToSlash(path)
	if runtime.GOOS == "windows" {
		path = "///" + path
	}
	return "file:" + strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(path) + "?" + q.Encode()
}

// Path is the database file.
func (s *Store) Path() string { return s.path }

// Close writes what is queued and closes the store. An error says that records
// wait in the journal; whoever opens the store next applies them. Close may be
// called again and then does nothing.
func (s *Store) Close() error {
	if !s.queue.close() {
		return nil
	}
	close(s.closing)
	s.written.Wait()
	err := s.closeJournal()
	return failure("close the store", s.path, errors.Join(err, s.closeDatabases()))
}

func (s *Store) closeDatabases() error {
	var errs []error
	if s.stmts != nil {
		errs = append(errs, s.stmts.close())
	}
	for _, db := range []*sql.DB{s.reader, s.control, s.writer} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(errs...)
}

// Check reads the whole database and reports damage. It may take a second per
// 100 MB.
func (s *Store) Check(ctx context.Context) error {
	if err := s.usable(); err != nil {
		return err
	}
	var answer string
	if err := s.reader.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&answer); err != nil {
		return failure("check the store", s.path, err)
	}
	if answer != "ok" {
		return failure("check the store", s.path, fmt.Errorf("%w: %s", ErrCorrupt, answer))
	}
	return nil
}

// present is an error when the database is not at its place any more. What is
// written to it then, nobody would ever find.
func (s *Store) present() error {
	now, err := os.Stat(s.path)
	if err == nil && os.SameFile(s.file, now) {
		return nil
	}
	return s.removed("write to", s.path)
}

func (s *Store) removed(op, path string) error {
	return &Error{Op: op, Path: path, Err: ErrRemoved, Hint: "start the program again"}
}

func (s *Store) usable() error {
	if s.queue.isClosed() {
		return &Error{Op: "use the store", Path: s.path, Err: ErrClosed}
	}
	return nil
}
