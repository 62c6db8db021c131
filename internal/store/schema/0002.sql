-- The messages of conversations, so that a later turn goes on from them.
CREATE TABLE conversations (
	session TEXT    PRIMARY KEY,
	api     TEXT    NOT NULL, -- the wire format of body
	body    BLOB    NOT NULL, -- redacted
	updated INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX conversations_updated ON conversations (updated);
