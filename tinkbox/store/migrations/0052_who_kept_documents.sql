-- Who gave a document as it is, for the lines of the audit about what follows from it; empty: an earlier release did not note that.
ALTER TABLE kept_document ADD COLUMN who TEXT NOT NULL DEFAULT '';
