-- Documents of Tinkerbell that are kept as they were given, such as WorkflowRuleSet: `document` is what `apply` takes, in JSON.
CREATE TABLE kept_document (
    id         TEXT PRIMARY KEY,
    kind       TEXT NOT NULL,
    namespace  TEXT NOT NULL,
    name       TEXT NOT NULL,
    document   TEXT NOT NULL,
    version    INTEGER NOT NULL DEFAULT 1,  -- how often it was given
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    UNIQUE (kind, namespace, name)
);
-- The document of a workflow of v1alpha2, which says what its template says else.
CREATE TABLE workflow_document (
    workflow_id TEXT PRIMARY KEY REFERENCES workflow (id) ON DELETE CASCADE,
    document    TEXT NOT NULL
) WITHOUT ROWID;
