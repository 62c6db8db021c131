package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/toolsearch/toolsearch/tool"
	"github.com/toolsearch/toolsearch/transcript"
)

// MaxPage is the most rows that one listing returns.
const MaxPage = 1000

// Totals are what is known of a session or run from its rows.
type Totals struct {
	Schemas       int `json:"schemasUpFront"` // of a session: the most of any of its runs
	SchemaBytes   int `json:"schemaBytes"`
	Catalog       int `json:"catalogSize"`
	Searches      int `json:"searches"`
	EmptySearches int `json:"emptySearches"`
	Describes     int `json:"describes"`
	Calls         int `json:"calls"`       // made, also those deleted since
	Failed        int `json:"failedCalls"` // calls whose status is not "ok"
}

// Session is a conversation.
type Session struct {
	ID      string    `json:"id"`
	Agent   string    `json:"agent,omitempty"`
	Caller  string    `json:"caller,omitempty"`
	Started time.Time `json:"started"`
	Updated time.Time `json:"updated"`
	Runs    int       `json:"runs"`
	Totals
}

// Run is a request to the agent inside a session.
type Run struct {
	ID      string    `json:"id"`
	Mode    string    `json:"mode,omitempty"`
	Started time.Time `json:"started"`
	Updated time.Time `json:"updated"`
	Totals
}

// Call is one call of a tool.
type Call struct {
	Run      string            `json:"run"`
	ID       string            `json:"id"`
	Parent   string            `json:"parent,omitempty"`
	Control  string            `json:"control,omitempty"` // "" for a direct call
	Agent    string            `json:"agent,omitempty"`
	Caller   string            `json:"caller,omitempty"`
	Target   tool.ID           `json:"tool"`
	Source   tool.Source       `json:"source"`
	Owner    string            `json:"owner"`
	Name     string            `json:"name"`
	Started  time.Time         `json:"started"`
	Duration time.Duration     `json:"durationNs"`
	Status   transcript.Status `json:"status"` // StatusOpen while there is no outcome
	Code     tool.Code         `json:"code,omitempty"`
	By       string            `json:"blockedBy,omitempty"`
	Reason   string            `json:"reason,omitempty"`
	Approval *Approved         `json:"approval,omitempty"`
	Args     Body              `json:"arguments"`
	Result   *Body             `json:"result,omitempty"`

	row int64 // orders calls that started in the same nanosecond
}

// StatusOpen is the status of a call that runs, or whose process ended while it
// ran.
const StatusOpen transcript.Status = "open"

// Approved is what the approval stage decided.
type Approved struct {
	ID       string `json:"id,omitempty"`
	Decision string `json:"decision"`
	By       string `json:"by,omitempty"`
}

// Body is recorded JSON: whole as Value, or cut as Head with a Digest.
type Body struct {
	Value  json.RawMessage `json:"value,omitempty"`
	Head   string          `json:"head,omitempty"`
	Size   int             `json:"size"`
	Digest string          `json:"digest,omitempty"`
}

func newBody(text []byte, size int, digest string) Body {
	b := Body{Size: size, Digest: digest}
	if digest == "" && json.Valid(text) {
		b.Value = text
	} else {
		b.Head = string(text)
	}
	return b
}

// Page asks for a part of a listing, newest first.
type Page struct {
	Limit  int       // 1…MaxPage; other values mean MaxPage
	Before time.Time // only what is older; zero begins with the newest
}

func (p Page) args() (before int64, limit int) {
	before = int64(1<<63 - 1)
	if !p.Before.IsZero() {
		before = p.Before.UnixNano()
	}
	if p.Limit < 1 || p.Limit > MaxPage {
		p.Limit = MaxPage
	}
	return before, p.Limit
}

const runTotals = `
	SELECT r.session, r.seq, r.id, r.mode, r.schemas, r.schema_bytes, r.catalog, r.searches, r.empty_searches, r.describes, r.started, r.updated,
		r.calls, r.failed
	FROM runs r`

// Sessions lists sessions, the last touched first.
func (s *Store) Sessions(ctx context.Context, p Page) ([]Session, error) {
	if err := s.readable(ctx); err != nil {
		return nil, err
	}
	before, limit := p.args()
	out, err := s.sessions(ctx, `WHERE s.seq IN (SELECT seq FROM sessions WHERE updated < ? ORDER BY updated DESC LIMIT ?)`, before, limit)
	return out, failure("list the sessions of", s.path, err)
}

// Session returns one session. It is ErrNotFound when there is none of that id.
func (s *Store) Session(ctx context.Context, id string) (Session, error) {
	if err := s.readable(ctx); err != nil {
		return Session{}, err
	}
	out, err := s.sessions(ctx, `WHERE s.id = ?`, id)
	if err == nil && len(out) == 0 {
		err = &Error{Op: fmt.Sprintf("show session %q", id), Err: ErrNotFound, Hint: "list them with 'toolsearch sessions list'"}
	}
	if err != nil {
		return Session{}, failure("read a session of", s.path, err)
	}
	return out[0], nil
}

