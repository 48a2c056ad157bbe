ALTER TABLE workflow ADD COLUMN wipe_confirmed INTEGER NOT NULL DEFAULT 0;  -- a person lets it wipe any disk

CREATE TABLE disk (
    hardware_id TEXT NOT NULL REFERENCES hardware (id) ON DELETE CASCADE,
    name        TEXT NOT NULL,                       -- its serial, or where it is plugged in
    ours        TEXT NOT NULL,                       -- what workflows put there
    not_ours    TEXT,                                -- what was there beside that when `attempt` began; NULL: it is over
    workflow_id TEXT NOT NULL,
    attempt     TEXT NOT NULL,                       -- the newest that was allowed to wipe it, of this workflow
    changed_at  TEXT NOT NULL,
    PRIMARY KEY (hardware_id, name)
) WITHOUT ROWID;
CREATE INDEX disk_of_attempt ON disk (attempt);
