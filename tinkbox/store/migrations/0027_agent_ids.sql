-- The machine of an agent id, as tasks name machines: without it every document is read for each task.
CREATE INDEX hardware_by_agent ON hardware (
    json_extract(CASE WHEN json_valid(document) THEN document END, '$.spec.agentID')
);
