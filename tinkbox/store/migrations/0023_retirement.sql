-- Machines that are out of service and stay on record.
CREATE TABLE retirement (
    hardware_id TEXT PRIMARY KEY REFERENCES hardware (id) ON DELETE CASCADE,
    at          TEXT NOT NULL,
    who         TEXT NOT NULL,
    reason      TEXT NOT NULL
) WITHOUT ROWID;
-- What people noted about machines, numbered within each.
CREATE TABLE note (
    hardware_id TEXT NOT NULL REFERENCES hardware (id) ON DELETE CASCADE,
    number      INTEGER NOT NULL,
    at          TEXT NOT NULL,
    who         TEXT NOT NULL,
    text        TEXT NOT NULL,
    PRIMARY KEY (hardware_id, number)
) WITHOUT ROWID;
-- A machine that is stored anew gives its interfaces up first.
CREATE INDEX interface_of_hardware ON interface (hardware_id);
