-- Times are nanoseconds since 1970 UTC. "" stands for "none".

CREATE TABLE journals (
	number  INTEGER PRIMARY KEY AUTOINCREMENT, -- never used again: it is the high half of calls.id
	name    TEXT    NOT NULL UNIQUE,           -- of the file
	applied INTEGER NOT NULL                   -- the last record that is in the tables
) STRICT;

CREATE TABLE sessions (
	seq     INTEGER PRIMARY KEY,
	id      TEXT    NOT NULL UNIQUE,
	agent   TEXT    NOT NULL,
	caller  TEXT    NOT NULL,
	started INTEGER NOT NULL,
	updated INTEGER NOT NULL
) STRICT;
CREATE INDEX sessions_updated ON sessions (updated);

CREATE TABLE runs (
	seq            INTEGER PRIMARY KEY,
	session        INTEGER NOT NULL REFERENCES sessions (seq) ON DELETE CASCADE,
	id             TEXT    NOT NULL,
	mode           TEXT    NOT NULL DEFAULT '',
	schemas        INTEGER NOT NULL DEFAULT 0, -- tools that the model saw up front
	schema_bytes   INTEGER NOT NULL DEFAULT 0,
	catalog        INTEGER NOT NULL DEFAULT 0, -- tools hidden behind search
	searches       INTEGER NOT NULL DEFAULT 0,
	empty_searches INTEGER NOT NULL DEFAULT 0,
	describes      INTEGER NOT NULL DEFAULT 0,
	calls          INTEGER NOT NULL DEFAULT 0, -- made, also those deleted since
	failed         INTEGER NOT NULL DEFAULT 0, -- of them, those that did not end "ok"
	started        INTEGER NOT NULL,
	updated        INTEGER NOT NULL,
	UNIQUE (session, id)
) STRICT;
CREATE INDEX runs_updated ON runs (updated);

CREATE TABLE calls (
	id            INTEGER PRIMARY KEY, -- journal number << 32 | record number
	run           INTEGER NOT NULL REFERENCES runs (seq) ON DELETE CASCADE,
	call          TEXT    NOT NULL,
	parent        TEXT    NOT NULL,
	control       TEXT    NOT NULL,
	agent         TEXT    NOT NULL,
	caller        TEXT    NOT NULL,
	target        TEXT    NOT NULL,
	source        TEXT    NOT NULL,
	owner         TEXT    NOT NULL,
	name          TEXT    NOT NULL,
	args          BLOB    NOT NULL,
	args_size     INTEGER NOT NULL,
	args_digest   TEXT    NOT NULL,
	started       INTEGER NOT NULL,
	duration      INTEGER NOT NULL DEFAULT 0,
	status        TEXT    NOT NULL DEFAULT '', -- '' until the outcome is there
	code          TEXT    NOT NULL DEFAULT '',
	blocked_by    TEXT    NOT NULL DEFAULT '',
	reason        TEXT    NOT NULL DEFAULT '',
	approval      TEXT    NOT NULL DEFAULT '',
	decision      TEXT    NOT NULL DEFAULT '',
	decided_by    TEXT    NOT NULL DEFAULT '',
	result        BLOB    NOT NULL DEFAULT X'',
	result_size   INTEGER NOT NULL DEFAULT 0,
	result_digest TEXT    NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX calls_run ON calls (run);
CREATE INDEX calls_started ON calls (started);

CREATE TABLE approvals (
	id             TEXT    PRIMARY KEY,
	created        INTEGER NOT NULL,
	expires        INTEGER NOT NULL,
	caller         TEXT    NOT NULL,
	agent          TEXT    NOT NULL,
	session        TEXT    NOT NULL,
	run            TEXT    NOT NULL,
	tool           TEXT    NOT NULL,
	args_digest    TEXT    NOT NULL,
	args           BLOB    NOT NULL, -- redacted
	policy_version TEXT    NOT NULL,
	state          TEXT    NOT NULL,
	scope          TEXT    NOT NULL,
	pattern        TEXT    NOT NULL,
	decided_by     TEXT    NOT NULL,
	decided        INTEGER NOT NULL,
	reason         TEXT    NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX approvals_state ON approvals (state, created);

CREATE TABLE pins (
	server     TEXT    NOT NULL,
	tool       TEXT    NOT NULL,
	digest     TEXT    NOT NULL,
	definition BLOB    NOT NULL,
	status     TEXT    NOT NULL,
	first_seen INTEGER NOT NULL,
	accepted   INTEGER NOT NULL,
	offered_digest     TEXT NOT NULL, -- the changed definition that waits for an answer
	offered_definition BLOB NOT NULL,
	offered            INTEGER NOT NULL,
	PRIMARY KEY (server, tool)
) STRICT, WITHOUT ROWID;
