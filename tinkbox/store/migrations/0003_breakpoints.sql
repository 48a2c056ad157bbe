ALTER TABLE workflow ADD COLUMN breakpoints  TEXT NOT NULL DEFAULT '';      -- '': the defaults, nothing is armed
ALTER TABLE workflow ADD COLUMN held_seconds REAL NOT NULL DEFAULT 0;       -- since started_at, of holds that are over

ALTER TABLE action ADD COLUMN override TEXT NOT NULL DEFAULT '';            -- what a person changed for the next attempt

ALTER TABLE attempt ADD COLUMN resumed_at TEXT;                             -- since when it runs again in its container
ALTER TABLE attempt ADD COLUMN debug INTEGER NOT NULL DEFAULT 0;            -- its worker takes breakpoints
ALTER TABLE attempt ADD COLUMN override TEXT NOT NULL DEFAULT '';           -- what a person changed for it

CREATE TABLE hold (
    attempt     TEXT NOT NULL REFERENCES attempt (token) ON DELETE CASCADE,
    sequence    INTEGER NOT NULL,                    -- within the attempt
    workflow_id TEXT NOT NULL,
    kind        TEXT NOT NULL,
    held_at     TEXT NOT NULL,
    deadline    TEXT NOT NULL,
    timeout     INTEGER NOT NULL,                    -- seconds from the last activity to the deadline
    on_expiry   TEXT NOT NULL,
    outcome     TEXT,                                -- how the process ended, kept for ever
    container   INTEGER NOT NULL,
    in_place    INTEGER NOT NULL,
    warned      INTEGER NOT NULL DEFAULT 0,          -- of this deadline
    verdict     TEXT,
    verdict_at  TEXT,
    ended_at    TEXT,
    PRIMARY KEY (attempt, sequence)
);
CREATE INDEX hold_of_workflow ON hold (workflow_id);
CREATE INDEX hold_that_is_open ON hold (attempt) WHERE ended_at IS NULL;
