-- A template for many machines, so many of them at a time.
CREATE TABLE rollout (
    number         INTEGER PRIMARY KEY AUTOINCREMENT,   -- the order of creation
    id             TEXT NOT NULL UNIQUE,
    template_id    TEXT NOT NULL,                       -- the template may be changed or gone by now
    template_name  TEXT NOT NULL,
    text           TEXT NOT NULL,                       -- of the template when the rollout was made
    device         TEXT NOT NULL,
    parameters     TEXT NOT NULL,
    max_parallel   INTEGER NOT NULL,
    on_failure     TEXT NOT NULL,
    labels         TEXT NOT NULL,
    breakpoints    TEXT NOT NULL,
    wipe_confirmed INTEGER NOT NULL,
    who            TEXT NOT NULL,
    state          TEXT NOT NULL,
    stop_into      TEXT NOT NULL DEFAULT '',
    created_at     TEXT NOT NULL,
    updated_at     TEXT NOT NULL
);

CREATE TABLE rollout_machine (
    rollout_id  TEXT NOT NULL REFERENCES rollout (id) ON DELETE CASCADE,
    position    INTEGER NOT NULL,
    machine     TEXT NOT NULL,                          -- may be deleted by now, and its workflow as well
    name        TEXT NOT NULL,
    place       TEXT NOT NULL DEFAULT 'WAITING',
    workflow_id TEXT NOT NULL DEFAULT '',
    reason      TEXT NOT NULL DEFAULT '',
    message     TEXT NOT NULL DEFAULT '',
    noted       INTEGER NOT NULL DEFAULT 1,             -- 0: its workflow ended, and the rollout did not take note yet
    PRIMARY KEY (rollout_id, position)
) WITHOUT ROWID;
CREATE INDEX rollout_machine_by_place ON rollout_machine (rollout_id, place, position);
CREATE INDEX rollout_machine_of_workflow ON rollout_machine (workflow_id);
CREATE INDEX rollout_machine_waiting ON rollout_machine (machine) WHERE place = 'WAITING';
CREATE INDEX rollout_machine_ended ON rollout_machine (rollout_id, place) WHERE noted = 0;

-- A machine stands where its workflow does, whatever changes that, and where it last stood when its workflow is gone.
CREATE TRIGGER rollout_follows_workflow AFTER UPDATE OF state ON workflow WHEN new.state != old.state BEGIN
    UPDATE rollout_machine
        SET place = new.state, reason = '', message = '', noted = new.state NOT IN ('SUCCESS', 'FAILED', 'TIMEOUT', 'CANCELED')
        WHERE workflow_id = new.id;
END;
