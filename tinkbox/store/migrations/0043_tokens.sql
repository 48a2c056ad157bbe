-- Tokens of people and programs: `hash` is the SHA-256 of the text, which is kept nowhere.  `rights` are words with blanks
-- between them, `scope` is a label selector, NULL: all machines.  `until` is NULL for a token without an end.
CREATE TABLE token (
    id         TEXT PRIMARY KEY,
    hash       TEXT NOT NULL UNIQUE,
    name       TEXT NOT NULL,
    rights     TEXT NOT NULL,
    means      TEXT NOT NULL,
    scope      TEXT,
    until      TEXT,
    created_at TEXT NOT NULL,
    made_by    TEXT NOT NULL,
    used_at    TEXT
);
CREATE INDEX token_by_name ON token (name);
