-- What was learned of the firmware behind a MAC; only of machines that somebody knows.
CREATE TABLE habit (
    mac         TEXT PRIMARY KEY,
    secure_boot INTEGER NOT NULL,
    local_boot  TEXT NOT NULL,  -- LocalBoot, or empty
    proven      INTEGER NOT NULL
) STRICT;
