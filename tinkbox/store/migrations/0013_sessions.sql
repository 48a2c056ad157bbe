-- A worker's credential was one token for ever.  What a machine works with now is its session, of which only a hash is kept;
-- one that works already goes on with the token it has, until it boots again.
CREATE TABLE session (
    holder   TEXT PRIMARY KEY,               -- a machine's id, or the MAC of one that nobody knows
    secret   TEXT NOT NULL,                  -- SHA-256, in hex, of what its worker shows; empty: the session was ended
    serial   INTEGER NOT NULL,               -- of the boot ticket that was exchanged for it; 0: of before there were any
    voided   INTEGER NOT NULL,               -- tickets up to this serial that were not exchanged are void
    boot_id  TEXT NOT NULL,
    address  TEXT NOT NULL,                  -- from which the ticket was exchanged
    instance TEXT NOT NULL,                  -- the worker's process
    begun_at TEXT NOT NULL
) WITHOUT ROWID;
CREATE UNIQUE INDEX session_secret ON session (secret) WHERE secret != '';

INSERT INTO session (holder, secret, serial, voided, boot_id, address, instance, begun_at)
    SELECT id, sha256(token), 0, 0, boot_id, '', '', updated_at FROM hardware;

-- No column that is UNIQUE can be dropped.
CREATE TABLE hardware_without_token (
    id           TEXT PRIMARY KEY,
    document     TEXT NOT NULL,
    created_at   TEXT NOT NULL,
    updated_at   TEXT NOT NULL,
    ticket       INTEGER NOT NULL DEFAULT 0,
    installed    INTEGER NOT NULL DEFAULT 0,   -- a workflow once succeeded on it
    boots        INTEGER NOT NULL DEFAULT 0,   -- since the last progress
    furthest     TEXT NOT NULL DEFAULT '',     -- the furthest stage of those boots
    stage        TEXT NOT NULL DEFAULT '',
    stage_at     TEXT,
    boot_id      TEXT NOT NULL DEFAULT '',
    last_contact TEXT
);
INSERT INTO hardware_without_token
    SELECT id, document, created_at, updated_at, ticket, installed, boots, furthest, stage, stage_at, boot_id, last_contact
    FROM hardware ORDER BY rowid;
DROP TABLE hardware;
ALTER TABLE hardware_without_token RENAME TO hardware;

ALTER TABLE stranger DROP COLUMN token;
ALTER TABLE attempt ADD COLUMN session INTEGER NOT NULL DEFAULT 0;  -- the serial of the session that began it
