-- The audit's table once more, with columns and triggers that read whatever another program put into a row: it may be no JSON.
DROP TRIGGER IF EXISTS audit_is_not_changed;
DROP TRIGGER IF EXISTS audit_is_not_deleted;
DROP TRIGGER IF EXISTS audit_is_added_to_at_its_end;
DROP TRIGGER IF EXISTS audit_takes_room;
DROP TRIGGER IF EXISTS audit_gives_room;

CREATE TABLE audit_before AS SELECT number, line, digest FROM audit NOT INDEXED ORDER BY number;
DROP TABLE audit;
CREATE TABLE audit (
    number  INTEGER PRIMARY KEY,
    line    TEXT NOT NULL,
    digest  TEXT NOT NULL,
    at      TEXT GENERATED ALWAYS AS (CASE WHEN json_valid(line) THEN json_extract(line, '$.at') END) VIRTUAL,
    who     TEXT GENERATED ALWAYS AS (CASE WHEN json_valid(line) THEN json_extract(line, '$.who') END) VIRTUAL,
    object  TEXT GENERATED ALWAYS AS (CASE WHEN json_valid(line) THEN json_extract(line, '$.object') END) VIRTUAL,
    asked   INTEGER GENERATED ALWAYS AS (CASE WHEN json_valid(line) THEN json_extract(line, '$.asked') END) VIRTUAL,
    through INTEGER GENERATED ALWAYS AS (CASE WHEN json_valid(line) THEN json_extract(line, '$.through') END) VIRTUAL
);
INSERT INTO audit (number, line, digest) SELECT number, line, digest FROM audit_before;
DROP TABLE audit_before;
CREATE INDEX audit_outcome ON audit (asked) WHERE asked IS NOT NULL;
CREATE INDEX audit_cut ON audit (through) WHERE through IS NOT NULL;
CREATE INDEX audit_who ON audit (who);

-- What of these is missing, or another one, is made again at the start (store.schema).
CREATE TRIGGER audit_is_not_changed BEFORE UPDATE ON audit BEGIN
    SELECT RAISE(ABORT, 'a line of the audit is never changed');
END;

CREATE TRIGGER audit_is_not_deleted BEFORE DELETE ON audit
WHEN old.number > (SELECT ifnull(max(through), 0) FROM audit WHERE through IS NOT NULL) BEGIN
    SELECT RAISE(ABORT, 'a line of the audit is deleted for its age only');
END;

CREATE TRIGGER audit_is_added_to_at_its_end BEFORE INSERT ON audit
WHEN new.number <= (SELECT ifnull(max(number), 0) FROM audit)
OR (new.number > (SELECT ifnull(max(number), 0) + 1 FROM audit) AND json_extract(new.line, '$.what') IS NOT 'audit examined') BEGIN
    SELECT RAISE(ABORT, 'a line of the audit is added at its end');
END;

CREATE TRIGGER audit_takes_room AFTER INSERT ON audit BEGIN
    UPDATE room SET octets = octets + 192 + length(new.line), number = number + 1 WHERE kind = 'audit';
END;

CREATE TRIGGER audit_gives_room AFTER DELETE ON audit BEGIN
    UPDATE room SET octets = octets - (192 + length(ifnull(old.line, ''))), number = number - 1 WHERE kind = 'audit';
END;
