-- Addresses of pools that were lent to machines.

CREATE TABLE lease (
    address   TEXT PRIMARY KEY,
    mac       TEXT NOT NULL,
    state     TEXT NOT NULL,
    until     TEXT NOT NULL,
    client_id BLOB NOT NULL,
    hostname  TEXT NOT NULL,
    proven    INTEGER NOT NULL
);
