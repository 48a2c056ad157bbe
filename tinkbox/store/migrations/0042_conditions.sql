-- What the doctor's rounds found and is not over: since when it lasts.  Of the appliance's own `told` is what the event of its
-- beginning told, in JSON; of machines and workflows it is '{}'.
CREATE TABLE condition (
    rule     TEXT NOT NULL,
    machine  TEXT NOT NULL,
    workflow TEXT NOT NULL,
    subject  TEXT NOT NULL,
    since    TEXT NOT NULL,
    told     TEXT NOT NULL,
    PRIMARY KEY (rule, machine, workflow, subject)
);
-- Those of the appliance were what its events told the beginning of, and not the end.
INSERT INTO condition
SELECT rule, '', '', subject, at, data
FROM (
    SELECT json_extract(data, '$.rule') AS rule, json_extract(data, '$.subject') AS subject, at, data, kind,
        row_number() OVER (
            PARTITION BY json_extract(data, '$.rule'), json_extract(data, '$.subject') ORDER BY number DESC
        ) AS age
    FROM event WHERE workflow_id = '' AND kind IN ('condition.began', 'condition.over')
)
WHERE age = 1 AND kind = 'condition.began' AND rule IS NOT NULL AND subject IS NOT NULL;
