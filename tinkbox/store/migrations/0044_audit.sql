-- Who did what (model.audit): `line` is canonical JSON, `digest` its SHA-256.  What is looked for in it is worked out of it, so
-- that it cannot say something else.
CREATE TABLE audit (
    number  INTEGER PRIMARY KEY,
    line    TEXT NOT NULL,
    digest  TEXT NOT NULL,
    at      TEXT GENERATED ALWAYS AS (json_extract(line, '$.at')) VIRTUAL,
    who     TEXT GENERATED ALWAYS AS (json_extract(line, '$.who')) VIRTUAL,
    object  TEXT GENERATED ALWAYS AS (json_extract(line, '$.object')) VIRTUAL,
    asked   INTEGER GENERATED ALWAYS AS (json_extract(line, '$.asked')) VIRTUAL,
    through INTEGER GENERATED ALWAYS AS (json_extract(line, '$.through')) VIRTUAL
);
CREATE INDEX audit_outcome ON audit (asked) WHERE asked IS NOT NULL;
CREATE INDEX audit_cut ON audit (through) WHERE through IS NOT NULL;
CREATE INDEX audit_who ON audit (who);

-- Nothing of tinkbox changes a line, or deletes one that no other says to be deleted for its age; these keep it from doing so.
CREATE TRIGGER audit_is_not_changed BEFORE UPDATE ON audit BEGIN
    SELECT RAISE(ABORT, 'a line of the audit is never changed');
END;
CREATE TRIGGER audit_is_not_deleted BEFORE DELETE ON audit
WHEN old.number > (SELECT ifnull(max(through), 0) FROM audit WHERE through IS NOT NULL) BEGIN
    SELECT RAISE(ABORT, 'a line of the audit is deleted for its age only');
END;
CREATE TRIGGER audit_is_added_to_at_its_end BEFORE INSERT ON audit
WHEN new.number IS NOT (SELECT ifnull(max(number), 0) + 1 FROM audit) BEGIN
    SELECT RAISE(ABORT, 'a line of the audit is added at its end');
END;

-- How far each place that lines are sent to has them.
CREATE TABLE audit_delivery (
    place  TEXT PRIMARY KEY,
    number INTEGER NOT NULL
) WITHOUT ROWID;

INSERT INTO room VALUES ('audit', 0, 0);
CREATE TRIGGER audit_takes_room AFTER INSERT ON audit BEGIN
    UPDATE room SET octets = octets + 192 + length(new.line), number = number + 1 WHERE kind = 'audit';
END;
CREATE TRIGGER audit_gives_room AFTER DELETE ON audit BEGIN
    UPDATE room SET octets = octets - (192 + length(old.line)), number = number - 1 WHERE kind = 'audit';
END;
