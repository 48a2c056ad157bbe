-- The newest workflow that there was when a machine was registered: those up to it were for an earlier machine of this id.
ALTER TABLE hardware ADD COLUMN after_workflow INTEGER NOT NULL DEFAULT 0;
CREATE INDEX hardware_registration ON hardware (id, after_workflow);
