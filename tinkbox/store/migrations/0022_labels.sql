-- Labels of machines, templates and workflows.
CREATE TABLE label (
    kind  TEXT NOT NULL,
    owner TEXT NOT NULL,
    key   TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (kind, owner, key)
) WITHOUT ROWID;
CREATE INDEX label_with_value ON label (kind, key, value);

INSERT INTO label SELECT 'machine', hardware.id, label.key, label.value
    FROM hardware, json_each(hardware.document, '$.metadata.labels') AS label
    WHERE json_valid(hardware.document) AND json_extract(hardware.document, '$.kind') = 'Hardware' AND label.type = 'text'
    AND length(label.key) BETWEEN 1 AND 317 AND length(label.value) <= 63
    AND label.key NOT GLOB '*[^A-Za-z0-9_./-]*' AND label.value NOT GLOB '*[^A-Za-z0-9_.-]*';

CREATE TRIGGER machine_takes_its_labels AFTER DELETE ON hardware BEGIN
    DELETE FROM label WHERE kind = 'machine' AND owner = old.id;
END;
CREATE TRIGGER template_takes_its_labels AFTER DELETE ON template BEGIN
    DELETE FROM label WHERE kind = 'template' AND owner = old.id;
END;
CREATE TRIGGER workflow_takes_its_labels AFTER DELETE ON workflow BEGIN
    DELETE FROM label WHERE kind = 'workflow' AND owner = old.id;
END;

-- What lists of workflows are filtered and sorted by, without a look at the rows, which have the rendered templates.
CREATE INDEX workflow_of_template ON workflow (template_id);
CREATE INDEX workflow_by_name ON workflow (name);
CREATE INDEX workflow_by_creation ON workflow (created_at);
CREATE INDEX workflow_by_update ON workflow (updated_at);
