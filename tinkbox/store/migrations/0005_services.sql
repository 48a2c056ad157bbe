CREATE TABLE appliance (
    id TEXT NOT NULL                                 -- tells this appliance from others that use the same Docker engine
);
INSERT INTO appliance (id) VALUES (lower(hex(randomblob(8))));

ALTER TABLE workflow ADD COLUMN reason  TEXT NOT NULL DEFAULT '';           -- of an end that was no action's doing
ALTER TABLE workflow ADD COLUMN message TEXT NOT NULL DEFAULT '';
ALTER TABLE workflow ADD COLUMN service TEXT NOT NULL DEFAULT '';           -- whose doing it was

CREATE TABLE service (
    workflow_id TEXT NOT NULL REFERENCES workflow (id) ON DELETE CASCADE,
    position    INTEGER NOT NULL,
    name        TEXT NOT NULL,
    host        TEXT NOT NULL,                       -- a machine's id, '': the appliance
    definition  TEXT NOT NULL,
    run         TEXT NOT NULL,                       -- the token of the newest
    PRIMARY KEY (workflow_id, position)
);
CREATE INDEX service_by_name ON service (name);
CREATE INDEX service_of_host ON service (host);

CREATE TABLE service_run (
    number        INTEGER PRIMARY KEY,               -- the order in which they were made
    token         TEXT NOT NULL UNIQUE,
    workflow_id   TEXT NOT NULL,
    position      INTEGER NOT NULL,
    host          TEXT NOT NULL,
    phase         TEXT NOT NULL,
    standing      TEXT NOT NULL,
    begun_at      TEXT,                              -- its host was told of it
    ready_at      TEXT,                              -- for the first time
    changed_at    TEXT,                              -- to this phase
    output_length INTEGER NOT NULL DEFAULT 0,        -- bytes received, kept or not
    written       TEXT NOT NULL DEFAULT '',          -- what it has and had in its /workflow
    FOREIGN KEY (workflow_id, position) REFERENCES service (workflow_id, position) ON DELETE CASCADE
);
CREATE INDEX service_run_of_service ON service_run (workflow_id, position);
CREATE INDEX service_run_that_is_open ON service_run (host) WHERE phase NOT IN ('EXITED', 'FAILED', 'STOPPED');

CREATE TABLE service_output (
    run   TEXT NOT NULL REFERENCES service_run (token) ON DELETE CASCADE,
    start INTEGER NOT NULL,
    chunk BLOB NOT NULL,
    PRIMARY KEY (run, start)
) WITHOUT ROWID;
