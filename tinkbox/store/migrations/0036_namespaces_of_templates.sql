-- Templates of documents are known by namespace and name, as machines and workflows are.  Without a namespace: a template that was
-- made by hand, or by an earlier release, which knew them by name alone.
CREATE TABLE template_in_namespace (
    id         TEXT PRIMARY KEY,
    name       TEXT NOT NULL,
    data       TEXT NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    namespace  TEXT NOT NULL DEFAULT '',
    UNIQUE (name, namespace)
);
INSERT INTO template_in_namespace SELECT id, name, data, created_at, updated_at, '' FROM template;
DROP TABLE template;
ALTER TABLE template_in_namespace RENAME TO template;
CREATE TRIGGER template_takes_its_labels AFTER DELETE ON template BEGIN
    DELETE FROM label WHERE kind = 'template' AND owner = old.id;
END;
