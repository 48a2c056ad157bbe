-- What each kind of rows takes: bytes of their content and about what a row costs beside it, counted as rows come and go,
-- for to look at all of them takes minutes in a large store.  A migration that makes one of these tables anew makes its
-- triggers anew as well.
CREATE TABLE room (
    kind   TEXT PRIMARY KEY,
    octets INTEGER NOT NULL,
    number INTEGER NOT NULL                          -- of rows; of workflows alone where they have rows in several tables
) WITHOUT ROWID;

INSERT INTO room SELECT 'output', ifnull(sum(octets), 0), ifnull(sum(number), 0)
    FROM (SELECT 64 + length(chunk) AS octets, 1 AS number FROM output UNION ALL
          SELECT 64 + length(chunk) AS octets, 1 AS number FROM service_output);
INSERT INTO room SELECT 'data', ifnull(sum(octets), 0), ifnull(sum(number), 0)
    FROM (SELECT 256 + iif(archive IS NULL, 0, size) AS octets, 1 AS number FROM data);
INSERT INTO room SELECT 'workflows', ifnull(sum(octets), 0), ifnull(sum(number), 0)
    FROM (SELECT 512 + length(devices) + length(CAST(text AS BLOB)) AS octets, 1 AS number FROM workflow UNION ALL
          SELECT 192 + length(definition) AS octets, 0 AS number FROM action UNION ALL
          SELECT 512 + ifnull(length(outcome), 0) AS octets, 0 AS number FROM attempt UNION ALL
          SELECT 256 + ifnull(length(outcome), 0) AS octets, 0 AS number FROM hold UNION ALL
          SELECT 192 + length(data) AS octets, 0 AS number FROM event);
INSERT INTO room SELECT 'timelines', ifnull(sum(octets), 0), ifnull(sum(number), 0)
    FROM (SELECT 128 + length(detail) + length(facts) AS octets, 1 AS number FROM sighting UNION ALL
          SELECT 128 + length(text) AS octets, 1 AS number FROM syslog);
INSERT INTO room SELECT 'discovered', ifnull(sum(octets), 0), ifnull(sum(number), 0)
    FROM (SELECT 256 + ifnull(length(inventory), 0) AS octets, 1 AS number FROM stranger);

CREATE TRIGGER output_takes_room AFTER INSERT ON output BEGIN
    UPDATE room SET octets = octets + 64 + length(new.chunk), number = number + 1 WHERE kind = 'output';
END;
CREATE TRIGGER output_takes_other_room AFTER UPDATE OF chunk ON output BEGIN
    UPDATE room SET octets = octets + (64 + length(new.chunk)) - (64 + length(old.chunk)) WHERE kind = 'output';
END;
CREATE TRIGGER output_gives_room AFTER DELETE ON output BEGIN
    UPDATE room SET octets = octets - (64 + length(old.chunk)), number = number - 1 WHERE kind = 'output';
END;
CREATE TRIGGER service_output_takes_room AFTER INSERT ON service_output BEGIN
    UPDATE room SET octets = octets + 64 + length(new.chunk), number = number + 1 WHERE kind = 'output';
END;
CREATE TRIGGER service_output_takes_other_room AFTER UPDATE OF chunk ON service_output BEGIN
    UPDATE room SET octets = octets + (64 + length(new.chunk)) - (64 + length(old.chunk)) WHERE kind = 'output';
END;
CREATE TRIGGER service_output_gives_room AFTER DELETE ON service_output BEGIN
    UPDATE room SET octets = octets - (64 + length(old.chunk)), number = number - 1 WHERE kind = 'output';
END;
CREATE TRIGGER data_takes_room AFTER INSERT ON data BEGIN
    UPDATE room SET octets = octets + 256 + iif(new.archive IS NULL, 0, new.size), number = number + 1 WHERE kind = 'data';
END;
CREATE TRIGGER data_takes_other_room AFTER UPDATE OF archive ON data BEGIN
    UPDATE room SET octets = octets + (256 + iif(new.archive IS NULL, 0, new.size)) - (256 + iif(old.archive IS NULL, 0, old.size)) WHERE kind = 'data';
END;
CREATE TRIGGER data_gives_room AFTER DELETE ON data BEGIN
    UPDATE room SET octets = octets - (256 + iif(old.archive IS NULL, 0, old.size)), number = number - 1 WHERE kind = 'data';
END;
CREATE TRIGGER workflow_takes_room AFTER INSERT ON workflow BEGIN
    UPDATE room SET octets = octets + 512 + length(new.devices) + length(CAST(new.text AS BLOB)), number = number + 1 WHERE kind = 'workflows';
