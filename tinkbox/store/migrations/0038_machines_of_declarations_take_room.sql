-- What each kind takes, continued (0028): the machines of declarations.
UPDATE room SET octets = octets + (SELECT ifnull(sum(length(machines)), 0) FROM declaration) WHERE kind = 'workflows';
DROP TRIGGER declaration_takes_room;
DROP TRIGGER declaration_gives_room;
CREATE TRIGGER declaration_takes_room AFTER INSERT ON declaration BEGIN
    UPDATE room SET octets = octets + 192 + length(new.template_ref) + length(new.hardware_ref) + length(new.machines)
        WHERE kind = 'workflows';
END;
CREATE TRIGGER declaration_gives_room AFTER DELETE ON declaration BEGIN
    UPDATE room SET octets = octets - (192 + length(old.template_ref) + length(old.hardware_ref) + length(old.machines))
        WHERE kind = 'workflows';
END;
