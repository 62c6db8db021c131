package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
)

//go:embed schema/*.sql
var schemaFiles embed.FS

// applicationID marks the file as ours: "Tlsr" in ASCII.
const applicationID = 0x546C7372

// migrations are the SQL texts that lead from schema version i to i+1. A text
// that was released is never changed.
func migrations() ([]string, error) {
	names, err := fs.Glob(schemaFiles, "schema/*.sql") // sorted by name
	if err != nil {
		return nil, err
	}
	out := make([]string, len(names))
	for i, name := range names {
		if want := fmt.Sprintf("schema/%04d.sql", i+1); name != want {
			return nil, fmt.Errorf("migration %s stands where %s should", name, want)
		}
		text, err := schemaFiles.ReadFile(name)
		if err != nil {
			return nil, err
		}
		out[i] = string(text)
	}
	return out, nil
}

// inspect refuses a file that is not ours or too new, before a connection of
// ours sets anything in it.
func inspect(ctx context.Context, path string) (err error) {
	steps, err := migrations()
	if err != nil {
		return fmt.Errorf("read the schema: %w", err)
	}
	db, err := sql.Open("sqlite", fileURI(path, url.Values{"_pragma": {busyPragma(), "query_only(1)"}}))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	_, err = checkVersion(ctx, db, len(steps))
	return err
}

// migrate brings the database to this program's schema, in one transaction:
// of several processes that start at once, one migrates and the others find it
// done.
func migrate(ctx context.Context, db *sql.DB) (err error) {
	steps, err := migrations()
	if err != nil {
		return fmt.Errorf("read the schema: %w", err)
	}
	version, err := checkVersion(ctx, db, len(steps))
	if err != nil || version == len(steps) {
		return err
	}
	tx, err := db.BeginTx(ctx, nil) // immediate, see dsn
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, ignoreDone(tx.Rollback()))
		}
	}()
	if version, err = checkVersion(ctx, tx, len(steps)); err != nil {
		return err
	}
	for ; version < len(steps); version++ {
		if _, err := tx.ExecContext(ctx, steps[version]); err != nil {
			return fmt.Errorf("migrate to schema %d: %w", version+1, err)
		}
	}
	// PRAGMA takes no parameters; both are constants of ours.
	if _, err := tx.ExecContext(ctx, fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", applicationID, version)); err != nil {
		return err
	}
	return tx.Commit()
}

func ignoreDone(err error) error {
	if errors.Is(err, sql.ErrTxDone) {
		return nil
	}
	return err
}

type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// checkVersion returns the schema version of the file, 0 for a new one.
func checkVersion(ctx context.Context, q querier, newest int) (int, error) {
	var version, app, tables int
	if err := q.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return 0, err
	}
	if err := q.QueryRowContext(ctx, "PRAGMA application_id").Scan(&app); err != nil {
		return 0, err
	}
	if err := q.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&tables); err != nil {
		return 0, err
	}
	switch {
	case app != applicationID && (app != 0 || version != 0 || tables != 0):
		return 0, &Error{Op: "open the store", Err: ErrForeign, Hint: "move the file away"}
	case version > newest:
		return 0, &Error{
			Op:   "open the store",
			Err:  fmt.Errorf("%w: its schema is %d, this program knows up to %d", ErrNewerSchema, version, newest),
			Hint: "update toolsearch, or set XDG_STATE_HOME to another folder",
		}
	}
	return version, nil
}