END;
CREATE TRIGGER workflow_gives_room AFTER DELETE ON workflow BEGIN
    UPDATE room SET octets = octets - (512 + length(old.devices) + length(CAST(old.text AS BLOB))), number = number - 1 WHERE kind = 'workflows';
END;
CREATE TRIGGER action_takes_room AFTER INSERT ON action BEGIN
    UPDATE room SET octets = octets + 192 + length(new.definition) WHERE kind = 'workflows';
END;
CREATE TRIGGER action_gives_room AFTER DELETE ON action BEGIN
    UPDATE room SET octets = octets - (192 + length(old.definition)) WHERE kind = 'workflows';
END;
CREATE TRIGGER attempt_takes_room AFTER INSERT ON attempt BEGIN
    UPDATE room SET octets = octets + 512 + ifnull(length(new.outcome), 0) WHERE kind = 'workflows';
END;
CREATE TRIGGER attempt_takes_other_room AFTER UPDATE OF outcome ON attempt BEGIN
    UPDATE room SET octets = octets + (512 + ifnull(length(new.outcome), 0)) - (512 + ifnull(length(old.outcome), 0)) WHERE kind = 'workflows';
END;
CREATE TRIGGER attempt_gives_room AFTER DELETE ON attempt BEGIN
    UPDATE room SET octets = octets - (512 + ifnull(length(old.outcome), 0)) WHERE kind = 'workflows';
END;
CREATE TRIGGER hold_takes_room AFTER INSERT ON hold BEGIN
    UPDATE room SET octets = octets + 256 + ifnull(length(new.outcome), 0) WHERE kind = 'workflows';
END;
CREATE TRIGGER hold_gives_room AFTER DELETE ON hold BEGIN
    UPDATE room SET octets = octets - (256 + ifnull(length(old.outcome), 0)) WHERE kind = 'workflows';
END;
CREATE TRIGGER event_takes_room AFTER INSERT ON event BEGIN
    UPDATE room SET octets = octets + 192 + length(new.data) WHERE kind = 'workflows';
END;
CREATE TRIGGER event_gives_room AFTER DELETE ON event BEGIN
    UPDATE room SET octets = octets - (192 + length(old.data)) WHERE kind = 'workflows';
END;
CREATE TRIGGER sighting_takes_room AFTER INSERT ON sighting BEGIN
    UPDATE room SET octets = octets + 128 + length(new.detail) + length(new.facts), number = number + 1 WHERE kind = 'timelines';
END;
CREATE TRIGGER sighting_takes_other_room AFTER UPDATE OF detail, facts ON sighting BEGIN
    UPDATE room SET octets = octets + (128 + length(new.detail) + length(new.facts)) - (128 + length(old.detail) + length(old.facts)) WHERE kind = 'timelines';
END;
CREATE TRIGGER sighting_gives_room AFTER DELETE ON sighting BEGIN
    UPDATE room SET octets = octets - (128 + length(old.detail) + length(old.facts)), number = number - 1 WHERE kind = 'timelines';
END;
CREATE TRIGGER syslog_takes_room AFTER INSERT ON syslog BEGIN
    UPDATE room SET octets = octets + 128 + length(new.text), number = number + 1 WHERE kind = 'timelines';
END;
CREATE TRIGGER syslog_takes_other_room AFTER UPDATE OF text ON syslog BEGIN
    UPDATE room SET octets = octets + (128 + length(new.text)) - (128 + length(old.text)) WHERE kind = 'timelines';
END;
CREATE TRIGGER syslog_gives_room AFTER DELETE ON syslog BEGIN
    UPDATE room SET octets = octets - (128 + length(old.text)), number = number - 1 WHERE kind = 'timelines';
END;
CREATE TRIGGER stranger_takes_room AFTER INSERT ON stranger BEGIN
    UPDATE room SET octets = octets + 256 + ifnull(length(new.inventory), 0), number = number + 1 WHERE kind = 'discovered';
END;
CREATE TRIGGER stranger_takes_other_room AFTER UPDATE OF inventory ON stranger BEGIN
    UPDATE room SET octets = octets + (256 + ifnull(length(new.inventory), 0)) - (256 + ifnull(length(old.inventory), 0)) WHERE kind = 'discovered';
END;
CREATE TRIGGER stranger_gives_room AFTER DELETE ON stranger BEGIN
    UPDATE room SET octets = octets - (256 + ifnull(length(old.inventory), 0)), number = number - 1 WHERE kind = 'discovered';
END;

-- No row, or one: finished workflows that were deleted before their time, the last time that there was no room.
CREATE TABLE early_deletion (
    workflows INTEGER NOT NULL,
    octets    INTEGER NOT NULL,
    since     TEXT NOT NULL,
    until     TEXT NOT NULL
);
