-- What was seen of every machine, known or not, is by MAC.  What was seen of known machines goes to the first of their MACs.
CREATE TABLE seen (
    number INTEGER PRIMARY KEY,   -- the order in which it was seen
    mac    TEXT NOT NULL,
    at     TEXT NOT NULL,
    stage  TEXT NOT NULL,
    detail TEXT NOT NULL,
    facts  TEXT NOT NULL          -- a JSON object
);
INSERT INTO seen (number, mac, at, stage, detail, facts)
    SELECT sighting.id, (SELECT min(mac) FROM interface WHERE interface.hardware_id = sighting.hardware_id),
           sighting.at, sighting.stage, sighting.detail, '{}'
    FROM sighting
    WHERE EXISTS (SELECT 1 FROM interface WHERE interface.hardware_id = sighting.hardware_id);
DROP TABLE sighting;
ALTER TABLE seen RENAME TO sighting;
CREATE INDEX sighting_of_mac ON sighting (mac, number);
CREATE INDEX attempt_of_worker ON attempt (worker);

CREATE TABLE syslog (
    number   INTEGER PRIMARY KEY,
    mac      TEXT NOT NULL,
    at       TEXT NOT NULL,
    severity INTEGER NOT NULL,    -- RFC 5424 §6.2.1
    program  TEXT NOT NULL,
    text     TEXT NOT NULL
);
CREATE INDEX syslog_of_mac ON syslog (mac, number);
