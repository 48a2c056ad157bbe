-- Machines whose firmware was given the appliance's authority, by the fingerprint of its certificate: they boot by HTTPS alone.
CREATE TABLE enrolment (
    hardware_id TEXT PRIMARY KEY REFERENCES hardware (id) ON DELETE CASCADE,
    authority   TEXT NOT NULL,
    at          TEXT NOT NULL
) WITHOUT ROWID;
