-- Values that actions and services are given, encrypted by a key that is not in this file (DATA/secrets.key).  One that was
-- replaced or deleted stays as long as a workflow that was given it is not over: its output is masked by it.
CREATE TABLE secret (
    number  INTEGER PRIMARY KEY AUTOINCREMENT,
    name    TEXT NOT NULL,
    sealed  BLOB NOT NULL,
    size    INTEGER NOT NULL,                        -- bytes of the value
    set_at  TEXT NOT NULL,
    set_by  TEXT NOT NULL,
    current INTEGER NOT NULL                         -- 0: replaced or deleted
);
CREATE UNIQUE INDEX secret_of_name ON secret (name) WHERE current = 1;
-- Which of them an attempt, or a run of a service, was given: it keeps these when a secret changes.
CREATE TABLE secret_given (
    holder      TEXT NOT NULL,                       -- its token
    secret      INTEGER NOT NULL REFERENCES secret (number) ON DELETE CASCADE,
    workflow_id TEXT NOT NULL REFERENCES workflow (id) ON DELETE CASCADE,
    PRIMARY KEY (holder, secret)
) WITHOUT ROWID;
CREATE INDEX secret_given_in_workflow ON secret_given (workflow_id, secret);
CREATE INDEX secret_given_of_secret ON secret_given (secret);
-- Which secrets workflows ask for, by the names in their templates.
CREATE TABLE secret_named (
    workflow_id TEXT NOT NULL REFERENCES workflow (id) ON DELETE CASCADE,
    name        TEXT NOT NULL,
    PRIMARY KEY (workflow_id, name)
) WITHOUT ROWID;
CREATE INDEX secret_named_by_name ON secret_named (name);
