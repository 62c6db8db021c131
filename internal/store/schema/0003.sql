-- What previous_response_id of a served model API goes on from.
CREATE TABLE responses (
	caller  TEXT    NOT NULL,
	id      TEXT    NOT NULL,
	body    BLOB    NOT NULL, -- the conversation up to the response, redacted
	created INTEGER NOT NULL,
	expires INTEGER NOT NULL,
	PRIMARY KEY (caller, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX responses_expires ON responses (expires);
