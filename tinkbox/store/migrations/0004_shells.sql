CREATE TABLE shell (
    id           TEXT PRIMARY KEY,
    attempt      TEXT NOT NULL REFERENCES attempt (token) ON DELETE CASCADE,
    workflow_id  TEXT NOT NULL,
    who          TEXT NOT NULL,                      -- opened it
    driver       TEXT NOT NULL,                      -- types, or was the last to
    wish         TEXT NOT NULL,
    record_input INTEGER NOT NULL,
    opened_at    TEXT NOT NULL,
    begun_at     TEXT,                               -- the first client came: from now on its worker is to serve it
    ended_at     TEXT,
    exit_code    INTEGER,
    reason       TEXT NOT NULL DEFAULT '',
    message      TEXT NOT NULL DEFAULT '',
    digest       TEXT NOT NULL DEFAULT '',           -- SHA-256 of the recording
    size         INTEGER NOT NULL DEFAULT 0          -- of the recording, in bytes
);
CREATE INDEX shell_of_attempt ON shell (attempt);
CREATE INDEX shell_of_workflow ON shell (workflow_id);
CREATE INDEX shell_that_is_open ON shell (id) WHERE ended_at IS NULL;
