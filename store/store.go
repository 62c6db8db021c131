// Package store keeps the transcript, the approvals and the pins of a program that
// uses the library in one SQLite file, as the command line's own program does. In
// the same folder that program's verbs read and answer them: sessions, approvals
// and pins. Several processes may use a folder at once.
//
// A record of the transcript is appended to a journal before it is acknowledged:
// it survives the end of the process, and a loss of power may take those of the
// last seconds. An approval or a pin is a transaction that survives both. When the
// file cannot be written the methods fail, and the stages that use them refuse
// calls.
package store

import (
	"context"
	"log/slog"
	"time"

	"github.com/toolsearch/toolsearch/approval"
	sqlite "github.com/toolsearch/toolsearch/internal/store"
	"github.com/toolsearch/toolsearch/pin"
	"github.com/toolsearch/toolsearch/transcript"
)

// Options open a Store.
type Options struct {
	// Dir is the folder, which is made if need be; "" is the one of the command
	// line: toolsearch in $XDG_STATE_HOME, or what the system has in its place.
	// Another program's folder $X/toolsearch is read by the command line with
	// XDG_STATE_HOME=$X.
	Dir string
	// MaxAge bounds how long the transcript and answered approvals are kept; 0 is 30
	// days, and other values are brought into an hour to ten years.
	MaxAge time.Duration
	// MaxBytes bounds the file: what is oldest goes first. 0 is 512 MiB, and other
	// values are brought into 4 MiB to 64 GiB.
	MaxBytes int64
	Logger   *slog.Logger // nil logs nothing
}

// Store is an open store. It is safe for concurrent use.
type Store struct{ db *sqlite.Store }

// Open opens the store, makes it when there is none, and takes up what ended
// processes left in it. A file that a newer version has written, or that is
// damaged, is an error. Close must be called, after the Toolset's.
func Open(ctx context.Context, o Options) (*Store, error) {
	db, err := sqlite.Open(ctx, sqlite.Options{Dir: o.Dir, MaxAge: o.MaxAge, MaxBytes: o.MaxBytes, Logger: o.Logger})
	if err != nil {
		return nil, err
	}
	return &Store{db}, nil
}

// Transcript makes a transcript that is kept here. The Recorder and the Counter of
// c are set.
func (s *Store) Transcript(c transcript.Config) (*transcript.Transcript, error) {
	c.Recorder, c.Counter = s.db, s.db
	return transcript.New(c)
}

// Approvals is for approval.Options.Store.
func (s *Store) Approvals() approval.Store { return s.db.Approvals() }

// Pins is for pin.Config.Store.
func (s *Store) Pins() pin.Store { return s.db.Pins() }

// Close writes what waits to be written and closes the file.
func (s *Store) Close() error { return s.db.Close() }
