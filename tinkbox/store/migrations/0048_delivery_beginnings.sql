-- The first line that a place was to have: one that was configured later lacks those before.  0: not known.
ALTER TABLE audit_delivery ADD COLUMN first INTEGER NOT NULL DEFAULT 0;