func (s *Store) sessions(ctx context.Context, where string, args ...any) ([]Session, error) {
	return collect(ctx, s.reader, func(rows *sql.Rows) (Session, error) {
		var x Session
		var started, updated int64
		err := rows.Scan(&x.ID, &x.Agent, &x.Caller, &started, &updated, &x.Runs, &x.Schemas, &x.SchemaBytes, &x.Catalog,
			&x.Searches, &x.EmptySearches, &x.Describes, &x.Calls, &x.Failed)
		x.Started, x.Updated = time.Unix(0, started), time.Unix(0, updated)
		return x, err
	}, `WITH t AS (`+runTotals+`)
		SELECT s.id, s.agent, s.caller, s.started, s.updated, count(t.seq), ifnull(max(t.schemas), 0), ifnull(max(t.schema_bytes), 0),
			ifnull(max(t.catalog), 0), ifnull(sum(t.searches), 0), ifnull(sum(t.empty_searches), 0), ifnull(sum(t.describes), 0),
			ifnull(sum(t.calls), 0), ifnull(sum(t.failed), 0)
		FROM sessions s LEFT JOIN t ON t.session = s.seq `+where+`
		GROUP BY s.seq ORDER BY s.updated DESC, s.seq DESC`, args...)
}

// Runs lists the runs of a session, the first first, at most MaxPage.
func (s *Store) Runs(ctx context.Context, session string) ([]Run, error) {
	if err := s.readable(ctx); err != nil {
		return nil, err
	}
	out, err := collect(ctx, s.reader, func(rows *sql.Rows) (Run, error) {
		var x Run
		var started, updated int64
		err := rows.Scan(&x.ID, &x.Mode, &started, &updated, &x.Schemas, &x.SchemaBytes, &x.Catalog,
			&x.Searches, &x.EmptySearches, &x.Describes, &x.Calls, &x.Failed)
		x.Started, x.Updated = time.Unix(0, started), time.Unix(0, updated)
		return x, err
	}, `WITH t AS (`+runTotals+`)
		SELECT t.id, t.mode, t.started, t.updated, t.schemas, t.schema_bytes, t.catalog, t.searches, t.empty_searches, t.describes, t.calls, t.failed
		FROM t JOIN sessions s ON s.seq = t.session WHERE s.id = ? ORDER BY t.started, t.seq LIMIT ?`, session, MaxPage)
	return out, failure("list the runs of", s.path, err)
}

// Calls calls f for every call of a session in the order in which they
// started, reading pages, so that memory stays bounded. It stops at f's error.
func (s *Store) Calls(ctx context.Context, session string, f func(Call) error) error {
	if err := s.readable(ctx); err != nil {
		return err
	}
	const page = 200
	at, row := int64(-1<<63), int64(-1)
	for {
		calls, err := collect(ctx, s.reader, scanCall, `
			SELECT c.id, r.id, c.call, c.parent, c.control, c.agent, c.caller, c.target, c.source, c.owner, c.name, c.started, c.duration,
				c.status, c.code, c.blocked_by, c.reason, c.approval, c.decision, c.decided_by,
				c.args, c.args_size, c.args_digest, c.result, c.result_size, c.result_digest
			FROM calls c JOIN runs r ON r.seq = c.run JOIN sessions s ON s.seq = r.session
			WHERE s.id = ? AND (c.started, c.id) > (?, ?) ORDER BY c.started, c.id LIMIT ?`, session, at, row, page)
		if err != nil {
			return failure("list the calls of", s.path, err)
		}
		for _, c := range calls {
			if err := f(c); err != nil {
				return err
			}
			at, row = c.Started.UnixNano(), c.row
		}
		if len(calls) < page {
			return nil
		}
	}
}

func scanCall(rows *sql.Rows) (Call, error) {
	var c Call
	var started, duration int64
	var a Approved
	var args, result []byte
	var argsSize, resultSize int
	var argsDigest, resultDigest string
	err := rows.Scan(&c.row, &c.Run, &c.ID, &c.Parent, &c.Control, &c.Agent, &c.Caller, &c.Target, &c.Source, &c.Owner, &c.Name, &started, &duration,
		&c.Status, &c.Code, &c.By, &c.Reason, &a.ID, &a.Decision, &a.By,
		&args, &argsSize, &argsDigest, &result, &resultSize, &resultDigest)
	if err != nil {
		return c, err
	}
	c.Started, c.Duration = time.Unix(0, started), time.Duration(duration)
	if c.Status == "" {
		c.Status = StatusOpen
	}
	if a.Decision != "" {
		c.Approval = &a
	}
	c.Args = newBody(args, argsSize, argsDigest)
	if resultSize > 0 {
		b := newBody(result, resultSize, resultDigest)
		c.Result = &b
	}
	return c, nil
}

// readable refuses a closed store, and has the caller see what it wrote.
func (s *Store) readable(ctx context.Context) error {
	if err := s.usable(); err != nil {
		return err
	}
	err := s.Flush(ctx)
	if err != nil && ctx.Err() == nil && !errors.Is(err, ErrClosed) {
		return nil // what is in the tables can be read all the same
	}
	return err
}

func collect[T any](ctx context.Context, db *sql.DB, scan func(*sql.Rows) (T, error), query string, args ...any) (out []T, err error) {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		x, err := scan(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, x)
	}
	return out, rows.Err()
}
