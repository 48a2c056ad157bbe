-- What each kind takes, continued (0016): rollouts, and what belongs to workflows or machines since then.
UPDATE room SET octets = octets + (SELECT ifnull(sum(octets), 0) FROM (
    SELECT 512 + length(CAST(text AS BLOB)) + length(parameters) AS octets FROM rollout UNION ALL
    SELECT 384 + length(message) AS octets FROM rollout_machine UNION ALL
    SELECT 128 + length(key) + length(value) AS octets FROM label WHERE kind = 'workflow' UNION ALL
    SELECT 192 + length(template_ref) + length(hardware_ref) AS octets FROM declaration
)) WHERE kind = 'workflows';
UPDATE room SET octets = octets + (SELECT ifnull(sum(128 + length(text)), 0) FROM note),
                number = number + (SELECT count(*) FROM note) WHERE kind = 'timelines';

CREATE TRIGGER rollout_takes_room AFTER INSERT ON rollout BEGIN
    UPDATE room SET octets = octets + 512 + length(CAST(new.text AS BLOB)) + length(new.parameters) WHERE kind = 'workflows';
END;
CREATE TRIGGER rollout_gives_room AFTER DELETE ON rollout BEGIN
    UPDATE room SET octets = octets - (512 + length(CAST(old.text AS BLOB)) + length(old.parameters)) WHERE kind = 'workflows';
END;
CREATE TRIGGER rollout_machine_takes_room AFTER INSERT ON rollout_machine BEGIN
    UPDATE room SET octets = octets + 384 + length(new.message) WHERE kind = 'workflows';
END;
CREATE TRIGGER rollout_machine_takes_other_room AFTER UPDATE OF message ON rollout_machine
    WHEN length(new.message) != length(old.message) BEGIN
    UPDATE room SET octets = octets + length(new.message) - length(old.message) WHERE kind = 'workflows';
END;
CREATE TRIGGER rollout_machine_gives_room AFTER DELETE ON rollout_machine BEGIN
    UPDATE room SET octets = octets - (384 + length(old.message)) WHERE kind = 'workflows';
END;
CREATE TRIGGER label_takes_room AFTER INSERT ON label WHEN new.kind = 'workflow' BEGIN
    UPDATE room SET octets = octets + 128 + length(new.key) + length(new.value) WHERE kind = 'workflows';
END;
CREATE TRIGGER label_gives_room AFTER DELETE ON label WHEN old.kind = 'workflow' BEGIN
    UPDATE room SET octets = octets - (128 + length(old.key) + length(old.value)) WHERE kind = 'workflows';
END;
CREATE TRIGGER declaration_takes_room AFTER INSERT ON declaration BEGIN
    UPDATE room SET octets = octets + 192 + length(new.template_ref) + length(new.hardware_ref) WHERE kind = 'workflows';
END;
CREATE TRIGGER declaration_gives_room AFTER DELETE ON declaration BEGIN
    UPDATE room SET octets = octets - (192 + length(old.template_ref) + length(old.hardware_ref)) WHERE kind = 'workflows';
END;
CREATE TRIGGER note_takes_room AFTER INSERT ON note BEGIN
    UPDATE room SET octets = octets + 128 + length(new.text), number = number + 1 WHERE kind = 'timelines';
END;
CREATE TRIGGER note_gives_room AFTER DELETE ON note BEGIN
    UPDATE room SET octets = octets - (128 + length(old.text)), number = number - 1 WHERE kind = 'timelines';
END;

-- 0022 took labels over from machines' documents that no label may be by now: they could be read and not be written back.
DELETE FROM label WHERE kind = 'machine' AND NOT (
    (value = '' OR (length(value) <= 63 AND value NOT GLOB '*[^A-Za-z0-9_.-]*'
                    AND value GLOB '[A-Za-z0-9]*' AND value GLOB '*[A-Za-z0-9]'))
    AND length(substr(key, instr(key, '/') + 1)) BETWEEN 1 AND 63
    AND substr(key, instr(key, '/') + 1) NOT GLOB '*[^A-Za-z0-9_.-]*'
    AND substr(key, instr(key, '/') + 1) GLOB '[A-Za-z0-9]*' AND key GLOB '*[A-Za-z0-9]'
    AND (instr(key, '/') = 0
         OR (instr(key, '/') BETWEEN 2 AND 254
             AND substr(key, 1, instr(key, '/') - 1) NOT GLOB '*[^a-z0-9.-]*'
             AND key GLOB '[a-z0-9]*' AND substr(key, 1, instr(key, '/') - 1) GLOB '*[a-z0-9]'))
);
DELETE FROM label WHERE kind = 'machine' AND (owner, key) IN (
    SELECT owner, key FROM (
        SELECT owner, key, row_number() OVER (PARTITION BY owner ORDER BY key) AS place FROM label WHERE kind = 'machine'
    ) WHERE place > 64
);
