CREATE TABLE stranger (
    mac          TEXT PRIMARY KEY,
    standing     TEXT NOT NULL,
    token        TEXT NOT NULL,
    port         TEXT NOT NULL,
    architecture TEXT NOT NULL,
    boot_id      TEXT NOT NULL,
    inventory    TEXT,                               -- NULL: it has not told yet
    problem      TEXT NOT NULL,
    first_seen   TEXT NOT NULL,
    last_seen    TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE inventory (
    hardware_id TEXT PRIMARY KEY REFERENCES hardware (id) ON DELETE CASCADE,
    content     TEXT NOT NULL,
    told_at     TEXT NOT NULL
) WITHOUT ROWID;
