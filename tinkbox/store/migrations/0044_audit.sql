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

-- How far each place that lines are sent to has them, and the `first` line that it was to have: one that was configured later
-- lacks those before.  0: not known.
CREATE TABLE audit_delivery (
    place  TEXT PRIMARY KEY,
    number INTEGER NOT NULL,
    first  INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;

INSERT INTO room VALUES ('audit', 0, 0);
