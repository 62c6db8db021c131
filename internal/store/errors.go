package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// What can be wrong with a store. An *Error wraps one of them.
var (
	ErrClosed      = errors.New("the store is closed")
	ErrFull        = errors.New("the disk is full or a size limit is reached")
	ErrReadOnly    = errors.New("it cannot be written")
	ErrCorrupt     = errors.New("the database is damaged")
	ErrNewerSchema = errors.New("the database was written by a newer version")
	ErrForeign     = errors.New("the file is a database of another program")
	ErrBusy        = errors.New("another process holds the database")
	ErrRemoved     = errors.New("its files were deleted or replaced while they were open")
	ErrNotFound    = errors.New("there is none")
	ErrLimit       = errors.New("a limit of the store is reached")
)

// Error is a failure of the store.
type Error struct {
	Op   string // what was being done
	Path string // with which file or folder
	Err  error
	Hint string // what to do next, may be empty
}

// Error returns the operation, the path, the cause and the hint.
func (e *Error) Error() string {
	text := e.Op
	if e.Path != "" {
		text += " " + e.Path
	}
	text += ": " + e.Err.Error()
	if e.Hint != "" {
		text += "; " + e.Hint
	}
	return text
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Reason says in a few words what is wrong, without paths: a model may read it.
func (e *Error) Reason() string {
	for _, kind := range []error{ErrClosed, ErrFull, ErrReadOnly, ErrCorrupt, ErrNewerSchema, ErrForeign, ErrBusy, ErrRemoved, ErrNotFound, ErrLimit} {
		if errors.Is(e.Err, kind) {
			return kind.Error()
		}
	}
	return "the store failed"
}

// failure classifies err. It returns nil for nil, and an *Error as it is.
func failure(op, path string, err error) error {
	if err == nil {
		return nil
	}
	var known *Error
	if errors.As(err, &known) {
		return err
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return &Error{Op: op, Path: path, Err: err}
	}
	kind, hint := classify(err)
	if kind != nil {
		err = fmt.Errorf("%w: %w", kind, err)
	}
	return &Error{Op: op, Path: path, Err: err, Hint: hint}
}

func classify(err error) (kind error, hint string) {
	const (
		room  = "make room on the disk and try again"
		write = "check the owner and permissions of the state folder, or set XDG_STATE_HOME to another"
	)
	var se *sqlite.Error
	if errors.As(err, &se) {
		switch se.Code() & 0xFF {
		case sqlite3.SQLITE_FULL:
			return ErrFull, room
		case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH:
			return ErrReadOnly, write
		case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
			return ErrCorrupt, "move the file away to start anew, or repair it with the sqlite3 command's .recover"
		case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
			return ErrBusy, "try again"
		case sqlite3.SQLITE_IOERR:
			// SQLite says "I/O error" for a write beyond a size limit.
			if se.Code() == sqlite3.SQLITE_IOERR_WRITE || se.Code() == sqlite3.SQLITE_IOERR_SHMSIZE || se.Code() == sqlite3.SQLITE_IOERR_TRUNCATE {
				return ErrFull, room
			}
		}
		return nil, ""
	}
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EFBIG), isQuota(err):
		return ErrFull, room
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS), errors.Is(err, syscall.ENOTDIR):
		return ErrReadOnly, write
	}
	return nil, ""
}
