-- The `kind: Secret` that a secret is an entry of; empty: it was set by hand, or before this was kept.
ALTER TABLE secret ADD COLUMN document_name TEXT NOT NULL DEFAULT '';
ALTER TABLE secret ADD COLUMN document_namespace TEXT NOT NULL DEFAULT '';
