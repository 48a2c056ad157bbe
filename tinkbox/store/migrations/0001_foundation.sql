-- Times are ISO 8601 in UTC.  JSON columns hold what tinkbox.model and tinkbox.wire encode.

CREATE TABLE hardware (
    id           TEXT PRIMARY KEY,
    document     TEXT NOT NULL,
    token        TEXT NOT NULL UNIQUE,
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

CREATE TABLE interface (
    mac         TEXT PRIMARY KEY,
    address     TEXT UNIQUE,
    hardware_id TEXT NOT NULL REFERENCES hardware (id) ON DELETE CASCADE
);

CREATE TABLE sighting (
    id          INTEGER PRIMARY KEY,
    hardware_id TEXT NOT NULL REFERENCES hardware (id) ON DELETE CASCADE,
    at          TEXT NOT NULL,
    stage       TEXT NOT NULL,
    detail      TEXT NOT NULL
);
CREATE INDEX sighting_of_hardware ON sighting (hardware_id, id);

CREATE TABLE template (
    id         TEXT PRIMARY KEY,
    name       TEXT NOT NULL UNIQUE,
    data       TEXT NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
);

CREATE TABLE workflow (
    number      INTEGER PRIMARY KEY AUTOINCREMENT,   -- the order of creation
    id          TEXT NOT NULL UNIQUE,
    name        TEXT NOT NULL,
    template_id TEXT NOT NULL,                       -- the template may be gone by now
    devices     TEXT NOT NULL,
    text        TEXT NOT NULL,                       -- as rendered when it was created
    state       TEXT NOT NULL,
    created_at  TEXT NOT NULL,
    updated_at  TEXT NOT NULL
);
CREATE INDEX workflow_by_state ON workflow (state, number);

CREATE TABLE action (
    workflow_id TEXT NOT NULL REFERENCES workflow (id) ON DELETE CASCADE,
    position    INTEGER NOT NULL,
    worker      TEXT NOT NULL,
    definition  TEXT NOT NULL,
    state       TEXT NOT NULL,
    attempt     TEXT NOT NULL DEFAULT '',            -- the token of the newest
    PRIMARY KEY (workflow_id, position)
);
CREATE INDEX action_of_worker ON action (worker, state);

CREATE TABLE attempt (
    token         TEXT PRIMARY KEY,
    workflow_id   TEXT NOT NULL,
    position      INTEGER NOT NULL,
    worker        TEXT NOT NULL,
    boot_id       TEXT NOT NULL,
    state         TEXT NOT NULL,
    started_at    TEXT NOT NULL,
    ended_at      TEXT,
    outcome       TEXT,
    output_length INTEGER NOT NULL DEFAULT 0,        -- bytes received, kept or not
    FOREIGN KEY (workflow_id, position) REFERENCES action (workflow_id, position) ON DELETE CASCADE
);
CREATE INDEX attempt_of_action ON attempt (workflow_id, position);

CREATE TABLE event (
    sequence    INTEGER PRIMARY KEY AUTOINCREMENT,   -- over everything, for those who follow
    workflow_id TEXT NOT NULL,
    number      INTEGER NOT NULL,                    -- within the workflow, without gaps
    at          TEXT NOT NULL,
    kind        TEXT NOT NULL,
    data        TEXT NOT NULL,
    UNIQUE (workflow_id, number)
);

CREATE TABLE output (
    attempt TEXT NOT NULL REFERENCES attempt (token) ON DELETE CASCADE,
    start   INTEGER NOT NULL,
    chunk   BLOB NOT NULL,
    PRIMARY KEY (attempt, start)
) WITHOUT ROWID;

CREATE TABLE data (
    workflow_id TEXT NOT NULL REFERENCES workflow (id) ON DELETE CASCADE,
    version     INTEGER NOT NULL,
    at          TEXT NOT NULL,
    worker      TEXT NOT NULL,
    size        INTEGER NOT NULL,
    digest      TEXT NOT NULL,
    archive     BLOB,                                -- NULL: an older version, dropped
    PRIMARY KEY (workflow_id, version)
);
