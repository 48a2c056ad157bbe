-- What a workflow says of the systems that it installs, where it says anything.
CREATE TABLE metadata (
    workflow_id TEXT PRIMARY KEY REFERENCES workflow (id) ON DELETE CASCADE,
    spec TEXT NOT NULL
) WITHOUT ROWID;
-- What the system that a workflow installed on a machine told of its first boot.
CREATE TABLE first_boot (
    workflow_id TEXT NOT NULL REFERENCES workflow (id) ON DELETE CASCADE,
    machine TEXT NOT NULL,
    told TEXT NOT NULL,
    PRIMARY KEY (workflow_id, machine)
) WITHOUT ROWID;
