-- The machine of an agent id however a MAC or an id is spelled in it.
DROP INDEX hardware_by_agent;
CREATE INDEX hardware_by_bare_agent ON hardware (
    replace(replace(replace(lower(trim(
        json_extract(CASE WHEN json_valid(document) THEN document END, '$.spec.agentID'),
        char(9, 10, 11, 12, 13, 32)
    )), ':', ''), '-', ''), '.', '')
);
