-- What a document of kind: Workflow declared beyond what stands in the workflow, so that it is known when it comes again.
CREATE TABLE declaration (
    workflow_id  TEXT PRIMARY KEY REFERENCES workflow (id) ON DELETE CASCADE,
    namespace    TEXT NOT NULL,
    template_ref TEXT NOT NULL,
    hardware_ref TEXT NOT NULL,
    let_netboot  TEXT NOT NULL    -- the id of the machine that it allows to netboot, or empty
) WITHOUT ROWID;
-- The same of the newest workflow of a name that was forgotten because of its age: its document does not run it again.
CREATE TABLE forgotten_declaration (
    namespace    TEXT NOT NULL,
    name         TEXT NOT NULL,
    template_ref TEXT NOT NULL,
    hardware_ref TEXT NOT NULL,
    devices      TEXT NOT NULL,
    PRIMARY KEY (namespace, name)
) WITHOUT ROWID;
CREATE INDEX declaration_that_lets_netboot ON declaration (let_netboot) WHERE let_netboot != '';
