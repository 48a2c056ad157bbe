-- The triggers of the audit, all of them: what of these is missing, or another one, is made again at the start (store.audit).
-- Nothing of tinkbox changes a line, or deletes one that no other says to be deleted for its age; these keep it from doing so.
-- The line that tells that others are missing does not take their numbers.

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
    UPDATE room SET octets = octets - (192 + length(old.line)), number = number - 1 WHERE kind = 'audit';
END;
