-- Who was given a machine's credential, to start a worker by hand, since it was last rotated: tokens are revoked, and what was read
-- with them counts on.  `first` and `serial` are the serials of the first and the newest boot ticket that this person was given.
CREATE TABLE given_credential (
    hardware_id TEXT NOT NULL REFERENCES hardware (id) ON DELETE CASCADE,
    who         TEXT NOT NULL,
    first       INTEGER NOT NULL,
    serial      INTEGER NOT NULL,
    at          TEXT NOT NULL,
    PRIMARY KEY (hardware_id, who)
) WITHOUT ROWID;
CREATE INDEX given_credential_who ON given_credential (who);
