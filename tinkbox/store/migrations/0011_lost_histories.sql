CREATE TABLE store (id TEXT NOT NULL);                -- one row, for as long as the store lives
INSERT INTO store VALUES (lower(hex(randomblob(16))));

-- The attempts begun for each machine, by the machine's position; they outlive workflow and hardware.
CREATE TABLE journal (
    worker   TEXT NOT NULL,
    position INTEGER NOT NULL,
    attempt  TEXT NOT NULL,
    PRIMARY KEY (worker, position)
) WITHOUT ROWID;
INSERT INTO journal
    SELECT worker, 1, token FROM attempt WHERE rowid IN (SELECT max(rowid) FROM attempt GROUP BY worker);

CREATE TABLE lost_history (
    worker  TEXT PRIMARY KEY REFERENCES hardware (id) ON DELETE CASCADE,
    since   TEXT NOT NULL,
    told    TEXT NOT NULL,                            -- what its worker did that the store does not know
    restart TEXT NOT NULL DEFAULT ''                  -- where its journal begins anew, once a person discarded it
);
