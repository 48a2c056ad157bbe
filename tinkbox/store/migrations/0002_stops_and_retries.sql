ALTER TABLE workflow ADD COLUMN global_timeout INTEGER NOT NULL DEFAULT 0;  -- seconds from started_at, 0: none
ALTER TABLE workflow ADD COLUMN started_at     TEXT;
ALTER TABLE workflow ADD COLUMN stop_into      TEXT NOT NULL DEFAULT '';    -- the end of what is STOPPING
ALTER TABLE workflow ADD COLUMN stopped_at     TEXT;
ALTER TABLE workflow ADD COLUMN place          INTEGER NOT NULL DEFAULT 0;  -- in the queues; a retried one joins them anew
UPDATE workflow SET place = number;
CREATE INDEX workflow_by_place ON workflow (place);

ALTER TABLE action ADD COLUMN failures INTEGER NOT NULL DEFAULT 0;          -- since a person last made it ready

ALTER TABLE attempt ADD COLUMN left_at TEXT;                                -- since when its machine leaves
